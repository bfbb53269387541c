//! Holds an IPv6 prefix on the primary interface, from which the node's pods get their addresses.

use crate::boot::facts::BootFacts;
use crate::context::{Context, lock};
use crate::fault_mapping::{Operation, to_fault};
use quake_model::fault::{Code, Fault};
use quake_model::outcome::Outcome;
use quake_model::ports::{Cloud, Condition, Metadata, Meter};
use quake_model::step::Step;
use std::sync::Mutex;
use std::time::Duration;
use tokio::time::Instant;

/// How long EC2 and the metadata may take together. A guess: seconds as a rule.
const DEADLINE: Duration = Duration::from_secs(4 * 60);

/// How long after a question whose answer was lost it is not asked again. EC2 may have assigned a prefix then, and who asks
/// twice gets two. A guess: the metadata follows within seconds.
const PATIENCE: Duration = Duration::from_secs(60);

pub(crate) async fn assigned<H: Metadata + Cloud + Meter>(
    context: &Context<'_, H>,
    step: &Step,
) -> Result<Outcome, Fault> {
    let mac = context.know(BootFacts::instance)?.mac;
    let of_interface = |what: &str| format!("network/interfaces/macs/{mac}/{what}");
    let wait = context.wait(step.phase, &step.id, DEADLINE);
    let (prefix, id) = (of_interface("ipv6-prefix"), of_interface("interface-id"));
    let has_prefix = || shown(context, &prefix);
    if context.retry(&wait, has_prefix).await?.is_some() {
        return Ok(Outcome::Unchanged);
    }
    if context.is_planning() {
        return Ok(Outcome::WouldChange);
    }
    let interface = context.retry(&wait, || shown(context, &id)).await?;
    let interface = interface.ok_or_else(|| {
        let summary = format!("the metadata names no network interface of {mac}");
        Fault::new(Code::IdentityImdsMalformed, summary)
    })?;
    context.announce(step);
    let requested: Mutex<Option<Instant>> = Mutex::new(None);
    let ask = || ask(context, &prefix, &interface, &requested);
    context.retry(&wait, ask).await?;
    Ok(Outcome::Changed)
}

/// Looks for the prefix, and asks for one where nobody did of late.
async fn ask<H: Metadata + Cloud>(
    context: &Context<'_, H>,
    prefix: &str,
    interface: &str,
    requested: &Mutex<Option<Instant>>,
) -> Result<(), Fault> {
    if shown(context, prefix).await?.is_some() {
        return Ok(());
    }
    let is_due = lock(requested).is_none_or(|since| since.elapsed() >= PATIENCE);
    if is_due {
        let assigned = context.host.assign_prefix(interface).await;
        // Of an answer that was lost nobody knows whether it was a refusal.
        let may_come = match &assigned {
            Ok(()) => true,
            Err(error) => matches!(
                error.condition,
                Condition::Unreachable | Condition::TimedOut
            ),
        };
        if may_come {
            *lock(requested) = Some(Instant::now());
        }
        assigned.map_err(|error| {
            to_fault(Operation::AssignPrefix, error).seen("interface", interface)
        })?;
        if shown(context, prefix).await?.is_some() {
            return Ok(());
        }
    }
    let summary = format!("the metadata shows no IPv6 prefix of {interface} yet");
    Err(Fault::new(Code::NetworkPrefixPending, summary).seen("interface", interface))
}

/// A value of the metadata that is not empty.
async fn shown<H: Metadata>(context: &Context<'_, H>, key: &str) -> Result<Option<String>, Fault> {
    let read = context.host.read_metadata(key).await;
    let value = read.map_err(|error| to_fault(Operation::ReadMetadata, error).seen("key", key))?;
    let value = value.map(|value| value.trim().to_owned());
    Ok(value.filter(|value| !value.is_empty()))
}
