//! What the consoles of a cluster's instances say together: the same rows, failures and durations as boot
//! reports give, and which instances say nothing.
//!
//! A console knows less than a report: no phases, no agent version, and no time. A row's end is the launch of
//! its instance and the time that the boot took; a reboot makes that too early.

use super::console::{Console, Ending, read_console};
use super::{Fleet, Rows, Unreadable, put_together};
use quake_model::boot::BootId;
use quake_model::boot_report::{
    BootReport, ReportedAgent, ReportedFault, ReportedInstance, SCHEMA,
};
use quake_model::facts::{InstanceState, InstanceView};
use quake_model::time::Timestamp;
use serde::Serialize;
use std::cmp::Reverse;
use std::collections::BTreeMap;

/// Which instances of a cluster are read.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Wanted {
    /// Only instances of this instance group.
    pub instance_group: Option<String>,
    /// Only instances that were launched at or after this.
    pub since: Option<Timestamp>,
    /// At most this many, the newest first.
    pub limit: usize,
}

/// The instances to read.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Chosen {
    /// These, the newest first.
    pub instances: Vec<InstanceView>,
    /// How many more the limit leaves out.
    pub omitted: usize,
}

/// Chooses the instances to read; those that are terminated have no console to look after.
pub fn choose_instances(views: Vec<InstanceView>, wanted: &Wanted) -> Chosen {
    let by_id = views
        .into_iter()
        .map(|view| (view.instance_id.clone(), view));
    let by_id: BTreeMap<String, InstanceView> = by_id.collect();
    let mut instances: Vec<InstanceView> = by_id.into_values().collect();
    instances.retain(|view| {
        let is_gone = matches!(
            view.state,
            InstanceState::Terminated | InstanceState::ShuttingDown
        );
        let of_group = wanted.instance_group.as_deref();
        !is_gone
            && of_group.is_none_or(|group| group_of(view) == group)
            && wanted.since.is_none_or(|since| view.launched >= since)
    });
    // Sorted by id before, and this keeps the order of what is equal.
    instances.sort_by_key(|view| Reverse(view.launched));
    let omitted = instances.len().saturating_sub(wanted.limit);
    instances.truncate(wanted.limit);
    Chosen { instances, omitted }
}

/// The console of an instance as it was read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Heard {
    pub instance: InstanceView,
    /// Its output in base64, or why it could not be read.
    pub console: Result<String, String>,
}

/// The answer.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ConsoleFleet {
    /// The boots whose end is known, as of reports.
    #[serde(flatten)]
    pub fleet: Fleet,
    /// How many instances were read.
    pub instances: usize,
    /// How many more the limit left out.
    pub omitted: usize,
    /// Those whose last boot has not ended.
    pub in_progress: Vec<Quiet>,
    /// Those that have output without a line of the agent.
    pub no_report: Vec<Quiet>,
    /// Those that have no output yet.
    pub no_output: Vec<Quiet>,
}

/// An instance whose boot is not known.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Quiet {
    /// `i-…`.
    pub instance: String,
    /// Its group; empty where no tag names one.
    pub instance_group: String,
    pub launched: Timestamp,
    /// What is known of it.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub note: String,
}

impl ConsoleFleet {
    /// Whether every instance of the cluster was read and became ready, and there is one.
    pub fn is_ready(&self) -> bool {
        let unknown = [&self.in_progress, &self.no_report, &self.no_output];
        self.fleet.is_ready()
            && self.fleet.unreadable.is_empty()
            && self.omitted == 0
            && unknown.iter().all(|quiet| quiet.is_empty())
    }
}

/// Puts consoles together. Their order does not matter.
pub fn fleet_of_consoles(heard: &[Heard], omitted: usize, rows: Rows) -> ConsoleFleet {
    let (mut boots, mut unread) = (Vec::new(), Vec::new());
    let (mut in_progress, mut no_report, mut no_output) = (Vec::new(), Vec::new(), Vec::new());
    for Heard { instance, console } in heard {
        let read = console.as_deref().map_err(Clone::clone);
        let read = read.and_then(read_console);
        match read.and_then(|console| of_this(instance, console)) {
            Ok(Console::Ended(ending)) => boots.push(report(instance, ending)),
            Ok(Console::Unfinished { said }) => in_progress.push(quiet(instance, said)),
            // kops gives a bastion no user data, so that no agent runs there.
            Ok(Console::Empty | Console::Silent { .. }) if is_bastion(instance) => {}
            Ok(Console::Silent { is_cut: false }) => {
                no_report.push(quiet(instance, String::new()));
            }
            Ok(Console::Silent { is_cut: true }) => {
                let note = "EC2 keeps the last 64 KiB, and older lines are gone";
                no_report.push(quiet(instance, note.to_owned()));
            }
            Ok(Console::Empty) => no_output.push(quiet(instance, String::new())),
            Err(why) => unread.push(Unreadable {
                location: format!("console of {}", instance.instance_id),
                why,
            }),
        }
    }
    for them in [&mut in_progress, &mut no_report, &mut no_output] {
        them.sort_by(|a: &Quiet, b| a.instance.cmp(&b.instance));
    }
    ConsoleFleet {
        fleet: put_together(boots, unread, rows),
        instances: heard.len(),
        omitted,
        in_progress,
        no_report,
        no_output,
    }
}

/// Refuses the words of another instance: an image may have been made with them on its console.
fn of_this(instance: &InstanceView, console: Console) -> Result<Console, String> {
    let named = match &console {
        Console::Ended(ending) => ending.instance.as_deref(),
        _ => None,
    };
    match named.filter(|named| *named != instance.instance_id) {
        Some(other) => Err(format!("its last line is of the instance {other}")),
        None => Ok(console),
    }
}

fn quiet(instance: &InstanceView, note: String) -> Quiet {
    Quiet {
        instance: instance.instance_id.clone(),
        instance_group: group_of(instance).to_owned(),
        launched: instance.launched,
        note,
    }
}

/// The report that the instance would have left, as far as its console has it.
fn report(instance: &InstanceView, ending: Ending) -> BootReport {
    let took_ms = ending.elapsed_ms.unwrap_or_default();
    let class = ending.class();
    BootReport {
        schema_version: SCHEMA.to_owned(),
        boot: BootId::new(instance.launched, 0),
        command: "boot".to_owned(),
        instance: ReportedInstance {
            id: instance.instance_id.clone(),
            kind: String::new(),
            zone: instance.zone.clone(),
            image: String::new(),
        },
        cluster: ending.cluster,
        instance_group: group_of(instance).to_owned(),
        role: ending.role,
        kubernetes: None,
        agent: ReportedAgent {
            version: String::new(),
            digest: None,
        },
        config: None,
        result: ending.result,
        exit_status: ending.exit_status,
        started_at: instance.launched,
        ended_at: Timestamp(instance.launched.0.saturating_add(took_ms)),
        took_ms,
        phases: Vec::new(),
        fault: ending.code.map(|code| ReportedFault {
            phase: ending.phase,
            code,
            class: class.to_owned(),
            summary: ending.summary,
        }),
        warnings: BTreeMap::new(),
        bytes_fetched: 0,
        calls: BTreeMap::new(),
        throttled: BTreeMap::new(),
    }
}

/// The instance group: by kops' own tag, or by the name of the Auto Scaling group, `<group>.<cluster>`.
fn group_of(instance: &InstanceView) -> &str {
    let tag = |key: &str| instance.tags.get(key).map(String::as_str);
    let named = tag("kops.k8s.io/instancegroup").filter(|group| !group.is_empty());
    named.unwrap_or_else(|| {
        let cluster = tag("KubernetesCluster").unwrap_or_default();
        let scaling = tag("aws:autoscaling:groupName").unwrap_or_default();
        let group = scaling.strip_suffix(cluster);
        group
            .and_then(|group| group.strip_suffix('.'))
            .unwrap_or_default()
    })
}

fn is_bastion(instance: &InstanceView) -> bool {
    instance.tags.contains_key("k8s.io/role/bastion")
}

#[cfg(test)]
mod tests;
