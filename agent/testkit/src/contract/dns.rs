//! What every host must keep of names that are published.

use super::{Broken, hold, sound};
use quake_model::dns::{AddressRecord, ChangeProgress, ChangeVerb, RecordChange};
use quake_model::ports::{Condition, Dns, PortError};
use std::collections::BTreeSet;

/// A zone without records below `below`.
#[derive(Debug, Clone, Copy)]
pub struct EmptyZone<'a> {
    pub id: &'a str,
    /// The zone's name, which no other zone has.
    pub name: &'a str,
}

fn condition<T>(result: Result<T, PortError>) -> Result<(), Condition> {
    result.map(|_| ()).map_err(|error| error.condition)
}

fn change(verb: ChangeVerb, record: &AddressRecord) -> RecordChange {
    RecordChange {
        verb,
        record: record.clone(),
    }
}

/// A zone is found by its name and read by its id; records are made, replaced and removed, and only those asked for are read;
/// a batch is done whole or not at all, and comes to be everywhere.
///
/// # Errors
///
/// Returns the first promise that was broken.
pub async fn dns<H: Dns>(host: &H, zone: &EmptyZone<'_>) -> Result<(), Broken> {
    zones(host, zone).await?;
    hold("no record", read(host, zone).await?, Vec::new())?;
    made(host, zone).await?;
    exchanged(host, zone).await?;
    let moved = zone.record("etcd-a", &["10.0.0.3"]);
    let upsert = [change(ChangeVerb::Upsert, &moved)];
    let done = host.change_records(zone.id, &upsert).await;
    sound("one is replaced", done)?;
    let found = read(host, zone).await?;
    hold("the replaced", found.last(), Some(&moved))
}

impl EmptyZone<'_> {
    fn name_of(&self, label: &str) -> String {
        format!("{label}.internal.{}", self.name)
    }

    fn record(&self, label: &str, addresses: &[&str]) -> AddressRecord {
        let addresses = addresses.iter().map(ToString::to_string);
        AddressRecord::plain(&self.name_of(label), 60, addresses)
    }
}

/// The records of two names, between which there may be others.
async fn read<H: Dns>(host: &H, zone: &EmptyZone<'_>) -> Result<Vec<AddressRecord>, Broken> {
    let names = BTreeSet::from([zone.name_of("api"), zone.name_of("etcd-a")]);
    let read = host.read_records(zone.id, &names).await;
    let mut found = sound("records are read", read)?;
    found.sort_by(|one, other| one.name.cmp(&other.name));
    Ok(found)
}

/// Leaves one address at both names, and a third name between them.
async fn made<H: Dns>(host: &H, zone: &EmptyZone<'_>) -> Result<(), Broken> {
    let one = |label| zone.record(label, &["10.0.0.1"]);
    let (api, etcd) = (one("api"), one("etcd-a"));
    let batch = [
        change(ChangeVerb::Create, &api),
        change(ChangeVerb::Upsert, &etcd),
        change(ChangeVerb::Upsert, &one("bastion")),
    ];
    let made = host.change_records(zone.id, &batch).await;
    let id = sound("records are made", made)?;
    hold("what was made", read(host, zone).await?, vec![api, etcd])?;
    in_sync(host, &id).await
}

/// Exchanges one address for two, once.
async fn exchanged<H: Dns>(host: &H, zone: &EmptyZone<'_>) -> Result<(), Broken> {
    let both = zone.record("api", &["10.0.0.1", "10.0.0.2"]);
    let swap = [
        change(ChangeVerb::Delete, &zone.record("api", &["10.0.0.1"])),
        change(ChangeVerb::Create, &both),
    ];
    let done = host.change_records(zone.id, &swap).await;
    sound("one is exchanged", done)?;
    let refused = Err(Condition::Conflict);
    let stale = host.change_records(zone.id, &swap).await;
    hold("a stale exchange", condition(stale), refused)?;
    let twice = [change(ChangeVerb::Create, &both)];
    let twice = host.change_records(zone.id, &twice).await;
    hold("what is there is not made", condition(twice), refused)?;
    let found = read(host, zone).await?;
    hold("all or nothing", found.first(), Some(&both))
}

async fn zones<H: Dns>(host: &H, zone: &EmptyZone<'_>) -> Result<(), Broken> {
    let listed = sound("zones are listed", host.list_zones(zone.name).await)?;
    let ids: Vec<&str> = listed.iter().map(|zone| zone.id.as_str()).collect();
    hold("the zone of a name", ids, vec![zone.id])?;
    let none = sound("others are listed", host.list_zones("none.example").await)?;
    hold("a name that no zone has", none, Vec::new())?;
    let read = sound("the zone is read", host.read_zone(zone.id).await)?;
    hold(
        "its name",
        read.map(|it| it.name),
        Some(zone.name.to_owned()),
    )?;
    let none = sound("another is read", host.read_zone("ZNONE").await)?;
    hold("a zone that is not there", none, None)?;
    let names = BTreeSet::from(["a.none.example".to_owned()]);
    let records = host.read_records("ZNONE", &names).await;
    hold("its records", condition(records), Err(Condition::Missing))
}

/// The batch is everywhere after a bounded number of looks.
async fn in_sync<H: Dns>(host: &H, change_id: &str) -> Result<(), Broken> {
    for _ in 0..20 {
        let looked = sound("a batch is looked at", host.look_change(change_id).await)?;
        if looked == ChangeProgress::InSync {
            return Ok(());
        }
    }
    Err("a batch is never everywhere".to_owned())
}
