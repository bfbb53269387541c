//! `wait`: until the node is ready or conditions hold, the boot has failed for good, or the time is up.

use super::follow::{Follower, Leftovers, Seen};
use super::service::{AgentService, UNIT, unit_of};
use crate::args::WaitArguments;
use crate::exit;
use crate::output;
use crate::render::fault_text;
use crate::serve::{Condition, condition_of, fault_of_condition};
use quake_model::fault::Fault;
use quake_model::phase::{PHASES, Phase};
use quake_model::record::Record;
use quake_node::restart_policy::{Service, failed_for_good};
use std::fmt::Write;
use std::path::Path;
use std::time::Duration;
use tokio::time::Instant;

/// How often the agent is asked at most. It is on this machine, so asking costs next to nothing.
const INTERVAL: Duration = Duration::from_millis(200);

/// How long the agent may keep a question until there is news.
const NEWS: Duration = Duration::from_secs(5);

/// Waits; 0 when everything holds, 1 when the time is up, with what was still unmet, and the exit status of the fault
/// when the boot has failed for good.
pub(crate) async fn run(arguments: &WaitArguments) -> u8 {
    let mut wanted = Vec::new();
    for condition in &arguments.conditions {
        match (condition.as_str(), Phase::from_name(condition)) {
            ("ready", _) => wanted.extend(PHASES.iter().map(|row| row.phase)),
            (_, Some(phase)) => wanted.push(phase),
            (_, None) => {
                output::error_line(format_args!("error: there is no condition {condition:?}"));
                return exit::USAGE;
            }
        }
    }
    wait(arguments, &wanted).await
}

async fn wait(arguments: &WaitArguments, wanted: &[Phase]) -> u8 {
    let mut follower = Follower::new(
        &arguments.endpoint,
        &arguments.root,
        Leftovers::OfThisSystem,
    );
    let service = AgentService::new(&arguments.root);
    let until = Instant::now() + arguments.timeout;
    let mut beats = tokio::time::interval(INTERVAL);
    beats.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
    loop {
        beats.tick().await;
        let left = until.saturating_duration_since(Instant::now());
        let seen = follower.look(left.min(NEWS)).await;
        let record = follower.record();
        if seen == Seen::Alive && record.is_some_and(|record| hold(record, wanted)) {
            return exit::DONE;
        }
        if !arguments.ignore_failure
            && let Some((status, text)) = end_of(record, &seen, &service).await
        {
            output::error_text(text);
            return status;
        }
        if Instant::now() >= until {
            output::error_text(unmet_text(record, &seen, wanted, arguments.timeout));
            return exit::NO;
        }
    }
}

/// Whether all conditions hold; a node is ready when its boot has said so, not a moment before.
fn hold(record: &Record, wanted: &[Phase]) -> bool {
    let met = |phase: &Phase| condition_of(record, *phase) == Condition::Met;
    wanted.iter().all(met) && (!wanted.contains(&Phase::Ready) || record.is_ready())
}

/// The exit status and the words of a boot that has failed for good, if it has.
async fn end_of(
    record: Option<&Record>,
    seen: &Seen,
    service: &AgentService,
) -> Option<(u8, String)> {
    match record {
        Some(record) if record.fault.is_some() => {
            let (service, _) = service.look().await;
            let fault = record.fault.as_ref()?;
            failed_for_good(record, service)
                .then(|| (record.exit_status(), fault_text("error", fault)))
        }
        Some(_) => None,
        None if *seen == Seen::Alive => None,
        // It ended before it recorded anything, as with a wrong command line.
        None => match service.look().await {
            (Service::Failed, ended) => Some(unrecorded_end(ended.as_deref())),
            (Service::Coming | Service::Down | Service::Unknown, _) => None,
        },
    }
}

fn unrecorded_end(ended: Option<&str>) -> (u8, String) {
    let status = ended.and_then(|ended| ended.strip_prefix("exit status ")?.parse().ok());
    let how = ended.map_or_else(String::new, |ended| format!(" with {ended}"));
    let unit = unit_of(Path::new("/"));
    let text = format!(
        "error: {UNIT} failed{how}, and no boot is recorded\n  fix: journalctl -b -u {unit} shows why\n"
    );
    (
        status.filter(|status| *status != 0).unwrap_or(exit::NO),
        text,
    )
}

/// What is still unmet when the time is up: what fails before what only waits for it.
fn unmet_text(record: Option<&Record>, seen: &Seen, wanted: &[Phase], timeout: Duration) -> String {
    let seconds = timeout.as_secs_f64();
    let mut text = format!("error: not met after {seconds:.1}s: ");
    let Some(record) = record else {
        let why = match seen {
            Seen::Alive => "the boot has not begun".to_owned(),
            Seen::Silent(why) => format!("the agent does not answer ({why})"),
        };
        let _ = writeln!(
            text,
            "{why}\n  fix: systemctl status {UNIT} shows whether it runs"
        );
        return text;
    };
    let unmet = |condition: &Condition| *condition != Condition::Met;
    let conditions = || {
        let wanted = wanted.iter();
        wanted.map(|phase| (*phase, condition_of(record, *phase)))
    };
    let failing = conditions().find(|(_, one)| matches!(one, Condition::Failing(_)));
    let pending = || conditions().find(|(_, one)| unmet(one));
    match failing.or_else(pending) {
        Some((phase, Condition::Failing(_))) => {
            let fault = fault_of_condition(record, phase);
            let _ = write!(
                text,
                "{phase}\n{}",
                fault.map(unmet_fault).unwrap_or_default()
            );
        }
        Some((phase, Condition::Pending(why))) => {
            let _ = writeln!(text, "{phase}: {why}");
        }
        Some((_, Condition::Met)) | None => text.push_str("the agent does not answer any more\n"),
    }
    if let Seen::Silent(why) = seen {
        let _ = writeln!(
            text,
            "the agent does not answer ({why}); this is of the record it left"
        );
    }
    text
}

fn unmet_fault(fault: &Fault) -> String {
    fault_text("unmet", fault)
}
