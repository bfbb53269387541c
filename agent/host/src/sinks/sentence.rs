//! Says an event in one line of plain words, for the journal and the console.

use quake_model::certificates::first_to_end;
use quake_model::drift::Drifted;
use quake_model::event::Event;
use quake_model::fault::Fault;
use quake_model::outcome::Outcome;
use quake_model::repair::repair_text;
use quake_model::spec::Role;

/// The event in one line, without the agent's name and without a full stop. Faults carry no secret, and
/// nothing else here holds text of others.
#[expect(
    clippy::too_many_lines,
    reason = "one arm per kind of event; the match is the wording"
)]
pub(super) fn sentence(event: &Event) -> String {
    match event {
        Event::BootStarted {
            boot,
            version,
            command,
        } => {
            format!("{command} {boot} started by version {version}")
        }
        Event::KernelKnown { uptime_ms, .. } => {
            format!("the kernel has run for {}", seconds(*uptime_ms))
        }
        Event::TokenAccepted { server, version } => {
            format!("kops-controller at {server} accepted version {version} of the node's token")
        }
        Event::InstanceKnown { instance } => {
            let (id, kind, zone) = (
                &instance.instance_id,
                &instance.instance_type,
                &instance.zone,
            );
            format!("this is {id}, {kind} in {zone}")
        }
        Event::SpecKnown {
            cluster,
            instance_group,
            role,
            ..
        } if role == Role::Bastion.name() => {
            format!("a bastion of {cluster} ({instance_group}), which runs no part of the cluster")
        }
        Event::SpecKnown {
            cluster,
            instance_group,
            role,
            kubernetes,
            ..
        } => {
            format!("to become {role} of {cluster} ({instance_group}), Kubernetes {kubernetes}")
        }
        Event::NodeExpected { expected } => {
            format!(
                "{} and {} units are expected",
                expected.runtime,
                expected.units.len()
            )
        }
        Event::PhaseStarted { phase } => format!("{phase} started"),
        Event::PhasePlanned { phase, steps } => format!("{phase} planned in {steps} steps"),
        Event::PhaseDone { phase, changed } => format!("{phase} done, {changed} changed"),
        Event::PhaseFailed { phase, fault } => format!("{phase} failed: {fault}"),
        Event::StepStarted { step, .. } => format!("{step} started"),
        Event::StepDone {
            step,
            outcome,
            took_ms,
            ..
        } => {
            format!("{step} {} after {}", word_of(*outcome), seconds(*took_ms))
        }
        Event::Waiting {
            step,
            attempt,
            retry_in_ms,
            fault,
            ..
        } => {
            format!(
                "{step}: attempt {attempt} failed, next in {}: {fault}",
                seconds(*retry_in_ms)
            )
        }
        Event::Progress { step, done, .. } => format!("{step} has {done} bytes"),
        Event::AssetFetched(fetched) => {
            let (step, bytes, took) = (&fetched.step, fetched.bytes, seconds(fetched.took_ms));
            let source = &fetched.source;
            format!("{step} was downloaded from {source}, {bytes} bytes in {took}")
        }
        Event::ReadAhead {
            extents,
            bytes,
            skipped,
            took_ms,
        } => {
            let took = seconds(*took_ms);
            format!(
                "{bytes} bytes in {extents} extents read ahead in {took}, {skipped} files skipped"
            )
        }
        Event::Warning { fault } => format!("warning: {fault}"),
        Event::CallsCounted { calls, throttled } => {
            let made: u64 = calls.values().sum();
            match throttled.values().sum::<u64>() {
                0 => format!("{made} calls of cloud services so far"),
                refused => format!("{made} calls of cloud services so far, {refused} throttled"),
            }
        }
        Event::BootReady { changed } => format!("the node is ready, {changed} changed"),
        Event::BootFailed { phase, fault } => format!("the boot failed in {phase}: {fault}"),
        Event::BootStopped { fault } => format!("the boot was stopped: {fault}"),
        Event::ConditionLost { fault, .. } => format!("not ready any more: {fault}"),
        Event::ConditionRegained { step, lost_ms, .. } => {
            format!("{step} holds again after {}", seconds(*lost_ms))
        }
        Event::DriftChanged { drifted, more } => drifted_sentence(drifted, *more),
        Event::RepairDecided { decision, symptoms } => {
            format!("repair: {}", repair_text(decision, symptoms))
        }
        Event::CertificatesHeld { certificates } => match first_to_end(certificates) {
            Some(first) => format!(
                "{} certificates; {} expires first, at {}",
                certificates.len(),
                first.name,
                first.ends
            ),
            None => "no certificates".to_owned(),
        },
        Event::CertificatesRenewed { names, until } => {
            format!("renewed {}: valid until {until}", names.join(", "))
        }
        Event::CertificatesNotRenewed { fault } => format!("not renewed: {fault}"),
        Event::AddonsReconciled { reconciler, .. } => reconciler.to_string(),
        Event::AddonChanged(addon) => format!("add-on {addon}"),
        Event::AddonForgotten { names } => {
            format!("no channel names {} any more", names.join(", "))
        }
        Event::AddonsDegraded { fault } => format!("the add-ons are not reconciled: {fault}"),
        Event::AddonsWarned { fault } => format!("warning of the add-ons: {fault}"),
        Event::AddonsWarningsCleared { faults } => {
            format!("no longer a warning of the add-ons: {}", first_of(faults))
        }
        Event::DnsPublished { zone, names } if names.is_empty() => {
            format!("the names in {zone} are correct")
        }
        Event::DnsPublished { zone, names } => {
            format!("restored in {zone}: {}", names.join(", "))
        }
        Event::DnsNotPublished { fault } => format!("the names are not published: {fault}"),
        Event::NodeLabelled { node, changes } if changes.is_empty() => {
            format!("node {node} has its labels")
        }
        Event::NodeLabelled { node, changes } => {
            format!("set on node {node}: {}", changes.join(", "))
        }
        Event::NodeNotLabelled { fault } => format!("the labels of the node are not set: {fault}"),
        Event::NodeConditionsReported { changes } => {
            format!("the node's conditions: {}", changes.join(", "))
        }
        Event::NodeConditionsNotReported { fault } => {
            format!("the node's conditions are not reported: {fault}")
        }
        Event::NotificationSent { what, to, took_ms } => {
            format!("{what} reported to {to} in {}", seconds(*took_ms))
        }
        Event::NotificationFailed { what, fault, .. } => format!("{what} not reported: {fault}"),
        Event::NotificationSkipped { what, why } => format!("{what} skipped: {why}"),
        Event::Unknown => "an event of a newer agent".to_owned(),
    }
}

/// The first of them stands for all; the rest is in the event's own list.
fn drifted_sentence(drifted: &[Drifted], more: usize) -> String {
    match drifted.first() {
        None => "there is no drift any more".to_owned(),
        Some(first) => format!(
            "{} not as the agent left it, such as {} ({})",
            match drifted.len() + more {
                1 => "1 file or unit is".to_owned(),
                count => format!("{count} files or units are"),
            },
            first.name,
            first.what
        ),
    }
}

/// The first of them, and how many more there are.
fn first_of(faults: &[Fault]) -> String {
    match faults {
        [] => "nothing".to_owned(),
        [one] => one.to_string(),
        [first, rest @ ..] => format!("{first}; and {} more", rest.len()),
    }
}

pub(super) fn event_fault(event: &Event) -> Option<&Fault> {
    match event {
        Event::PhaseFailed { fault, .. }
        | Event::Waiting { fault, .. }
        | Event::Warning { fault }
        | Event::BootFailed { fault, .. }
        | Event::ConditionLost { fault, .. }
        | Event::NotificationFailed { fault, .. }
        | Event::AddonsDegraded { fault }
        | Event::AddonsWarned { fault }
        | Event::CertificatesNotRenewed { fault }
        | Event::NodeNotLabelled { fault }
        | Event::NodeConditionsNotReported { fault }
        | Event::DnsNotPublished { fault }
        | Event::BootStopped { fault } => Some(fault),
        Event::AddonChanged(addon) => addon.fault.as_ref().or(addon.warnings.first()),
        _ => None,
    }
}

/// `text` on one line of at most `limit` characters, an ellipsis where it was cut.
pub(super) fn one_line(text: &str, limit: usize) -> String {
    let folded = text.split_whitespace().collect::<Vec<_>>().join(" ");
    // A terminal obeys control characters; a console must show text of others, not follow it.
    let shown: String = folded.chars().filter(|c| !c.is_control()).collect();
    if shown.chars().count() <= limit {
        return shown;
    }
    let mut cut: String = shown.chars().take(limit.saturating_sub(1)).collect();
    cut.push('…');
    cut
}

/// Milliseconds as seconds with one decimal.
pub(super) fn seconds(millis: u64) -> String {
    format!("{}.{} s", millis / 1000, millis % 1000 / 100)
}

fn word_of(outcome: Outcome) -> &'static str {
    match outcome {
        Outcome::Unchanged => "unchanged",
        Outcome::Changed => "changed",
        Outcome::Skipped => "skipped",
        Outcome::WouldChange => "would change",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_or_hostile_text_becomes_one_short_line() {
        assert_eq!(one_line("a\n b\t c", 10), "a b c");
        assert_eq!(one_line("\u{1b}[2Jgone", 10), "[2Jgone");
        assert_eq!(one_line("abcdef", 4), "abc…");
    }

    #[test]
    fn seconds_have_one_decimal() {
        assert_eq!(
            (seconds(0), seconds(12_345)),
            ("0.0 s".to_owned(), "12.3 s".to_owned())
        );
    }
}
