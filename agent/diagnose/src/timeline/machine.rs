//! What was before and around the boot: firmware, kernel, systemd and cloud-init, put onto the boot's axis.
//!
//! The kernel's clock joins them where the boot reported what it showed, for that one never steps; the wall clock joins what
//! has nothing else, and then a clock that was set in between shifts them. Which one was used is reported.

use super::critical::Link;
use super::stages::{STAGES, Stage, stages};
use quake_model::facts::{SystemdTimes, UnitTimes};
use quake_model::record::Record;
use quake_model::time::Timestamp;
use std::collections::BTreeMap;

/// What the machine's parts say, each or why it is not known.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MachineSources {
    pub systemd: Result<SystemdTimes, String>,
    /// cloud-init's `status.json`.
    pub cloud_init: Result<String, String>,
    /// When the kernel started, by the wall clock.
    pub kernel_start: Result<Timestamp, String>,
    /// The kernel's own name for the start of the machine that all of these are of.
    pub kernel_boot: Option<String>,
}

impl MachineSources {
    /// No source at all, and why.
    pub fn none(why: &str) -> Self {
        Self {
            systemd: Err(why.to_owned()),
            cloud_init: Err(why.to_owned()),
            kernel_start: Err(why.to_owned()),
            kernel_boot: None,
        }
    }
}

/// A part of the machine's start.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Layer {
    Firmware,
    Loader,
    /// The kernel, until the first process.
    Kernel,
    /// systemd in the initial file system.
    Initrd,
    Systemd,
    CloudInit,
    Agent,
}

impl Layer {
    /// Its word.
    pub fn name(self) -> &'static str {
        match self {
            Self::Firmware => "firmware",
            Self::Loader => "loader",
            Self::Kernel => "kernel",
            Self::Initrd => "initrd",
            Self::Systemd => "systemd",
            Self::CloudInit => "cloud-init",
            Self::Agent => "agent",
        }
    }
}

/// Something that is not known.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Source {
    Kernel,
    Systemd,
    CloudInit,
}

impl Source {
    /// Its word.
    pub fn name(self) -> &'static str {
        match self {
            Self::Kernel => "kernel",
            Self::Systemd => "systemd",
            Self::CloudInit => "cloud-init",
        }
    }
}

/// A source that is absent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Absent {
    pub source: Source,
    pub reason: String,
}

/// What put the machine beside the boot.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Clock {
    /// The kernel's, which never steps.
    Kernel,
    /// The wall clock, which may have been set in between.
    Wall,
    /// None: the boot stands alone.
    Alone,
}

impl Clock {
    /// Its word.
    pub fn name(self) -> &'static str {
        match self {
            Self::Kernel => "kernel",
            Self::Wall => "wall",
            Self::Alone => "none",
        }
    }
}

/// A span of the machine, in milliseconds from the boot's first event.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MachineSpan {
    pub layer: Layer,
    /// Its name: a unit's, a stage's, or the layer's own.
    pub name: String,
    pub start_ms: i64,
    /// When it ended; `None` while it goes on.
    pub end_ms: Option<i64>,
    /// The clock its times are of.
    pub clock: Clock,
}

/// The machine beside a boot.
#[derive(Debug, Clone, PartialEq)]
pub struct Machine {
    pub clock: Clock,
    /// When the kernel started, if that is known.
    pub kernel_start_ms: Option<i64>,
    pub spans: Vec<MachineSpan>,
    /// What is not known, and why.
    pub absent: Vec<Absent>,
}

/// Units whose times are reported.
pub const UNITS: &[&str] = &[
    "cloud-init-local.service",
    "cloud-init-network.service",
    "cloud-init.service",
    "cloud-config.service",
    "cloud-final.service",
    "network-online.target",
    "quake-agent.service",
    "containerd.service",
    "docker.service",
    "kubelet.service",
];

/// Puts what the machine's parts say beside a boot.
pub fn join_machine(record: &Record, sources: &MachineSources) -> Machine {
    let mut machine = Machine {
        clock: Clock::Alone,
        kernel_start_ms: None,
        spans: Vec::new(),
        absent: Vec::new(),
    };
    let of_another = is_of_another_start(record, sources);
    let another = || "what is there is of another start of the machine".to_owned();
    match (record.began_ms(), of_another) {
        (Some(began), _) => {
            machine.clock = Clock::Kernel;
            machine.kernel_start_ms = Some(-signed(began));
        }
        (None, true) => machine.lacks(Source::Kernel, another()),
        (None, false) => match wall_start(sources) {
            Ok(start) => {
                machine.clock = Clock::Wall;
                machine.kernel_start_ms = Some(signed(start.0) - signed(record.started.0));
            }
            Err(why) => machine.lacks(Source::Kernel, why),
        },
    }
    let systemd = match &sources.systemd {
        Ok(_) if of_another => Err(another()),
        found => found.clone(),
    };
    let units = systemd
        .as_ref()
        .map(|times| times.units.clone())
        .unwrap_or_default();
    match (systemd, machine.kernel_start_ms) {
        (Ok(times), Some(start)) => machine.add_systemd(&times, start),
        (Ok(_), None) => machine.lacks(Source::Systemd, "the kernel's start is not known".into()),
        (Err(why), _) => machine.lacks(Source::Systemd, why),
    }
    let cloud_init = match &sources.cloud_init {
        Ok(_) if of_another => Err(another()),
        Ok(text) => stages(text),
        Err(why) => Err(why.clone()),
    };
    machine.add_stages(record, &units, cloud_init);
    machine
}

/// Whether the sources are of another start of the machine than the boot: where the kernel's names tell, or a boot that
/// began before the kernel.
fn is_of_another_start(record: &Record, sources: &MachineSources) -> bool {
    match (&record.kernel, &sources.kernel_boot, &sources.kernel_start) {
        (Some(theirs), Some(ours), _) => theirs.boot != *ours,
        (_, _, Ok(start)) => record.started < *start,
        (_, _, Err(_)) => false,
    }
}

fn wall_start(sources: &MachineSources) -> Result<Timestamp, String> {
    let known = sources
        .systemd
        .as_ref()
        .ok()
        .and_then(|times| times.kernel_wall_us);
    match known {
        Some(micros) => Ok(Timestamp(micros / 1000)),
        None => sources.kernel_start.clone(),
    }
}

impl Machine {
    fn lacks(&mut self, source: Source, reason: String) {
        self.absent.push(Absent { source, reason });
    }

    fn add(&mut self, layer: Layer, name: &str, start_ms: i64, end_ms: Option<i64>) {
        self.spans.push(MachineSpan {
            layer,
            name: name.to_owned(),
            start_ms,
            end_ms,
            clock: self.clock,
        });
    }

    /// Adds systemd's own times; `start` is the kernel's start.
    fn add_systemd(&mut self, times: &SystemdTimes, start: i64) {
        let at = |micros: u64| start + signed(micros / 1000);
        let before = |micros: u64| start - signed(micros / 1000);
        let loader = times.loader_us.map_or(start, before);
        if let Some(firmware) = times.firmware_us {
            self.add(Layer::Firmware, "firmware", before(firmware), Some(loader));
        }
        if times.loader_us.is_some() {
            self.add(Layer::Loader, "loader", loader, Some(start));
        }
        let userspace = times.userspace_us.map(at);
        let kernel_end = times.initrd_us.map(at).or(userspace);
        self.add(Layer::Kernel, "kernel", start, kernel_end);
        if let Some(initrd) = times.initrd_us {
            self.add(Layer::Initrd, "initrd", at(initrd), userspace);
        }
        if let Some(userspace) = userspace {
            self.add(
                Layer::Systemd,
                "systemd",
                userspace,
                times.finish_us.map(at),
            );
        }
        let is_stage = |unit: &str| STAGES.iter().any(|(_, units)| units.contains(&unit));
        for (unit, found) in times.units.iter().filter(|(unit, _)| !is_stage(unit)) {
            self.add(
                Layer::Systemd,
                unit,
                at(found.began_us),
                found.up_us.map(at),
            );
        }
    }

    /// Adds cloud-init's stages: by their units where systemd knows these, else by its own times of the wall clock.
    fn add_stages(
        &mut self,
        record: &Record,
        units: &BTreeMap<String, UnitTimes>,
        reported: Result<BTreeMap<String, Stage>, String>,
    ) {
        let known = self.spans.len();
        for (stage, names) in STAGES {
            let unit = names.iter().find_map(|name| units.get(*name));
            if let (Some(unit), Some(start)) = (unit, self.kernel_start_ms) {
                let at = |micros: u64| start + signed(micros / 1000);
                self.add(
                    Layer::CloudInit,
                    stage,
                    at(unit.began_us),
                    unit.up_us.map(at),
                );
            } else if let Some(found) = reported
                .as_ref()
                .ok()
                .and_then(|reported| reported.get(stage))
            {
                let at =
                    |seconds: f64| (seconds * 1000.0).round() as i64 - signed(record.started.0);
                let Some(began) = found.start.filter(|at| *at > 0.0) else {
                    continue;
                };
                let ended = found.finished.filter(|at| *at > 0.0);
                self.spans.push(MachineSpan {
                    layer: Layer::CloudInit,
                    name: stage.to_owned(),
                    start_ms: at(began),
                    end_ms: ended.map(at),
                    clock: Clock::Wall,
                });
            }
        }
        if self.spans.len() == known {
            let why = reported.err();
            self.lacks(
                Source::CloudInit,
                why.unwrap_or_else(|| "no stage has begun".to_owned()),
            );
        }
    }

    /// The parts of the machine that the boot's begin waited for, one after the other.
    pub(super) fn chain(&self) -> Vec<Link> {
        let Some(start) = self.kernel_start_ms.filter(|start| *start < 0) else {
            return Vec::new();
        };
        let begins = |layer: Layer| {
            let spans = self.spans.iter().filter(move |span| span.layer == layer);
            spans.map(|span| span.start_ms).min()
        };
        let first = |layer: Layer| begins(layer).filter(|at| (start..0).contains(at));
        let stages = self
            .spans
            .iter()
            .filter(|span| span.layer == Layer::CloudInit);
        let stages_end = stages.map(|span| span.end_ms.unwrap_or(0).min(0)).max();
        let cloud_init = first(Layer::CloudInit);
        // After cloud-init it is systemd's turn again, until the agent begins.
        let after = cloud_init.and(stages_end).filter(|end| *end < 0);
        let marks = [
            (Layer::Kernel, Some(start)),
            (Layer::Initrd, first(Layer::Initrd)),
            (Layer::Systemd, first(Layer::Systemd)),
            (Layer::CloudInit, cloud_init),
            (Layer::Systemd, after),
        ];
        let marks: Vec<(Layer, i64)> = marks
            .into_iter()
            .filter_map(|(layer, at)| Some((layer, at?)))
            .collect();
        let ends = marks.iter().skip(1).map(|(_, at)| *at).chain([0]);
        let links = marks.iter().zip(ends).map(|((layer, at), end)| Link {
            layer: *layer,
            phase: None,
            start_ms: *at,
            end_ms: end.max(*at),
            parts: Vec::new(),
        });
        links.filter(|link| link.took_ms() > 0).collect()
    }
}

fn signed(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests;
