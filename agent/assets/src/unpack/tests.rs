//! Archives built by hand, honest and not.

use super::*;
use flate2::Compression;
use flate2::write::GzEncoder;
use std::io::Seek;
use tar::{Builder, Header};

/// An entry with any name, even one that a builder would refuse.
struct Made<'a> {
    name: &'a str,
    kind: EntryType,
    link: &'a str,
    mode: u32,
    bytes: &'a [u8],
}

fn file<'a>(name: &'a str, bytes: &'a [u8]) -> Made<'a> {
    Made {
        name,
        kind: EntryType::Regular,
        link: "",
        mode: 0o755,
        bytes,
    }
}

fn of_kind<'a>(name: &'a str, kind: EntryType, link: &'a str) -> Made<'a> {
    Made {
        kind,
        link,
        ..file(name, b"")
    }
}

fn archive(entries: &[Made<'_>]) -> Vec<u8> {
    let encoder = GzEncoder::new(Vec::new(), Compression::best());
    let mut builder = Builder::new(encoder);
    for entry in entries {
        let mut header = Header::new_gnu();
        header.set_entry_type(entry.kind);
        header.set_size(entry.bytes.len() as u64);
        header.set_mode(entry.mode);
        let old = header.as_old_mut();
        old.name[..entry.name.len()].copy_from_slice(entry.name.as_bytes());
        old.linkname[..entry.link.len()].copy_from_slice(entry.link.as_bytes());
        header.set_cksum();
        builder
            .append(&header, entry.bytes)
            .expect("memory takes it");
    }
    let encoder = builder.into_inner().expect("memory takes it");
    encoder.finish().expect("memory takes it")
}

/// Unpacks into a folder of its own; what is beside the folder shows whether anything left it.
fn unpacked(bytes: &[u8]) -> (tempfile::TempDir, Result<Vec<StoredFile>, PortError>) {
    let scratch = tempfile::tempdir().expect("a scratch folder");
    let target = scratch.path().join("target");
    std::fs::create_dir(&target).expect("ours");
    let mut file = tempfile::tempfile().expect("a scratch file");
    file.write_all(bytes).expect("it takes it");
    file.rewind().expect("it is a file");
    let result = unpack(&file, bytes.len() as u64, &target);
    (scratch, result)
}

fn assert_unsafe(entries: &[Made<'_>], says: &str) {
    let (scratch, result) = unpacked(&archive(entries));
    let error = result.expect_err("it is dangerous");
    assert_eq!(error.condition, Condition::Unsafe, "{error}");
    assert!(error.summary.contains(says), "{error}");
    let beside = std::fs::read_dir(scratch.path()).expect("ours").count();
    assert_eq!(beside, 1, "nothing stands beside the target");
}

#[test]
fn files_are_unpacked_with_their_executable_bit() {
    let text = Made {
        mode: 0o4644,
        ..file("./LICENSE", b"text")
    };
    let entries = [
        of_kind("./", EntryType::Directory, ""),
        of_kind("bin/", EntryType::Directory, ""),
        file("bin/bridge", b"program"),
        text,
    ];
    let (scratch, result) = unpacked(&archive(&entries));
    let paths: Vec<_> = result
        .expect("it is honest")
        .into_iter()
        .map(|f| f.path)
        .collect();
    assert_eq!(paths, ["LICENSE", "bin/bridge"]);
    let mode = |path: &str| {
        let metadata = scratch.path().join("target").join(path).metadata();
        metadata.expect("it was unpacked").permissions().mode() & 0o7777
    };
    assert_eq!((mode("bin/bridge"), mode("LICENSE")), (0o755, 0o644));
}

#[test]
fn a_path_that_leaves_the_folder_is_refused() {
    assert_unsafe(&[file("../evil", b"x")], "leaves its folder");
    assert_unsafe(&[file("a/../../evil", b"x")], "leaves its folder");
    assert_unsafe(&[file("/etc/evil", b"x")], "absolute");
}

#[test]
fn links_that_leave_the_folder_are_refused_and_others_are_left_out() {
    for (name, target) in [("a", "/etc/passwd"), ("a", "../x"), ("a/b", "../../x")] {
        let entry = of_kind(name, EntryType::Symlink, target);
        assert_unsafe(&[entry], "leaves its folder");
    }
    let inner = of_kind("a/b", EntryType::Symlink, "../c");
    let (scratch, result) = unpacked(&archive(&[inner, file("c", b"x")]));
    assert_eq!(result.expect("it is harmless").len(), 1);
    assert!(
        scratch
            .path()
            .join("target/a/b")
            .symlink_metadata()
            .is_err()
    );
}

#[test]
fn a_file_is_never_written_through_a_link_of_the_archive() {
    let entries = [
        of_kind("dir", EntryType::Symlink, "."),
        file("dir/evil", b"x"),
    ];
    let (scratch, result) = unpacked(&archive(&entries));
    result.expect("the link is left out and a folder takes its place");
    let dir = scratch.path().join("target/dir").symlink_metadata();
    assert!(dir.expect("it was made").is_dir());
}

#[test]
fn hard_links_devices_and_pipes_are_refused() {
    for kind in [
        EntryType::Link,
        EntryType::Block,
        EntryType::Char,
        EntryType::Fifo,
    ] {
        assert_unsafe(&[of_kind("a", kind, "b")], "of the kind");
    }
}

#[test]
fn a_file_that_comes_twice_is_refused() {
    assert_unsafe(&[file("a", b"1"), file("./a", b"2")], "twice");
}

#[test]
fn a_name_that_is_both_a_file_and_a_folder_is_refused() {
    assert_unsafe(
        &[file("a", b"1"), file("a/b", b"2")],
        "both as a file and as a folder",
    );
    assert_unsafe(
        &[file("a/b", b"2"), file("a", b"1")],
        "both as a file and as a folder",
    );
}

#[test]
fn an_archive_that_unpacks_without_measure_is_refused() {
    let zeros = vec![0_u8; (ALWAYS_ALLOWED_BYTES + (1 << 20)) as usize];
    let bytes = archive(&[file("zeros", &zeros)]);
    assert!(
        bytes.len() as u64 * MAX_RATIO < zeros.len() as u64,
        "the test is one of ratio"
    );
    let (_scratch, result) = unpacked(&bytes);
    let error = result.expect_err("it is a bomb");
    assert_eq!(error.condition, Condition::Unsafe);
    assert!(error.summary.contains("more than an archive"), "{error:?}");
}

#[test]
fn an_archive_that_ends_early_or_is_none_is_refused() {
    let whole = archive(&[file("a", &[7; 4096])]);
    for bytes in [&whole[..whole.len() / 2], b"not gzip at all".as_slice()] {
        let (_scratch, result) = unpacked(bytes);
        assert_eq!(
            result.expect_err("it is broken").condition,
            Condition::Unsafe
        );
    }
}

#[test]
fn a_name_with_a_control_character_is_refused() {
    assert_unsafe(&[file("a\nb", b"x")], "control character");
}
