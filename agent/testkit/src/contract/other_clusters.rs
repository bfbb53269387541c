//! What API servers must keep that are old, forget, or are in trouble.

use super::cluster::{
    US, apply, condition, config_map, create, discovery, patched_and_replaced, place,
};
use super::cluster_watch::{PATIENCE, deleted, watched};
use super::{Broken, hold, sound};
use quake_apisim::{Act, InjectedFault};
use quake_model::ports::{ClusterApi, Condition};
use quake_model::signal::ApiAccess;
use serde_json::json;

/// A version of the cluster that the server has forgotten: `forget` makes it forget.
///
/// # Errors
///
/// Returns the first promise that was broken.
pub async fn cluster_that_forgets<H: ClusterApi>(
    host: &H,
    access: &ApiAccess,
    forget: impl Fn(),
) -> Result<(), Broken> {
    let place = place("quake-contract");
    let change = |data: &str| {
        apply(
            config_map("quake-contract", &json!({ "x": data })),
            US,
            true,
        )
    };
    let first = host
        .change_object(access, &place, &change("1"), false)
        .await;
    let first = sound("an object is made", first)?;
    let next = host
        .change_object(access, &place, &change("2"), false)
        .await;
    sound("and changed", next)?;
    forget();
    let seen = host
        .watch_object(access, &place, first.resource_version(), PATIENCE)
        .await;
    hold(
        "a forgotten version",
        condition(seen),
        Err(Condition::Conflict),
    )?;
    sound(
        "it is deleted",
        host.delete_object(access, &place, None).await,
    )
}

/// A server before 1.16 does not know server-side apply, and patches as any other.
///
/// # Errors
///
/// Returns the first promise that was broken.
pub async fn old_cluster<H: ClusterApi>(host: &H, access: &ApiAccess) -> Result<(), Broken> {
    discovery(host, access).await?;
    let place = place("quake-contract");
    let object = config_map("quake-contract", &json!({ "x": "1" }));
    let refused = host
        .change_object(access, &place, &apply(object.clone(), US, true), false)
        .await;
    hold(
        "apply is not known",
        condition(refused),
        Err(Condition::Impossible),
    )?;
    let made = host
        .change_object(access, &place, &create(object), false)
        .await;
    sound("an object is made", made)?;
    patched_and_replaced(host, access).await?;
    super::node_status::statuses(host, access, false).await?;
    watched(host, access).await?;
    deleted(host, access).await
}

/// A server in trouble is told by its condition. `strike` makes the next call of the server go wrong.
///
/// # Errors
///
/// Returns the first promise that was broken.
pub async fn troubled_cluster<H: ClusterApi>(
    host: &H,
    access: &ApiAccess,
    strike: impl Fn(InjectedFault),
) -> Result<(), Broken> {
    let deny = |code| Act::Deny {
        webhook: "deny.example.com".to_owned(),
        code,
        why: "no".to_owned(),
    };
    let down = Act::WebhookDown {
        webhook: "down.example.com".to_owned(),
    };
    let place = place("quake-contract");
    let change = apply(config_map("quake-contract", &json!({ "x": "1" })), US, true);
    for (act, wanted) in [
        (Act::Refuse, Condition::Unreachable),
        (Act::Unavailable, Condition::Unreachable),
        (Act::Throttle(1), Condition::Throttled),
        (Act::Conflict, Condition::Conflict),
        (Act::Forbid, Condition::Denied),
        (deny(400), Condition::Malformed),
        (deny(403), Condition::Malformed),
        (down, Condition::NotReady),
    ] {
        let promise = format!("{act:?}");
        strike(InjectedFault::new(act).writes().calls(1..=1));
        let refused = host.change_object(access, &place, &change, false).await;
        hold(&promise, condition(refused), Err(wanted))?;
        let none = sound("nothing was done", host.get_object(access, &place).await)?;
        hold("nothing is there", none.is_none(), true)?;
    }
    strike(InjectedFault::new(Act::LoseAnswer).writes().calls(1..=1));
    let lost = host.change_object(access, &place, &change, false).await;
    hold(
        "an answer is lost",
        condition(lost),
        Err(Condition::Unreachable),
    )?;
    let made = sound("it is looked for", host.get_object(access, &place).await)?;
    hold("it was done", made.is_some(), true)?;
    sound(
        "it is deleted",
        host.delete_object(access, &place, None).await,
    )
}
