//! Changes as operators make them: in the cluster's spec, in that of a group, in flags, in images. Each is named by its rule.

use crate::planted::{Planted, are_named, group, kops, kubernetes, nothing, replace, replace_all};
use crate::stores::edit;
use std::fs;
use std::path::Path;

const KUBELET: &str = "  cgroupRoot: /\n";

/// Adds a value to kubelet's of all groups.
fn kubelet(base: &Path, value: &str) {
    replace(base, KUBELET, &format!("{KUBELET}  {value}\n"));
}

/// Changes the configuration of the workers' group alone.
fn workers(base: &Path, from: &str, to: &str) {
    let folder = base.join("igconfig/node");
    edit(&folder, &|text| text.replace(from, to));
}

/// Gives the control plane's kubelet this gate in the place of the one it has.
fn gate(base: &Path, gate: &str) {
    let from = "    ImageVolume: 'true'\n";
    replace(base, from, &format!("    {gate}\n"));
}

/// Says in every file of the store something else.
fn everywhere(base: &Path, from: &str, to: &str) {
    edit(base, &|text| text.replace(from, to));
}

/// Gives containerd another configuration.
fn containerd(base: &Path, line: &str) {
    let from = "  version: 2.2.4\n";
    replace(base, from, &format!("{line}{from}"));
}

/// Writes the document of the control plane's group.
fn control_plane(base: &Path, spec: &str) {
    let folder = base.join("instancegroup");
    fs::create_dir_all(&folder).expect("a copy of ours");
    let text = format!("kind: InstanceGroup\nspec:\n{spec}");
    fs::write(folder.join("master-us-test-1a"), text).expect("a copy of ours");
}

const ACCESS: &[Planted] = &[
    (
        "access.opened",
        nothing,
        |base| {
            replace(
                base,
                "    anonymousAuth: false\n",
                "    anonymousAuth: true\n",
            );
        },
        0,
    ),
    (
        "access.opened",
        nothing,
        |base| replace(base, "Mode: Node,RBAC", "Mode: AlwaysAllow"),
        0,
    ),
    (
        "access.opened",
        nothing,
        |base| kubelet(base, "readOnlyPort: 10255"),
        0,
    ),
    (
        "kubernetes.admission-plugin-dropped",
        nothing,
        |base| replace(base, "    - NodeRestriction\n", ""),
        0,
    ),
    (
        "network.api-port-changed",
        nothing,
        |base| replace(base, "securePort: 443", "securePort: 8443"),
        0,
    ),
];

const NODES: &[Planted] = &[
    (
        "kubelet.max-pods-lowered",
        nothing,
        |base| kubelet(base, "maxPods: 20"),
        0,
    ),
    (
        "kubelet.manager-policy-changed",
        nothing,
        |base| kubelet(base, "cpuManagerPolicy: static"),
        0,
    ),
    (
        "images.registry-frozen",
        nothing,
        |base| replace(base, "registry.k8s.io/kube-proxy", "k8s.gcr.io/kube-proxy"),
        0,
    ),
    (
        "kubernetes.component-skew",
        nothing,
        |base| {
            replace(
                base,
                "kube-apiserver:v1.34.0-alpha.1",
                "kube-apiserver:v1.33.4",
            );
        },
        0,
    ),
    (
        "group.label-removed",
        |base| replace(base, "  nodeLabels:\n", "  nodeLabels:\n    team: a\n"),
        nothing,
        0,
    ),
    (
        "group.taint-added",
        nothing,
        |base| {
            let taints = format!("{KUBELET}  taints: [\"dedicated=gpu:NoSchedule\"]\n");
            workers(base, KUBELET, &taints);
        },
        0,
    ),
    (
        "kubernetes.feature-gate-locked",
        |base| {
            kubernetes(base, "1.32.0");
            gate(base, "SidecarContainers: 'false'");
        },
        |base| {
            kubernetes(base, "1.33.0");
            gate(base, "SidecarContainers: 'false'");
        },
        1,
    ),
    (
        "kubernetes.feature-gate-removed",
        |base| gate(base, "SizeMemoryBackedVolumes: 'true'"),
        |base| {
            kubernetes(base, "1.35.0");
            gate(base, "SizeMemoryBackedVolumes: 'true'");
        },
        1,
    ),
    (
        "kubernetes.proxy-mode-deprecated",
        |base| replace(base, "KubeProxy:\n", "KubeProxy:\n  proxyMode: ipvs\n"),
        |base| {
            kubernetes(base, "1.35.0");
            replace(base, "KubeProxy:\n", "KubeProxy:\n  proxyMode: ipvs\n");
        },
        0,
    ),
    (
        "kubernetes.config-version-removed",
        nothing,
        |base| {
            let version = "kubescheduler.config.k8s.io/v1";
            replace(base, version, &format!("{version}beta3"));
        },
        1,
    ),
    (
        "runtime.containerd-config-removed",
        nothing,
        |base| {
            containerd(
                base,
                "  configOverride: |\n    version = 2\n    runtime_type = \"io.containerd.runtime.v1.linux\"\n",
            );
        },
        1,
    ),
    (
        "runtime.containerd-sandbox-digest",
        |base| replace(base, "pause:3.10.1", "pause:3.10.1@sha256:0a"),
        |base| {
            replace(base, "pause:3.10.1", "pause:3.10.1@sha256:0a");
            replace(base, "  version: 2.2.4\n", "  version: 2.3.1\n");
        },
        1,
    ),
];

const GROUPS: &[Planted] = &[
    (
        "group.architecture-mismatch",
        |base| {
            group(
                base,
                "  image: ubuntu-noble-24.04-amd64-server\n  machineType: m6i.large\n",
            );
        },
        |base| {
            group(
                base,
                "  image: ubuntu-noble-24.04-amd64-server\n  machineType: m6g.large\n",
            );
        },
        1,
    ),
    (
        "group.root-volume-shrunk",
        |base| group(base, "  rootVolumeSize: 64\n"),
        |base| group(base, "  rootVolumeSize: 16\n"),
        0,
    ),
    (
        "etcd.group-leaves-its-zone",
        |base| control_plane(base, "  subnets: [us-test-1a]\n"),
        |base| control_plane(base, "  subnets: [us-test-1b]\n"),
        1,
    ),
    (
        "etcd.backup-store-changed",
        nothing,
        |base| everywhere(base, "/backups/etcd/main", "/backups/etcd/other"),
        0,
    ),
    (
        "etcd.patch-too-old",
        |base| replace_all(base, "3.6.12", "3.5.21"),
        nothing,
        1,
    ),
    (
        "kops.containerd-too-old",
        |base| replace(base, "  version: 2.2.4\n", "  version: 2.0.5\n"),
        |base| {
            replace(base, "  version: 2.2.4\n", "  version: 2.0.5\n");
            kops(base, "1.37.0");
        },
        1,
    ),
    (
        "network.service-range-changed",
        nothing,
        |base| replace(base, "100.64.0.0/13", "100.64.0.0/16"),
        1,
    ),
    (
        "network.pod-range-changed",
        nothing,
        |base| replace_all(base, "100.96.0.0/11", "100.96.0.0/12"),
        1,
    ),
];

#[test]
fn every_change_of_an_operator_is_named_before_a_roll() {
    let planted: Vec<&Planted> = ACCESS.iter().chain(NODES).chain(GROUPS).collect();
    assert!(planted.len() >= 25, "{}", planted.len());
    are_named(&planted);
}
