//! The timeline as a trace that Chrome and Perfetto open: the JSON of the trace event format, complete events (`X`) with the
//! names of processes and threads as metadata (`M`), in the order of time. A layer is a process and a phase a thread; steps that
//! overlap have threads of their own, for slices of one thread must nest.

use quake_diagnose::timeline::{BootSpans, Layer, MachineSpan, Timeline};
use quake_model::transfer::{Fetched, asset_of};
use serde_json::{Value, json};
use std::collections::BTreeMap;

/// One slice, before its thread is known; times in milliseconds from the boot's first event.
struct Slice {
    name: String,
    category: &'static str,
    layer: Layer,
    /// What the thread is called.
    lane: String,
    start_ms: i64,
    end_ms: i64,
    details: Value,
}

/// The trace; its first moment is zero.
pub(crate) fn timeline_chrome(timeline: &Timeline) -> Value {
    let mut slices = slices(timeline);
    // Of two that begin together the longer holds the other.
    slices.sort_by_key(|slice| (slice.start_ms, std::cmp::Reverse(slice.end_ms)));
    let zero = slices.iter().map(|slice| slice.start_ms).min();
    let zero = zero.unwrap_or_default();
    let mut threads = Threads::default();
    let placed: Vec<Value> = slices
        .iter()
        .map(|slice| {
            json!({
                "name": slice.name,
                "cat": slice.category,
                "ph": "X",
                "pid": process(slice.layer),
                "tid": threads.place(slice),
                "ts": micros(slice.start_ms - zero),
                "dur": micros(slice.end_ms - slice.start_ms),
                "args": slice.details,
            })
        })
        .collect();
    let mut events = threads.metadata();
    events.extend(placed);
    json!({ "traceEvents": events, "displayTimeUnit": "ms" })
}

fn micros(millis: i64) -> u64 {
    u64::try_from(millis).unwrap_or_default() * 1000
}

fn process(layer: Layer) -> u64 {
    match layer {
        Layer::Firmware | Layer::Loader | Layer::Kernel | Layer::Initrd => 1,
        Layer::Systemd => 2,
        Layer::CloudInit => 3,
        Layer::Agent => 4,
    }
}

fn slices(timeline: &Timeline) -> Vec<Slice> {
    let boot = &timeline.boot;
    let machine = timeline.machine.spans.iter();
    let end = signed(boot.end_ms);
    let mut all: Vec<Slice> = machine.map(|span| of_machine(span, end)).collect();
    for span in &boot.phases {
        let mut links = timeline.critical.iter();
        let details = json!({
            "status": span.status,
            "retries": span.retries,
            "critical": links.any(|link| link.phase == Some(span.phase)),
        });
        let (name, times) = (span.phase.name(), (span.start_ms, boot.end_of(span)));
        all.push(of_agent(name, "phase", name.to_owned(), times, details));
    }
    for step in &boot.steps {
        let (lane, times) = (steps_of(step.phase.name()), (step.start_ms, step.end_ms));
        let details = json!({ "outcome": step.outcome });
        all.push(of_agent(&step.step, "step", lane, times, details));
    }
    for wait in &boot.waits {
        let (lane, times) = (steps_of(wait.phase.name()), (wait.start_ms, wait.end_ms));
        let (name, details) = (format!("wait: {}", wait.code), json!({ "step": wait.step }));
        all.push(of_agent(&name, "wait", lane, times, details));
    }
    all.extend(downloads(boot));
    all
}

/// Assets that came in; a download ends within the step of its name.
fn downloads(boot: &BootSpans) -> Vec<Slice> {
    let download = |fetched: &Fetched| {
        let mut steps = boot.steps.iter();
        let step = steps.find(|step| step.step == fetched.step)?;
        let end = (step.start_ms + fetched.took_ms).min(step.end_ms);
        let details = json!({ "bytes": fetched.bytes, "source": fetched.source });
        let (name, lane) = (asset_of(&fetched.step), "downloads".to_owned());
        Some(of_agent(name, "asset", lane, (step.start_ms, end), details))
    };
    boot.fetched.iter().filter_map(download).collect()
}

fn of_agent(
    name: &str,
    category: &'static str,
    lane: String,
    (start, end): (u64, u64),
    details: Value,
) -> Slice {
    Slice {
        name: name.to_owned(),
        category,
        layer: Layer::Agent,
        lane,
        start_ms: signed(start),
        end_ms: signed(end.max(start)),
        details,
    }
}

fn steps_of(phase: &str) -> String {
    format!("{phase} steps")
}

fn of_machine(span: &MachineSpan, end: i64) -> Slice {
    Slice {
        name: span.name.clone(),
        category: span.layer.name(),
        layer: span.layer,
        lane: span.layer.name().to_owned(),
        start_ms: span.start_ms,
        end_ms: span.end_ms.unwrap_or(end).max(span.start_ms),
        details: json!({ "clock": span.clock.name() }),
    }
}

/// Threads, each with the ends of the slices that are open in it.
#[derive(Default)]
struct Threads {
    /// The process, the lane, and the ends of open slices; a thread's number is its place, from 1.
    open: Vec<(u64, String, Vec<i64>)>,
}

impl Threads {
    /// The first thread of the slice's lane in which it nests.
    fn place(&mut self, slice: &Slice) -> usize {
        let pid = process(slice.layer);
        for (index, (of, lane, ends)) in self.open.iter_mut().enumerate() {
            if (*of, lane.as_str()) != (pid, slice.lane.as_str()) {
                continue;
            }
            ends.retain(|end| *end > slice.start_ms);
            if ends.iter().all(|end| *end >= slice.end_ms) {
                ends.push(slice.end_ms);
                return index + 1;
            }
        }
        self.open
            .push((pid, slice.lane.clone(), vec![slice.end_ms]));
        self.open.len()
    }

    fn metadata(&self) -> Vec<Value> {
        let name = |what: &str, pid: u64, tid: usize, name: &str| json!({ "name": what, "ph": "M", "pid": pid, "tid": tid, "ts": 0, "args": { "name": name } });
        let processes: BTreeMap<u64, &str> = [
            (1, "kernel"),
            (2, "systemd"),
            (3, "cloud-init"),
            (4, "agent"),
        ]
        .into();
        let known = |pid: &u64| self.open.iter().any(|(of, _, _)| of == pid);
        let processes = processes.into_iter().filter(|(pid, _)| known(pid));
        let mut all: Vec<Value> = processes
            .map(|(pid, process)| name("process_name", pid, 0, process))
            .collect();
        for (index, (pid, lane, _)) in self.open.iter().enumerate() {
            all.push(name("thread_name", *pid, index + 1, lane));
        }
        all
    }
}

fn signed(millis: u64) -> i64 {
    i64::try_from(millis).unwrap_or(i64::MAX)
}
