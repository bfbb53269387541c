//! Programs of etcd: what they restore, what they refuse, and that nothing of a failed attempt stays.

use super::{Broken, hold, sound};
use quake_model::ports::{
    Condition, EtcdPrograms, EtcdTools, KeyCount, PortError, ScratchEtcd, SnapshotFile,
    SnapshotRestore,
};
use std::time::Duration;

/// How often a restored etcd is asked, and how long a pause is: half a minute in all.
const QUESTIONS: (u32, Duration) = (600, Duration::from_millis(50));

/// What a host is given.
#[derive(Debug, Clone, Copy)]
pub struct EtcdGiven<'a> {
    pub snapshot: &'a str,
    /// The path of one whose end is missing.
    pub truncated: &'a str,
    /// A directory that exists and is empty.
    pub directory: &'a str,
    pub holds: KeyCount,
}

/// etcd: a snapshot is restored once into a place, counted, and moved into the place of other data,
/// which stays; a truncated one is refused and leaves nothing.
///
/// # Errors
///
/// Returns the first promise that was broken.
pub async fn etcd<H: EtcdPrograms>(host: &H, given: EtcdGiven<'_>) -> Result<(), Broken> {
    let found = sound("programs are found", host.find_etcd().await)?;
    let mut restoring = found.iter().filter(|tools| tools.restorer.is_some());
    let tools = restoring.next().ok_or("programs that restore are found")?;
    let absent = format!("{}/absent.db", given.directory);
    let missing = host.open_snapshot(&absent).await.map(|_| ());
    hold(
        "a snapshot that is not there",
        condition(missing),
        Err(Condition::Missing),
    )?;
    let file = sound(
        "a snapshot is opened",
        host.open_snapshot(given.snapshot).await,
    )?;
    let length = file.bytes.length();
    hold("bytes beyond its end", file.bytes.read(length, 1), None)?;
    hold(
        "its last byte is there",
        file.bytes.read(length - 1, 1).is_some(),
        true,
    )?;
    restored(host, tools, &file, given).await?;
    replaced(host, tools, &file, given).await
}

async fn restored<H: EtcdPrograms>(
    host: &H,
    tools: &EtcdTools,
    file: &SnapshotFile,
    given: EtcdGiven<'_>,
) -> Result<(), Broken> {
    let data = format!("{}/data", file.scratch);
    let cut = sound(
        "a cut one is opened",
        host.open_snapshot(given.truncated).await,
    )?;
    let refused = host
        .restore_snapshot(&restore(tools, &cut.path, &data))
        .await;
    hold(
        "a truncated snapshot",
        condition(refused),
        Err(Condition::Malformed),
    )?;
    let whole = restore(tools, &file.path, &data);
    sound(
        "nothing of it is in the way",
        host.restore_snapshot(&whole).await,
    )?;
    let again = host.restore_snapshot(&whole).await;
    hold(
        "a second restore",
        condition(again),
        Err(Condition::Occupied),
    )?;
    let started = host.start_etcd(tools, &file.scratch, &data).await;
    let etcd = sound("it starts", started)?;
    hold("its keys", count(host, &etcd).await?, given.holds)
}

async fn replaced<H: EtcdPrograms>(
    host: &H,
    tools: &EtcdTools,
    file: &SnapshotFile,
    given: EtcdGiven<'_>,
) -> Result<(), Broken> {
    let at = |name: &str| format!("{}/{name}", given.directory);
    let (data, new, aside) = (at("data"), at("new"), at("aside"));
    let open = sound("absent data is looked at", host.is_data_open(&data).await)?;
    hold("absent data is not open", open, false)?;
    let missing = host.replace_data(&data, &new, &aside).await.map(|_| ());
    hold(
        "nothing that was restored",
        condition(missing),
        Err(Condition::Missing),
    )?;
    for wanted in [None, Some(aside.clone())] {
        let restore = restore(tools, &file.path, &new);
        sound("it is restored", host.restore_snapshot(&restore).await)?;
        let moved = host.replace_data(&data, &new, &aside).await;
        hold(
            "what was moved aside",
            sound("it is replaced", moved)?,
            wanted,
        )?;
    }
    let again = host
        .restore_snapshot(&restore(tools, &file.path, &aside))
        .await;
    hold(
        "what was moved aside is there",
        condition(again),
        Err(Condition::Occupied),
    )
}

fn restore(tools: &EtcdTools, snapshot: &str, data_directory: &str) -> SnapshotRestore {
    SnapshotRestore {
        restorer: tools.restorer.clone().unwrap_or_default(),
        snapshot: snapshot.to_owned(),
        data_directory: data_directory.to_owned(),
        name: "scratch".to_owned(),
        token: "contract".to_owned(),
        members: vec![("scratch".to_owned(), "http://127.0.0.1:2".to_owned())],
    }
}

async fn count<H: EtcdPrograms>(host: &H, etcd: &ScratchEtcd) -> Result<KeyCount, Broken> {
    let (questions, pause) = QUESTIONS;
    for _ in 0..questions {
        match host.count_keys(etcd).await {
            Err(error) if error.condition == Condition::NotReady => {
                // Nothing is awaited but the time.
                let _ = tokio::time::timeout(pause, std::future::pending::<()>()).await;
            }
            counted => return sound("its keys are counted", counted),
        }
    }
    Err("it answers within half a minute".to_owned())
}

fn condition(result: Result<(), PortError>) -> Result<(), Condition> {
    result.map_err(|error| error.condition)
}
