//! What is to be done when certificates were issued anew on a node that runs: files around them, and who reads those only
//! once.
//!
//! kubelet is restarted as at a boot: its unit names what it reads. Of pods, kube-apiserver reads its certificates again by
//! itself; the others read a kubeconfig when they start, so their containers are ended and kubelet starts them again.

use crate::pod::static_pods;
use quake_formats::yaml::Yaml;
use quake_model::item::{File, Source, UnitState};
use quake_model::spec::NodeSpec;
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
    let found = static_pods(spec).flat_map(|pod| readers(&pod, paths));
    let mut found: BTreeSet<String> = found.collect();
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
    let words = ["/bin/sh", "-c", script, "end-container", &filter];
    words.map(str::to_owned).into()
}

/// The containers of a pod that mount what any of these paths is, or is below.
fn readers(pod: &Yaml, paths: &BTreeSet<String>) -> Vec<String> {
    let Some(spec) = pod.get("spec") else {
        return Vec::new();
    };
    let is_mounted = |volume: &&Yaml| {
        let host = volume.get("hostPath").and_then(|host| host.text_of("path"));
        let host = host.unwrap_or_default().trim_end_matches('/');
        let mut below = paths.iter().filter_map(|path| path.strip_prefix(host));
        !host.is_empty() && below.any(|rest| rest.is_empty() || rest.starts_with('/'))
    };
    let volumes = spec.items_of("volumes").iter().filter(is_mounted);
    let volumes: BTreeSet<&str> = volumes.filter_map(|it| it.text_of("name")).collect();
    let reads = |container: &&Yaml| {
        let mut mounts = container.items_of("volumeMounts").iter();
        mounts.any(|it| {
            it.text_of("name")
                .is_some_and(|name| volumes.contains(name))
        })
    };
    let containers = spec.items_of("containers").iter().filter(reads);
    let names = containers.filter_map(|container| container.text_of("name"));
    names.map(str::to_owned).collect()
}
