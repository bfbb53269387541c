//! Units: the runtime and what it needs, then images, then kubelet with the rest.

use super::unsupported;
use crate::images;
use crate::known::Known;
use quake_model::fault::Fault;
use quake_model::item::{Autostart, Item, Unit, UnitState};
use quake_model::phase::Phase;
use quake_model::spec::NodeSpec;
use quake_model::step::{Action, Condition, StartUnit, Step};

/// Units that are up before images are imported.
const RUNTIME: &[&str] = &["containerd.service"];

/// The unit that must find everything else in its place.
const KUBELET: &str = "kubelet.service";

/// Plans the services phase.
///
/// # Errors
///
/// `config.unsupported` for what no step brings about yet: images that are pulled.
pub fn services(spec: &NodeSpec, known: &Known) -> Result<Vec<Step>, Fault> {
    if let Some(item) = spec
        .items
        .iter()
        .find(|item| matches!(item, Item::PulledImage { .. }))
    {
        return Err(unsupported(item));
    }
    let units = || {
        let units = spec.items.iter().filter_map(|item| match item {
            Item::Unit(unit) => Some(unit),
            _ => None,
        });
        units.filter(|unit| unit.state == UnitState::Running)
    };
    let is_last = |unit: &&Unit| unit.name == KUBELET;
    let mut steps: Vec<Step> = units().filter(|unit| !is_last(unit)).map(start).collect();
    if units().any(|unit| RUNTIME.contains(&unit.name.as_str())) {
        steps.extend(images::imports(spec, known));
    }
    steps.extend(units().filter(is_last).map(start));
    let awaited = units().filter(|unit| is_last(unit) || RUNTIME.contains(&unit.name.as_str()));
    steps.extend(awaited.map(|unit| {
        let unit = unit.name.clone();
        let mut step = Step::new(
            Phase::Services,
            Action::Await(Condition::UnitActive { unit }),
        );
        step.id = format!("{}/await", step.id);
        step
    }));
    Ok(steps)
}

fn start(unit: &Unit) -> Step {
    let wanted = StartUnit {
        unit: unit.name.clone(),
        enable: unit.autostart == Autostart::Enabled,
        inputs: unit.inputs.clone(),
        need: unit.need,
    };
    Step::new(Phase::Services, Action::StartUnit(wanted))
}

/// Whether a unit of this name is to run.
pub fn runs(spec: &NodeSpec, name: &str) -> bool {
    spec.items.iter().any(|item| {
        matches!(item, Item::Unit(unit) if unit.name == name && unit.state == UnitState::Running)
    })
}
