//! Parts nodes are made of.

use quake_model::digest::{Algorithm, Digest};
use quake_model::facts::{InstanceFacts, LinkFacts, NetworkFacts, OsFacts, RouteFacts};
use quake_model::location::Location;
use quake_model::redact::Secret;
use quake_model::spec::{
    AssetKind, AssetSpec, Component, ControlPlane, DockerRuntime, EtcdCluster, EtcdMember,
    EtcdProvider, Flag, KopsGeneration, Kubelet, NetworkMode, Networking, NodeSpec, Role, Runtime,
};
use quake_node::credentials;
use quake_node::plan_inputs::{Credentials, Keypair, PlanInputs};
use quake_volumes::MountedSlot;
use std::collections::BTreeMap;

pub(crate) const PLUGINS: &[&str] = &[
    "bridge",
    "flannel",
    "host-local",
    "loopback",
    "portmap",
    "ptp",
    "tuning",
];

/// Flags as `name=value`, with blanks between.
pub(crate) fn flags(text: &str) -> Vec<Flag> {
    let pairs = text
        .split_whitespace()
        .filter_map(|word| word.split_once('='));
    pairs.map(|(name, value)| Flag::new(name, value)).collect()
}

pub(crate) fn asset(name: &str, url: &str, byte: u8, kind: AssetKind) -> AssetSpec {
    AssetSpec {
        name: name.to_owned(),
        digest: Digest::from_bytes(Algorithm::Sha1, &[byte; 20]),
        urls: vec![url.to_owned()],
        kind,
    }
}

fn component(image: &str, text: &str) -> Component {
    Component {
        image: image.to_owned(),
        flags: flags(text),
        cpu_request: None,
        cpu_limit: None,
        memory_request: None,
        memory_limit: None,
    }
}

pub(crate) fn assets(version: &str) -> Vec<AssetSpec> {
    let release = format!(
        "https://storage.googleapis.com/kubernetes-release/release/v{version}/bin/linux/amd64"
    );
    let plugins = "https://storage.googleapis.com/kubernetes-release/network-plugins/cni-plugins-amd64-v0.7.5.tgz";
    let program = |name: &str, byte| {
        let url = format!("{release}/{name}");
        asset(name, &url, byte, AssetKind::Plain)
    };
    let name = "cni-plugins-amd64-v0.7.5.tgz";
    vec![
        program("kubelet", 1),
        program("kubectl", 2),
        asset(name, plugins, 3, AssetKind::Archive),
    ]
}

pub(crate) fn known(spec: &NodeSpec) -> PlanInputs {
    let mut known = PlanInputs {
        instance: InstanceFacts {
            zone: "us-west-2a".to_owned(),
            region: "us-west-2".to_owned(),
            private_ip: "172.20.32.10".to_owned(),
            local_hostname: "ip-172-20-32-10.us-west-2.compute.internal".to_owned(),
            ..crate::instance::instance()
        },
        os: OsFacts {
            id: "debian".to_owned(),
            version: "9".to_owned(),
            like: Vec::new(),
        },
        network: network(),
        filesystems: vec!["ext4".to_owned(), "overlay".to_owned()],
        members: BTreeMap::new(),
        images: Vec::new(),
        slots: Vec::new(),
        credentials: Credentials::default(),
        etcd_manifests: Vec::new(),
    };
    for asset in spec.assets.iter().filter(|asset| asset.is_cni_plugins()) {
        let members = PLUGINS.iter().map(|name| (*name).to_owned()).collect();
        known.members.insert(asset.digest.clone(), members);
    }
    known.credentials = all_credentials(spec);
    known
}

fn network() -> NetworkFacts {
    NetworkFacts {
        links: vec![LinkFacts {
            index: 2,
            name: "ens5".to_owned(),
            mac: "02:00:00:00:00:01".to_owned(),
            mtu: 9001,
            up: true,
            addresses: Vec::new(),
        }],
        routes: vec![RouteFacts {
            destination: "default".to_owned(),
            gateway: Some("172.20.32.1".to_owned()),
            interface: "ens5".to_owned(),
        }],
    }
}

/// Everything the node may want, made up but shaped as the real thing.
fn all_credentials(spec: &NodeSpec) -> Credentials {
    let keypair = |name: &str, with_key: bool| Keypair {
        certificate: format!("-----BEGIN CERTIFICATE-----\n{name}\n-----END CERTIFICATE-----\n"),
        key: with_key.then(|| {
            Secret::new(format!(
                "-----BEGIN RSA PRIVATE KEY-----\n{name}\n-----END RSA PRIVATE KEY-----\n"
            ))
        }),
    };
    Credentials {
        keypairs: credentials::wanted(spec)
            .into_iter()
            .map(|wanted| (wanted.name.clone(), keypair(&wanted.name, wanted.key)))
            .collect(),
        secrets: credentials::wanted_secrets(spec)
            .into_iter()
            .map(|wanted| {
                (
                    wanted.name.clone(),
                    Secret::new(format!("token-of-{}", wanted.name).into_bytes()),
                )
            })
            .collect(),
    }
}

pub(crate) fn worker_spec(version: &str, cluster: &str) -> NodeSpec {
    NodeSpec {
        generation: KopsGeneration::Legacy,
        cluster: cluster.to_owned(),
        instance_group: "nodes".to_owned(),
        role: Role::Worker,
        kubernetes: version.parse().expect("a version"),
        config_base: format!("s3://state/{cluster}")
            .parse::<Location>()
            .expect("a location"),
        assets: assets(version),
        images: Vec::new(),
        channels: Vec::new(),
        addons_pod: None,
        node_object: None,
        etcd_manifests: Vec::new(),
        runtime: Runtime::Docker(DockerRuntime {
            version: Some("18.6.3".to_owned()),
            flags: flags("ip-masq=false iptables=false storage-driver=overlay2,overlay,aufs"),
        }),
        kubelet: kubelet("node"),
        kube_proxy: Some(component(
            &format!("k8s.gcr.io/kube-proxy:v{version}"),
            "cluster-cidr=100.96.0.0/11 v=2",
        )),
        control_plane: None,
        etcd: Vec::new(),
        names: None,
        networking: Networking {
            mode: NetworkMode::Cni {
                provider: "calico".to_owned(),
            },
            mtu: None,
            cluster_cidr: Some("100.96.0.0/11".to_owned()),
            non_masquerade_cidr: Some("100.64.0.0/10".to_owned()),
            pod_cidr: None,
            service_cidr: Some("100.64.0.0/13".to_owned()),
            node_port_range: None,
        },
        cloud_config: None,
        proxy: BTreeMap::new(),
        file_assets: Vec::new(),
        hooks: Vec::new(),
        bootstrap_servers: Vec::new(),
        automatic_upgrades: true,
        items: Vec::new(),
        start_conditions: Vec::new(),
        ready_conditions: Vec::new(),
    }
}

pub(crate) fn kubelet(group: &str) -> Kubelet {
    Kubelet {
        flags: flags(
            "allow-privileged=true cgroup-root=/ cloud-provider=aws cluster-dns=100.64.0.10 \
        cluster-domain=cluster.local \
        eviction-hard=memory.available<100Mi,nodefs.available<10% \
        hostname-override=ip-172-20-32-10.us-west-2.compute.internal network-plugin=cni v=2",
        ),
        labels: BTreeMap::from([("kops.k8s.io/instancegroup".to_owned(), group.to_owned())]),
        taints: Vec::new(),
        startup_taint: None,
        kubeconfig_path: "/var/lib/kubelet/kubeconfig".to_owned(),
        manifest_path: "/etc/kubernetes/manifests".to_owned(),
    }
}

pub(crate) fn control_plane(version: &str) -> ControlPlane {
    let image = |name: &str| format!("gcr.io/google_containers/{name}:v{version}");
    ControlPlane {
        api_server: component(
            &image("kube-apiserver"),
            "address=127.0.0.1 allow-privileged=true anonymous-auth=false \
        authorization-mode=AlwaysAllow cloud-provider=aws etcd-servers=http://127.0.0.1:4001 \
        etcd-servers-overrides=/events#http://127.0.0.1:4002 insecure-port=8080 \
        secure-port=443 service-cluster-ip-range=100.64.0.0/13 storage-backend=etcd2 v=2",
        ),
        controller_manager: component(
            &image("kube-controller-manager"),
            "allocate-node-cidrs=true cluster-cidr=100.96.0.0/11 leader-elect=true v=2",
        ),
        scheduler: component(&image("kube-scheduler"), "leader-elect=true v=2"),
        encryption_config: false,
        internal_name: "api.internal.test.example.com".to_owned(),
        public_name: Some("api.test.example.com".to_owned()),
    }
}

pub(crate) fn etcd(name: &str) -> EtcdCluster {
    EtcdCluster {
        name: name.to_owned(),
        members: vec![EtcdMember {
            name: "a".to_owned(),
            instance_group: Some("master-us-west-2a".to_owned()),
            encrypted: false,
        }],
        version: "2.2.1".to_owned(),
        image: "gcr.io/google_containers/etcd:2.2.1".to_owned(),
        provider: EtcdProvider::Legacy,
        backup_store: None,
        manifest: None,
    }
}

pub(crate) fn slot(cluster: &str, volume: &str) -> MountedSlot {
    MountedSlot {
        cluster: cluster.to_owned(),
        member: "a".to_owned(),
        members: vec!["a".to_owned()],
        volume_id: volume.to_owned(),
        mount_point: format!("/mnt/master-{volume}"),
    }
}
