//! Which units run on a node of kops legacy (1.8 to 1.15), and what each reads at its start.

use super::common_files::proxy_file;
use super::layout;
use crate::plan_inputs::PlanInputs;
use quake_formats::tags;
use quake_model::item::{Autostart, Item, Unit};
use quake_model::spec::{Hook, NodeSpec, Role, Runtime};
use quake_model::step::Condition;

/// The units, each after those that it waits for: which unit waits for which is in the unit files, but systemd may
/// start a unit before it is asked for the next. Their files are items of their own.
pub(crate) fn items(spec: &NodeSpec, known: &PlanInputs) -> Vec<Item> {
    let hooks = super::distinct_hooks(spec);
    let mut units = vec![log_rotation()];
    if spec.role == Role::Bastion {
        units.extend(hooks.into_iter().map(hook_unit));
    } else {
        let (first, rest): (Vec<&Hook>, Vec<&Hook>) = hooks
            .into_iter()
            .partition(|hook| runs_before_runtime(spec, hook));
        units.extend(first.into_iter().map(hook_unit));
        units.extend(runtime(spec, known));
        units.extend(rest.into_iter().map(hook_unit));
        units.push(kubelet(spec));
    }
    units.into_iter().map(Item::Unit).collect()
}

fn log_rotation() -> Unit {
    let timer = super::LOG_ROTATION_TIMER;
    Unit::packaged(timer)
        .reading([layout::unit(timer)])
        .optional()
}

fn runtime(spec: &NodeSpec, known: &PlanInputs) -> Vec<Unit> {
    let proxy = proxy_file(spec);
    let service = Unit::packaged(super::runtime_unit(spec));
    match &spec.runtime {
        Runtime::Docker(_) => {
            // A new docker.socket takes effect with the service, which lets go of the old one.
            let has_socket = known.os.is_debian_family();
            let socket = has_socket.then(|| Unit::packaged("docker.socket"));
            let service = service.reading([layout::unit("docker.service")]);
            let service = service.reading([layout::DOCKER_ENVIRONMENT]).reading(proxy);
            socket.into_iter().chain([service]).collect()
        }
        Runtime::Containerd { .. } => {
            let service = service.reading(super::containerd_unit_files(spec));
            vec![service.reading([layout::CONTAINERD_CONFIG]).reading(proxy)]
        }
    }
}

/// On AWS kubelet finds its cluster by the instance's tags. It must not start before EC2 shows them.
pub(crate) fn start_conditions(spec: &NodeSpec) -> Vec<Condition> {
    let is_needed =
        spec.role != Role::Bastion && spec.kubelet.flag("cloud-provider") == Some("aws");
    let any_of = is_needed.then(|| tags::own_tag_keys(&spec.cluster));
    let condition = any_of.map(|any_of| Condition::OwnTags { any_of });
    condition.into_iter().collect()
}

fn kubelet(spec: &NodeSpec) -> Unit {
    const NAME: &str = "kubelet.service";
    let cloud = spec.cloud_config.as_ref().map(|_| layout::CLOUD_CONFIG);
    let unit = Unit::packaged(NAME)
        .reading([layout::unit(NAME)])
        .reading([layout::KUBELET_ENVIRONMENT, layout::KUBELET])
        .reading([spec.kubelet.kubeconfig_path.as_str()])
        .reading(cloud)
        .reading(proxy_file(spec));
    Unit {
        // At the next boot it must wait for the volumes again, and the agent starts it.
        autostart: Autostart::Disabled,
        ..unit
    }
}

/// The unit of a hook. It may fail without the node being any worse, so the boot goes on.
fn hook_unit(hook: &Hook) -> Unit {
    Unit::packaged(&hook.unit)
        .reading([layout::unit(&hook.unit)])
        .optional()
}

fn runs_before_runtime(spec: &NodeSpec, hook: &Hook) -> bool {
    let runtime = super::runtime_unit(spec);
    hook.before.iter().any(|unit| unit == runtime) && !needs_kubelet(hook)
}

fn needs_kubelet(hook: &Hook) -> bool {
    hook.requires.iter().any(|unit| unit == "kubelet.service")
}
