//! Planted changes of what runs on nodes: components, the runtime, and what kops supports of both.

use super::Planted;
use crate::preview::sample::Sample;
use crate::preview::side::ClusterSide;
use quake_model::item::{File, Item, Source};
use quake_model::spec::{DockerRuntime, EtcdProvider, Runtime};

pub(super) fn kubelet_config(text: &str) -> Sample {
    let text = format!("kind: KubeletConfiguration\n{text}");
    Sample::new("1.36.0").file("/var/lib/kubelet/kubelet.conf", &text)
}

fn containerd(kubernetes: &str, kops: &str, version: &str) -> ClusterSide {
    let mut sample = Sample::new(kubernetes).kops(kops);
    sample.node.runtime = Runtime::Containerd {
        version: Some(version.to_owned()),
    };
    sample.done()
}

fn docker(kubernetes: &str) -> ClusterSide {
    let mut sample = Sample::new(kubernetes);
    sample.node.runtime = Runtime::Docker(DockerRuntime {
        version: None,
        flags: Vec::new(),
    });
    sample.done()
}

fn imaged(kubernetes: &str, kops: &str, image: &str) -> ClusterSide {
    let group = format!("image: {image}\n");
    Sample::new(kubernetes).kops(kops).group(&group).done()
}

pub(super) fn of_components() -> Vec<Planted> {
    let at = |version: &str| Sample::new(version);
    let flags = "--container-runtime=remote --v=2";
    let gates = |version: &str| {
        let sample = at(version);
        sample
            .kubelet("--feature-gates=CSIMigrationAWS=true")
            .done()
    };
    let plugins = |list: &str, version: &str| {
        let words = format!("--enable-admission-plugins={list}");
        at(version).pod("kube-apiserver", &words).done()
    };
    let cloud = |version: &str| at(version).kubelet("--cloud-provider=aws").done();
    let mode = |version: &str, mode: &str| {
        let sample = at(version);
        let words = format!("--proxy-mode={mode} --v=2");
        sample.pod("kube-proxy", &words).done()
    };
    vec![
        (
            "kubernetes.flag-removed",
            at("1.26.9").kubelet(flags).done(),
            at("1.27.0").kubelet(flags).done(),
        ),
        (
            "kubernetes.feature-gate-removed",
            gates("1.26.9"),
            gates("1.27.0"),
        ),
        (
            "kubernetes.admission-plugin-removed",
            plugins("NodeRestriction,PodSecurityPolicy", "1.24.0"),
            plugins("NodeRestriction,PodSecurityPolicy", "1.25.0"),
        ),
        (
            "kubernetes.cloud-provider-in-tree",
            cloud("1.26.0"),
            cloud("1.27.0"),
        ),
        (
            "kubernetes.proxy-mode-removed",
            mode("1.25.0", "userspace"),
            mode("1.26.0", "userspace"),
        ),
        (
            "kubernetes.proxy-mode-deprecated",
            mode("1.34.0", "ipvs"),
            mode("1.35.0", "ipvs"),
        ),
        (
            "kubernetes.feature-gate-locked",
            locked("1.32.0", "SidecarContainers: false"),
            locked("1.33.0", "SidecarContainers: false"),
        ),
        (
            "kubernetes.config-version-removed",
            audited("1.23.0"),
            audited("1.24.0"),
        ),
    ]
}

/// With a gate in kubelet's configuration.
fn locked(version: &str, gate: &str) -> ClusterSide {
    let text = format!("kind: KubeletConfiguration\nfeatureGates: {{{gate}}}\n");
    let sample = Sample::new(version);
    sample.file("/var/lib/kubelet/kubelet.conf", &text).done()
}

/// With the policy of an audit log.
fn audited(version: &str) -> ClusterSide {
    let text = "apiVersion: audit.k8s.io/v1beta1\nkind: Policy\nrules: []\n";
    let mut sample = Sample::new(version);
    // As what a spec has of its own is: nobody knows whether it may be shown.
    let file = File::secret("/srv/kubernetes/audit.yaml", Source::bytes(text));
    sample.node.items.push(Item::File(file));
    sample.done()
}

/// With this configuration of containerd.
fn configured(version: &str, config: &str) -> ClusterSide {
    let mut sample = Sample::new("1.34.0").file("/etc/containerd/config.toml", config);
    sample.node.runtime = Runtime::Containerd {
        version: Some(version.to_owned()),
    };
    sample.done()
}

pub(super) fn of_containerd() -> Vec<Planted> {
    let legacy = |version: u32| {
        format!("version = {version}\n[plugins.\"io.containerd.grpc.v1.cri\"]\n  x = 1\n")
    };
    let sandbox = "version = 4\n  sandbox = \"registry.k8s.io/pause:3.10@sha256:0a\"\n";
    let shim = "version = 2\n  runtime_type = \"io.containerd.runtime.v1.linux\"\n";
    vec![
        (
            "runtime.containerd-config-removed",
            configured("1.7.28", shim),
            configured("2.2.4", shim),
        ),
        (
            "runtime.containerd-config-ignored",
            configured("2.3.4", &legacy(3)),
            configured("2.3.4", &legacy(4)),
        ),
        (
            "runtime.containerd-sandbox-digest",
            configured("2.2.4", sandbox),
            configured("2.3.1", sandbox),
        ),
    ]
}

pub(super) fn of_the_runtime() -> Vec<Planted> {
    let kubelet = |text: &str| kubelet_config(text).done();
    let config = |is_systemd: &str| {
        let text = format!("    SystemdCgroup = {is_systemd}\n");
        let sample = kubelet_config("cgroupDriver: systemd\n");
        sample.file("/etc/containerd/config.toml", &text).done()
    };
    let kernel = "additionalUserData: GRUB_CMDLINE_LINUX=systemd.unified_cgroup_hierarchy=0\n";
    vec![
        ("runtime.docker-removed", docker("1.23.0"), docker("1.24.0")),
        (
            "runtime.containerd-1",
            containerd("1.35.0", "1.36.0", "1.7.28"),
            containerd("1.36.0", "1.36.0", "1.7.28"),
        ),
        (
            "runtime.containerd-without-cri-v1",
            containerd("1.25.0", "1.26.0", "1.5.11"),
            containerd("1.26.0", "1.26.0", "1.5.11"),
        ),
        (
            "runtime.cgroup-v1",
            imaged("1.34.0", "1.35.0", "amazon/amzn2-ami-hvm-2.0"),
            imaged("1.35.0", "1.35.0", "amazon/amzn2-ami-hvm-2.0"),
        ),
        (
            "runtime.cgroup-v1",
            Sample::new("1.35.0").done(),
            Sample::new("1.35.0").group(kernel).done(),
        ),
        (
            "runtime.cgroup-v1-accepted",
            kubelet("a: b\n"),
            kubelet("failCgroupV1: false\n"),
        ),
        (
            "runtime.cgroup-drivers-differ",
            config("true"),
            config("false"),
        ),
        (
            "runtime.cgroup-driver-changed",
            kubelet("cgroupDriver: cgroupfs\n"),
            kubelet("cgroupDriver: systemd\n"),
        ),
        (
            "runtime.containerd-downgraded",
            containerd("1.34.0", "1.36.0", "2.2.4"),
            containerd("1.34.0", "1.36.0", "2.1.4"),
        ),
    ]
}

fn managed_by_protokube(version: &str) -> ClusterSide {
    let mut cluster = super::clusters::etcd("3.4.3", &[("a", true)], EtcdProvider::Legacy);
    cluster.kops = None;
    cluster.kubernetes = version.parse().ok();
    if let Some(Ok(node)) = cluster.groups.get_mut("nodes").map(|group| &mut group.node) {
        node.kubernetes = version.parse().expect("a literal");
    }
    cluster
}

pub(super) fn of_kops() -> Vec<Planted> {
    let gossip = |kops: &str| {
        let mut sample = Sample::new("1.34.0").kops(kops);
        sample.cluster.name = "c.k8s.local".to_owned();
        sample.done()
    };
    let with = |kops: &str, spec: &str| Sample::new("1.34.0").kops(kops).cluster(spec).done();
    let focal = "099720109477/ubuntu/images/hvm-ssd/ubuntu-focal-20.04-amd64-server";
    let balancer = "api: {loadBalancer: {class: Classic, type: Public}}\n";
    let (canal, weave) = ("networking: {canal: {}}\n", "networking: {weave: {}}\n");
    let old_etcd = |kops: &str| {
        let mut cluster = super::clusters::etcd("3.4.13", &[("a", true)], EtcdProvider::Manager);
        cluster.kops = kops.parse().ok();
        cluster
    };
    vec![
        ("kops.gossip-removed", gossip("1.36.0"), gossip("1.37.0")),
        (
            "kops.distribution-removed",
            imaged("1.34.0", "1.35.0", focal),
            imaged("1.34.0", "1.36.0", focal),
        ),
        (
            "kops.containerd-too-old",
            containerd("1.34.0", "1.36.0", "2.0.5"),
            containerd("1.34.0", "1.37.0", "2.0.5"),
        ),
        (
            "kops.kubernetes-too-old",
            Sample::new("1.30.0").kops("1.35.0").done(),
            Sample::new("1.30.0").kops("1.36.0").done(),
        ),
        (
            "kops.classic-load-balancer-removed",
            with("1.36.0", balancer),
            with("1.37.0", balancer),
        ),
        (
            "kops.network-removed",
            with("1.33.0", canal),
            with("1.34.0", canal),
        ),
        (
            "kops.network-removed",
            with("1.22.0", weave),
            with("1.23.0", weave),
        ),
        ("kops.etcd-too-old", old_etcd("1.35.0"), old_etcd("1.36.0")),
        (
            "kops.etcd-legacy-provider",
            managed_by_protokube("1.17.0"),
            managed_by_protokube("1.18.0"),
        ),
    ]
}

pub(super) fn of_programs() -> Vec<Planted> {
    let kubelet = |text: &str| kubelet_config(text).done();
    let server = |words: &str| Sample::new("1.34.0").pod("kube-apiserver", words).done();
    let image = |image: &str| {
        let text = format!(
            "kind: Pod\nmetadata: {{name: kube-apiserver}}\nspec:\n  containers:\n  - name: kube-apiserver\n    image: {image}\n"
        );
        let sample = Sample::new("1.34.0");
        let path = "/etc/kubernetes/manifests/kube-apiserver.manifest";
        sample.file(path, &text).done()
    };
    let now = image("registry.k8s.io/kube-apiserver:v1.34.0");
    vec![
        (
            "access.opened",
            kubelet("readOnlyPort: 0\n"),
            kubelet("readOnlyPort: 10255\n"),
        ),
        (
            "access.opened",
            server("--authorization-mode=Node,RBAC --v=2"),
            server("--authorization-mode=AlwaysAllow --v=2"),
        ),
        (
            "kubernetes.admission-plugin-dropped",
            server("--enable-admission-plugins=NodeRestriction,ResourceQuota --v=2"),
            server("--enable-admission-plugins=ResourceQuota --v=2"),
        ),
        (
            "kubelet.max-pods-lowered",
            kubelet("a: b\n"),
            kubelet("maxPods: 29\n"),
        ),
        (
            "kubelet.manager-policy-changed",
            kubelet("a: b\n"),
            kubelet("cpuManagerPolicy: static\n"),
        ),
        (
            "images.registry-frozen",
            now.clone(),
            image("k8s.gcr.io/kube-apiserver:v1.34.0"),
        ),
        (
            "kubernetes.component-skew",
            now,
            image("registry.k8s.io/kube-apiserver:v1.33.4"),
        ),
    ]
}
