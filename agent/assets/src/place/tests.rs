//! Placing beside, over and instead of what already stands there.

use super::*;

struct Fixture {
    _scratch: tempfile::TempDir,
    source: PathBuf,
    target: PathBuf,
}

fn fixture() -> Fixture {
    let scratch = tempfile::tempdir().expect("a scratch directory");
    let source = scratch.path().join("store-file");
    std::fs::write(&source, "program").expect("ours");
    std::fs::set_permissions(&source, Permissions::from_mode(0o755)).expect("ours");
    let target = scratch.path().join("usr/local/bin/kubelet");
    Fixture {
        source,
        target,
        _scratch: scratch,
    }
}

fn names(folder: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(folder).expect("ours").flatten();
    entries
        .map(|entry| entry.file_name().to_string_lossy().into_owned())
        .collect()
}

#[test]
fn a_file_wanted_with_the_stores_mode_shares_its_bytes() {
    let fixture = fixture();
    assert_eq!(
        look(&fixture.source, &fixture.target, 0o755),
        Ok(Placed::Absent)
    );
    put(&fixture.source, &fixture.target, 0o755).expect("nothing is in the way");
    let (store, placed) = (fixture.source.metadata(), fixture.target.metadata());
    let inodes = (store.expect("ours").ino(), placed.expect("ours").ino());
    assert_eq!(inodes.0, inodes.1);
    assert_eq!(
        look(&fixture.source, &fixture.target, 0o755),
        Ok(Placed::Same)
    );
}

#[test]
fn a_file_wanted_with_another_mode_leaves_the_stores_mode_alone() {
    let fixture = fixture();
    put(&fixture.source, &fixture.target, 0o644).expect("nothing is in the way");
    assert_eq!(
        look(&fixture.source, &fixture.target, 0o644),
        Ok(Placed::Same)
    );
    let mode = fixture.source.metadata().expect("ours").mode() & 0o7777;
    assert_eq!(mode, 0o755);
}

#[test]
fn placing_twice_leaves_one_name() {
    let fixture = fixture();
    for _ in 0..2 {
        put(&fixture.source, &fixture.target, 0o755).expect("nothing is in the way");
    }
    assert_eq!(
        names(fixture.target.parent().expect("it has one")),
        ["kubelet"]
    );
}

#[test]
fn what_a_killed_agent_left_beside_the_target_is_replaced() {
    let fixture = fixture();
    let parent = fixture.target.parent().expect("it has one");
    std::fs::create_dir_all(parent).expect("ours");
    std::fs::write(parent.join(".kubelet.quake-placing"), "half").expect("ours");
    put(&fixture.source, &fixture.target, 0o755).expect("nothing is in the way");
    assert_eq!(
        std::fs::read_to_string(&fixture.target).expect("ours"),
        "program"
    );
    assert_eq!(names(parent), ["kubelet"]);
}

#[test]
fn other_bytes_another_mode_and_other_kinds_are_different() {
    let fixture = fixture();
    std::fs::create_dir_all(fixture.target.parent().expect("it has one")).expect("ours");
    for (bytes, mode) in [
        ("longer program", 0o755),
        ("prograM", 0o755),
        ("program", 0o700),
    ] {
        std::fs::write(&fixture.target, bytes).expect("ours");
        std::fs::set_permissions(&fixture.target, Permissions::from_mode(mode)).expect("ours");
        assert_eq!(
            look(&fixture.source, &fixture.target, 0o755),
            Ok(Placed::Different),
            "{bytes}"
        );
    }
    std::fs::remove_file(&fixture.target).expect("ours");
    std::os::unix::fs::symlink(&fixture.source, &fixture.target).expect("ours");
    assert_eq!(
        look(&fixture.source, &fixture.target, 0o755),
        Ok(Placed::Different)
    );
    put(&fixture.source, &fixture.target, 0o755).expect("a link is replaced");
    assert!(fixture.target.symlink_metadata().expect("ours").is_file());
}

#[test]
fn equal_bytes_in_a_file_of_its_own_are_the_same() {
    let fixture = fixture();
    std::fs::create_dir_all(fixture.target.parent().expect("it has one")).expect("ours");
    std::fs::copy(&fixture.source, &fixture.target).expect("ours");
    assert_eq!(
        look(&fixture.source, &fixture.target, 0o755),
        Ok(Placed::Same)
    );
}

#[test]
fn bytes_are_the_same_to_the_last_and_unreadable_ones_are_an_error() {
    let fixture = fixture();
    let other = fixture.source.with_file_name("other");
    let long = "program".repeat(40_000);
    for (first, second, expected) in [
        ("program", "program", true),
        ("", "", true),
        ("program", "prograM", false),
        ("program", "progra", false),
        ("program", "program2", false),
        (&long, &long, true),
        (&long, &long[..long.len() - 1], false),
    ] {
        std::fs::write(&fixture.source, first).expect("ours");
        std::fs::write(&other, second).expect("ours");
        let (lengths, same) = (
            (first.len(), second.len()),
            have_same_bytes(&fixture.source, &other),
        );
        assert_eq!(same, Ok(expected), "{lengths:?}");
    }
    let directory = fixture.source.parent().expect("it has one");
    let error = have_same_bytes(&fixture.source, directory).expect_err("a directory");
    assert_eq!(error.condition, Condition::Io);
}

#[test]
fn a_directory_in_the_way_is_never_replaced() {
    let fixture = fixture();
    std::fs::create_dir_all(&fixture.target).expect("ours");
    let error =
        put(&fixture.source, &fixture.target, 0o755).expect_err("a directory is in the way");
    assert_eq!(error.condition, Condition::Occupied);
    assert!(fixture.target.is_dir());
}

#[test]
fn a_file_where_a_parent_belongs_is_never_replaced() {
    let fixture = fixture();
    let parent = fixture.target.parent().expect("it has one");
    std::fs::create_dir_all(parent.parent().expect("it has one")).expect("ours");
    std::fs::write(parent, "a file").expect("ours");
    let error = put(&fixture.source, &fixture.target, 0o755).expect_err("a file is in the way");
    assert_eq!(error.condition, Condition::Occupied);
}

#[test]
fn a_file_the_store_does_not_hold_is_missing() {
    let fixture = fixture();
    let absent = fixture.source.with_file_name("absent");
    for result in [
        look(&absent, &fixture.target, 0o755).map(|_| ()),
        put(&absent, &fixture.target, 0o755),
    ] {
        assert_eq!(
            result.expect_err("it is not there").condition,
            Condition::Missing
        );
    }
}
