//! Honest archives: what lands, under which name, with which mode.

use super::writer::{Header, Tar, gzip};
use super::{Yard, paths};
use crate::unpack::unseal;
use std::os::unix::fs::MetadataExt;

#[test]
fn files_are_closed_to_others_until_the_archive_is_proven() {
    let tar = Tar::new()
        .folder("./")
        .folder("bin/")
        .file("bin/bridge", b"program")
        .entry(Header::gnu(b"./LICENSE", b'0', 4).mode(0o6644), b"text")
        .entry(Header::gnu(b"share/doc/x", b'0', 1).mode(0o4755), b"x");
    let yard = Yard::new();
    let members = yard.unpack(&gzip(&tar.end())).expect("it is honest");
    assert_eq!(paths(&members), ["LICENSE", "bin/bridge", "share/doc/x"]);
    for path in ["LICENSE", "bin/bridge", "share/doc/x"] {
        assert_eq!(yard.mode(path), 0o600, "{path}");
    }
    assert_eq!((yard.mode("bin"), yard.mode("share/doc")), (0o700, 0o700));
    unseal(&yard.target(), &members).expect("it is ours");
    assert_eq!(
        (yard.mode("LICENSE"), yard.mode("bin/bridge")),
        (0o644, 0o755)
    );
    assert_eq!(yard.mode("share/doc/x"), 0o755, "without the set-id bit");
    for folder in ["", "bin", "share", "share/doc"] {
        assert_eq!(yard.mode(folder), 0o755, "{folder}");
    }
}

#[test]
fn every_member_comes_with_the_hash_of_its_bytes() {
    let bytes: Vec<u8> = (0..900_000_u32).map(|n| (n % 251) as u8).collect();
    let yard = Yard::new();
    let members = yard.unpack(
        &Tar::new()
            .file("a", b"small")
            .file("b", &bytes)
            .file("c", b"")
            .end(),
    );
    let members = members.expect("it is honest");
    for (member, expected) in members.iter().zip([b"small".as_slice(), &bytes, b""]) {
        assert_eq!(yard.read(&member.path), expected);
        assert_eq!(member.size, expected.len() as u64);
        assert_eq!(member.check, blake3::hash(expected).to_hex().as_str());
    }
}

#[test]
fn links_that_stay_inside_are_left_out() {
    let yard = Yard::new();
    let tar = Tar::new()
        .file("c", b"x")
        .symlink("a/b", "../c")
        .symlink("d", "./a/../c");
    assert_eq!(
        paths(&yard.unpack(&tar.end()).expect("it is harmless")),
        ["c"]
    );
    assert!(yard.target().join("a").symlink_metadata().is_err());
    assert!(yard.target().join("d").symlink_metadata().is_err());
}

#[test]
fn a_hard_link_to_an_earlier_file_is_the_same_file() {
    let yard = Yard::new();
    let tar = Tar::new()
        .file("bin/a", b"program")
        .hard_link("sbin/b", "./bin/a")
        .hard_link("c", "sbin/b");
    let members = yard.unpack(&tar.end()).expect("it is honest");
    assert_eq!(paths(&members), ["bin/a", "c", "sbin/b"]);
    let inode = |path: &str| {
        yard.target()
            .join(path)
            .metadata()
            .expect("it is there")
            .ino()
    };
    assert_eq!(
        (inode("bin/a"), inode("bin/a")),
        (inode("sbin/b"), inode("c"))
    );
    assert!(
        members
            .iter()
            .all(|member| member.check == members[0].check && member.size == 7)
    );
}

#[test]
fn long_names_come_whole_from_every_format() {
    let long = "directory-of-long-names/".repeat(12) + "file";
    let target = "a".repeat(150);
    let prefix = Header::ustar(b"file", b'0', 1).with(345, b"some/prefix");
    let cases = [
        (
            "GNU",
            Tar::new().long(b'L', long.as_bytes()).file("short", b"x"),
            long.as_str(),
        ),
        (
            "pax",
            Tar::new()
                .pax(&[("mtime", b"1.5"), ("path", long.as_bytes())])
                .file("short", b"x"),
            &long,
        ),
        (
            "GNU name and link",
            Tar::new()
                .long(b'K', target.as_bytes())
                .long(b'L', long.as_bytes())
                .file("s", b"x"),
            &long,
        ),
        ("ustar", Tar::new().entry(prefix, b"x"), "some/prefix/file"),
        (
            "a name that fills its field",
            Tar::new().file(&"n".repeat(100), b"x"),
            &"n".repeat(100),
        ),
        (
            "v7",
            Tar::new().entry(Header::v7(b"old", b'\0', 1), b"x"),
            "old",
        ),
        ("backslashes", Tar::new().file("a\\b", b"x"), "a\\b"),
        (
            "another script",
            Tar::new().file("naïve-файл", b"x"),
            "naïve-файл",
        ),
    ];
    for (case, tar, expected) in cases {
        let yard = Yard::new();
        let members = yard
            .unpack(&tar.end())
            .unwrap_or_else(|error| panic!("{case}: {error:?}"));
        assert_eq!(paths(&members), [expected], "{case}");
        assert_eq!(yard.read(expected), b"x");
    }
}

#[test]
fn the_size_in_pax_records_is_the_one_that_counts() {
    let tar = Tar::new()
        .pax(&[("size", b"5")])
        .entry(Header::ustar(b"a", b'0', 0), b"bytes")
        .file("b", b"x");
    let yard = Yard::new();
    assert_eq!(
        paths(&yard.unpack(&tar.end()).expect("it is honest")),
        ["a", "b"]
    );
    assert_eq!(yard.read("a"), b"bytes");
}

#[test]
fn records_that_change_nothing_are_passed_over() {
    let tar = Tar::new()
        .records(
            b'g',
            &super::writer::records_of(&[("comment", b"0123abcd")]),
        )
        .pax(&[
            ("SCHILY.xattr.security.capability", b"\x01\n\0\n"),
            ("uid", b"7"),
        ])
        .file("a", b"x");
    assert_eq!(
        paths(&Yard::new().unpack(&tar.end()).expect("it is honest")),
        ["a"]
    );
}

#[test]
fn old_folders_and_repeated_folders_are_folders() {
    let tar = Tar::new()
        .entry(Header::v7(b"a/", b'\0', 0), b"")
        .folder("a/")
        .file("a/b", b"x")
        .folder("a/")
        .folder("./");
    assert_eq!(
        paths(&Yard::new().unpack(&tar.end()).expect("it is honest")),
        ["a/b"]
    );
}

#[test]
fn an_archive_of_nothing_unpacks_to_nothing() {
    assert_eq!(Yard::new().unpack(&gzip(&Tar::new().end())), Ok(Vec::new()));
}
