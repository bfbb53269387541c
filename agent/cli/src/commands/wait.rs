//! `wait`: until the node is ready or conditions hold, or the time is up.

use super::status::ask;
use crate::args::WaitArguments;
use crate::exit;
use crate::output;
use quake_model::phase::Phase;
use std::time::Duration;
use tokio::time::Instant;

/// How often the agent is asked. It is on this machine, so asking costs next to nothing.
const INTERVAL: Duration = Duration::from_millis(200);

/// Waits; 0 when everything holds, 1 when the time is up, with what was still unmet.
pub(crate) async fn run(arguments: &WaitArguments) -> u8 {
    for condition in &arguments.conditions {
        if condition != "ready" && Phase::from_name(condition).is_none() {
            output::error_line(format_args!("error: there is no condition {condition:?}"));
            return exit::USAGE;
        }
    }
    let until = Instant::now() + arguments.timeout;
    let mut beats = tokio::time::interval(INTERVAL);
    loop {
        beats.tick().await;
        let unmet = unmet(arguments).await;
        let Some(why) = unmet else { return exit::DONE };
        if Instant::now() >= until {
            output::error_line(format_args!(
                "error: not met after {:.1}s: {why}",
                arguments.timeout.as_secs_f64()
            ));
            return exit::NO;
        }
    }
}

/// The first condition that does not hold, and why.
async fn unmet(arguments: &WaitArguments) -> Option<String> {
    for condition in &arguments.conditions {
        let path = if condition == "ready" {
            "/readyz?verbose".to_owned()
        } else {
            format!("/readyz/{condition}")
        };
        match ask(&arguments.endpoint, &path, Duration::from_secs(5)).await {
            Ok((200, _)) => {}
            Ok((status, body)) => {
                let first = body
                    .lines()
                    .find(|line| !line.starts_with("[+]"))
                    .unwrap_or_default();
                return Some(format!("{condition} answered {status}: {first}"));
            }
            Err(error) => return Some(format!("{condition}: the agent does not answer ({error})")),
        }
    }
    None
}
