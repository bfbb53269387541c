//! What is to be done when certificates were issued anew on a node that runs: files around them, and who reads those only
//! once.
//!
//! kubelet is restarted as at a boot: its unit names what it reads. Of pods, kube-apiserver reads its certificates again by
//! itself; the others read a kubeconfig when they start, so their containers are ended and kubelet starts them again.

use crate::pod::static_pods;
use quake_model::item::{File, Source, UnitState};
use quake_model::spec::NodeSpec;
use serde_json::Value;
use std::collections::BTreeSet;

/// Directories that pods of DaemonSets mount, and the containers that read them when they start.
const ELSEWHERE: &[(&str, &str)] = &[
    ("/etc/kubernetes/kops-controller/", "kops-controller"),
    (
        "/srv/kubernetes/aws-iam-authenticator/",
        "aws-iam-authenticator",
    ),
];

/// Reads its files again whenever they change.
const READS_AGAIN: &str = "kube-apiserver";

/// The files that hold what these orders bring.
pub fn files(spec: &NodeSpec, orders: &BTreeSet<String>) -> BTreeSet<String> {
    let holds = |file: &&File| match &file.source {
        Source::Bytes(_) => false,
        Source::Issued { order, .. } => orders.contains(order),
        Source::Kubeconfig(kubeconfig) => orders.contains(&kubeconfig.order),
    };
    let files = spec.files().filter(holds);
    files.map(|file| file.path.clone()).collect()
}

/// The units that run and read any of these files.
pub fn units<'a>(spec: &'a NodeSpec, paths: &BTreeSet<String>) -> Vec<&'a str> {
    spec.units()
        .filter(|unit| unit.state == UnitState::Running)
        .filter(|unit| unit.inputs.iter().any(|input| paths.contains(input)))
        .map(|unit| unit.name.as_str())
        .collect()
}

/// The containers that read any of these files, and only when they start.
pub fn containers(spec: &NodeSpec, paths: &BTreeSet<String>) -> BTreeSet<String> {
    let mut found: BTreeSet<String> = static_pods(spec)
        .flat_map(|pod| readers(&pod.to_json(), paths))
        .collect();
    for (folder, container) in ELSEWHERE {
        if paths.iter().any(|path| path.starts_with(folder)) {
            found.insert((*container).to_owned());
        }
    }
    found.remove(READS_AGAIN);
    found
}

/// The words that end a container, which its pod's restart policy starts again. One that does not run is not missed.
pub fn end_container(name: &str) -> Vec<String> {
    let filter = format!("labels.\"io.kubernetes.container.name\"=={name}");
    let script = "for id in $(ctr -n k8s.io containers ls -q \"$1\"); do \
                  ctr -n k8s.io tasks kill --signal SIGTERM \"$id\" 2>/dev/null || true; done";
    ["/bin/sh", "-c", script, "end-container", &filter]
        .map(str::to_owned)
        .to_vec()
}

/// The containers of a pod that mount what any of these paths is, or is below.
fn readers(pod: &Value, paths: &BTreeSet<String>) -> Vec<String> {
    let list = |value: &Value| value.as_array().cloned().unwrap_or_default();
    let is_mounted = |volume: &Value| {
        let host = volume["hostPath"]["path"].as_str().unwrap_or_default();
        let host = host.trim_end_matches('/');
        let is_below = |path: &String| {
            path.strip_prefix(host)
                .is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
        };
        !host.is_empty() && paths.iter().any(is_below)
    };
    let volumes = list(&pod["spec"]["volumes"]);
    let volumes: BTreeSet<&str> = volumes
        .iter()
        .filter(|volume| is_mounted(volume))
        .filter_map(|volume| volume["name"].as_str())
        .collect();
    let reads = |container: &&Value| {
        list(&container["volumeMounts"])
            .iter()
            .filter_map(|mount| mount["name"].as_str())
            .any(|name| volumes.contains(name))
    };
    let containers = list(&pod["spec"]["containers"]);
    let names = containers.iter().filter(reads);
    names
        .filter_map(|container| container["name"].as_str().map(str::to_owned))
        .collect()
}
