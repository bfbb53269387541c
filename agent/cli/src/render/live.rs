//! The boot while it happens: plain lines, and on a terminal a bar for the bytes that come in.

use super::fault::fault_text;
use crate::args::OutputFormat;
use indicatif::{ProgressBar, ProgressStyle};
use quake_model::event::{Envelope, Event};
use quake_model::outcome::Outcome;
use quake_model::ports::{Sink, SinkError};
use quake_model::record::Record;
use std::io::{IsTerminal, Write};

/// Prints events to standard output as they come.
pub(crate) struct Live {
    format: OutputFormat,
    bar: Option<ProgressBar>,
}

impl Live {
    /// A live view; the bar appears only on a terminal.
    pub(crate) fn new(format: OutputFormat) -> Self {
        let terminal = format == OutputFormat::Text && std::io::stdout().is_terminal();
        Self {
            format,
            bar: terminal.then(bar),
        }
    }

    fn print(&self, line: &str) -> std::io::Result<()> {
        match &self.bar {
            Some(bar) => bar.println(line.trim_end()),
            None => writeln!(std::io::stdout(), "{}", line.trim_end())?,
        }
        Ok(())
    }

    fn show_progress(&self, record: &Record) {
        let Some(bar) = &self.bar else { return };
        let done: u64 = record.progress.values().map(|(done, _)| done).sum();
        let total: u64 = record
            .progress
            .values()
            .map(|(done, total)| total.unwrap_or(*done))
            .sum();
        bar.set_length(total);
        bar.set_position(done);
        bar.set_message(crate::sinks::status_line(record));
        if record.is_terminal() {
            bar.finish_and_clear();
        }
    }
}

fn bar() -> ProgressBar {
    let style = ProgressStyle::with_template("{bar:30} {bytes}/{total_bytes} {msg}")
        .expect("the template above is well-formed");
    ProgressBar::new(0).with_style(style)
}

impl Sink for Live {
    fn accept(&mut self, envelope: &Envelope, record: &Record) -> Result<(), SinkError> {
        self.show_progress(record);
        let printed = match self.format {
            OutputFormat::Json => match serde_json::to_string(envelope) {
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
        Event::PhaseFailed { phase, .. } => format!("{phase} FAILED"),
        _ => return None,
    };
    Some(format!("{seconds:>8.3}  {line}"))
}
