//! Makes a data directory of a snapshot, with `etcdutl` or `etcdctl`.

use super::programs::run;
use crate::linux::complaint;
use quake_model::ports::{Condition, PortError, SnapshotRestore};
use std::path::Path;
use std::time::Duration;

/// How long a restore may take. A guess: eight gigabytes from a slow volume to itself.
const DEADLINE: Duration = Duration::from_secs(15 * 60);

pub(super) async fn restore(restore: &SnapshotRestore) -> Result<(), PortError> {
    let directory = Path::new(&restore.data_directory);
    if directory.symlink_metadata().is_ok() {
        let summary = format!("something is at {}", restore.data_directory);
        return Err(PortError::new(Condition::Occupied, summary));
    }
    remove_left(directory);
    let restored = attempt(restore).await;
    if restored.is_err() {
        // It was not there before, so all of it is of this attempt.
        let _ = std::fs::remove_dir_all(directory);
    }
    restored
}

/// Removes what attempts that were killed left beside this directory: those of its name but for the
/// number at the end. Each is a whole database, and the volume must not fill up with them.
fn remove_left(directory: &Path) {
    let stem = |path: &Path| {
        let name = path.file_name()?.to_str()?.to_owned();
        let (stem, number) = name.rsplit_once('-')?;
        let is_number = !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit());
        is_number.then(|| stem.to_owned())
    };
    let (Some(own), Some(parent)) = (stem(directory), directory.parent()) else {
        return;
    };
    for entry in std::fs::read_dir(parent).into_iter().flatten().flatten() {
        let is_directory = entry.file_type().is_ok_and(|kind| kind.is_dir());
        if is_directory && stem(&entry.path()).as_ref() == Some(&own) {
            let _ = std::fs::remove_dir_all(entry.path());
        }
    }
}

async fn attempt(restore: &SnapshotRestore) -> Result<(), PortError> {
    let member = |(name, url): &(String, String)| format!("{name}={url}");
    let members: Vec<String> = restore.members.iter().map(member).collect();
    let mut own = restore
        .members
        .iter()
        .filter(|(name, _)| *name == restore.name);
    let url = own.next().map_or("", |(_, url)| url.as_str());
    let members = members.join(",");
    let arguments = [
        "snapshot",
        "restore",
        &restore.snapshot,
        "--data-dir",
        &restore.data_directory,
        "--name",
        &restore.name,
        "--initial-cluster",
        &members,
        "--initial-cluster-token",
        &restore.token,
        "--initial-advertise-peer-urls",
        url,
    ];
    let program = Path::new(&restore.restorer);
    let output = run(program, &arguments, DEADLINE).await?;
    if output.status.success() {
        return Ok(());
    }
    let summary = format!(
        "{} snapshot restore ended with {}",
        restore.restorer, output.status
    );
    let said = complaint(&output);
    let end: String = said.chars().rev().take(2_000).collect();
    let end: String = end.chars().rev().collect();
    Err(PortError::new(Condition::Malformed, summary).seen("said", end))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::ffi::OsString;
    use std::fs::create_dir_all;

    #[test]
    fn what_killed_attempts_left_is_removed_and_no_data() {
        let volume = tempfile::tempdir().expect("a directory");
        let at = |name: &str| volume.path().join(name);
        let kept = [
            "data",
            "data.before-restore-5",
            "data.restored-0af1-x",
            "data.restored-0bf2-7",
        ];
        for name in kept
            .iter()
            .chain(&["data.restored-0af1-6", "data.restored-0af1-7"])
        {
            create_dir_all(at(name).join("member")).expect("ours");
        }
        remove_left(&at("data.restored-0af1-8"));
        let left = std::fs::read_dir(volume.path()).expect("ours");
        let names = left.map(|entry| entry.expect("ours").file_name());
        let mut names: Vec<_> = names.map(OsString::into_string).collect();
        names.sort();
        assert_eq!(names, kept.map(|name| Ok(name.to_owned())));
        remove_left(&at("data"));
        assert!(kept.iter().all(|name| at(name).is_dir()));
    }
}
