//! When a node of this dialect is ready.

use quake_model::item::{Item, UnitState};
use quake_model::phase::Phase;
use quake_model::spec::{NodeSpec, Role};
use quake_model::step::{Action, Condition, Step};

/// Where kubelet's CNI configuration is.
const CNI_CONFIGURATIONS: &str = "/etc/cni/net.d";

/// The sidecar that asks the API server with a certificate of its own, for the API server answers no stranger.
const HEALTH_CHECK: &str = "/etc/kubernetes/kube-apiserver-healthcheck/";

/// Plans the ready phase. The group of a warm pool is told last: it may stop the instance, or send it work.
pub fn ready(spec: &NodeSpec) -> Vec<Step> {
    let awaited = conditions(spec).into_iter().map(Action::Await);
    let hooks = spec.items.iter().filter_map(|item| match item {
        Item::LifecycleHook(hook) => Some(Action::CompleteLifecycle(hook.clone())),
        _ => None,
    });
    awaited
        .chain(hooks)
        .map(|action| Step::new(Phase::Ready, action))
        .collect()
}

/// What is awaited, where the builders of this node make it: a kubelet that is held back is not asked.
pub fn conditions(spec: &NodeSpec) -> Vec<Condition> {
    let healthy = |component: &str, url: &str| Condition::Healthy {
        component: component.to_owned(),
        url: url.to_owned(),
    };
    let kubelet = |item: &Item| matches!(item, Item::Unit(unit) if unit.name == "kubelet.service" && unit.state == UnitState::Running);
    if spec.role == Role::Bastion || !spec.items.iter().any(kubelet) {
        return Vec::new();
    }
    let writes = |path: &str| {
        spec.items
            .iter()
            .any(|item| matches!(item, Item::File(file) if file.path.starts_with(path)))
    };
    let port = spec.kubelet.flag("healthz-port").unwrap_or("10248");
    let mut conditions = vec![healthy(
        "kubelet",
        &format!("http://127.0.0.1:{port}/healthz"),
    )];
    if writes("/etc/kubernetes/manifests/kube-apiserver") {
        let url = match writes(HEALTH_CHECK) {
            true => "http://127.0.0.1:3990/livez",
            false => "https://127.0.0.1:443/livez",
        };
        conditions.push(healthy("kube-apiserver", url));
    }
    for (component, port) in [
        ("kube-controller-manager", 10257),
        ("kube-scheduler", 10259),
    ] {
        if writes(&format!("/etc/kubernetes/manifests/{component}")) {
            let url = format!("https://127.0.0.1:{port}/healthz");
            conditions.push(healthy(component, &url));
        }
    }
    conditions.push(Condition::CniConfigured {
        directory: CNI_CONFIGURATIONS.to_owned(),
    });
    conditions
}
