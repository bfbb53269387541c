//! The logs that were collected of a node, each with how what writes it is doing.

use super::line::{self, Level};
use crate::checks::node::Node;
use crate::checks::unit_health::{UnitHealth, health};
use crate::log_lines;
use quake_model::facts::PodSeen;
use quake_model::record::BootState;
use quake_model::time::Timestamp;

/// What the kernel's log is called.
pub(super) const KERNEL: &str = "kernel";

/// A log, oldest line first.
pub(super) struct Log<'a> {
    /// Such as `kubelet` or `pod kube-system/kube-proxy-x`.
    pub(super) name: String,
    pub(super) lines: &'a [String],
    /// Whether what writes it is down, or ends again and again.
    pub(super) is_down: bool,
    /// When what writes it was started, where that is known.
    started: Option<Timestamp>,
    /// How to read more of it.
    pub(super) more: String,
    when: When,
}

/// When the logs were collected, and when the node was ready.
#[derive(Clone, Copy)]
struct When {
    taken: Timestamp,
    /// The end of the latest boot, if it ended well.
    ready: Option<Timestamp>,
}

impl When {
    fn of(node: &Node<'_>) -> Self {
        let record = node
            .record()
            .ok()
            .filter(|record| record.state == BootState::Ready);
        let ready = record.and_then(|record| {
            let ends = record.phases.values().filter_map(|phase| phase.ended_ms);
            Some(Timestamp(record.started.0 + ends.max()? + SETTLING_MS))
        });
        Self {
            taken: node.taken(),
            ready,
        }
    }

    /// When the last of these lines that has a time was written.
    fn last(self, lines: &[String]) -> Option<Timestamp> {
        let mut latest_first = lines.iter().rev();
        latest_first.find_map(|text| line::time(text, self.taken))
    }

    /// Whether the last of these lines was written before the boot was ready.
    fn was_booting(self, lines: &[String]) -> bool {
        let both = self.ready.zip(self.last(lines));
        both.is_some_and(|(ready, last)| last < ready)
    }
}

/// A node that is ready may take so long until all its pods run.
const SETTLING_MS: u64 = 30_000;

/// Errors of a start that went well are over after this long.
const START_MS: u64 = 5 * 60_000;

/// What kubelet logs of a lease that it cannot renew, every few seconds while it cannot.
const LEASE: &[&str] = &["Failed to ensure lease exists", "Failed to update lease"];

/// A lease of which kubelet says nothing for so long is renewed (`k8s.io/component-helpers`
/// `apimachinery/lease/controller.go`: it retries within seven seconds).
const LEASE_MS: u64 = 30_000;

/// What no line repeats for so long is over.
pub(super) const OVER_MS: u64 = 10 * 60_000;

impl Log<'_> {
    pub(super) fn level(&self, index: usize) -> Level {
        let text = &self.lines[index];
        let level = match self.name == KERNEL {
            true => line::level_of_kernel(text),
            false => line::level(text),
        };
        // What a program says last before it ends is why it ends, whatever it calls that.
        let is_last = index + LAST >= self.lines.len();
        match self.is_down && is_last && level != Level::Information {
            true => level.max(Level::Error),
            false => level,
        }
    }

    /// Whether a container of a pod wrote it.
    pub(super) fn is_of_pod(&self) -> bool {
        self.name.contains(" of pod ")
    }

    /// Whether a container wrote it that is none of the cluster's own.
    pub(super) fn is_of_user(&self) -> bool {
        self.is_of_pod() && !self.name.contains(" of pod kube-system/")
    }

    /// Whether a line was written shortly before the logs were collected.
    pub(super) fn is_late(&self, line: &str) -> bool {
        let taken = self.when.taken;
        line::time(line, taken).is_some_and(|at| taken.millis_since(at) < OVER_MS)
    }

    /// Whether a line was written shortly before the log ends, or nothing says when.
    pub(super) fn is_near_end(&self, line: &str) -> bool {
        let written = line::time(line, self.when.taken);
        let both = written.zip(self.when.last(self.lines));
        both.is_none_or(|(written, last)| last.millis_since(written) < OVER_MS)
    }

    /// Whether a line opens the kernel's trace of what a line shortly before it says.
    pub(super) fn is_trace(&self, index: usize) -> bool {
        const BEFORE: usize = 8;
        let opens = |at: usize| self.lines[at].contains("Call Trace");
        let says = |at: usize| {
            self.level(at) >= Level::Error || log_lines::find(&self.lines[at]).is_some()
        };
        let mut before = index.saturating_sub(BEFORE)..index;
        opens(index) && before.any(|at| !opens(at) && says(at))
    }

    /// Whether a line was written in a boot or start that went well, or the log went on for long without it.
    pub(super) fn is_over(&self, index: usize) -> bool {
        let taken = self.when.taken;
        let Some(written) = line::time(&self.lines[index], taken) else {
            return false;
        };
        if self.is_down || self.is_of_first_start() {
            return false;
        }
        let last = self.when.last(&self.lines[index..]);
        let went_on = last.is_some_and(|last| last.millis_since(written) > OVER_MS);
        went_on || self.is_of_start(index)
    }

    /// Whether what writes it runs once, as the instance starts for the first time: what failed then is not made up for.
    fn is_of_first_start(&self) -> bool {
        self.name.contains("cloud-init")
    }

    /// Whether a line was written in a boot or start that went well.
    pub(super) fn is_of_start(&self, index: usize) -> bool {
        let taken = self.when.taken;
        let Some(written) = line::time(&self.lines[index], taken) else {
            return false;
        };
        let of_start = self.started.is_some_and(|started| {
            let is_settled = taken.millis_since(started) > START_MS + OVER_MS;
            is_settled && written.millis_since(started) < START_MS
        });
        let of_boot = self.when.ready.is_some_and(|ready| written < ready);
        let is_lease = LEASE.iter().any(|words| self.lines[index].contains(words));
        let is_renewed = is_lease && taken.millis_since(written) > LEASE_MS;
        of_start || of_boot || is_renewed
    }
}

/// So many lines at the end of the log of what ended say why.
const LAST: usize = 3;

/// Every log of a survey.
pub(super) fn logs<'a>(node: &Node<'a>) -> Vec<Log<'a>> {
    let survey = node.survey();
    let when = When::of(node);
    let mut logs = Vec::new();
    for (unit, lines) in survey.journals.ok().into_iter().flatten() {
        let facts = node.unit(unit).ok().flatten();
        let is_down = facts.is_some_and(|unit| {
            matches!(health(unit, when.taken), UnitHealth::Down(_))
                && (unit.restarts > 0 || unit.result != "success")
        });
        let started = facts.filter(|unit| unit.main_started_us > 0);
        logs.push(Log {
            name: unit.strip_suffix(".service").unwrap_or(unit).to_owned(),
            lines,
            is_down,
            started: started.map(|unit| Timestamp(unit.main_started_us / 1000)),
            more: format!("journalctl -b -u {unit}"),
            when,
        });
    }
    if let Some(lines) = survey.kernel_log.ok() {
        logs.push(Log {
            name: KERNEL.to_owned(),
            lines,
            is_down: false,
            started: None,
            more: "dmesg -T".to_owned(),
            when,
        });
    }
    let runtime = survey.runtime.ok();
    let pods = runtime.and_then(|runtime| runtime.pods.as_deref());
    logs.extend(pods.into_iter().flatten().flat_map(|pod| of_pod(pod, when)));
    for (path, lines) in survey.logs.ok().into_iter().flatten() {
        logs.push(Log {
            name: path.clone(),
            lines,
            is_down: false,
            started: None,
            more: format!("less {path}"),
            when,
        });
    }
    logs.retain(|log| !log.lines.is_empty());
    logs
}

/// The logs of a container: of its run, and of the one before.
fn of_pod<'a>(pod: &'a PodSeen, when: When) -> Vec<Log<'a>> {
    let (namespace, name, container) = (&pod.namespace, &pod.name, &pod.container);
    let more = format!("less /var/log/pods/{namespace}_{name}_*/{container}/*.log");
    let has_failed = pod.state == "exited" && pod.exit_code != Some(0);
    let log = |name: String, lines: &'a [String], is_down: bool| Log {
        name,
        lines,
        is_down,
        started: None,
        more: more.clone(),
        when,
    };
    let whole = format!("{container} of pod {namespace}/{name}");
    let mut logs = vec![log(whole.clone(), &pod.log, has_failed)];
    if let Some(previous) = &pod.previous {
        let ends_often = pod.restarts >= MANY && previous.exit_code != Some(0);
        // While a node boots its components end until what they need is there.
        let ends_often = ends_often && !(pod.state == "running" && when.was_booting(&previous.log));
        logs.push(log(
            format!("{whole}, its run before"),
            &previous.log,
            ends_often,
        ));
    }
    logs
}

/// So many starts are no accident any more.
const MANY: u32 = 3;
