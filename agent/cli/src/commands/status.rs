//! `status`: how the boot of this machine stands, from the agent, or from what it left behind.

use crate::args::{EndpointArguments, OutputFormat, StatusArguments};
use crate::exit;
use crate::output;
use crate::render::{status_json, status_text};
use quake_host::sinks::{latest, read_ledger};
use quake_http::{HttpFailure, build_endpoint_client};
use quake_model::record::Record;
use std::path::Path;
use std::time::Duration;

/// The longest answer that is read: events of a boot are some hundred bytes each, and there are some hundreds.
const MOST_BYTES: usize = 64 << 20;

/// Prints the status; 0 when ready, 1 when not, and the class's status when the boot failed.
pub(crate) async fn run(arguments: &StatusArguments) -> u8 {
    let told = ask_for_events(&arguments.endpoint).await;
    let alive = told.is_some();
    let Some(record) = told.or_else(|| read_record(&arguments.root)) else {
        output::error_line(format_args!(
            "error: no boot is recorded below {}",
            arguments.root.display()
        ));
        return exit::NO;
    };
    match arguments.output {
        OutputFormat::Json => {
            let mut status = status_json(&record);
            status["agentAlive"] = alive.into();
            output::line(format_args!("{status}"));
        }
        OutputFormat::Text => {
            output::text(status_text(&record));
            if !alive {
                output::line(format_args!(
                    "the agent does not answer; this is the record it left"
                ));
            }
        }
    }
    match (record.is_ready(), &record.fault) {
        (true, _) => exit::DONE,
        (false, Some(_)) => record.exit_status(),
        (false, None) => exit::NO,
    }
}

/// The record of the running agent, by folding its events as it does itself.
async fn ask_for_events(endpoint: &EndpointArguments) -> Option<Record> {
    let (_, body) = ask(endpoint, "/v1/events", Duration::from_secs(2))
        .await
        .ok()?;
    let mut record = Record::default();
    for line in body.lines() {
        record.fold(&serde_json::from_str(line).ok()?);
    }
    record.boot.is_some().then_some(record)
}

/// The record of the latest boot, from its ledger: events folded, as the agent itself does.
fn read_record(root: &Path) -> Option<Record> {
    let path = latest(&root.join("var/lib/quake-agent/boots")).ok()??;
    let (envelopes, _) = read_ledger(&path).ok()?;
    let mut record = Record::default();
    envelopes.iter().for_each(|envelope| record.fold(envelope));
    // A ledger without its first event was cut short before anything happened.
    record.boot.is_some().then_some(record)
}

/// Asks the running agent; the HTTP status and the body.
///
/// # Errors
///
/// Returns the client's error when no agent answers in time.
pub(crate) async fn ask(
    endpoint: &EndpointArguments,
    path: &str,
    timeout: Duration,
) -> Result<(u16, String), HttpFailure> {
    let (socket, base) = match endpoint.address {
        Some(address) => (None, format!("http://{address}")),
        None => (
            Some(endpoint.socket.as_path()),
            "http://localhost".to_owned(),
        ),
    };
    let client = build_endpoint_client(socket, timeout);
    let answer = client.get(&format!("{base}{path}")).send().await?;
    let status = answer.status().as_u16();
    Ok((status, answer.text(MOST_BYTES).await?))
}
