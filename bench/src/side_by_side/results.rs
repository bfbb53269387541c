//! What was measured, kept beside the work directory's data so that the report can be written from several
//! sittings over the same binary.

use crate::curves::Curves;
use crate::failure::BenchError;
use crate::floor::Floor;
use crate::run::Run;
use crate::scenario::Scenario;
use crate::statistics::to_float;
use crate::subject::Subject;
use crate::workload::Workload;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// The binary that was measured.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Binary {
    /// Bytes.
    pub(crate) size: u64,
    /// Bytes after `xz -6`, where xz is installed.
    pub(crate) packed: Option<u64>,
    /// The first digits of its sha256.
    pub(crate) sha256: String,
}

/// The size of what was downloaded.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Amount {
    pub(crate) assets: usize,
    /// Bytes on the wire.
    pub(crate) wire: u64,
    /// Of those, bytes of archives.
    pub(crate) packed: u64,
    /// Bytes that must land.
    pub(crate) landing: u64,
}

impl Amount {
    /// The amount of a workload.
    pub(crate) fn from_workload(workload: &Workload) -> Self {
        Self {
            assets: workload.assets.len(),
            wire: workload.wire_bytes(),
            packed: workload.packed_bytes(),
            landing: workload.landing_bytes(),
        }
    }
}

/// Everything about one scenario.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Results {
    pub(crate) scenario: Scenario,
    pub(crate) amount: Amount,
    pub(crate) binary: Binary,
    pub(crate) runs: Vec<Run>,
    /// Subjects that did not run, and why.
    pub(crate) skipped: Vec<(Subject, String)>,
    /// The load averages before and after.
    pub(crate) load: [String; 2],
    pub(crate) floor: Option<Floor>,
    /// Why the scenario could not run at all.
    pub(crate) unavailable: Option<String>,
}

impl Results {
    /// The runs that count, of one subject.
    pub(crate) fn for_subject(&self, subject: Subject) -> impl Iterator<Item = &Run> {
        let counts =
            move |run: &&Run| run.subject == subject && run.round > 0 && run.void.is_none();
        self.runs.iter().filter(counts)
    }

    /// One figure of a subject for each round; nothing where the round does not count.
    pub(crate) fn by_round(&self, subject: Subject, figure: fn(&Run) -> f64) -> Vec<Option<f64>> {
        let last = self.runs.iter().map(|run| run.round).max().unwrap_or(0);
        (1..=last)
            .map(|round| {
                self.for_subject(subject)
                    .find(|run| run.round == round)
                    .map(figure)
            })
            .collect()
    }
}

/// How long the agent takes to say its version.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct StartUp {
    pub(crate) binary: Binary,
    /// Seconds by the clock.
    pub(crate) wall: Vec<f64>,
    /// Seconds of processor time.
    pub(crate) cpu: Vec<f64>,
    pub(crate) rss_kib: i64,
}

/// The curves and the binary they are of.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Scaling {
    pub(crate) binary: Binary,
    pub(crate) curves: Curves,
}

/// Boots under a real systemd, as `quake-real-systemd` writes them.
#[derive(Debug, Clone, Deserialize)]
pub(crate) struct RealSystemd {
    /// The first digits of the binary's sha256.
    pub(crate) sha256: String,
    /// Boots of a worker with the files of `k1`, by the agent.
    pub(crate) worker: Vec<UnitRun>,
    /// The same by nodeup, each right after one by the agent; none where no nodeup was given.
    pub(crate) nodeup: Vec<UnitRun>,
    /// Boots with so many units that the spec adds.
    pub(crate) units: Vec<Units>,
    /// Boots of whole machines.
    pub(crate) boots: Vec<Boot>,
}

/// The boot of a machine by its image.
#[derive(Debug, Clone, Deserialize)]
pub(crate) struct Boot {
    /// What the machine is: `container`, or `emulated machine`.
    pub(crate) machine: String,
    /// Whether its image has the assets.
    pub(crate) seeded: bool,
    pub(crate) path: Vec<Link>,
}

/// A link of a critical path, as `/v1/timeline` has it. Times are milliseconds since the agent's start.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Link {
    pub(crate) layer: String,
    pub(crate) phase: Option<String>,
    pub(crate) start_ms: f64,
    pub(crate) end_ms: f64,
    pub(crate) took_ms: f64,
    pub(crate) steps: Vec<LinkStep>,
}

/// What filled a link.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct LinkStep {
    /// Milliseconds of pauses, by the code of the fault.
    pub(crate) waited_ms: BTreeMap<String, f64>,
}

/// A boot by the unit of kops.
#[derive(Debug, Clone, Deserialize)]
pub(crate) struct UnitRun {
    /// Seconds from the start of the process until systemd was told that the node is ready; until its end for nodeup.
    pub(crate) wall: f64,
    /// Seconds until systemd had started the last unit, which is where nodeup ends.
    pub(crate) started: f64,
}

/// A boot with so many units that the spec adds.
#[derive(Debug, Clone, Deserialize)]
pub(crate) struct Units {
    pub(crate) units: usize,
    pub(crate) boot: UnitRun,
}

/// The figures a table is made of.
pub(crate) const WALL: fn(&Run) -> f64 = |run| run.usage.wall;
pub(crate) const CPU: fn(&Run) -> f64 = |run| run.usage.user + run.usage.system;
pub(crate) const RSS: fn(&Run) -> f64 = |run| to_float(run.usage.rss_kib.unsigned_abs()) / 1_024.0;
pub(crate) const WRITTEN: fn(&Run) -> f64 = |run| to_float(run.usage.write_bytes) / 1e6;
pub(crate) const READ: fn(&Run) -> f64 = |run| to_float(run.usage.read_bytes) / 1e6;
pub(crate) const READ_CALLS: fn(&Run) -> f64 = |run| to_float(run.usage.read_chars) / 1e6;
pub(crate) const REQUESTS: fn(&Run) -> f64 = |run| to_float(run.traffic.requests);
pub(crate) const CONNECTIONS: fn(&Run) -> f64 = |run| to_float(run.traffic.connections);
pub(crate) const SERVED: fn(&Run) -> f64 = |run| to_float(run.traffic.bytes) / 1e6;

/// The directory of kept results.
#[derive(Debug, Clone)]
pub(crate) struct Kept(pub(crate) PathBuf);

impl Kept {
    /// Keeps something under a name.
    ///
    /// # Errors
    ///
    /// Fails when it cannot be written.
    pub(crate) fn keep(&self, name: &str, what: &impl Serialize) -> Result<(), BenchError> {
        let path = self.path(name);
        let text = serde_json::to_string(what).map_err(|source| BenchError::Document {
            what: name.to_owned(),
            source,
        })?;
        std::fs::create_dir_all(&self.0).map_err(BenchError::path(&self.0))?;
        std::fs::write(&path, text).map_err(BenchError::path(&path))
    }

    /// What was kept under a name; nothing where it cannot be read.
    pub(crate) fn find<T: DeserializeOwned>(&self, name: &str) -> Option<T> {
        serde_json::from_slice(&std::fs::read(self.path(name)).ok()?).ok()
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.join(Path::new(name).with_extension("json"))
    }
}
