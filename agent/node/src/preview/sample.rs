//! Sides for the tests of checks: a node in one line, and documents in a few.

use super::side::{ClusterSide, GroupSide, Settings};
use quake_model::item::{File, Item};
use quake_model::location::Location;
use quake_model::spec::{
    KopsGeneration, Kubelet, NetworkMode, Networking, NodeSpec, Role, Runtime,
};
use std::collections::BTreeMap;

/// A worker of this version, without items.
pub(crate) fn node(version: &str) -> NodeSpec {
    NodeSpec {
        generation: KopsGeneration::Current,
        cluster: "c.example.com".to_owned(),
        instance_group: "nodes".to_owned(),
        role: Role::Worker,
        bootstrap_servers: Vec::new(),
        kubernetes: version.parse().expect("a literal"),
        config_base: Location::file("/"),
        assets: Vec::new(),
        images: Vec::new(),
        channels: Vec::new(),
        addons_pod: None,
        node_object: None,
        etcd_manifests: Vec::new(),
        runtime: Runtime::Containerd {
            version: Some("2.2.4".to_owned()),
        },
        kubelet: Kubelet {
            flags: Vec::new(),
            labels: BTreeMap::new(),
            taints: Vec::new(),
            startup_taint: None,
            kubeconfig_path: "/var/lib/kubelet/kubeconfig".to_owned(),
            manifest_path: "/etc/kubernetes/manifests".to_owned(),
        },
        kube_proxy: None,
        control_plane: None,
        etcd: Vec::new(),
        names: None,
        networking: Networking {
            mode: NetworkMode::Cni {
                provider: "calico".to_owned(),
            },
            mtu: None,
            cluster_cidr: None,
            non_masquerade_cidr: None,
            pod_cidr: None,
            service_cidr: None,
            node_port_range: None,
        },
        cloud_config: None,
        proxy: BTreeMap::new(),
        file_assets: Vec::new(),
        hooks: Vec::new(),
        automatic_upgrades: false,
        items: Vec::new(),
        start_conditions: Vec::new(),
        ready_conditions: Vec::new(),
    }
}

/// A cluster with one group of one node; tests change what they are about.
pub(crate) struct Sample {
    pub(crate) cluster: ClusterSide,
    pub(crate) node: NodeSpec,
    pub(crate) group: Settings,
    pub(crate) role: Role,
}

impl Sample {
    /// A cluster of this version.
    pub(crate) fn new(version: &str) -> Self {
        Self {
            cluster: ClusterSide {
                name: "c.example.com".to_owned(),
                generation: KopsGeneration::Current,
                kubernetes: version.parse().ok(),
                kops: None,
                settings: Settings::default(),
                keys: BTreeMap::new(),
                addons: BTreeMap::new(),
                objects: std::collections::BTreeSet::default(),
                groups: BTreeMap::new(),
            },
            node: node(version),
            group: Settings::default(),
            role: Role::Worker,
        }
    }

    pub(crate) fn kops(mut self, version: &str) -> Self {
        self.cluster.kops = version.parse().ok();
        self
    }

    /// With the cluster's document.
    pub(crate) fn cluster(mut self, text: &str) -> Self {
        self.cluster.settings = Settings::read("cluster", text).expect("a literal");
        self
    }

    /// With the group's document.
    pub(crate) fn group(mut self, text: &str) -> Self {
        self.group = Settings::read("group", text).expect("a literal");
        self
    }

    pub(crate) fn file(mut self, path: &str, text: &str) -> Self {
        self.node.items.push(Item::File(File::plain(path, text)));
        self
    }

    /// With words of kubelet.
    pub(crate) fn kubelet(self, words: &str) -> Self {
        self.file(
            "/etc/sysconfig/kubelet",
            &format!("DAEMON_ARGS=\"{words}\"\n"),
        )
    }

    /// With a static pod of this component.
    pub(crate) fn pod(self, name: &str, words: &str) -> Self {
        let words: Vec<String> = words.split(' ').map(|word| format!("{word:?}")).collect();
        let text = format!(
            "kind: Pod\nmetadata: {{name: {name}}}\nspec:\n  containers:\n  - name: {name}\n    image: r/{name}:v1\n    \
             command: [{name}, {}]\n",
            words.join(", ")
        );
        self.file(&format!("/etc/kubernetes/manifests/{name}.manifest"), &text)
    }

    pub(crate) fn done(self) -> ClusterSide {
        let group = GroupSide {
            role: self.role,
            node: Ok(Box::new(self.node)),
            user_data: "a".to_owned(),
            settings: self.group,
        };
        let mut cluster = self.cluster;
        cluster.groups.insert("nodes".to_owned(), group);
        cluster
    }
}
