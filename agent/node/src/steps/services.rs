//! Units: the runtime and what it needs, then images, then kubelet with the rest; and units that are not to run.

use crate::images;
use crate::plan_inputs::PlanInputs;
use crate::steps::conditions::kubelet_healthz;
use quake_model::item::{Autostart, File, Item, Unit, UnitState};
use quake_model::phase::Phase;
use quake_model::spec::NodeSpec;
use quake_model::step::{Action, Condition, Need, StartUnit, Step};
use std::collections::BTreeSet;

/// Units that are up before images are imported.
pub(super) const RUNTIME: &[&str] = &["containerd.service", "docker.service"];

/// The unit that must find everything else in its place.
const KUBELET: &str = "kubelet.service";

/// Where units have their files, as the last directories of a path: the distributions differ in what comes before.
const UNIT_FOLDER: &str = "/systemd/system";

/// Kinds of units that a file may be of.
const SUFFIXES: &[&str] = &[
    ".service", ".socket", ".timer", ".mount", ".path", ".slice", ".target",
];

/// Plans the services phase.
///
/// Units are started as one batch, in the order of the items: the runtime and what it needs, then kubelet and what requires
/// kubelet. Images to import part the batch, because the runtime must run for them. Last, the plan waits for each unit that
/// the node cannot do without to live or to stay active.
pub fn services(spec: &NodeSpec, known: &PlanInputs) -> Vec<Step> {
    let is_runtime = |unit: &Unit| RUNTIME.contains(&unit.name.as_str());
    let is_kubelet = |unit: &Unit| unit.name == KUBELET && unit.state == UnitState::Running;
    let start = |unit: &Unit| step(Action::StartUnit(wanted(unit)));
    let conditions = spec.start_conditions.iter().cloned().map(Action::Await);
    let mut steps: Vec<Step> = conditions.map(step).collect();
    let (last, first): (Vec<&Unit>, Vec<&Unit>) = spec
        .units()
        .partition(|unit| is_kubelet(unit) || requires_kubelet(spec, unit));
    steps.extend(first.into_iter().map(start));
    steps.extend(strangers(spec).map(|unit| step(unread(&unit))));
    if spec.units().any(is_runtime) {
        steps.extend(images::imports(spec, known));
    }
    steps.extend(pulls(spec));
    let (kubelet, rest): (Vec<&Unit>, Vec<&Unit>) =
        last.into_iter().partition(|unit| is_kubelet(unit));
    steps.extend(kubelet.into_iter().chain(rest).map(start));
    let running = spec.units().filter(|unit| unit.state == UnitState::Running);
    let waited_for = running.filter(|unit| is_kubelet(unit) || is_runtime(unit));
    steps.extend(waited_for.map(|unit| {
        let healthz = is_kubelet(unit).then(|| kubelet_healthz(spec));
        let unit = unit.name.clone();
        let mut step = step(Action::Await(Condition::UnitActive { unit, healthz }));
        step.id = format!("{}/await", step.id);
        step
    }));
    steps
}

fn step(action: Action) -> Step {
    Step::new(Phase::Services, action)
}

/// Whether the unit's file says that it requires kubelet, as a hook's may.
fn requires_kubelet(spec: &NodeSpec, unit: &Unit) -> bool {
    let requires = |text: &str| {
        let mut lines = text.lines().map(str::trim_start);
        lines.any(|line| line.starts_with("Requires=") && line.contains(KUBELET))
    };
    if let Some(file) = &unit.file {
        return requires(&file.text);
    }
    let path = format!("{UNIT_FOLDER}/{}", unit.name);
    let file = spec.files().find(|file| file.path.ends_with(&path));
    file.and_then(File::text)
        .is_some_and(|text| requires(&text))
}

/// Images that are pulled before anything asks for them.
fn pulls(spec: &NodeSpec) -> impl Iterator<Item = Step> {
    let runtime = spec.runtime.images();
    spec.items.iter().filter_map(move |item| match item {
        Item::PulledImage { name } => {
            let name = name.clone();
            Some(step(Action::PullImage { name, runtime }))
        }
        _ => None,
    })
}

/// Units whose files are the node's and of which nothing else is said, such as a file asset of the operator's: systemd reads
/// their files again when they change, and that is all.
fn strangers(spec: &NodeSpec) -> impl Iterator<Item = String> {
    let known: BTreeSet<&str> = spec.units().map(|unit| unit.name.as_str()).collect();
    let names = spec.files().filter_map(|file| {
        let (folder, name) = file.path.rsplit_once('/')?;
        let is_unit = SUFFIXES.iter().any(|suffix| name.ends_with(suffix));
        (is_unit && folder.ends_with(UNIT_FOLDER)).then_some(name)
    });
    let names: BTreeSet<String> = names
        // A template is no unit before somebody names an instance of it.
        .filter(|name| !known.contains(name) && !name.contains('@'))
        .map(str::to_owned)
        .collect();
    names.into_iter()
}

fn unread(unit: &str) -> Action {
    Action::StartUnit(StartUnit {
        unit: unit.to_owned(),
        state: UnitState::Unmanaged,
        enable: false,
        inputs: Vec::new(),
        need: Need::Optional,
    })
}

pub(super) fn wanted(unit: &Unit) -> StartUnit {
    StartUnit {
        unit: unit.name.clone(),
        state: unit.state,
        enable: unit.autostart == Autostart::Enabled && unit.state == UnitState::Running,
        inputs: unit.inputs.clone(),
        need: unit.need,
    }
}

/// Whether a unit of this name is to run.
pub fn runs(spec: &NodeSpec, name: &str) -> bool {
    let mut units = spec.units();
    units.any(|unit| unit.name == name && unit.state == UnitState::Running)
}
