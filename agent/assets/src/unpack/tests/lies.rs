//! The attack corpus, second part: headers and sizes that lie.

use super::writer::{Header, Tar, gzip, records_of, xz, zstd};
use super::{assert_all_refused, assert_refused};
use crate::unpack::{ALWAYS_ALLOWED_BYTES, MAX_ENTRIES, MAX_RATIO};

#[test]
fn headers_that_readers_take_differently_are_refused() {
    let second = "gives an entry a second";
    let global = |key: &str| {
        Tar::new()
            .records(b'g', &records_of(&[(key, b"1")]))
            .file("a", b"x")
    };
    assert_all_refused(vec![
        (
            "two long names",
            Tar::new().long(b'L', b"b").long(b'L', b"c").file("a", b"x"),
            second,
        ),
        (
            "long name and pax path",
            Tar::new()
                .long(b'L', b"b")
                .pax(&[("path", b"c")])
                .file("a", b"x"),
            second,
        ),
        (
            "two pax paths",
            Tar::new()
                .pax(&[("path", b"b"), ("path", b"c")])
                .file("a", b"x"),
            second,
        ),
        (
            "two pax headers",
            Tar::new()
                .pax(&[("a", b"b")])
                .pax(&[("c", b"d")])
                .file("a", b"x"),
            "describes an entry twice",
        ),
        ("path for all", global("path"), "sets path for all"),
        ("size for all", global("size"), "sets size for all"),
    ]);
}

#[test]
fn malformed_records_are_refused() {
    let x = |records: &[u8]| Tar::new().records(b'x', records).file("a", b"x");
    assert_all_refused(vec![
        ("record too long", x(b"99 path=b\n"), "malformed pax record"),
        ("record too short", x(b"5 path=b\n"), "malformed pax record"),
        (
            "record without a length",
            x(b"path=b\n"),
            "malformed pax record",
        ),
        (
            "record with a sign",
            x(b"+10 path=b\n"),
            "malformed pax record",
        ),
        ("record without a key", x(b"5 =b\n"), "malformed pax record"),
        ("negative size", x(b"11 size=-1\n"), "invalid size -1"),
        ("size with a sign", x(b"11 size=+1\n"), "invalid size +1"),
    ]);
}

#[test]
fn malformed_headers_are_refused() {
    assert_all_refused(vec![
        (
            "description of nothing",
            Tar::new().pax(&[("path", b"b")]),
            "entry that never comes",
        ),
        (
            "name of nothing",
            Tar::new().long(b'L', b"b"),
            "entry that never comes",
        ),
        (
            "lone empty block",
            Tar::new().raw(&[0; 512]).file("a", b"x"),
            "lone empty block",
        ),
        (
            "invalid octal",
            Tar::new().entry(Header::gnu(b"a", b'0', 1).with(124, b"0000000000x\0"), b"x"),
            "a with a size that is no number",
        ),
        (
            "negative size",
            Tar::new().entry(Header::gnu(b"a", b'0', 1).with(124, &[0xff; 12]), b"x"),
            "no number",
        ),
        (
            "unknown magic",
            Tar::new()
                .file("b", b"x")
                .entry(Header::gnu(b"a", b'0', 1).with(257, b"ustar\x0099"), b"x"),
            "unknown format",
        ),
    ]);
}

#[test]
fn sizes_that_lie_are_refused() {
    let huge = |bytes: &[u8]| Header::gnu(b"a", b'0', 0).with(124, bytes);
    let stolen = Tar::new().pax(&[("size", b"4096")]).file("a", b"short");
    assert_refused("pax size beyond the end", &stolen.open_end(), "ends early");
    let cut = Tar::new()
        .entry(Header::gnu(b"a", b'0', 4096), b"short")
        .open_end();
    assert_refused("size beyond the end", &cut, "ends early");
    assert_all_refused(vec![
        (
            "eight exabytes",
            Tar::new().entry(huge(&[0x80, 0, 0, 0, 0x7f, 0, 0, 0, 0, 0, 0, 0]), b"x"),
            "holds a, a file of",
        ),
        (
            "beyond any number",
            Tar::new().entry(huge(&[0x80, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]), b"x"),
            "no number",
        ),
        (
            "the most that octal holds",
            Tar::new().entry(huge(b"77777777777\0"), b"x"),
            "ends early",
        ),
        (
            "a byte more than sixteen gibibytes",
            Tar::new().entry(huge(&[0x80, 0, 0, 0, 0, 0, 0, 4, 0, 0, 0, 1]), b"x"),
            "holds a, a file of 17179869185 bytes",
        ),
        (
            "pax size without end",
            Tar::new()
                .pax(&[("size", b"99999999999999999999999")])
                .file("a", b"x"),
            "gives the invalid size",
        ),
        (
            "huge pax size",
            Tar::new()
                .pax(&[("size", b"18446744073709551615")])
                .file("a", b"x"),
            "holds a, a file of",
        ),
        (
            "size moved to hide an entry",
            Tar::new().pax(&[("size", b"0")]).file("a", b"not a header"),
            "wrong checksum",
        ),
    ]);
}

#[test]
fn bombs_are_refused_before_they_fill_anything() {
    let mebibyte = vec![0; 1 << 20];
    let zeros = vec![0; (ALWAYS_ALLOWED_BYTES + (1 << 20)) as usize];
    let bomb = Tar::new().file("zeros", &zeros).end();
    let more = "more than an archive of its size can hold";
    for (case, bytes) in [
        ("gzip", gzip(&bomb)),
        ("xz", xz(&bomb)),
        ("zstd", zstd(&bomb)),
    ] {
        assert!(
            bytes.len() as u64 * MAX_RATIO < zeros.len() as u64,
            "{case} is one of ratio"
        );
        assert_refused(case, &bytes, more);
    }
    let name = |size: u64| Tar::new().entry(Header::gnu(b"l", b'L', size), b"");
    assert_refused(
        "name without end",
        &name(1 << 40).end(),
        "a name or a record of",
    );
    let records = Header::ustar(b"x", b'x', 2 << 20);
    let tar = Tar::new().entry(records, &mebibyte).raw(&mebibyte);
    assert_refused(
        "records without end",
        &tar.end(),
        "a name or a record of 2097152 bytes",
    );
    let mut globals = Tar::new();
    for _ in 0..200 {
        globals = globals.records(b'g', &records_of(&[("comment", b"x")]));
    }
    assert_refused("global records without end", &globals.end(), "without end");
}

#[test]
fn more_entries_and_more_names_than_any_honest_archive_has_are_refused() {
    let folder = Tar::new().folder("a/").open_end();
    let entries = Tar::new().raw(&folder.repeat(MAX_ENTRIES + 1)).end();
    assert_refused("entries", &gzip(&entries), "more than 100000 entries");
    let mut names = Tar::new();
    let long = format!("/{}", "n".repeat(250)).repeat(4);
    for number in 0..17_000 {
        // Links, which are never made, so that nothing is but their names.
        let name = format!("{number:05}{}", &long[..1000]);
        let link = Header::gnu(b"a", b'2', 0).link(b"b");
        names = names.long(b'L', name.as_bytes()).entry(link, b"");
    }
    assert_refused("names", &names.end(), "names of more than 16777216 bytes");
}
