//! The timeline for people: the chain that the end waited for in one line, then bars in a hundred columns with that
//! chain marked.

use crate::output::style;
use quake_diagnose::timeline::{
    Clock, Layer, Link, MachineSpan, Part, PhaseSpan, Timeline, slack_ms,
};
use quake_model::record::Record;
use std::fmt::Write;

/// Columns of the bars.
const BAR: i64 = 46;

/// Columns of the names.
const NAME: usize = 22;

/// Steps told of each phase of the chain.
const STEPS: usize = 3;

/// Phases named in the chain's line.
const PHASES_NAMED: usize = 4;

/// The chain, the bars, and what the chain is made of.
pub(crate) fn timeline_text(record: &Record, timeline: &Timeline) -> String {
    let mut text = format!("{}\n", style::strong(chain(record, timeline)));
    let scale = Scale::new(timeline);
    for span in &timeline.machine.spans {
        let is_critical = on_chain(timeline, span);
        let end = span.end_ms.unwrap_or(scale.end);
        let note = if span.end_ms.is_none() {
            "in progress"
        } else {
            ""
        };
        row(
            &mut text,
            &scale,
            (is_critical, &span.name),
            (span.start_ms, end),
            note,
        );
    }
    for span in &timeline.boot.phases {
        let is_critical = timeline
            .critical
            .iter()
            .any(|link| link.phase == Some(span.phase));
        let times = (signed(span.start_ms), signed(timeline.boot.end_of(span)));
        let note = note(timeline, span, is_critical);
        row(
            &mut text,
            &scale,
            (is_critical, span.phase.name()),
            times,
            &note,
        );
    }
    slowest_steps(&mut text, timeline);
    for absent in &timeline.machine.absent {
        let _ = writeln!(
            text,
            "  without {}: {}",
            absent.source.name(),
            absent.reason
        );
    }
    if timeline.machine.clock == Clock::Wall {
        text.push_str("  joined by the wall clock, which may have been set in between\n");
    }
    text
}

/// What each phase of the chain took longest for.
fn slowest_steps(text: &mut String, timeline: &Timeline) {
    for link in &timeline.critical {
        for part in link
            .parts
            .iter()
            .filter(|part| part.took_ms > 0)
            .take(STEPS)
        {
            let _ = writeln!(
                text,
                "    {:>8}  {}{}",
                seconds(part.took_ms),
                part.step,
                waits(part)
            );
        }
    }
}

/// What the bars stand for.
struct Scale {
    start: i64,
    end: i64,
}

impl Scale {
    fn new(timeline: &Timeline) -> Self {
        let starts = timeline.machine.spans.iter().map(|span| span.start_ms);
        let end = signed(timeline.boot.end_ms);
        Self {
            start: starts.chain([0]).min().unwrap_or_default(),
            end: end.max(1),
        }
    }

    /// The column of a time, of which what is after the boot has the last.
    fn column(&self, at: i64) -> i64 {
        let at = at.clamp(self.start, self.end) - self.start;
        at * BAR / (self.end - self.start)
    }

    /// A bar, at least one column wide.
    fn bar(&self, (start, end): (i64, i64), mark: &str) -> String {
        let left = self.column(start).min(BAR - 1);
        let width = (self.column(end) - left).max(1);
        let repeated =
            |piece: &str, times: i64| piece.repeat(usize::try_from(times).unwrap_or_default());
        let bar = format!("{}{}", repeated(" ", left), repeated(mark, width));
        format!("{bar:<0$}", usize::try_from(BAR).unwrap_or_default())
    }
}

fn row(
    text: &mut String,
    scale: &Scale,
    (is_critical, name): (bool, &str),
    times: (i64, i64),
    note: &str,
) {
    let (mark, filling) = if is_critical { ("*", "#") } else { (" ", "=") };
    let name: String = name.chars().take(NAME).collect();
    let took = seconds(u64::try_from(times.1 - times.0).unwrap_or_default());
    let line = format!(
        "{mark} {name:<NAME$}|{}|{took:>9}  {note}",
        scale.bar(times, filling)
    );
    let line = line.trim_end();
    let _ = if is_critical {
        writeln!(text, "{}", style::strong(line))
    } else {
        writeln!(text, "{line}")
    };
}

/// Whether a span of the machine is what its link of the chain is called after.
fn on_chain(timeline: &Timeline, span: &MachineSpan) -> bool {
    let is_whole = span.name == span.layer.name() || span.layer == Layer::CloudInit;
    is_whole
        && timeline
            .critical
            .iter()
            .any(|link| link.layer == span.layer)
}

fn note(timeline: &Timeline, span: &PhaseSpan, is_critical: bool) -> String {
    let slack = slack_ms(&timeline.boot, span.phase);
    match slack.filter(|_| !is_critical) {
        Some(slack) => format!("slack {}", seconds(slack)),
        None if span.retries > 0 => format!("{} retries", span.retries),
        None => format!("{} of {} changed", span.changed, span.steps),
    }
}

fn waits(part: &Part) -> String {
    let waits = part.waits.iter();
    let waits: Vec<String> = waits
        .map(|(code, millis)| format!("{} for {code}", seconds(*millis)))
        .collect();
    if waits.is_empty() {
        String::new()
    } else {
        style::warning(format!(" (paused {})", waits.join(", "))).to_string()
    }
}

/// `Timeline (critical path)  kernel 3.1s -> systemd 2.4s -> agent 31.4s [assets 30.8s, config 0.4s]`.
fn chain(record: &Record, timeline: &Timeline) -> String {
    let is_agent = |link: &&Link| link.layer == Layer::Agent;
    let before = timeline.critical.iter().filter(|link| !is_agent(link));
    let mut words: Vec<String> = before
        .map(|link| format!("{} {}", link.layer.name(), tenths(link.took_ms())))
        .collect();
    let mut phases: Vec<&Link> = timeline.critical.iter().filter(is_agent).collect();
    let total: u64 = phases.iter().map(|link| link.took_ms()).sum();
    phases.sort_by_key(|link| std::cmp::Reverse(link.took_ms()));
    // What took less than a hundredth explains nothing.
    let most = phases
        .iter()
        .filter(|link| link.took_ms() * 100 >= total.max(1));
    let most: Vec<String> = most
        .take(PHASES_NAMED)
        .filter_map(|link| Some(format!("{} {}", link.phase?, tenths(link.took_ms()))))
        .collect();
    words.push(format!("agent {} [{}]", tenths(total), most.join(", ")));
    let so_far = if record.is_terminal() { "" } else { ", so far" };
    format!("Timeline (critical path{so_far})  {}", words.join(" -> "))
}

fn seconds(millis: u64) -> String {
    format!("{}.{:03}s", millis / 1000, millis % 1000)
}

/// Seconds with a decimal; what would be none of them, in milliseconds.
fn tenths(millis: u64) -> String {
    match millis {
        0..100 => format!("{millis}ms"),
        _ => format!("{:.1}s", millis as f64 / 1000.0),
    }
}

fn signed(millis: u64) -> i64 {
    i64::try_from(millis).unwrap_or(i64::MAX)
}
