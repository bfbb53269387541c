//! The boot while it happens: plain lines, and on a terminal a line for each asset that comes in.

use super::event::event_json;
use super::fault::fault_text;
use super::transfer::{fetched_text, left_text, rate_text};
use crate::args::OutputFormat;
use crate::output;
use indicatif::{MultiProgress, ProgressBar, ProgressStyle};
use quake_model::event::{Envelope, Event, Scope};
use quake_model::outcome::Outcome;
use quake_model::ports::{Sink, SinkError};
use quake_model::record::Record;
use quake_model::repair::repair_text;
use quake_model::transfer::{Transfer, asset_of};
use std::collections::BTreeMap;
use std::io::{IsTerminal, Write};

/// Prints events to standard output as they come.
pub(crate) struct Live {
    format: OutputFormat,
    screen: Option<Screen>,
}

impl Live {
    /// A live view; bars appear only on a terminal.
    pub(crate) fn new(format: OutputFormat) -> Self {
        let terminal = format == OutputFormat::Text && std::io::stdout().is_terminal();
        Self {
            format,
            screen: terminal.then(|| Screen::new(MultiProgress::new())),
        }
    }

    fn print(&self, line: &str) -> std::io::Result<()> {
        let line = output::as_shown(line.trim_end());
        match &self.screen {
            Some(screen) => screen.lines.println(line),
            None => writeln!(std::io::stdout(), "{line}"),
        }
    }
}

/// The lines at the end of a terminal that change: one for each asset on its way, and how the boot stands.
struct Screen {
    lines: MultiProgress,
    assets: BTreeMap<String, ProgressBar>,
    status_line: ProgressBar,
}

impl Screen {
    fn new(lines: MultiProgress) -> Self {
        let status_line = ProgressBar::no_length().with_style(style("{msg}"));
        Self {
            status_line: lines.add(status_line),
            assets: BTreeMap::new(),
            lines,
        }
    }

    /// Shows what the record says; rates are the record's own, so that all views agree.
    fn show(&mut self, record: &Record) {
        let in_progress = &record.transfers.in_progress;
        let lines = &self.lines;
        self.assets.retain(|step, bar| {
            let stays = in_progress.contains_key(step);
            if !stays {
                bar.finish_and_clear();
                lines.remove(bar);
            }
            stays
        });
        for (step, transfer) in in_progress {
            let bar = self.assets.entry(step.clone()).or_insert_with(|| {
                let name = asset_of(step).to_owned();
                let bar = ProgressBar::no_length().with_prefix(name);
                lines.insert_before(&self.status_line, bar)
            });
            advance(bar, transfer);
        }
        self.status_line
            .set_message(crate::sinks::status_line(record));
        if record.is_terminal() {
            self.status_line.finish_and_clear();
        }
    }
}

fn advance(bar: &ProgressBar, transfer: &Transfer) {
    match transfer.total {
        Some(total) => {
            bar.set_style(style(
                "  {prefix:24!} {bar:24} {decimal_bytes:>10} of {decimal_total_bytes:>10}  {msg}",
            ));
            bar.set_length(total);
        }
        None => bar.set_style(style("  {prefix:24!} {decimal_bytes:>10}  {msg}")),
    }
    bar.set_message(format!(
        "{:>12}  {}",
        rate_text(transfer.rate),
        left_text(transfer)
    ));
    bar.set_position(transfer.done);
}

/// A style of a template that is written here.
fn style(template: &str) -> ProgressStyle {
    ProgressStyle::with_template(template).expect("the templates in this file are well-formed")
}

impl Sink for Live {
    fn accept(&mut self, envelope: &Envelope, record: &Record) -> Result<(), SinkError> {
        if let Some(screen) = &mut self.screen {
            screen.show(record);
        }
        let printed = match self.format {
            OutputFormat::Json => match event_json(envelope) {
                Ok(line) => self.print(&line),
                Err(error) => Err(std::io::Error::other(error)),
            },
            OutputFormat::Text => line_of(envelope).map_or(Ok(()), |line| self.print(&line)),
        };
        printed.map_err(|source| SinkError {
            sink: "terminal",
            source,
        })
    }
}

/// The line of an event, for those that people want to see.
fn line_of(envelope: &Envelope) -> Option<String> {
    let seconds = envelope.elapsed_ms as f64 / 1000.0;
    let line = match &envelope.event {
        Event::BootStarted {
            boot,
            version,
            command,
        } => {
            format!("quake-agent {version} {command}, boot {boot}")
        }
        Event::InstanceKnown { instance } => format!(
            "instance {} ({}) in {}, {}",
            instance.instance_id, instance.instance_type, instance.zone, instance.private_ip
        ),
        Event::SpecKnown {
            cluster,
            instance_group,
            role,
            kubernetes,
            source,
            ..
        } => {
            format!(
                "{role} of {cluster}, group {instance_group}, Kubernetes {kubernetes}, from {source}"
            )
        }
        Event::PhaseStarted { phase } => format!("{phase} ..."),
        Event::PhaseDone { phase, changed } => format!("{phase} done, {changed} changed"),
        Event::StepDone {
            step,
            outcome: Outcome::Changed,
            ..
        } => format!("  + {step}"),
        Event::Waiting {
            step,
            attempt,
            retry_in_ms,
            fault,
            ..
        } => {
            let pause = *retry_in_ms as f64 / 1000.0;
            format!("  ~ {step}: {fault} (try {attempt}, next in {pause:.1}s)")
        }
        Event::Warning { fault } => fault_text("warning", fault),
        event if matches!(event.kind().scope, Scope::Node | Scope::Cluster) => {
            return ready_line(event).map(|line| stamped(seconds, &line));
        }
        event if event.kind().scope == Scope::Notification => {
            return report_line(event).map(|line| stamped(seconds, &line));
        }
        Event::PhaseFailed { phase, .. } => format!("{phase} FAILED"),
        Event::AssetFetched(fetched) => format!("  < {}", fetched_text(fetched)),
        _ => return None,
    };
    Some(stamped(seconds, &line))
}

fn stamped(seconds: f64, line: &str) -> String {
    format!("{seconds:>8.3}  {line}")
}

/// What is said of a node after it was ready.
fn ready_line(event: &Event) -> Option<String> {
    let line = match event {
        Event::ConditionLost { fault, .. } => fault_text("not ready any more", fault),
        Event::ConditionRegained { step, .. } => format!("{step} holds again"),
        Event::DriftChanged { drifted, more } => match drifted.len() + more {
            0 => "there is no drift any more".to_owned(),
            count => format!("drift: {count} of the agent's files and units changed"),
        },
        Event::RepairDecided { decision, symptoms } => {
            format!("repair: {}", repair_text(decision, symptoms))
        }
        Event::CertificatesRenewed { names, .. } => format!("renewed {}", names.join(", ")),
        Event::AddonsReconciled { reconciler, .. } => reconciler.to_string(),
        Event::AddonChanged(addon) => format!("  * add-on {addon}"),
        Event::AddonsDegraded { fault } | Event::AddonsWarned { fault } => {
            fault_text("warning", fault)
        }
        Event::CertificatesNotRenewed { fault }
        | Event::NodeNotLabelled { fault }
        | Event::NodeConditionsNotReported { fault }
        | Event::DnsNotPublished { fault } => fault_text("warning", fault),
        Event::DnsPublished { names, .. } if names.is_empty() => "names are correct".to_owned(),
        Event::DnsPublished { names, .. } => format!("names restored: {}", names.join(", ")),
        Event::NodeLabelled { node, changes } if changes.is_empty() => {
            format!("node {node} has its labels")
        }
        Event::NodeLabelled { node, changes } => format!("node {node}: {}", changes.join(", ")),
        Event::NodeConditionsReported { changes } => format!("conditions: {}", changes.join(", ")),
        _ => return None,
    };
    Some(line)
}

/// What is said of what was told to the outside; nothing of a failure that is known already.
fn report_line(event: &Event) -> Option<String> {
    match event {
        Event::NotificationSent { what, to, .. } => Some(format!("{what}: {to}")),
        Event::NotificationSkipped { what, why } => Some(format!("{what} skipped: {why}")),
        Event::NotificationFailed {
            fault,
            known: false,
            ..
        } => Some(fault_text("warning", fault)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use indicatif::ProgressDrawTarget;
    use quake_model::time::Timestamp;
    use quake_model::transfer::Fetched;

    fn fold(record: &mut Record, elapsed_ms: u64, event: Event) {
        record.fold(&Envelope {
            seq: record.seq + 1,
            at: Timestamp(elapsed_ms),
            elapsed_ms,
            event,
        });
    }

    fn progress(step: &str, done: u64) -> Event {
        Event::Progress {
            step: step.to_owned(),
            done,
            total: Some(8_000_000),
        }
    }

    fn fetched() -> Event {
        Event::AssetFetched(Fetched {
            step: "assets:a".into(),
            bytes: 8_000_000,
            took_ms: 2_000,
            source: "https://two.example.com/a".into(),
            mirror: 2,
            requests: 1,
        })
    }

    #[test]
    fn each_asset_has_a_line_of_its_own_until_it_came_in() {
        let hidden = ProgressDrawTarget::hidden();
        let mut screen = Screen::new(MultiProgress::with_draw_target(hidden));
        let mut record = Record::default();
        for step in ["assets:a", "assets:b"] {
            fold(&mut record, 0, progress(step, 0));
            fold(&mut record, 1_000, progress(step, 2_000_000));
        }
        screen.show(&record);
        let lines: Vec<(String, u64, String)> = screen
            .assets
            .values()
            .map(|bar| (bar.prefix(), bar.position(), bar.message()))
            .collect();
        let rest = |name: &str| {
            (
                name.to_owned(),
                2_000_000,
                "   2.00 MB/s  3s left".to_owned(),
            )
        };
        assert_eq!(lines, [rest("a"), rest("b")]);
        fold(&mut record, 2_000, fetched());
        screen.show(&record);
        assert_eq!(screen.assets.keys().collect::<Vec<_>>(), ["assets:b"]);
    }

    #[test]
    fn an_asset_that_came_in_is_a_plain_line_with_its_numbers() {
        let envelope = Envelope {
            seq: 1,
            at: Timestamp(0),
            elapsed_ms: 2_500,
            event: fetched(),
        };
        let wanted =
            "   2.500    < a 8.00 MB in 2.00s, 4.00 MB/s, from mirror 2, https://two.example.com/a";
        assert_eq!(line_of(&envelope).as_deref(), Some(wanted));
    }
}
