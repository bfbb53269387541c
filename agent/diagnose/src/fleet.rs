//! What the boot reports of a cluster say together: a row for each instance, the failures by code, and how long boots take.
//!
//! Percentiles are by nearest rank: of `n` durations in order, the p-th percentile is the one at rank `⌈p/100 · n⌉`, so it
//! is always a duration that was measured, and of few boots the 95th is the longest. A boot counts as a whole only when it
//! became ready, and a phase only when it was done: how long something failed says when it gave up, not how long it takes.

mod console;
mod consoles;

pub use consoles::{
    Chosen, ConsoleFleet, Heard, Quiet, Wanted, choose_instances, fleet_of_consoles,
};

use crate::throttled::{self, ThrottledAction};
use quake_model::boot::BootState;
use quake_model::boot_report::{BootReport, SCHEMA};
use quake_model::fault::Code;
use quake_model::phase::PHASES;
use quake_model::record::PhaseStatus;
use quake_model::time::Timestamp;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// A report as it was found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Found {
    /// Where.
    pub location: String,
    /// Its bytes, or why it could not be read.
    pub bytes: Result<Vec<u8>, String>,
}

/// What is asked of the reports.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Question {
    /// Only boots that ended at or after this.
    pub since: Option<Timestamp>,
    /// Which of them have rows; counts and durations are of all.
    pub rows: Rows,
}

/// Which boots have rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Rows {
    #[default]
    All,
    /// Those that did not become ready.
    NotReady,
}

/// The answer.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Fleet {
    /// How many boots there are.
    pub boots: usize,
    pub ready: usize,
    pub failed: usize,
    /// How many were told to stop, or ended in a way that this agent does not know.
    pub stopped: usize,
    /// The boots, the last one first.
    pub rows: Vec<BootReport>,
    /// Failures by code, the most frequent first.
    pub failures: Vec<Failures>,
    /// How long boots take: of the whole cluster, then of each instance group.
    pub durations: Vec<Durations>,
    /// What AWS throttled, of all boots.
    pub throttled: Vec<ThrottledAction>,
    /// Reports that could not be read.
    pub unreadable: Vec<Unreadable>,
}

/// Boots that failed or stopped with one code.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Failures {
    pub code: String,
    pub class: String,
    pub count: usize,
    /// Whose, sorted.
    pub instances: Vec<String>,
    /// What to do in general; `None` for a code of a newer agent.
    pub remedy: Option<&'static str>,
}

/// How long the boots of a group take.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Durations {
    /// The group; `None` for all groups together.
    pub instance_group: Option<String>,
    /// Whole boots, of those that became ready; `None` when none did.
    pub total: Option<Percentiles>,
    /// Each phase that any boot completed, in the order of the phases.
    pub phases: Vec<PhaseDurations>,
}

/// How long one phase takes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct PhaseDurations {
    pub phase: String,
    #[serde(flatten)]
    pub took: Percentiles,
}

/// The middle and the slow end of some durations, in milliseconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Percentiles {
    pub count: usize,
    /// Half of them took at most this.
    pub p50_ms: u64,
    /// Nineteen of twenty took at most this.
    pub p95_ms: u64,
}

/// A report that could not be read.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Unreadable {
    /// Where it is.
    pub location: String,
    pub why: String,
}

impl Fleet {
    /// Whether every boot became ready, and there was one.
    pub fn is_ready(&self) -> bool {
        self.boots > 0 && self.ready == self.boots
    }
}

/// Puts reports together. Their order does not matter.
pub fn fleet(found: &[Found], question: Question) -> Fleet {
    let mut unread = Vec::new();
    let mut boots = Vec::new();
    for report in found {
        match read(report) {
            Ok(boot) if question.since.is_none_or(|since| boot.ended_at >= since) => {
                boots.push(boot);
            }
            Ok(_) => {}
            Err(why) => unread.push(Unreadable {
                location: report.location.clone(),
                why,
            }),
        }
    }
    put_together(boots, unread, question.rows)
}

fn put_together(mut boots: Vec<BootReport>, mut unread: Vec<Unreadable>, rows: Rows) -> Fleet {
    unread.sort_by(|a, b| a.location.cmp(&b.location));
    boots.sort_by(|a, b| (b.ended_at, &a.instance.id).cmp(&(a.ended_at, &b.instance.id)));
    let ended = |state: BootState| boots.iter().filter(|boot| boot.result == state).count();
    let (ready, failed) = (ended(BootState::Ready), ended(BootState::Failed));
    let has_row = |boot: &&BootReport| match rows {
        Rows::All => true,
        Rows::NotReady => boot.result != BootState::Ready,
    };
    Fleet {
        boots: boots.len(),
        ready,
        failed,
        stopped: boots.len() - ready - failed,
        rows: boots.iter().filter(has_row).cloned().collect(),
        failures: failures(&boots),
        durations: durations(&boots),
        throttled: throttled::of_boots(&boots),
        unreadable: unread,
    }
}

/// What every version of a report begins with.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Head {
    #[serde(default)]
    schema_version: String,
}

fn read(found: &Found) -> Result<BootReport, String> {
    let bytes = found.bytes.as_ref().map_err(Clone::clone)?;
    let malformed = |error: serde_json::Error| format!("it is no boot report: {error}");
    let head: Head = serde_json::from_slice(bytes).map_err(malformed)?;
    match head.schema_version.as_str() {
        SCHEMA => serde_json::from_slice(bytes).map_err(malformed),
        "" => Err("it is no boot report: it names no schema".to_owned()),
        other => Err(format!(
            "it is of the schema {other}, and this agent reads {SCHEMA}"
        )),
    }
}

fn failures(boots: &[BootReport]) -> Vec<Failures> {
    let mut by_code: BTreeMap<&str, Failures> = BTreeMap::new();
    for boot in boots.iter().filter(|boot| boot.result != BootState::Ready) {
        let Some(fault) = &boot.fault else { continue };
        let failures = by_code.entry(&fault.code).or_insert_with(|| Failures {
            code: fault.code.clone(),
            class: fault.class.clone(),
            count: 0,
            instances: Vec::new(),
            remedy: remedy_of(&fault.code),
        });
        failures.count += 1;
        failures.instances.push(boot.instance.id.clone());
    }
    let mut failures: Vec<Failures> = by_code.into_values().collect();
    failures.iter_mut().for_each(|them| them.instances.sort());
    // Sorted by code before, and this keeps the order of what is equal.
    failures.sort_by_key(|them| std::cmp::Reverse(them.count));
    failures
}

fn remedy_of(code: &str) -> Option<&'static str> {
    match Code::from_name(code) {
        Code::Unrecognised => None,
        known => Some(known.entry().remedy),
    }
}

fn durations(boots: &[BootReport]) -> Vec<Durations> {
    let mut groups: BTreeMap<&str, Vec<&BootReport>> = BTreeMap::new();
    for boot in boots {
        groups.entry(&boot.instance_group).or_default().push(boot);
    }
    let all: Vec<&BootReport> = boots.iter().collect();
    let of_groups = groups
        .into_iter()
        .map(|(group, boots)| durations_of(Some(group.to_owned()), &boots));
    std::iter::once(durations_of(None, &all))
        .chain(of_groups)
        .collect()
}

fn durations_of(instance_group: Option<String>, boots: &[&BootReport]) -> Durations {
    let ready = boots.iter().filter(|boot| boot.result == BootState::Ready);
    let of_phase = |phase: &'static str| {
        let phases = boots.iter().flat_map(|boot| &boot.phases);
        let done = phases.filter(|it| it.phase == phase && it.status == PhaseStatus::Done);
        let took = percentiles(done.map(|it| it.took_ms).collect())?;
        Some(PhaseDurations {
            phase: phase.to_owned(),
            took,
        })
    };
    Durations {
        instance_group,
        total: percentiles(ready.map(|boot| boot.took_ms).collect()),
        phases: PHASES
            .iter()
            .filter_map(|row| of_phase(row.phase.name()))
            .collect(),
    }
}

/// `None` of nothing.
fn percentiles(mut durations: Vec<u64>) -> Option<Percentiles> {
    durations.sort_unstable();
    Some(Percentiles {
        count: durations.len(),
        p50_ms: nearest_rank(&durations, 50)?,
        p95_ms: nearest_rank(&durations, 95)?,
    })
}

fn nearest_rank(sorted: &[u64], percent: usize) -> Option<u64> {
    let rank = (sorted.len() * percent).div_ceil(100);
    sorted.get(rank.checked_sub(1)?).copied()
}

#[cfg(test)]
mod tests;
