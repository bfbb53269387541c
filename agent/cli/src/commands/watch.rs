//! `status --watch`: the boot while it happens, from agent to agent, until it has ended.

use super::follow::{Follower, Leftovers, Seen};
use super::service::{AgentService, unit_of};
use crate::args::{OutputFormat, StatusArguments};
use crate::exit;
use crate::output;
use crate::render::{Live, status_text};
use quake_host::clock::SystemClock;
use quake_model::ports::{Clock, Sink};
use quake_model::record::Record;
use quake_node::restart_policy::failed_for_good;
use std::path::Path;
use std::time::Duration;
use tokio::time::{Instant, MissedTickBehavior};

/// How often the agent is asked at most: what is drawn oftener nobody can read.
const INTERVAL: Duration = Duration::from_millis(250);

/// How long the agent may keep a question until there is news.
const NEWS: Duration = Duration::from_secs(5);

/// Follows the boot: 0 once the node is ready, the class's status once the boot has failed for good, 1 when the time is up.
/// Ctrl-C ends it as it ends any program.
pub(crate) async fn run(arguments: &StatusArguments) -> u8 {
    let mut follower = Follower::new(
        &arguments.endpoint,
        &arguments.root,
        Leftovers::OfThisSystem,
    );
    let service = AgentService::new(&arguments.root);
    let mut live = Live::new(arguments.output);
    let until = arguments.timeout.map(|timeout| Instant::now() + timeout);
    let mut beats = tokio::time::interval(INTERVAL);
    beats.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let mut was_silent = false;
    loop {
        beats.tick().await;
        let left = until.map(|until| until.saturating_duration_since(Instant::now()));
        let seen = follower.look(left.unwrap_or(NEWS).min(NEWS)).await;
        show(&mut live, &follower);
        was_silent = tell_silence(&seen, was_silent);
        if let Some(record) = follower.record()
            && has_ended(record, &seen, &service).await
        {
            drop(live);
            return end(record, arguments.output);
        }
        if until.is_some_and(|until| Instant::now() >= until) {
            output::error_line("error: the boot has not ended in this time");
            return exit::NO;
        }
    }
}

/// Shows what is new; a terminal that is gone is nobody's fault.
fn show(live: &mut Live, follower: &Follower<'_>) {
    let Some(record) = follower.record() else {
        return;
    };
    for envelope in follower.fresh() {
        let _ = live.accept(envelope, record);
    }
}

/// Says once that no agent answers; returns whether one does not.
fn tell_silence(seen: &Seen, was_silent: bool) -> bool {
    match seen {
        Seen::Alive => false,
        Seen::Silent(why) => {
            if !was_silent {
                output::error_line(format_args!("the agent does not answer yet ({why})"));
            }
            true
        }
    }
}

async fn has_ended(record: &Record, seen: &Seen, service: &AgentService) -> bool {
    if *seen == Seen::Alive && record.is_ready() {
        return true;
    }
    record.fault.is_some() && failed_for_good(record, service.look().await.0)
}

fn end(record: &Record, format: OutputFormat) -> u8 {
    if format == OutputFormat::Text {
        let text = status_text(record, SystemClock.now(), unit_of(Path::new("/")));
        output::text(format_args!("\n{text}"));
    }
    record.exit_status()
}
