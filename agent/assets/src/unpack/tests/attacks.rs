//! The attack corpus, first part: names, links and kinds that no asset needs.

use super::assert_all_refused;
use super::writer::{Header, Tar};

#[test]
fn paths_that_leave_the_folder_are_refused() {
    let leaves = "leaves its directory";
    assert_all_refused(vec![
        ("parent", Tar::new().file("../evil", b"x"), leaves),
        (
            "parent behind a directory",
            Tar::new().file("a/../../evil", b"x"),
            leaves,
        ),
        (
            "parent that would return",
            Tar::new().file("a/../b", b"x"),
            leaves,
        ),
        ("parent alone", Tar::new().file("..", b"x"), leaves),
        (
            "directory outside",
            Tar::new().folder("../outside/new/"),
            leaves,
        ),
        (
            "absolute",
            Tar::new().file("/etc/evil", b"x"),
            "the absolute path /etc/evil",
        ),
        (
            "doubly absolute",
            Tar::new().file("//etc/evil", b"x"),
            "absolute path",
        ),
        (
            "through the bait",
            Tar::new().file("../bait/secret", b"x"),
            leaves,
        ),
    ]);
}

#[test]
fn paths_that_leave_the_folder_by_another_field_are_refused() {
    let leaves = "leaves its directory";
    let long = [b"long/".repeat(25), b"../".repeat(30)].concat();
    assert_all_refused(vec![
        (
            "parent in a long name",
            Tar::new().long(b'L', &long).file("harmless", b"x"),
            leaves,
        ),
        (
            "parent in a pax path",
            Tar::new()
                .pax(&[("path", b"../evil")])
                .file("harmless", b"x"),
            leaves,
        ),
        (
            "absolute pax path",
            Tar::new().pax(&[("path", b"/evil")]).file("harmless", b"x"),
            "absolute path",
        ),
        (
            "parent in the prefix of ustar",
            Tar::new().entry(
                Header::ustar(b"evil", b'0', 1).with(345, b"../outside"),
                b"x",
            ),
            leaves,
        ),
        (
            "parent in the name of a sparse file",
            Tar::new()
                .pax(&[
                    ("GNU.sparse.major", b"1"),
                    ("GNU.sparse.minor", b"0"),
                    ("GNU.sparse.name", b"../evil"),
                    ("GNU.sparse.realsize", b"1"),
                ])
                .file(
                    "harmless",
                    &[b"1\n0\n1\n".as_slice(), &[0; 506], b"x"].concat(),
                ),
            leaves,
        ),
    ]);
}

#[test]
fn links_that_reach_outside_are_refused() {
    let leaves = "leaves its directory";
    assert_all_refused(vec![
        (
            "absolute link",
            Tar::new().symlink("a", "/etc/passwd"),
            "the link a to /etc/passwd",
        ),
        ("link to the parent", Tar::new().symlink("a", ".."), leaves),
        ("link outside", Tar::new().symlink("a", "../bait"), leaves),
        (
            "link out of a directory",
            Tar::new().symlink("a/b", "../../x"),
            leaves,
        ),
        (
            "link out by a detour",
            Tar::new().symlink("a", "b/../../x"),
            leaves,
        ),
        (
            "long link",
            Tar::new()
                .long(b'K', b"../outside/secret")
                .symlink("a", "b"),
            leaves,
        ),
        (
            "pax link",
            Tar::new().pax(&[("linkpath", b"/etc")]).symlink("a", "b"),
            leaves,
        ),
    ]);
}

#[test]
fn links_in_the_way_of_files_are_refused() {
    assert_all_refused(vec![
        (
            "file behind a link",
            Tar::new().symlink("a", "b").file("a/evil", b"x"),
            "behind its own link a",
        ),
        (
            "file in place of a link",
            Tar::new().symlink("a", "b").file("a", b"x"),
            "holds a twice",
        ),
        (
            "link in place of a file",
            Tar::new().file("a", b"x").symlink("a", "b"),
            "holds a twice",
        ),
        (
            "link in place of a directory",
            Tar::new().file("a/b", b"x").symlink("a", "c"),
            "as a file and as a directory",
        ),
    ]);
}

#[test]
fn hard_links_to_anything_but_an_earlier_file_are_refused() {
    let leaves = "leaves its directory";
    let before = "no file that came before it";
    assert_all_refused(vec![
        (
            "hard link outside",
            Tar::new().hard_link("a", "../outside/secret"),
            leaves,
        ),
        (
            "absolute hard link",
            Tar::new().hard_link("a", "/etc/passwd"),
            "absolute path",
        ),
        (
            "hard link to nothing",
            Tar::new().hard_link("a", "b"),
            before,
        ),
        (
            "hard link forwards",
            Tar::new().hard_link("a", "b").file("b", b"x"),
            before,
        ),
        (
            "hard link to a link",
            Tar::new().symlink("b", "c").hard_link("a", "b"),
            before,
        ),
        (
            "hard link to a directory",
            Tar::new().folder("b/").hard_link("a", "b"),
            before,
        ),
        (
            "hard link to the directory",
            Tar::new().hard_link("a", "."),
            before,
        ),
        (
            "hard link to itself",
            Tar::new().hard_link("a", "a"),
            before,
        ),
        (
            "hard link over a file",
            Tar::new()
                .file("a", b"1")
                .file("b", b"2")
                .hard_link("a", "b"),
            "holds a twice",
        ),
    ]);
}

#[test]
fn whatever_is_no_file_folder_or_link_is_refused() {
    let of_kind = |kind: u8| Tar::new().entry(Header::gnu(b"dev", kind, 0), b"");
    assert_all_refused(vec![
        (
            "character device",
            of_kind(b'3'),
            "holds dev, a character device",
        ),
        ("block device", of_kind(b'4'), "holds dev, a block device"),
        ("pipe", of_kind(b'6'), "holds dev, a named pipe"),
        (
            "set-id device",
            Tar::new().entry(Header::gnu(b"dev", b'3', 0).mode(0o6777), b""),
            "device",
        ),
        ("volume label", of_kind(b'V'), "the unknown kind V"),
        ("continued volume", of_kind(b'M'), "the unknown kind M"),
        ("kind without meaning", of_kind(0x1b), "the unknown kind"),
        (
            "file in place of the directory",
            Tar::new().file(".", b"x"),
            "in place of its directory",
        ),
        (
            "file without a name",
            Tar::new().file("", b"x"),
            "in place of its directory",
        ),
        (
            "link in place of the directory",
            Tar::new().symlink("./", "b"),
            "in place of its directory",
        ),
        (
            "directory with bytes",
            Tar::new().entry(Header::gnu(b"a/", b'5', 3), b"abc"),
            "a directory that has 3 bytes",
        ),
        (
            "link with bytes",
            Tar::new().entry(Header::gnu(b"a", b'2', 3).link(b"b"), b"abc"),
            "has 3 bytes",
        ),
        (
            "file whose name ends like a directory's",
            Tar::new().file("a/", b"x"),
            "holds a/, a file",
        ),
    ]);
}

#[test]
fn names_that_clash_are_refused() {
    let both = "as a file and as a directory";
    assert_all_refused(vec![
        (
            "twice",
            Tar::new().file("a", b"1").file("a", b"1"),
            "holds a twice",
        ),
        (
            "twice with a dot",
            Tar::new().file("a", b"1").file("./a", b"2"),
            "holds a twice",
        ),
        (
            "twice with slashes",
            Tar::new().file("b/a", b"1").file("b//./a", b"2"),
            "twice",
        ),
        (
            "file and then directory",
            Tar::new().file("a", b"1").file("a/b", b"2"),
            both,
        ),
        (
            "file and then deep directory",
            Tar::new().file("a", b"1").file("a/b/c/d", b"2"),
            both,
        ),
        (
            "file and then empty directory",
            Tar::new().file("a", b"1").folder("a/"),
            both,
        ),
        (
            "directory and then file",
            Tar::new().file("a/b", b"2").file("a", b"1"),
            both,
        ),
        (
            "empty directory and then file",
            Tar::new().folder("a/").file("a", b"1"),
            both,
        ),
    ]);
}

#[test]
fn names_that_are_improper_are_refused() {
    let part = "n".repeat(256);
    let deep = "d/".repeat(40);
    let long = format!("{}x", "0123456789/".repeat(100));
    assert_all_refused(vec![
        (
            "newline",
            Tar::new().file("a\nb", b"x"),
            "holds a\\nb with a control character",
        ),
        (
            "escape",
            Tar::new().file("\x1b[2J", b"x"),
            "control character",
        ),
        (
            "NUL in a pax path",
            Tar::new().pax(&[("path", b"a\0b")]).file("c", b"x"),
            "control character",
        ),
        (
            "NUL in a long name",
            Tar::new().long(b'L', b"a\0b").file("c", b"x"),
            "control character",
        ),
        (
            "no UTF-8",
            Tar::new().entry(Header::gnu(b"a\xff", b'0', 1), b"x"),
            "which is no text",
        ),
        (
            "long part",
            Tar::new().long(b'L', part.as_bytes()).file("c", b"x"),
            "longer than a filesystem takes",
        ),
        (
            "long path",
            Tar::new().long(b'L', long.as_bytes()).file("c", b"x"),
            "too long or too deep",
        ),
        (
            "deep path",
            Tar::new().file(&format!("{deep}x"), b"x"),
            "too long or too deep",
        ),
    ]);
}
