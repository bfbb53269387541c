//! The backups in a backup store, a few at a time: a store has hundreds of them.

use crate::fault_mapping::store_fault;
use crate::retry::retry_transient;
use futures_util::StreamExt;
use futures_util::stream;
use quake_model::fault::Fault;
use quake_model::location::Location;
use quake_model::ports::{BucketReader, Condition, ObjectPiece, Objects, PortError};
use quake_model::time::Timestamp;
use quake_volumes::restore::{Backup, DATA_OBJECT, META_OBJECT, backup_names, read_backup};
use std::time::Duration;

/// How many backups are read at once.
const AT_ONCE: usize = 8;

/// How long one request is retried. A guess: someone waits for the answer.
const PATIENCE: Duration = Duration::from_secs(20);

/// The first byte, for the sake of the object's length.
const FIRST_BYTE: ObjectPiece = ObjectPiece {
    from: 0,
    until: Some(1),
    tag: None,
};

/// The newest backups of a store.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Listed {
    /// Those that were read, the newest first.
    pub backups: Vec<Backup>,
    /// How many older ones there are.
    pub omitted: usize,
}

/// Reads the newest backups, at least `most` where there are so many, and on until one is complete.
/// `named` is read wherever it is.
///
/// # Errors
///
/// What listing and reading the store come to.
pub async fn list_backups<H: Objects + BucketReader + Sync>(
    host: &H,
    store: &Location,
    most: usize,
    named: Option<&str>,
) -> Result<Listed, Fault> {
    let listed = retry_transient(store.key(), PATIENCE, || async {
        let listed = host.list_objects(store).await;
        listed.map_err(|error| store_fault(error).seen("location", store))
    });
    let mut left = backup_names(&listed.await?);
    let mut backups = Vec::new();
    if let Some(at) = left
        .iter()
        .position(|(name, _)| Some(name.as_str()) == named)
    {
        backups.push(read(host, store, left.remove(at)).await?);
    }
    let mut left = left.into_iter();
    let mut read_so_far = 0;
    while read_so_far < most.max(1) || !backups.iter().any(Backup::is_complete) {
        let chunk: Vec<_> = left.by_ref().take(most.clamp(1, AT_ONCE)).collect();
        if chunk.is_empty() {
            break;
        }
        read_so_far += chunk.len();
        let reading = stream::iter(chunk).map(|name| read(host, store, name));
        let mut reading = reading.buffered(AT_ONCE);
        while let Some(backup) = reading.next().await {
            backups.push(backup?);
        }
    }
    backups.sort_by(|a, b| (b.taken, &b.name).cmp(&(a.taken, &a.name)));
    Ok(Listed {
        backups,
        omitted: left.count(),
    })
}

async fn read<H: Objects + BucketReader + Sync>(
    host: &H,
    store: &Location,
    name: (String, Timestamp),
) -> Result<Backup, Fault> {
    let place = store.join(&name.0);
    let (data, meta) = (place.join(DATA_OBJECT), place.join(META_OBJECT));
    let bytes = retry_transient(&name.0, PATIENCE, || async {
        let opened = host.open_object(&data, &FIRST_BYTE).await;
        absent(opened).map(|opened| opened.and_then(|opened| opened.total))
    });
    let meta = retry_transient(&name.0, PATIENCE, || async {
        absent(host.read_object(&meta).await)
    });
    let (bytes, meta) = (bytes.await?, meta.await?);
    Ok(read_backup(
        name,
        bytes,
        meta.as_ref().map(|it| it.bytes.as_slice()),
    ))
}

/// What was read; `None` where there is nothing.
pub(super) fn absent<T>(read: Result<T, PortError>) -> Result<Option<T>, Fault> {
    match read {
        Ok(value) => Ok(Some(value)),
        Err(error) if error.condition == Condition::Missing => Ok(None),
        Err(error) => Err(store_fault(error)),
    }
}
