//! What every host must keep of names that are published.

use super::{Broken, hold, sound};
use quake_model::dns::{AddressRecord, ChangeProgress, ChangeVerb, RecordChange};
use quake_model::ports::{Condition, Dns, PortError};
use std::collections::BTreeSet;

/// A zone without records below `below`.
#[derive(Debug, Clone, Copy)]
pub struct EmptyZone<'a> {
    /// The zone's id.
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
    let name = |label: &str| format!("{label}.internal.{}", zone.name);
    let record = |label: &str, addresses: &[&str]| {
        let addresses = addresses.iter().map(ToString::to_string);
        AddressRecord::plain(&name(label), 60, addresses)
    };
    let names = BTreeSet::from([name("api"), name("etcd-a")]);
    let read = async || {
        let read = host.read_records(zone.id, &names).await;
        let mut found = sound("records are read", read)?;
        found.sort_by(|one, other| one.name.cmp(&other.name));
        Ok::<_, Broken>(found)
    };
    hold("no record", read().await?, Vec::new())?;

    let (api, etcd) = (
        record("api", &["10.0.0.1"]),
        record("etcd-a", &["10.0.0.1"]),
    );
    let between = record("bastion", &["10.0.0.9"]);
    let batch = [
        change(ChangeVerb::Create, &api),
        change(ChangeVerb::Upsert, &etcd),
        change(ChangeVerb::Upsert, &between),
    ];
    let made = host.change_records(zone.id, &batch).await;
    let id = sound("records are made", made)?;
    hold(
        "what was made",
        read().await?,
        vec![api.clone(), etcd.clone()],
    )?;
    in_sync(host, &id).await?;

    let both = record("api", &["10.0.0.1", "10.0.0.2"]);
    let swap = [
        change(ChangeVerb::Delete, &api),
        change(ChangeVerb::Create, &both),
    ];
    sound(
        "one is exchanged",
        host.change_records(zone.id, &swap).await,
    )?;
    hold("the exchanged", read().await?, vec![both.clone(), etcd])?;
    let stale = host.change_records(zone.id, &swap).await;
    hold(
        "a stale exchange",
        condition(stale),
        Err(Condition::Conflict),
    )?;
    let twice = [change(ChangeVerb::Create, &both)];
    let twice = host.change_records(zone.id, &twice).await;
    hold(
        "what is there is not made",
        condition(twice),
        Err(Condition::Conflict),
    )?;
    let found = read().await?;
    hold("all or nothing", found.first(), Some(&both))?;
    let moved = record("etcd-a", &["10.0.0.3"]);
    let upsert = [change(ChangeVerb::Upsert, &moved)];
    sound(
        "one is replaced",
        host.change_records(zone.id, &upsert).await,
    )?;
    hold("the replaced", read().await?, vec![both, moved])
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
