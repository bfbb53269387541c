//! Which units run on the node, in which order, and what each reads at its start.

use crate::files::{self, layout};
use crate::images;
use crate::known::Known;
use quake_formats::tags;
use quake_model::item::UnitState;
use quake_model::phase::Phase;
use quake_model::spec::{Hook, NodeSpec, Role, Runtime};
use quake_model::step::{Action, Condition, Need, StartUnit, Step};

/// Plans the services phase.
///
/// First what must hold before any unit may start: the instance's own tags, without which kubelet must not run.
/// Then all units, which are started as one batch: hooks that ask to run before the runtime, the runtime, the other
/// hooks, kubelet, and hooks that require it. Images to import part the batch behind the runtime, which must run for
/// them. Which unit waits for which is in the unit files; here each comes after what it waits for, because systemd may
/// start a unit before it is asked for the next. Last, the plan waits for each unit that the node cannot do without to
/// stay active, so that one that dies in its first seconds is noticed.
pub fn plan(spec: &NodeSpec, known: &Known) -> Vec<Step> {
    if spec.role == Role::Bastion {
        let hooks = files::distinct_hooks(spec).into_iter().map(start_hook);
        return steps(std::iter::once(log_rotation()).chain(hooks));
    }
    let (first, rest): (Vec<&Hook>, Vec<&Hook>) = files::distinct_hooks(spec)
        .into_iter()
        .partition(|hook| runs_before_runtime(spec, hook));
    let (last, middle): (Vec<&Hook>, Vec<&Hook>) =
        rest.into_iter().partition(|hook| needs_kubelet(hook));
    let mut actions = Vec::new();
    actions.extend(own_tags(spec));
    actions.push(log_rotation());
    actions.extend(first.into_iter().map(start_hook));
    actions.extend(runtime(spec, known));
    let mut planned = steps(actions);
    planned.extend(images::imports(spec, known));
    // Together with kubelet, so that systemd orders them by what they say of it.
    let mut actions: Vec<Action> = middle.into_iter().map(start_hook).collect();
    actions.push(kubelet(spec));
    actions.extend(last.into_iter().map(start_hook));
    actions.push(await_active(files::runtime_unit(spec)));
    actions.push(await_active("kubelet.service"));
    planned.extend(steps(actions));
    planned
}

/// Steps of the phase. A wait for a unit stands beside its start, so its id says that it is the wait.
fn steps(actions: impl IntoIterator<Item = Action>) -> Vec<Step> {
    actions
        .into_iter()
        .map(|action| {
            let is_wait = matches!(action, Action::Await(Condition::UnitActive { .. }));
            let mut step = Step::new(Phase::Services, action);
            if is_wait {
                step.id = format!("{}/await", step.id);
            }
            step
        })
        .collect()
}

fn log_rotation() -> Action {
    Action::StartUnit(StartUnit {
        state: UnitState::Running,
        unit: files::LOG_ROTATION_TIMER.to_owned(),
        enable: true,
        inputs: vec![layout::unit(files::LOG_ROTATION_TIMER)],
        need: Need::Optional,
    })
}

fn await_active(unit: &str) -> Action {
    Action::Await(Condition::UnitActive {
        unit: unit.to_owned(),
    })
}

fn runtime(spec: &NodeSpec, known: &Known) -> Vec<Action> {
    let proxy = (!spec.proxy.is_empty()).then(|| layout::PROXY_ENVIRONMENT.to_owned());
    let required = |unit: &str, inputs: Vec<String>| {
        Action::StartUnit(StartUnit {
            state: UnitState::Running,
            unit: unit.to_owned(),
            enable: true,
            inputs,
            need: Need::Required,
        })
    };
    let mut actions = Vec::new();
    match &spec.runtime {
        Runtime::Docker(_) => {
            if known.os.is_debian_family() {
                // A new docker.socket takes effect with the service, which lets go of the old one.
                actions.push(required("docker.socket", Vec::new()));
            }
            let mut inputs = vec![
                layout::unit("docker.service"),
                layout::DOCKER_ENVIRONMENT.to_owned(),
            ];
            inputs.extend(proxy);
            actions.push(required("docker.service", inputs));
        }
        Runtime::Containerd { .. } => {
            let mut inputs = files::containerd_unit_files(spec);
            inputs.push(layout::CONTAINERD_CONFIG.to_owned());
            inputs.extend(proxy);
            actions.push(required("containerd.service", inputs));
        }
    }
    actions
}

/// On AWS kubelet finds its cluster by the instance's tags, and one that starts before they are shown gives up.
fn own_tags(spec: &NodeSpec) -> Option<Action> {
    (spec.kubelet.flag("cloud-provider") == Some("aws")).then(|| {
        Action::Await(Condition::OwnTags {
            any_of: tags::own_tag_keys(&spec.cluster),
        })
    })
}

fn kubelet(spec: &NodeSpec) -> Action {
    let mut inputs = vec![
        layout::unit("kubelet.service"),
        layout::KUBELET_ENVIRONMENT.to_owned(),
        layout::KUBELET.to_owned(),
        spec.kubelet.kubeconfig_path.clone(),
    ];
    if spec.cloud_config.is_some() {
        inputs.push(layout::CLOUD_CONFIG.to_owned());
    }
    if !spec.proxy.is_empty() {
        inputs.push(layout::PROXY_ENVIRONMENT.to_owned());
    }
    // Not enabled: at the next boot it must wait for the volumes again, and the agent starts it.
    Action::StartUnit(StartUnit {
        state: UnitState::Running,
        unit: "kubelet.service".to_owned(),
        enable: false,
        inputs,
        need: Need::Required,
    })
}

/// Starts a hook. The operator's unit may fail without the node being any worse, so the boot goes on.
fn start_hook(hook: &Hook) -> Action {
    Action::StartUnit(StartUnit {
        state: UnitState::Running,
        unit: hook.unit.clone(),
        enable: true,
        inputs: vec![layout::unit(&hook.unit)],
        need: Need::Optional,
    })
}

fn runs_before_runtime(spec: &NodeSpec, hook: &Hook) -> bool {
    let runtime = files::runtime_unit(spec);
    hook.before.iter().any(|unit| unit == runtime) && !needs_kubelet(hook)
}

fn needs_kubelet(hook: &Hook) -> bool {
    hook.requires.iter().any(|unit| unit == "kubelet.service")
}
