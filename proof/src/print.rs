//! Traces and tables as people read them.

use crate::agent;
use crate::config::Config;
use crate::explore::{Found, Report};
use crate::invariants::Violation;
use crate::liveness::Liveness;
use crate::moves::{Move, Reply};
use crate::reading::{Reading, for_each_reading, readings};
use crate::state::{Life, Shown, State};
use crate::view::{Decider, bits_of, instance_id, volume_name};
use std::fmt::Write;

/// Readings that are tried to explain a step; a trace with more of them does without.
const MOST_READINGS: usize = 200_000;

/// The head of the table of explorations.
pub const HEAD: &str = concat!(
    "configuration                                                              states  transitions  depth  covered   views",
    "     runs  result"
);

/// One row of the table of explorations.
pub fn row(report: &Report) -> String {
    let covered = match (report.complete, &report.found) {
        (true, _) => "all",
        (false, None) => "cut",
        (false, Some(_)) => "stopped",
    };
    let result = match &report.found {
        None => "held".to_owned(),
        Some(found) => found.violation.to_string(),
    };
    format!(
        "{:<70} {:>10} {:>12} {:>6}  {:<7} {:>7} {:>8}  {result}",
        report.config.name,
        report.states,
        report.transitions,
        report.depth,
        covered,
        report.views,
        report.liveness_runs,
    )
}

/// A trace: one line for each step, and the state it ends in.
pub fn trace(config: &Config, found: &Found) -> String {
    let mut text = String::new();
    let mut decider = Decider::new(config);
    for (number, (state, step)) in found.trace.iter().enumerate() {
        let said = say(config, state, *step);
        let seen = seen(config, state, *step, &mut decider);
        let _ = writeln!(text, "  {:>2}. {said}{seen}", number + 1);
    }
    let _ = writeln!(text, "  =>  {}", found.violation);
    let liveness = Liveness::new(config);
    let end = match found.violation {
        Violation::Stuck => liveness.end(&found.end, &mut decider),
        _ => None,
    };
    let shown = end.as_ref().unwrap_or(&found.end);
    let _ = writeln!(text, "      {}", truth(config, shown));
    text
}

fn say(config: &Config, state: &State, step: Move) -> String {
    let i = |index: u8| instance_id(usize::from(index));
    let v = |volume: u8| volume_name(config, usize::from(volume));
    match step {
        Move::Choose(a, volume) => format!("{} chooses {}, records its intent", i(a), v(volume)),
        Move::ChooseAgain(a, volume) => {
            format!("{} chooses again in this pass: {}", i(a), v(volume))
        }
        Move::Adopt(a, volume) => format!("{} finds {} its own", i(a), v(volume)),
        Move::Recheck(a, volume, true) => {
            format!("{} describes {} once more: free", i(a), v(volume))
        }
        Move::Recheck(a, volume, false) => {
            format!(
                "{} describes {} once more: not free, ends its pass",
                i(a),
                v(volume)
            )
        }
        Move::Ask(a, volume, reply) => {
            let how = match reply {
                Reply::Accepted => "accepted",
                Reply::Refused => "refused, VolumeInUse",
                Reply::LostDone => "done, but the reply is lost",
                Reply::LostUndone => "never arrives, no reply",
                Reply::Delayed => "times out, and is still on its way",
            };
            format!("{} calls AttachVolume {}: {how}", i(a), v(volume))
        }
        Move::LookBack(a, true) => format!("{} keeps its intent, ends its pass", i(a)),
        Move::LookBack(a, false) => {
            format!(
                "{} sees nothing held, clears its intent, ends its pass",
                i(a)
            )
        }
        Move::Withdraw(a) => format!("{} clears the intent of this very pass", i(a)),
        Move::Forget(a) => format!("{} clears its intent after settled reads", i(a)),
        Move::ForgetOnView(a) => {
            format!("{} sees nothing held in one view, clears its intent", i(a))
        }
        Move::Format(a, volume) => format!("{} makes a filesystem on {}", i(a), v(volume)),
        Move::Mount(a, volume) => format!("{} mounts {}", i(a), v(volume)),
        Move::Mark(a, volume) => format!("{} writes the marker on {}", i(a), v(volume)),
        Move::Crash(a) => format!("{}: the agent is killed and starts again", i(a)),
        Move::Reboot(a, true) => format!("{} is rebooted; its devices swap names", i(a)),
        Move::Reboot(a, false) => format!("{} is rebooted", i(a)),
        Move::Kill(a) => {
            let new = instance_id(state.instances.len());
            format!("{} is being terminated, {new} is launched", i(a))
        }
        Move::Fails(volume) => format!("EC2: attaching {} fails, it is free again", v(volume)),
        Move::Attached(volume) => format!("EC2: {} is attached", v(volume)),
        Move::Gone(a) => format!("EC2: {} is terminated, its volumes detach", i(a)),
        Move::Released(volume) => format!("EC2: {} is available again", v(volume)),
        Move::Arrives(a) => format!("EC2: the late call of {} arrives", i(a)),
        Move::TagInstance(a) => format!("EC2: the tags of {} are there", i(a)),
        Move::TagVolume(volume) => format!("EC2: the tags of {} are there", v(volume)),
    }
}

/// What a step's view showed that was not so: of all views that lead to the step the one with least of it.
fn seen(config: &Config, state: &State, step: Move, decider: &mut Decider) -> String {
    let Some(me) = step.agent() else {
        return String::new();
    };
    let Some(known) = agent::observes(config, state, me) else {
        return String::new();
    };
    if matches!(
        step,
        Move::Forget(_) | Move::ForgetOnView(_) | Move::LookBack(..)
    ) {
        return String::new();
    }
    if readings(state, config.stale) > MOST_READINGS {
        return String::new();
    }
    let mut best: Option<(usize, Reading)> = None;
    for_each_reading(state, config.stale, |reading, age| {
        if best.as_ref().is_some_and(|(least, _)| *least <= age) {
            return;
        }
        let outcome = decider.outcome(state, reading, known);
        let mut next = Vec::new();
        agent::steps(config, state, me, &[outcome], &mut next);
        if next.iter().any(|(leads, _)| *leads == step) {
            best = Some((age, reading.clone()));
        }
    });
    let wrong = best.map_or_else(Vec::new, |(_, reading)| {
        differences(config, state, &reading)
    });
    match wrong.is_empty() {
        true => String::new(),
        false => format!("   (stale: {})", wrong.join(", ")),
    }
}

fn differences(config: &Config, state: &State, reading: &Reading) -> Vec<String> {
    let volumes = state.volumes.iter().zip(&reading.volumes).enumerate();
    let volumes = volumes
        .filter(|(_, (volume, shown))| volume.shown.now() != **shown)
        .map(|(index, (_, shown))| format!("{} {}", volume_name(config, index), show(*shown)));
    let instances = state.instances.iter().zip(&reading.lives).enumerate();
    let instances = instances
        .filter(|(_, (instance, life))| instance.life.now() != **life)
        .map(|(index, (_, life))| format!("{} {}", instance_id(index), live(*life)));
    volumes.chain(instances).collect()
}

fn show(shown: Shown) -> String {
    let at = |by: u8| instance_id(usize::from(by));
    match shown {
        Shown::Untagged => "untagged".to_owned(),
        Shown::Free => "free".to_owned(),
        Shown::Attaching(by) => format!("attaching to {}", at(by)),
        Shown::Attached(by) => format!("at {}", at(by)),
        Shown::Detaching(by) => format!("detaching from {}", at(by)),
    }
}

fn live(life: Life) -> &'static str {
    match life {
        Life::Absent => "not shown",
        Life::Untagged => "untagged",
        Life::Running => "running",
        Life::ShuttingDown => "shutting down",
        Life::Terminated => "terminated",
    }
}

fn truth(config: &Config, state: &State) -> String {
    let volumes = state.volumes.iter().enumerate();
    let volumes = volumes
        .map(|(index, it)| format!("{} {}", volume_name(config, index), show(it.shown.now())));
    let instances = state.instances.iter().enumerate();
    let instances = instances.map(|(index, instance)| {
        let intent = instance.intent.map_or_else(
            || "no intent".to_owned(),
            |volume| format!("intent {}", volume_name(config, usize::from(volume))),
        );
        let mounted: Vec<String> = bits_of(instance.mounted)
            .map(|volume| volume_name(config, volume))
            .collect();
        let mounted = match mounted.is_empty() {
            true => "nothing mounted".to_owned(),
            false => format!("{} mounted", mounted.join(" and ")),
        };
        let life = live(instance.life.now());
        format!("{} {life}, {intent}, {mounted}", instance_id(index))
    });
    volumes.chain(instances).collect::<Vec<_>>().join("; ")
}
