//! Holds users and links, and does what changes of files call for.

use crate::boot::pending_reactions::settle;
use crate::context::Context;
use crate::ensure::services;
use crate::fault_mapping::{Operation, to_fault};
use quake_model::facts::ActiveState;
use quake_model::fault::{Code, Fault};
use quake_model::item::{Link, Reaction, User};
use quake_model::outcome::Outcome;
use quake_model::ports::{Files, Meter, Provision, Units};
use quake_model::step::Step;
use std::time::Duration;

/// How long the lists of users may be another's. A guess: who adds a user holds them for a moment.
const USERS_DEADLINE: Duration = Duration::from_secs(2 * 60);

/// The largest list of users that is read.
const PASSWD_LIMIT: u64 = 1 << 20;

pub(crate) async fn user<H: Provision + Files + Meter>(
    context: &Context<'_, H>,
    step: &Step,
    user: &User,
) -> Result<Outcome, Fault> {
    let look = async || {
        let looked = context.host.look_file("/etc/passwd", PASSWD_LIMIT).await;
        let found = looked.map_err(|error| to_fault(Operation::UseFile, error))?;
        let bytes = found.and_then(|found| found.contents).unwrap_or_default();
        let text = String::from_utf8_lossy(&bytes).into_owned();
        let line = text.lines().map(|line| line.split(':').collect::<Vec<_>>());
        let mut line = line.filter(|fields| fields.first() == Some(&user.name.as_str()));
        Ok::<_, Fault>(
            line.next()
                .map(|fields| fields.get(2).map(ToString::to_string)),
        )
    };
    let _alone = context.users.lock().await;
    match look().await? {
        // A name that is there with another number keeps it: files are given by name.
        Some(_) => return Ok(Outcome::Unchanged),
        None if context.is_planning() => return Ok(Outcome::WouldChange),
        None => {}
    }
    context.announce(step);
    let wait = context.wait(step.phase, &step.id, USERS_DEADLINE);
    let make = || async {
        let made = context.host.make_user(user).await;
        made.map_err(|error| to_fault(Operation::MakeUser, error).seen("user", &user.name))
    };
    context.retry(&wait, make).await?;
    match look().await? {
        Some(_) => Ok(Outcome::Changed),
        None => {
            let summary = format!("the user {} is not there after it was made", user.name);
            Err(Fault::new(Code::AssetsUserFailed, summary).seen("user", &user.name))
        }
    }
}

pub(crate) async fn link<H: Files>(
    context: &Context<'_, H>,
    step: &Step,
    link: &Link,
) -> Result<Outcome, Fault> {
    let fault = |error| to_fault(Operation::UseFile, error).seen("path", &link.path);
    let look = async || context.host.read_link(&link.path).await.map_err(fault);
    if look().await?.as_ref() == Some(&link.target) {
        return Ok(Outcome::Unchanged);
    }
    if context.is_planning() {
        return Ok(Outcome::WouldChange);
    }
    context.announce(step);
    let made = context.host.make_link(&link.path, &link.target).await;
    made.map_err(fault)?;
    match look().await? {
        Some(target) if target == link.target => Ok(Outcome::Changed),
        _ => {
            let summary = format!("{} does not point to {}", link.path, link.target);
            Err(Fault::new(Code::FilesWriteFailed, summary))
        }
    }
}

/// Does what a change of a file calls for, if it is owed.
pub(crate) async fn reacted<H: Provision + Files + Units>(
    context: &Context<'_, H>,
    step: &Step,
    reaction: &Reaction,
) -> Result<Outcome, Fault> {
    if !context.know(|knowledge| knowledge.pending_reactions.contains(reaction)) {
        return Ok(Outcome::Unchanged);
    }
    if context.is_planning() {
        return Ok(Outcome::WouldChange);
    }
    context.announce(step);
    let words = |words: &[&str]| -> Vec<String> { words.iter().map(ToString::to_string).collect() };
    match reaction {
        Reaction::ApplySysctls => run(context, &words(&["sysctl", "--system"])).await?,
        Reaction::ReloadUdev => {
            run(context, &words(&["udevadm", "control", "--reload-rules"])).await?;
        }
        Reaction::Run(words) => run(context, words).await?,
        Reaction::RestartUnit(unit) => {
            let found = services::look(context, unit).await?;
            if found.active == ActiveState::Active {
                services::restart(context, unit).await?;
            }
        }
    }
    settle(context, reaction).await?;
    Ok(Outcome::Changed)
}

async fn run<H: Provision>(context: &Context<'_, H>, words: &[String]) -> Result<(), Fault> {
    let ran = context.host.run_command(words).await;
    ran.map_err(|error| to_fault(Operation::RunCommand, error).seen("command", words.join(" ")))
}
