//! Reads the boot reports of a cluster, some at a time.

use crate::fault_mapping::{Operation, to_fault};
use crate::retry::retry_transient;
use futures_util::StreamExt;
use futures_util::stream;
use quake_diagnose::fleet::Found;
use quake_model::boot_report::{instance_of, reports_of};
use quake_model::fault::{Class, Fault};
use quake_model::location::Location;
use quake_model::ports::Objects;
use std::time::Duration;

/// How many requests are under way at once. S3 serves thousands a second below one prefix; what is short is the
/// operator's own connections.
const AT_ONCE: usize = 16;

/// How long one request is retried. A guess: someone waits for the answer.
const PATIENCE: Duration = Duration::from_secs(20);

/// Reads all reports below the cluster's directory, or those of one instance group; what is no report is passed over.
///
/// # Errors
///
/// Returns the fault of a listing, or of the reports when all of them are refused. One that cannot be read is among
/// those found.
pub async fn read_reports<O: Objects + Sync>(
    objects: &O,
    config_base: &Location,
    instance_group: Option<&str>,
) -> Result<Vec<Found>, Fault> {
    let folder = reports_of(config_base);
    let groups = match instance_group {
        Some(group) => vec![group.to_owned()],
        None => list(objects, &folder).await?,
    };
    let folders = groups.iter().map(|group| folder.join(group));
    let listings = stream::iter(folders)
        .map(|folder| async move { (list(objects, &folder).await, folder) })
        .buffer_unordered(AT_ONCE);
    let listings: Vec<_> = listings.collect().await;
    let mut places = Vec::new();
    for (names, folder) in listings {
        let names = names?;
        let reports = names.iter().filter(|name| instance_of(name).is_some());
        places.extend(reports.map(|name| folder.join(name)));
    }
    let reading = stream::iter(places)
        .map(|place| async move { (read(objects, &place).await, place) })
        .buffer_unordered(AT_ONCE);
    let read: Vec<_> = reading.collect().await;
    found(read)
}

/// What was read; a refusal of everything is the answer and not one line of it.
fn found(read: Vec<(Result<Vec<u8>, Fault>, Location)>) -> Result<Vec<Found>, Fault> {
    let is_refused = |(read, _): &(Result<Vec<u8>, Fault>, Location)| matches!(read, Err(fault) if fault.class() == Class::Denied);
    let all_refused = read.iter().all(is_refused);
    let mut found = Vec::new();
    for (read, place) in read {
        let bytes = match read {
            Err(fault) if all_refused => return Err(fault),
            read => read.map_err(|fault| fault.to_string()),
        };
        let location = place.to_string();
        found.push(Found { location, bytes });
    }
    Ok(found)
}

async fn list<O: Objects + Sync>(objects: &O, folder: &Location) -> Result<Vec<String>, Fault> {
    let attempt = || async {
        let listed = objects.list_objects(folder).await;
        listed.map_err(|error| to_fault(Operation::ReadConfiguration, error).seen("prefix", folder))
    };
    retry_transient(&folder.to_string(), PATIENCE, attempt).await
}

async fn read<O: Objects + Sync>(objects: &O, place: &Location) -> Result<Vec<u8>, Fault> {
    let attempt = || async {
        let read = objects.read_object(place).await;
        read.map(|object| object.bytes)
            .map_err(|error| to_fault(Operation::ReadConfiguration, error).seen("object", place))
    };
    retry_transient(&place.to_string(), PATIENCE, attempt).await
}
