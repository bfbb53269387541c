//! Which units run on the node, in which order, and what each reads at its start.

use crate::files::{self, layout};
use crate::identity;
use crate::known::Known;
use quake_model::phase::Phase;
use quake_model::spec::{Hook, NodeSpec, Role, Runtime};
use quake_model::step::{Action, Condition, Need, StartUnit, Step};

/// Plans the services phase.
///
/// Order: hooks that ask to run before the runtime, the runtime, the other hooks, and kubelet once the
/// instance's own tags are seen; a hook that requires kubelet comes last. After each unit the node cannot do
/// without, the plan waits for it to stay active, so that one that dies in its first seconds is noticed.
pub fn plan(spec: &NodeSpec, known: &Known) -> Vec<Step> {
    let mut actions = vec![log_rotation()];
    if spec.role == Role::Bastion {
        let hooks = files::distinct_hooks(spec);
        actions.extend(hooks.into_iter().map(start_hook));
        return steps(actions);
    }
    let (first, rest): (Vec<&Hook>, Vec<&Hook>) = files::distinct_hooks(spec)
        .into_iter()
        .partition(|hook| runs_before_runtime(spec, hook));
    let (last, middle): (Vec<&Hook>, Vec<&Hook>) =
        rest.into_iter().partition(|hook| needs_kubelet(hook));
    actions.extend(first.into_iter().map(start_hook));
    actions.extend(runtime(spec, known));
    actions.extend(middle.into_iter().map(start_hook));
    actions.extend(kubelet(spec));
    actions.extend(last.into_iter().map(start_hook));
    steps(actions)
}

/// Steps of the phase. A wait for a unit stands beside its start, so its id says that it is the wait.
fn steps(actions: Vec<Action>) -> Vec<Step> {
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
            actions.push(await_active("docker.service"));
        }
        Runtime::Containerd { .. } => {
            let mut inputs = files::containerd_unit_files(spec);
            inputs.push(layout::CONTAINERD_CONFIG.to_owned());
            inputs.extend(proxy);
            actions.push(required("containerd.service", inputs));
            actions.push(await_active("containerd.service"));
        }
    }
    actions
}

fn kubelet(spec: &NodeSpec) -> Vec<Action> {
    let mut actions = Vec::new();
    if spec.kubelet.flag("cloud-provider") == Some("aws") {
        actions.push(Action::Await(Condition::OwnTags {
            any_of: identity::own_tag_keys(&spec.cluster),
        }));
    }
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
    actions.push(Action::StartUnit(StartUnit {
        unit: "kubelet.service".to_owned(),
        enable: false,
        inputs,
        need: Need::Required,
    }));
    actions.push(await_active("kubelet.service"));
    actions
}

/// Starts a hook. The operator's unit may fail without the node being any worse, so the boot goes on.
fn start_hook(hook: &Hook) -> Action {
    Action::StartUnit(StartUnit {
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
