//! What every API server must keep of an object whose changes and whose end are awaited.

use super::cluster::{US, condition, config_map, create, merge, place};
use super::{Broken, hold, sound};
use quake_model::cluster_object::ClusterObject;
use quake_model::ports::{ClusterApi, Condition, Watched};
use quake_model::signal::ApiAccess;
use serde_json::json;
use std::time::Duration;

/// How long a watch waits that must see something; one that must not waits a second.
pub(super) const PATIENCE: Duration = Duration::from_secs(20);

pub(super) async fn watched<H: ClusterApi>(host: &H, access: &ApiAccess) -> Result<(), Broken> {
    let place = place("quake-contract");
    let before = sound("it is read", host.get_object(access, &place).await)?;
    let before = before.ok_or("it is there")?;
    let version = |object: &ClusterObject| object.resource_version().unwrap_or_default().to_owned();
    let since = async |since: &str, limit: Duration| {
        let seen = host.watch_object(access, &place, Some(since), limit).await;
        sound("it is watched", seen)
    };
    let second = Duration::from_secs(1);
    let nothing = since(&version(&before), second).await?;
    hold("nothing happens", nothing == Watched::Nothing, true)?;
    let patch = merge(json!({ "data": { "w": "1" } }), US);
    let after = host.change_object(access, &place, &patch, false).await;
    let after = sound("it is changed", after)?;
    let seen = since(&version(&before), PATIENCE).await?;
    hold(
        "the change is seen",
        seen == Watched::Changed(after.clone()),
        true,
    )?;
    let nothing = since(&version(&after), second).await?;
    hold("once", nothing == Watched::Nothing, true)?;
    sound(
        "it is deleted",
        host.delete_object(access, &place, None).await,
    )?;
    let seen = since(&version(&after), PATIENCE).await?;
    hold("its end is seen", seen == Watched::Deleted, true)
}

pub(super) async fn deleted<H: ClusterApi>(host: &H, access: &ApiAccess) -> Result<(), Broken> {
    let place = place("quake-contract");
    let change = create(config_map("quake-contract", &json!({})));
    let made = host.change_object(access, &place, &change, false).await;
    let made = sound("an object is made", made)?;
    let other = Some("6b8f0f53-0000-4000-8000-000000000000");
    let refused = host.delete_object(access, &place, other).await;
    hold(
        "another of its name",
        condition(refused),
        Err(Condition::Conflict),
    )?;
    for _ in 0..2 {
        let gone = host.delete_object(access, &place, made.uid()).await;
        sound("what is not there is no error", gone)?;
    }
    let none = sound("it is looked for", host.get_object(access, &place).await)?;
    hold("it is gone", none.is_none(), true)
}
