//! Units: the runtime and what it needs, then images, then kubelet with the rest; and units that are not to run.

use crate::images;
use crate::known::Known;
use quake_model::item::{Autostart, Item, Unit, UnitState};
use quake_model::phase::Phase;
use quake_model::spec::NodeSpec;
use quake_model::step::{Action, Condition, Need, StartUnit, Step};
use std::collections::BTreeSet;

/// Units that are up before images are imported.
pub(super) const RUNTIME: &[&str] = &["containerd.service"];

/// The unit that must find everything else in its place.
const KUBELET: &str = "kubelet.service";

/// Where units have their files, as the last directories of a path: the distributions differ in what comes before.
const UNIT_FOLDER: &str = "/systemd/system";

/// Kinds of units that a file may be of.
const SUFFIXES: &[&str] = &[
    ".service", ".socket", ".timer", ".mount", ".path", ".slice", ".target",
];

/// Plans the services phase.
pub fn services(spec: &NodeSpec, known: &Known) -> Vec<Step> {
    let runs_last = |unit: &&Unit| unit.name == KUBELET && unit.state == UnitState::Running;
    let mut steps: Vec<Step> = units(spec)
        .filter(|unit| !runs_last(unit))
        .map(|unit| Step::new(Phase::Services, Action::StartUnit(wanted(unit))))
        .collect();
    steps.extend(strangers(spec).map(|unit| Step::new(Phase::Services, unread(&unit))));
    if units(spec).any(|unit| RUNTIME.contains(&unit.name.as_str())) {
        steps.extend(images::imports(spec, known));
    }
    steps.extend(pulls(spec));
    let kubelet = units(spec).filter(runs_last);
    steps.extend(kubelet.map(|unit| Step::new(Phase::Services, Action::StartUnit(wanted(unit)))));
    let awaited = units(spec).filter(|unit| unit.state == UnitState::Running);
    let awaited = awaited.filter(|unit| is_kubelet(unit) || RUNTIME.contains(&unit.name.as_str()));
    steps.extend(awaited.map(|unit| {
        let unit = unit.name.clone();
        let mut step = Step::new(
            Phase::Services,
            Action::Await(Condition::UnitActive { unit }),
        );
        step.id = format!("{}/await", step.id);
        step
    }));
    steps
}

pub(super) fn units(spec: &NodeSpec) -> impl Iterator<Item = &Unit> {
    spec.items.iter().filter_map(|item| match item {
        Item::Unit(unit) => Some(unit),
        _ => None,
    })
}

/// Images that are pulled before anything asks for them.
fn pulls(spec: &NodeSpec) -> impl Iterator<Item = Step> {
    let runtime = spec.runtime.images();
    spec.items.iter().filter_map(move |item| match item {
        Item::PulledImage { name } => {
            let name = name.clone();
            Some(Step::new(
                Phase::Services,
                Action::PullImage { name, runtime },
            ))
        }
        _ => None,
    })
}

/// Units whose files are the node's and of which nothing else is said, such as a file asset of the operator's: systemd reads
/// their files again when they change, and that is all.
fn strangers(spec: &NodeSpec) -> impl Iterator<Item = String> {
    let known: BTreeSet<&str> = units(spec).map(|unit| unit.name.as_str()).collect();
    let names = spec.items.iter().filter_map(|item| match item {
        Item::File(file) => {
            let (folder, name) = file.path.rsplit_once('/')?;
            let is_unit = SUFFIXES.iter().any(|suffix| name.ends_with(suffix));
            (is_unit && folder.ends_with(UNIT_FOLDER)).then_some(name)
        }
        _ => None,
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
    units(spec).any(|unit| unit.name == name && unit.state == UnitState::Running)
}
