//! What a node of this kops generation is awaited for, in the order in which one thing needs another: the first that does not come
//! about is the cause.

use super::runs;
use crate::builders::layout;
use crate::expected::network_word;
use crate::pod;
use quake_model::spec::{NodeSpec, Role};
use quake_model::step::Condition;

/// The sidecar that asks the API server with a certificate of its own, for the API server answers no stranger.
const HEALTH_CHECK: &str = "/etc/kubernetes/kube-apiserver-healthcheck/";

/// The components that are asked for their health, and where.
const CONTROLLERS: [(&str, u16); 2] = [
    ("kube-controller-manager", 10257),
    ("kube-scheduler", 10259),
];

/// What is awaited, where the builders of this node make it: a kubelet that is held back is not asked.
pub fn conditions(spec: &NodeSpec) -> Vec<Condition> {
    if spec.role == Role::Bastion || !runs(spec, "kubelet.service") {
        return Vec::new();
    }
    let mut conditions = vec![
        Condition::RuntimeAnswers {
            runtime: "containerd".to_owned(),
        },
        healthy("kubelet", kubelet_healthz(spec)),
    ];
    for pod in static_pods(spec) {
        let health = health_of(spec, &pod);
        conditions.push(Condition::PodRuns { pod });
        conditions.extend(health);
    }
    let name = spec.kubelet.flag("hostname-override");
    conditions.push(Condition::NodeRegistered {
        node: name.unwrap_or_default().to_owned(),
        kubeconfig: spec.kubelet.kubeconfig_path.clone(),
    });
    conditions.push(Condition::PodNetwork {
        directory: layout::CNI_CONFIGURATIONS.to_owned(),
        network: network_word(spec).to_owned(),
    });
    conditions
}

/// Where kubelet says whether it lives.
pub(super) fn kubelet_healthz(spec: &NodeSpec) -> String {
    let port = spec.kubelet.flag("healthz-port").unwrap_or("10248");
    format!("http://127.0.0.1:{port}/healthz")
}

/// The pods that kubelet runs from files, by the names in their manifests: etcd before the API server, that before all else.
pub fn static_pods(spec: &NodeSpec) -> Vec<String> {
    let names = pod::static_pods(spec)
        .filter_map(|pod| pod.get("metadata")?.text_of("name").map(str::to_owned));
    let mut pods: Vec<String> = names.collect();
    pods.sort_by_key(|pod| match pod.as_str() {
        pod if pod.starts_with("etcd-manager") => 0,
        "kube-apiserver" => 1,
        _ => 2,
    });
    pods
}

/// Where a component of a pod is asked for its health.
fn health_of(spec: &NodeSpec, pod: &str) -> Option<Condition> {
    if pod == "kube-apiserver" {
        let mut files = spec.files();
        let has_sidecar = files.any(|file| file.path.starts_with(HEALTH_CHECK));
        let url = match has_sidecar {
            true => "http://127.0.0.1:3990/livez",
            false => "https://127.0.0.1:443/livez",
        };
        return Some(healthy(pod, url.to_owned()));
    }
    let (component, port) = CONTROLLERS.into_iter().find(|(name, _)| *name == pod)?;
    let url = format!("https://127.0.0.1:{port}/healthz");
    Some(healthy(component, url))
}

fn healthy(component: &str, url: String) -> Condition {
    Condition::Healthy {
        component: component.to_owned(),
        url,
    }
}
