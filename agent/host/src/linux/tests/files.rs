//! The node's files, on the real filesystem of a scratch directory.

use crate::linux::{NodeFiles, OwnerPolicy};
use quake_model::facts::{EntryKind, FileFacts, Owner};
use quake_model::ports::{Condition, Files};
use quake_model::step::WriteFile;
use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::path::Path;
use tempfile::TempDir;

const LIMIT: u64 = 1 << 20;

pub(super) fn scratch() -> (TempDir, NodeFiles) {
    let scratch = tempfile::tempdir().expect("a scratch directory");
    let files = NodeFiles::new(scratch.path(), OwnerPolicy::Keep);
    (scratch, files)
}

pub(super) fn names(directory: &Path) -> Vec<String> {
    let entries = fs::read_dir(directory).expect("a directory");
    let mut names: Vec<String> = entries
        .map(|entry| {
            entry
                .expect("an entry")
                .file_name()
                .to_string_lossy()
                .into_owned()
        })
        .collect();
    names.sort();
    names
}

async fn looked(files: &NodeFiles, path: &str) -> FileFacts {
    files
        .look_file(path, LIMIT)
        .await
        .expect("it can be looked at")
        .expect("it is there")
}

#[tokio::test]
async fn a_written_file_is_seen_with_its_bytes_mode_and_owner() {
    let (scratch, files) = scratch();
    let file = WriteFile::plain("/etc/kubernetes/x.conf", 0o640, "hello");
    files.write_file(&file).await.expect("it writes");
    let seen = looked(&files, "/etc/kubernetes/x.conf").await;
    assert_eq!(
        (seen.kind, seen.mode, seen.owner),
        (EntryKind::File, 0o640, Owner::default())
    );
    assert_eq!(seen.contents.as_deref(), Some(&b"hello"[..]));
    let directory = fs::metadata(scratch.path().join("etc/kubernetes")).expect("it was made");
    assert_eq!(directory.permissions().mode() & 0o7777, 0o755);
    assert_eq!(names(&scratch.path().join("etc/kubernetes")), ["x.conf"]);
}

#[tokio::test]
async fn a_file_larger_than_the_limit_has_no_contents() {
    let (_scratch, files) = scratch();
    files
        .write_file(&WriteFile::plain("/x", 0o644, "12345"))
        .await
        .expect("it writes");
    for (limit, whole) in [(4, false), (5, true)] {
        let seen = files
            .look_file("/x", limit)
            .await
            .expect("a look")
            .expect("it is there");
        assert_eq!(seen.contents.is_some(), whole, "{limit}");
    }
}

#[tokio::test]
async fn nothing_is_seen_where_nothing_stands() {
    let (scratch, files) = scratch();
    fs::write(scratch.path().join("plain"), "").expect("a file");
    for path in ["/a", "/a/b/c", "/plain/below"] {
        assert_eq!(files.look_file(path, LIMIT).await, Ok(None), "{path}");
    }
    assert_eq!(files.list_directory("/a").await, Ok(Vec::new()));
}

#[tokio::test]
async fn a_link_at_the_target_is_replaced_and_what_it_led_to_is_untouched() {
    let (scratch, files) = scratch();
    fs::write(scratch.path().join("real"), "kept").expect("a file");
    symlink("real", scratch.path().join("link")).expect("a link");
    assert_eq!(looked(&files, "/link").await.kind, EntryKind::Link);
    files
        .write_file(&WriteFile::plain("/link", 0o600, "new"))
        .await
        .expect("it writes");
    assert_eq!(
        looked(&files, "/link").await.contents.as_deref(),
        Some(&b"new"[..])
    );
    assert_eq!(
        fs::read_to_string(scratch.path().join("real")).expect("a file"),
        "kept"
    );
}

#[tokio::test]
async fn a_directory_in_the_way_is_occupied_and_leaves_no_temporary_file() {
    let (scratch, files) = scratch();
    fs::create_dir_all(scratch.path().join("etc/x")).expect("directories");
    let error = files
        .write_file(&WriteFile::plain("/etc/x", 0o644, ""))
        .await
        .unwrap_err();
    assert_eq!(error.condition, Condition::Occupied);
    assert_eq!(names(&scratch.path().join("etc")), ["x"]);
    fs::write(scratch.path().join("file"), "").expect("a file");
    for path in ["/file/x", "/file/x/y"] {
        let error = files
            .write_file(&WriteFile::plain(path, 0o644, ""))
            .await
            .unwrap_err();
        assert_eq!(error.condition, Condition::Occupied, "{path}");
    }
}

#[tokio::test]
async fn no_path_and_no_link_leads_out_of_a_scratch_root() {
    let (scratch, files) = scratch();
    let outside = tempfile::tempdir().expect("a directory elsewhere");
    symlink(outside.path(), scratch.path().join("absolute")).expect("a link");
    symlink(
        "../../../../../../../../tmp",
        scratch.path().join("relative"),
    )
    .expect("a link");
    let file = WriteFile::plain("/absolute/x", 0o644, "inside");
    // The link leads to a path below the scratch root where nothing is, so the write may fail.
    let _ = files.write_file(&file).await;
    assert_eq!(names(outside.path()), Vec::<String>::new());
    let _ = files
        .write_file(&WriteFile::plain("/relative/escaped-here", 0o644, "x"))
        .await;
    assert!(!Path::new("/tmp/escaped-here").exists());
    let error = files
        .write_file(&WriteFile::plain("/../x", 0o644, "x"))
        .await
        .unwrap_err();
    assert_eq!(error.condition, Condition::Denied);
}

#[tokio::test]
async fn links_inside_a_scratch_root_resolve_as_if_it_were_the_root() {
    let (scratch, files) = scratch();
    fs::create_dir_all(scratch.path().join("usr/lib/systemd")).expect("directories");
    symlink("/usr/lib", scratch.path().join("lib")).expect("a link");
    files
        .write_file(&WriteFile::plain("/lib/systemd/a.service", 0o644, "x"))
        .await
        .expect("a write");
    assert_eq!(
        names(&scratch.path().join("usr/lib/systemd")),
        ["a.service"]
    );
    assert_eq!(
        files.list_directory("/lib/systemd").await,
        Ok(vec!["a.service".to_owned()])
    );
}

#[tokio::test]
async fn what_a_dead_process_left_is_hidden_and_removed_by_the_next_write() {
    let (scratch, files) = scratch();
    let left = scratch.path().join(".quake-agent.0ff0ff0f-1-7.tmp");
    fs::write(&left, "half").expect("a file");
    assert_eq!(files.list_directory("/").await, Ok(Vec::new()));
    files
        .write_file(&WriteFile::plain("/x", 0o644, ""))
        .await
        .expect("it writes");
    assert_eq!(names(scratch.path()), ["x"]);
}

#[tokio::test]
async fn a_file_that_only_has_to_exist_is_left_as_it_is() {
    let (_scratch, files) = scratch();
    files
        .write_file(&WriteFile::plain("/log", 0o644, "lines"))
        .await
        .expect("it writes");
    files
        .write_file(&WriteFile::present("/log", 0o644))
        .await
        .expect("it holds");
    assert_eq!(
        looked(&files, "/log").await.contents.as_deref(),
        Some(&b"lines"[..])
    );
}

#[tokio::test]
async fn permissions_are_set_and_never_through_a_link() {
    let (scratch, files) = scratch();
    fs::write(scratch.path().join("x"), "").expect("a file");
    symlink("x", scratch.path().join("link")).expect("a link");
    files
        .set_permissions(&WriteFile::plain("/x", 0o400, ""))
        .await
        .expect("it sets");
    assert_eq!(looked(&files, "/x").await.mode, 0o400);
    let error = files
        .set_permissions(&WriteFile::plain("/link", 0o777, ""))
        .await
        .unwrap_err();
    assert_eq!(error.condition, Condition::Occupied);
    let error = files
        .set_permissions(&WriteFile::plain("/none", 0o777, ""))
        .await
        .unwrap_err();
    assert_eq!(error.condition, Condition::Missing);
    assert_eq!(looked(&files, "/x").await.mode, 0o400);
}

#[tokio::test]
async fn a_directory_is_made_with_its_parents_and_its_mode_is_held() {
    let (scratch, files) = scratch();
    files
        .make_directory("/var/lib/etcd", 0o700, Owner::default())
        .await
        .expect("it is made");
    let mode = |path: &str| {
        let metadata = fs::metadata(scratch.path().join(path)).expect("it is there");
        metadata.permissions().mode() & 0o7777
    };
    assert_eq!((mode("var/lib/etcd"), mode("var/lib")), (0o700, 0o755));
    files
        .make_directory("/var/lib/etcd", 0o750, Owner::default())
        .await
        .expect("it is set");
    assert_eq!((mode("var/lib/etcd"), mode("var/lib")), (0o750, 0o755));
}

#[tokio::test]
async fn owners_are_set_only_where_the_policy_says_so() {
    if !nix::unistd::geteuid().is_root() {
        println!("skipped: only root can give files away");
        return;
    }
    let (scratch, keeping) = scratch();
    let setting = NodeFiles::new(scratch.path(), OwnerPolicy::Set);
    let mut file = WriteFile::plain("/x", 0o4755, "");
    file.owner = Owner {
        uid: 4711,
        gid: 4712,
    };
    let on_disk = || {
        let metadata = fs::metadata(scratch.path().join("x")).expect("it is there");
        (metadata.uid(), metadata.gid(), metadata.mode() & 0o7777)
    };
    keeping.write_file(&file).await.expect("it writes");
    assert_eq!(on_disk(), (0, 0, 0o4755));
    setting.set_permissions(&file).await.expect("it sets");
    assert_eq!(on_disk(), (4711, 4712, 0o4755));
    setting.write_file(&file).await.expect("it writes");
    assert_eq!(on_disk(), (4711, 4712, 0o4755));
    assert_eq!(looked(&setting, "/x").await.owner, file.owner);
}

#[tokio::test]
async fn nothing_is_given_away_through_a_link_that_its_owner_made() {
    if !nix::unistd::geteuid().is_root() {
        println!("skipped: only root can give files away");
        return;
    }
    let (scratch, _) = scratch();
    let files = NodeFiles::new(scratch.path(), OwnerPolicy::Set);
    let owner = Owner {
        uid: 4711,
        gid: 4711,
    };
    for folder in ["etc", "home/admin"] {
        fs::create_dir_all(scratch.path().join(folder)).expect("directories");
    }
    std::os::unix::fs::chown(scratch.path().join("home/admin"), Some(4711), Some(4711))
        .expect("root may");
    // Links of root's are followed, as an image may have them; those of the user are not.
    symlink("/home", scratch.path().join("users")).expect("a link");
    symlink("/etc", scratch.path().join("home/admin/.kube")).expect("a link");
    let mut file = WriteFile::plain("/users/admin/.kube/config", 0o400, "");
    file.owner = owner;
    let written = files.write_file(&file).await.unwrap_err();
    let made = files
        .make_directory("/users/admin/.kube", 0o700, owner)
        .await;
    let conditions = [written.condition, made.unwrap_err().condition];
    assert_eq!(conditions, [Condition::Occupied; 2]);
    let etc = fs::metadata(scratch.path().join("etc")).expect("it is there");
    assert_eq!((etc.uid(), etc.permissions().mode() & 0o777), (0, 0o755));
    assert_eq!(names(&scratch.path().join("etc")), [""; 0]);

    fs::remove_file(scratch.path().join("home/admin/.kube")).expect("a link");
    files
        .make_directory("/users/admin/.kube", 0o700, owner)
        .await
        .expect("it is made");
    files.write_file(&file).await.expect("it is written");
    for path in ["home/admin/.kube", "home/admin/.kube/config"] {
        let found = fs::metadata(scratch.path().join(path)).expect("it is there");
        assert_eq!(found.uid(), 4711, "{path}");
    }
}

#[tokio::test]
async fn the_operating_system_is_read_through_the_usual_link() {
    let (scratch, files) = scratch();
    assert_eq!(
        files.read_os().await.unwrap_err().condition,
        Condition::Missing
    );
    fs::create_dir_all(scratch.path().join("usr/lib")).expect("directories");
    fs::create_dir_all(scratch.path().join("etc")).expect("directories");
    fs::write(scratch.path().join("usr/lib/os-release"), "ID=debian\n").expect("a file");
    assert_eq!(files.read_os().await.expect("it reads").id, "debian");
    symlink(
        "../usr/lib/os-release",
        scratch.path().join("etc/os-release"),
    )
    .expect("a link");
    assert_eq!(files.read_os().await.expect("it reads").id, "debian");
}

#[tokio::test]
async fn a_full_filesystem_is_no_space_with_what_is_free_and_keeps_the_old_file() {
    let (scratch, files) = scratch();
    let Some(_small) = SmallFilesystem::at(scratch.path()) else {
        println!("skipped: a filesystem of 64 KiB cannot be mounted here");
        return;
    };
    files
        .write_file(&WriteFile::plain("/x", 0o644, "old"))
        .await
        .expect("it writes");
    let large = WriteFile::plain("/x", 0o644, "x".repeat(1 << 20));
    let error = files.write_file(&large).await.unwrap_err();
    assert_eq!(error.condition, Condition::NoSpace, "{error:?}");
    assert!(
        error
            .evidence
            .iter()
            .any(|piece| piece.name == "free-bytes"),
        "{error:?}"
    );
    assert_eq!(
        looked(&files, "/x").await.contents.as_deref(),
        Some(&b"old"[..])
    );
    assert_eq!(names(scratch.path()), ["x"]);
}

/// A filesystem of 64 KiB, unmounted in the end whatever happens.
struct SmallFilesystem(std::path::PathBuf);

impl SmallFilesystem {
    fn at(path: &Path) -> Option<Self> {
        let options = Some("size=64k");
        let none = None::<&str>;
        nix::mount::mount(
            none,
            path,
            Some("tmpfs"),
            nix::mount::MsFlags::empty(),
            options,
        )
        .ok()?;
        Some(Self(path.to_owned()))
    }
}

impl Drop for SmallFilesystem {
    fn drop(&mut self) {
        let _ = nix::mount::umount2(&self.0, nix::mount::MntFlags::MNT_DETACH);
    }
}
