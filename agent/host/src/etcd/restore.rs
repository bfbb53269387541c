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
    let restored = attempt(restore).await;
    if restored.is_err() {
        // It was not there before, so all of it is of this attempt.
        let _ = std::fs::remove_dir_all(directory);
    }
    restored
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
