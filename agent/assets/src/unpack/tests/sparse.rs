//! Sparse files land with the right bytes or are refused by name.

use super::writer::{Header, Tar};
use super::{Yard, assert_refused, paths};

fn octal(number: u64) -> Vec<u8> {
    format!("{number:011o}\0").into_bytes()
}

/// A GNU header with up to four pieces.
fn gnu(size: u64, stored: u64, pieces: &[(u64, u64)]) -> Header {
    let mut header = Header::gnu(b"s", b'S', stored).with(483, &octal(size));
    for (index, (offset, length)) in pieces.iter().enumerate() {
        let at = 386 + index * 24;
        header.put(at, &octal(*offset));
        header.put(at + 12, &octal(*length));
    }
    header
}

fn pax(map: &str, size: &str, bytes: &[u8]) -> Tar {
    let mut stored = map.as_bytes().to_vec();
    stored.resize(stored.len().next_multiple_of(512), 0);
    stored.extend_from_slice(bytes);
    Tar::new()
        .pax(&[
            ("GNU.sparse.major", b"1"),
            ("GNU.sparse.minor", b"0"),
            ("GNU.sparse.name", b"s"),
            ("GNU.sparse.realsize", size.as_bytes()),
        ])
        .file("GNUSparseFile.1/s", &stored)
}

fn expected() -> Vec<u8> {
    let mut bytes = vec![0; 5000];
    bytes[1000..1003].copy_from_slice(b"one");
    bytes[4000..4003].copy_from_slice(b"two");
    bytes
}

#[test]
fn a_sparse_file_has_its_holes_where_they_were() {
    let plain = gnu(5000, 6, &[(1000, 3), (4000, 3), (5000, 0)]);
    let mut extended = gnu(5000, 6, &[(1000, 1), (1001, 1), (1002, 1), (4000, 1)]);
    extended.put(482, &[1]);
    let mut more = [octal(4001), octal(2), octal(5000), octal(0)].concat();
    more.resize(512, 0);
    more.extend_from_slice(b"onetwo");
    let cases = [
        ("GNU", Tar::new().entry(plain, b"onetwo")),
        (
            "GNU with a second header",
            Tar::new().entry(extended, &more),
        ),
        (
            "pax 1.0",
            pax("3\n1000\n3\n4000\n3\n5000\n0\n", "5000", b"onetwo"),
        ),
    ];
    for (case, tar) in cases {
        let yard = Yard::new();
        let members = yard
            .unpack(&tar.file("z", b"x").end())
            .unwrap_or_else(|e| panic!("{case}: {e:?}"));
        assert_eq!(paths(&members), ["s", "z"], "{case}");
        assert_eq!(yard.read("s"), expected(), "{case}");
        assert_eq!(members[0].size, 5000);
        assert_eq!(
            members[0].check,
            blake3::hash(&expected()).to_hex().as_str()
        );
    }
}

#[test]
fn a_sparse_file_of_another_format_is_refused_by_name() {
    let of = |records: &[(&str, &[u8])]| Tar::new().pax(records).file("a", b"x").end();
    let says = "a sparse file in a format that is not taken";
    let old: &[(&str, &[u8])] = &[("GNU.sparse.size", b"5"), ("GNU.sparse.numblocks", b"1")];
    assert_refused("0.0", &of(old), says);
    assert_refused("0.1", &of(&[("GNU.sparse.map", b"0,1")]), says);
    assert_refused("star", &of(&[("SCHILY.realsize", b"5")]), says);
    let next: &[(&str, &[u8])] = &[("GNU.sparse.major", b"2"), ("GNU.sparse.minor", b"0")];
    assert_refused("2.0", &of(next), says);
    assert_refused(
        "no size",
        &of(&[("GNU.sparse.major", b"1"), ("GNU.sparse.minor", b"0")]),
        says,
    );
}

#[test]
fn a_sparse_file_whose_map_lies_is_refused() {
    let says = "whose map does not fit";
    for (case, size, pieces) in [
        ("overlap", 5000, [(1000, 3), (1001, 3)]),
        ("backwards", 5000, [(4000, 3), (1000, 3)]),
        ("beyond the end", 4001, [(1000, 3), (4000, 3)]),
        ("fewer bytes than stored", 5000, [(1000, 1), (4000, 3)]),
        ("more bytes than stored", 5000, [(1000, 30), (4000, 3)]),
    ] {
        let tar = Tar::new().entry(gnu(size, 6, &pieces), b"onetwo");
        assert_refused(case, &tar.end(), says);
    }
    let mut endless = gnu(5000, 6, &[(1000, 3), (4000, 3)]);
    endless.put(482, &[1]);
    let mut empty = [0; 1024];
    (empty[504], empty[1016]) = (1, 1);
    assert_refused(
        "extended for ever",
        &Tar::new().entry(endless, &empty).end(),
        says,
    );
    for (case, map) in [
        ("no number", "x\n"),
        ("empty line", "\n"),
        ("negative", "1\n-1\n6\n"),
        ("too large a number", "1\n99999999999999999999999\n6\n"),
        ("count beyond the map", "90\n0\n6\n"),
    ] {
        assert_refused(case, &pax(map, "5000", b"onetwo").end(), says);
    }
    let many = "999999\n".to_owned() + &"0\n0\n".repeat(20_000);
    assert_refused(
        "map without end",
        &pax(&many, "5000", b"").end(),
        "more than 10000 pieces",
    );
    let link = Tar::new()
        .pax(&[
            ("GNU.sparse.major", b"1"),
            ("GNU.sparse.minor", b"0"),
            ("GNU.sparse.name", b"s"),
            ("GNU.sparse.realsize", b"0"),
        ])
        .symlink("a", "b");
    assert_refused("sparse link", &link.end(), says);
}

#[test]
fn holes_count_like_bytes() {
    let more = "more than an archive of its size can hold";
    let hole = |size: u64| Tar::new().entry(gnu(size, 0, &[]), b"");
    assert_refused("a gigabyte of nothing", &hole(1 << 30).end(), more);
    assert_refused(
        "beyond any archive",
        &hole((16 << 30) + 1).end(),
        "holds s, a file of",
    );
    let many = Tar::new().raw(&hole(40 << 20).open_end());
    let again = Tar::new().entry(gnu(40 << 20, 0, &[]).with(0, b"t"), b"");
    assert_refused("holes together", &many.raw(&again.open_end()).end(), more);
}
