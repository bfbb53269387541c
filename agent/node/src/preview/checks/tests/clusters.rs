//! Planted changes of what is around nodes: the network, etcd, keys, groups, and the cluster itself.

use super::Planted;
use super::nodes::kubelet_config;
use crate::preview::sample::Sample;
use crate::preview::side::{ClusterSide, KeySide, ObjectSide, Settings};
use quake_model::fault::{Code, Fault};
use quake_model::spec::{
    Component, EtcdCluster, EtcdMember, EtcdProvider, KopsGeneration, NetworkMode, NodeSpec, Role,
};
use std::collections::BTreeMap;

fn networked(change: impl FnOnce(&mut Sample)) -> ClusterSide {
    let mut sample = Sample::new("1.34.0");
    change(&mut sample);
    sample.done()
}

fn served(words: &str) -> ClusterSide {
    let sample = Sample::new("1.34.0");
    sample.pod("kube-apiserver", words).done()
}

fn proxied(words: &str) -> ClusterSide {
    let mut sample = Sample::new("1.34.0").pod("kube-proxy", words);
    sample.node.kube_proxy = Some(Component {
        image: String::new(),
        flags: Vec::new(),
        cpu_request: None,
        cpu_limit: None,
        memory_request: None,
        memory_limit: None,
    });
    sample.done()
}

pub(super) fn etcd(version: &str, members: &[(&str, bool)], provider: EtcdProvider) -> ClusterSide {
    let members = members.iter().map(|(name, encrypted)| EtcdMember {
        name: (*name).to_owned(),
        instance_group: None,
        encrypted: *encrypted,
    });
    let mut sample = Sample::new("1.34.0");
    sample.node.etcd = vec![EtcdCluster {
        name: "main".to_owned(),
        members: members.collect(),
        version: version.to_owned(),
        image: String::new(),
        provider,
        backup_store: None,
        manifest: None,
    }];
    sample.done()
}

fn keys(name: &str, trusted: &[&str], signs: &str) -> ClusterSide {
    let mut sample = Sample::new("1.34.0");
    let key = KeySide {
        trusted: trusted.iter().map(|it| (*it).to_owned()).collect(),
        signs: Some(signs.to_owned()),
    };
    sample.cluster.keys = BTreeMap::from([(name.to_owned(), key)]);
    sample.done()
}

fn refused(code: Code) -> ClusterSide {
    let mut cluster = Sample::new("1.34.0").done();
    if let Some(group) = cluster.groups.get_mut("nodes") {
        group.node = Err(Fault::new(code, "nodeupconfig.yaml: something is wrong"));
    }
    cluster
}

pub(super) fn of_the_network() -> Vec<Planted> {
    let pods =
        |range: &str| networked(|it| it.node.networking.cluster_cidr = Some(range.to_owned()));
    let services =
        |range: &str| networked(|it| it.node.networking.service_cidr = Some(range.to_owned()));
    let ports =
        |range: &str| networked(|it| it.node.networking.node_port_range = Some(range.to_owned()));
    let plugin = |name: &str| {
        networked(|it| {
            it.node.networking.mode = NetworkMode::Cni {
                provider: name.to_owned(),
            };
        })
    };
    let kubelet = |text: &str| kubelet_config(text).done();
    vec![
        (
            "network.pod-range-changed",
            pods("100.96.0.0/11"),
            pods("10.0.0.0/11"),
        ),
        (
            "network.service-range-changed",
            services("100.64.0.0/13"),
            services("10.1.0.0/13"),
        ),
        (
            "network.node-ports-changed",
            ports("30000-32767"),
            ports("31000-32767"),
        ),
        (
            "network.cluster-domain-changed",
            kubelet("clusterDomain: cluster.local\n"),
            kubelet("clusterDomain: c.local\n"),
        ),
        (
            "network.dns-address-changed",
            kubelet("clusterDNS: [100.64.0.10]\n"),
            kubelet("clusterDNS: [169.254.20.10]\n"),
        ),
        ("network.plugin-changed", plugin("calico"), plugin("cilium")),
        (
            "network.api-port-changed",
            served("--secure-port=443 --v=2"),
            served("--secure-port=6443 --v=2"),
        ),
        (
            "network.proxy-mode-changed",
            proxied("--v=2"),
            proxied("--proxy-mode=nftables"),
        ),
        (
            "network.proxy-removed",
            proxied("--v=2"),
            Sample::new("1.34.0").done(),
        ),
    ]
}

fn with_node(mut cluster: ClusterSide, change: impl FnOnce(&mut NodeSpec)) -> ClusterSide {
    let group = cluster.groups.get_mut("nodes");
    if let Some(Ok(node)) = group.map(|group| &mut group.node) {
        change(node);
    }
    cluster
}

fn backed_up(store: &str) -> ClusterSide {
    let cluster = etcd("3.6.5", &[("a", true)], EtcdProvider::Manager);
    with_node(cluster, |node| {
        node.etcd[0].backup_store = Some(store.parse().expect("a literal"));
    })
}

fn in_subnets(subnets: &str) -> ClusterSide {
    let mut cluster = etcd("3.6.5", &[("a", true)], EtcdProvider::Manager);
    if let Some(group) = cluster.groups.get_mut("nodes") {
        let text = format!("subnets: {subnets}\n");
        group.settings = Settings::read("group", &text).expect("a literal");
    }
    cluster
}

pub(super) fn of_etcd() -> Vec<Planted> {
    let manager = EtcdProvider::Manager;
    let one = [("a", true)];
    vec![
        (
            "etcd.downgraded",
            etcd("3.6.5", &one, manager),
            etcd("3.5.21", &one, manager),
        ),
        (
            "etcd.minor-skipped",
            etcd("3.5.21", &one, manager),
            etcd("3.7.0", &one, manager),
        ),
        (
            "etcd.patch-too-old",
            etcd("3.5.21", &one, manager),
            etcd("3.6.5", &one, manager),
        ),
        (
            "etcd.patch-too-old",
            etcd("3.6.5", &one, manager),
            etcd("3.7.0", &one, manager),
        ),
        (
            "etcd.cluster-removed",
            etcd("3.6.5", &one, manager),
            Sample::new("1.34.0").done(),
        ),
        (
            "etcd.backup-store-changed",
            backed_up("s3://b/c/backups/etcd/main"),
            backed_up("s3://b/d/backups/etcd/main"),
        ),
        (
            "etcd.group-leaves-its-zone",
            in_subnets("[us-test-1a, us-test-1b]"),
            in_subnets("[us-test-1b]"),
        ),
        (
            "etcd.members-changed",
            etcd("3.6.5", &one, manager),
            etcd("3.6.5", &[("a", true), ("b", true), ("c", true)], manager),
        ),
        (
            "etcd.volume-encryption-changed",
            etcd("3.6.5", &[("a", false)], manager),
            etcd("3.6.5", &one, manager),
        ),
        (
            "etcd.provider-changed",
            { etcd("3.6.5", &one, EtcdProvider::Legacy) },
            etcd("3.6.5", &one, manager),
        ),
    ]
}

pub(super) fn of_keys() -> Vec<Planted> {
    let server = |words: &str| Sample::new("1.34.0").pod("kube-apiserver", words).done();
    vec![
        (
            "keys.ca-replaced",
            keys("kubernetes-ca", &["1"], "1"),
            keys("kubernetes-ca", &["2"], "2"),
        ),
        (
            "keys.signing-ca-distrusted",
            keys("kubernetes-ca", &["1", "2"], "1"),
            keys("kubernetes-ca", &["2"], "2"),
        ),
        (
            "keys.service-account-key-dropped",
            keys("service-account", &["1"], "1"),
            keys("service-account", &["2"], "2"),
        ),
        (
            "keys.service-account-issuer-changed",
            server("--service-account-issuer=https://a"),
            server("--service-account-issuer=https://b"),
        ),
        (
            "keys.encryption-config-removed",
            server("--encryption-provider-config=/x --v=2"),
            server("--v=2"),
        ),
    ]
}

fn labelled(labels: &[(&str, &str)]) -> ClusterSide {
    let mut sample = Sample::new("1.34.0");
    let labels = labels.iter();
    sample.node.kubelet.labels = labels
        .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
        .collect();
    sample.done()
}

fn tainted(taints: &[&str]) -> ClusterSide {
    let mut sample = Sample::new("1.34.0");
    sample.node.kubelet.taints = taints.iter().map(|taint| (*taint).to_owned()).collect();
    sample.done()
}

pub(super) fn of_the_group() -> Vec<Planted> {
    let group = |spec: &str| Sample::new("1.34.0").group(spec).done();
    let sysctls = |text: &str| {
        let sample = Sample::new("1.34.0");
        sample
            .file("/etc/sysctl.d/99-k8s-general.conf", text)
            .done()
    };
    let mut other_role = Sample::new("1.34.0");
    other_role.role = Role::ApiServer;
    let now = || Sample::new("1.34.0").done();
    vec![
        (
            "assets.without-digest",
            now(),
            refused(Code::ConfigAssetMalformed),
        ),
        ("config.refused", now(), refused(Code::ConfigUnsupported)),
        ("group.role-changed", now(), other_role.done()),
        (
            "group.imds-hop-limit-lowered",
            group("instanceMetadata: {httpPutResponseHopLimit: 3}\n"),
            group("instanceMetadata: {httpPutResponseHopLimit: 1}\n"),
        ),
        (
            "group.imds-tokens-required",
            group("instanceMetadata: {httpTokens: optional}\n"),
            group("instanceMetadata: {httpTokens: required}\n"),
        ),
        (
            "group.architecture-mismatch",
            group("machineType: m6i.large\nimage: ubuntu-noble-24.04-amd64-server\n"),
            group("machineType: m6g.large\nimage: ubuntu-noble-24.04-amd64-server\n"),
        ),
        (
            "group.root-volume-shrunk",
            group("rootVolumeSize: 64\n"),
            group("rootVolumeSize: 20\n"),
        ),
        (
            "group.label-removed",
            labelled(&[("pool", "gpu"), ("zone", "a")]),
            labelled(&[("zone", "a")]),
        ),
        (
            "group.taint-added",
            tainted(&[]),
            tainted(&["dedicated=gpu:NoSchedule"]),
        ),
        (
            "group.sysctl-removed",
            sysctls("vm.max_map_count = 1048576\nkernel.panic = 10\n"),
            sysctls("kernel.panic = 10\n"),
        ),
    ]
}

pub(super) fn of_the_cluster() -> Vec<Planted> {
    let at = |version: &str| Sample::new(version).done();
    let with_object = |version: &str| {
        let mut cluster = at(version);
        cluster.objects.insert(ObjectSide {
            api_version: "policy/v1beta1".to_owned(),
            kind: "PodDisruptionBudget".to_owned(),
            name: "coredns".to_owned(),
            source: "addons/coredns.yaml".to_owned(),
        });
        cluster
    };
    let mut renamed = at("1.34.0");
    renamed.name = "d.example.com".to_owned();
    let mut older = at("1.34.0");
    older.generation = KopsGeneration::Legacy;
    let mut fewer = at("1.34.0");
    fewer.groups.clear();
    vec![
        ("kubernetes.minor-skipped", at("1.34.0"), at("1.36.0")),
        ("kubernetes.downgraded", at("1.35.0"), at("1.34.0")),
        (
            "kubernetes.api-removed",
            with_object("1.24.0"),
            with_object("1.25.0"),
        ),
        ("cluster.renamed", at("1.34.0"), renamed),
        ("cluster.kops-generation-changed", older, at("1.34.0")),
        ("group.removed", at("1.34.0"), fewer),
    ]
}
