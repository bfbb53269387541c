//! What every host must keep of what it tells the outside.

use super::{Broken, hold, sound};
use quake_model::ports::{Condition, PortError, Signals};
use quake_model::signal::{ApiAccess, HookCompletion, HookName, HookResult, NodeEvent};

/// An instance whose launch waits at a hook.
#[derive(Debug, Clone, Copy)]
pub struct Waiting<'a> {
    pub instance: &'a str,
    pub group: &'a str,
    pub hook: &'a HookName,
    /// An instance that is in no group.
    pub alone: &'a str,
}

fn condition<T>(result: Result<T, PortError>) -> Result<(), Condition> {
    result.map(|_| ()).map_err(|error| error.condition)
}

/// The group of an instance is found; it is told that the instance is unhealthy as often as one likes; a launch goes on
/// from a hook once; who is in no group has none.
///
/// # Errors
///
/// Returns the first promise that was broken.
pub async fn signals<H: Signals>(host: &H, waiting: &Waiting<'_>) -> Result<(), Broken> {
    let found = sound(
        "a group is looked for",
        host.find_group(waiting.instance).await,
    )?;
    hold("its group", found.as_deref(), Some(waiting.group))?;
    let none = sound(
        "another is looked for",
        host.find_group(waiting.alone).await,
    )?;
    hold("who is alone", none, None)?;

    let before = own_member(host, waiting).await?;
    hold("it is healthy to its group", before, Some(true))?;
    let missing = ["nobody.quake.example".to_owned()];
    let none = sound(
        "a group that is not there",
        host.describe_groups(&missing).await,
    )?;
    hold("it is left out", none.len(), 0)?;
    let none = sound("no group is named", host.describe_groups(&[]).await)?;
    hold("and none is shown", none.len(), 0)?;

    for _ in 0..2 {
        sound(
            "it is unhealthy",
            host.set_unhealthy(waiting.instance).await,
        )?;
    }
    let after = own_member(host, waiting).await?;
    hold(
        "the group takes it for unhealthy, or has let it go",
        after.unwrap_or(false),
        false,
    )?;
    let refused = condition(host.set_unhealthy(waiting.alone).await);
    hold(
        "who is alone is told to nobody",
        refused,
        Err(Condition::Missing),
    )?;

    let completion = HookCompletion {
        group: waiting.group.to_owned(),
        hook: waiting.hook.clone(),
        instance_id: waiting.instance.to_owned(),
        result: HookResult::Abandon,
    };
    sound("a launch goes on", host.complete_hook(&completion).await)?;
    let again = condition(host.complete_hook(&completion).await);
    hold("and not twice", again, Err(Condition::Missing))?;
    let elsewhere = HookCompletion {
        instance_id: waiting.alone.to_owned(),
        ..completion
    };
    let refused = condition(host.complete_hook(&elsewhere).await);
    hold("who does not wait", refused, Err(Condition::Missing))
}

/// Whether the group takes the instance for healthy; `None` when it does not show it.
async fn own_member<H: Signals>(host: &H, waiting: &Waiting<'_>) -> Result<Option<bool>, Broken> {
    let names = [waiting.group.to_owned()];
    let groups = sound("its group is described", host.describe_groups(&names).await)?;
    let members = groups.iter().filter(|group| group.name == waiting.group);
    let mut members = members.flat_map(|group| &group.members);
    let own = members.find(|member| member.instance_id == waiting.instance);
    Ok(own.map(|member| member.healthy))
}

/// An event is left; one of its name that is there already is no error.
///
/// # Errors
///
/// Returns the first promise that was broken.
pub async fn node_events<H: Signals>(
    host: &H,
    access: &ApiAccess,
    event: &NodeEvent,
) -> Result<(), Broken> {
    sound(
        "an event is left",
        host.post_node_event(access, event).await,
    )?;
    sound("and once more", host.post_node_event(access, event).await)
}
