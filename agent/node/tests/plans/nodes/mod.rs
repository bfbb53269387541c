//! Nodes the tests plan for: a control plane of 1.8 with kubenet, a worker of 1.12 with CNI, and variations.

mod parts;

use parts::{asset, assets, control_plane, etcd, flags, known, kubelet, slot, worker_spec};
use quake_model::spec::{
    AssetKind, DockerRuntime, EtcdProvider, FileAsset, Flag, Hook, HookKind, NetworkMode, NodeSpec,
    Role, Runtime,
};
use quake_model::step::Step;
use quake_node::plan_inputs::{EtcdManifest, PlanInputs};
use quake_node::steps::{self, Owners};
use quake_node::{assets, credentials};
use std::collections::BTreeMap;
use std::sync::Arc;

/// A node: what was asked of it and what is known about it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Node {
    pub(crate) spec: NodeSpec,
    pub(crate) known: PlanInputs,
}

impl Node {
    /// Every step of the node that is planned without effects, in the order of the phases.
    pub(crate) fn plan(&self, etcd_manifests: &[EtcdManifest]) -> Vec<Step> {
        let known = PlanInputs {
            etcd_manifests: etcd_manifests.to_vec(),
            ..self.known.clone()
        };
        let spec = self.spec_for(&known);
        let files = steps::files(&spec, &BTreeMap::new(), &Owners::default(), false);
        [
            steps::network(&spec, b""),
            assets::plan(&spec, &known),
            steps::assets(&spec),
            files.expect("root is known everywhere"),
            steps::services(&spec, &known),
            steps::ready(&spec, &known),
        ]
        .concat()
    }

    /// The spec with everything that the node must have.
    pub(crate) fn with_items(&self) -> NodeSpec {
        self.spec_for(&self.known)
    }

    fn spec_for(&self, known: &PlanInputs) -> NodeSpec {
        let node = quake_node::node::Node::Legacy(Arc::new(self.spec.clone()));
        node.spec(known).expect("its builders cannot fail")
    }
}

/// A worker of 1.12 whose network a `DaemonSet` configures, with a hook and a file of the operator's.
pub(crate) fn worker_cni() -> Node {
    let mut spec = worker_spec("1.12.10", "calico.example.com");
    spec.file_assets.push(FileAsset {
        name: "audit".to_owned(),
        path: "/srv/kubernetes/assets/audit.yaml".to_owned(),
        content: "kind: Policy\n".to_owned(),
    });
    spec.hooks.push(Hook {
        unit: "disk-tuning.service".to_owned(),
        before: vec!["docker.service".to_owned()],
        requires: Vec::new(),
        kind: HookKind::Manifest {
            text: "Type=oneshot\nExecStart=/sbin/blockdev --setra 256 /dev/xvda\n".to_owned(),
            raw: false,
        },
    });
    spec.hooks.push(Hook {
        unit: "kops-hook-0.service".to_owned(),
        before: Vec::new(),
        requires: Vec::new(),
        kind: HookKind::Container {
            image: "busybox".to_owned(),
            command: vec![
                "sh".to_owned(),
                "-c".to_owned(),
                "echo 100% $HOME".to_owned(),
            ],
            environment: BTreeMap::from([("MODE".to_owned(), "fast".to_owned())]),
        },
    });
    let known = known(&spec);
    Node { spec, known }
}

/// A control plane of 1.8 with kubenet, docker 1.13 and one etcd member the agent runs itself.
pub(crate) fn control_plane_kubenet() -> Node {
    let mut spec = worker_spec("1.8.7", "test.example.com");
    spec.instance_group = "master-us-west-2a".to_owned();
    spec.role = Role::ControlPlane;
    spec.runtime = Runtime::Docker(DockerRuntime {
        version: Some("1.13.1".to_owned()),
        flags: flags(
            "bridge= ip-masq=false iptables=false log-driver=json-file log-level=warn \
        log-opt=max-size=10m log-opt=max-file=5 storage-driver=overlay,aufs",
        ),
    });
    spec.kubelet = kubelet("master-us-west-2a");
    for flag in &mut spec.kubelet.flags {
        if flag.name == "network-plugin" {
            flag.value = "kubenet".to_owned();
        }
    }
    spec.kubelet
        .flags
        .push(Flag::new("non-masquerade-cidr", "100.64.0.0/10"));
    spec.kubelet.flags.push(Flag::new(
        "pod-infra-container-image",
        "gcr.io/google_containers/pause-amd64:3.0",
    ));
    spec.networking.mode = NetworkMode::Kubenet;
    spec.control_plane = Some(control_plane("1.8.7"));
    spec.etcd = ["main", "events"].iter().map(|name| etcd(name)).collect();
    let mut known = known(&spec);
    known.slots = vec![
        slot("main", "vol-0aaaaaaaaaaaaaaaa"),
        slot("events", "vol-0bbbbbbbbbbbbbbbb"),
    ];
    Node { spec, known }
}

/// A control plane of 1.15 whose etcd is etcd-manager's, with everything optional turned on.
pub(crate) fn control_plane_manager() -> Node {
    let mut node = control_plane_kubenet();
    node.spec.kubernetes = "1.15.3".parse().expect("a version");
    node.spec.assets = assets("1.15.3");
    node.spec.cloud_config = Some(BTreeMap::from([(
        "DisableSecurityGroupIngress".to_owned(),
        "true".to_owned(),
    )]));
    node.spec.proxy =
        BTreeMap::from([("http_proxy".to_owned(), "http://u:p@proxy:3128".to_owned())]);
    node.spec
        .kubelet
        .flags
        .push(Flag::new("anonymous-auth", "false"));
    for cluster in &mut node.spec.etcd {
        cluster.provider = EtcdProvider::Manager;
    }
    if let Some(control_plane) = &mut node.spec.control_plane {
        control_plane.encryption_config = true;
        control_plane
            .api_server
            .flags
            .push(Flag::new("audit-log-path", "/var/log/audit/audit.log"));
    }
    let slots = node.known.slots;
    node.known = known(&node.spec);
    node.known.slots = slots;
    let client = node.known.credentials.keypairs["master"].clone();
    node.known
        .credentials
        .keypairs
        .insert(credentials::ETCD_CLIENT.to_owned(), client);
    node
}

/// A worker of a new Kubernetes with containerd, its programs pinned, and a bridge network.
pub(crate) fn worker_containerd() -> Node {
    let mut node = worker_cni();
    let archive = asset(
        "containerd-1.7.27-linux-amd64.tar.gz",
        "https://github.com/containerd/containerd/releases/download/v1.7.27/containerd-1.7.27-linux-amd64.tar.gz",
        4,
        AssetKind::Archive,
    );
    let runc = asset(
        "runc.amd64",
        "https://github.com/opencontainers/runc/releases/download/v1.2.6/runc.amd64",
        5,
        AssetKind::Plain,
    );
    node.spec.kubernetes = "1.32.4".parse().expect("a version");
    node.spec.networking.mode = NetworkMode::Kubenet;
    node.spec.runtime = Runtime::Containerd {
        version: Some("1.7.27".to_owned()),
    };
    let members = ["ctr", "containerd", "containerd-shim-runc-v2"];
    let members = members.iter().map(|name| (*name).to_owned()).collect();
    node.known.members.insert(archive.digest.clone(), members);
    node.spec.assets.extend([archive, runc]);
    node
}

/// Every node of the tests, by name.
pub(crate) fn all() -> Vec<(&'static str, Node)> {
    vec![
        ("control-plane-1.8-kubenet", control_plane_kubenet()),
        ("worker-1.12-cni", worker_cni()),
        ("control-plane-1.15-manager", control_plane_manager()),
        ("worker-1.32-containerd", worker_containerd()),
    ]
}
