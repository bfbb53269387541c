//! The example cluster in a region: its state store, its assets and its volumes. Its programs are Debian's, but for
//! kubelet, which a script stands in for.

use super::base::Base;
use super::metadata::{Facts, ZONE};
use super::vpc::{AWS, MIRROR, ROUTER, Vpc};
use crate::imds::user_data;
use crate::node::{CLUSTER, EXAMPLE, archive, kube_env};
use crate::tree::sha256;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

/// The bucket of the example's state store.
pub const BUCKET: &str = "quake-example-state";

/// The range of the pods of every node.
pub const POD_RANGE: &str = "10.244.1.0/24";

/// What stands in for kubelet: it wants kubelet's arguments.
pub const KUBELET_STAND_IN: &str = concat!(
    include_str!("../../guest/registers.py"),
    include_str!("../../guest/kubelet.py")
);

/// Keypairs of the state store, but for kubelet's.
const KEYPAIRS: [&str; 8] = [
    "ca",
    "kube-proxy",
    "kubecfg",
    "kube-controller-manager",
    "kube-scheduler",
    "master",
    "kubelet-api",
    "apiserver-aggregator",
];

/// The fields of specs that every node's user data carries (kops 1.15, `pkg/model/bootstrapscript.go`), as far as the
/// example has them.
const CARRIED: [&str; 4] = ["docker", "kubeProxy", "kubelet", "nodeLabels"];

/// Those that a control plane's carries as well; a worker with them is refused.
const CARRIED_TO_CONTROL_PLANES: [&str; 4] = [
    "kubeAPIServer",
    "kubeControllerManager",
    "kubeScheduler",
    "masterKubelet",
];

/// The network plugins a node needs, where Debian has them.
const PLUGINS: [&str; 4] = ["bridge", "host-local", "loopback", "portmap"];

/// The cluster.
#[derive(Debug)]
pub struct Cluster {
    vpc: Arc<Vpc>,
    spec: String,
    pins: Vec<String>,
    /// The URLs of the channels that control planes apply add-ons of.
    channels: Vec<String>,
    /// The instance groups' objects, by name.
    groups: BTreeMap<String, String>,
}

impl Cluster {
    /// Publishes the example cluster, its spec first changed by `change`, with one member of each of etcd's clusters.
    ///
    /// # Errors
    ///
    /// Says what cannot be read or published.
    pub fn publish(
        vpc: &Arc<Vpc>,
        base: &Base,
        change: impl FnOnce(String) -> String,
    ) -> Result<Self, String> {
        let spec = change(with_pod_range(&example("cluster.spec")?));
        let mut cluster = Self {
            vpc: Arc::clone(vpc),
            spec,
            pins: Vec::new(),
            channels: Vec::new(),
            groups: BTreeMap::new(),
        };
        cluster.put("cluster.spec", cluster.spec.as_bytes())?;
        for group in ["control-plane", "workers"] {
            cluster.put_group(group, example(&format!("instancegroup/{group}"))?)?;
        }
        let api_server = vpc.api_server(&api_name());
        let api_server = api_server.map_err(|error| format!("{error:?}"))?;
        let kubelet = api_server.client("/O=system:nodes/CN=kubelet")?;
        for name in KEYPAIRS {
            let key = format!(
                "-----BEGIN RSA PRIVATE KEY-----\nMIIC{name}\n-----END RSA PRIVATE KEY-----\n"
            );
            cluster.put_keypair(name, &kubelet.ca, &key)?;
        }
        cluster.put_keypair("kubelet", &kubelet.certificate, &kubelet.key)?;
        cluster.publish_members()?;
        // The token that the API server's file of passwords cannot do without.
        let secret = format!("{{\"Data\":\"{}\"}}", STANDARD.encode("password"));
        cluster.put("secrets/kube", secret.as_bytes())?;
        cluster.add_asset("/bin/linux/amd64/kubelet", KUBELET_STAND_IN.into());
        cluster.add_asset("/bin/linux/amd64/kubectl", b"#!/bin/sh\n".to_vec());
        cluster.add_asset(
            "/network-plugins/cni-plugins-amd64-v0.7.5.tgz",
            plugins(base)?,
        );
        Ok(cluster)
    }

    /// Puts an object into the cluster's directory of the state store.
    ///
    /// # Errors
    ///
    /// Says why it is refused.
    pub fn put(&self, name: &str, contents: &[u8]) -> Result<(), String> {
        let put = self
            .vpc
            .ec2()
            .moto()
            .put_object(BUCKET, &format!("{CLUSTER}/{name}"), contents);
        put.map_err(|error| format!("{name}: {error}"))
    }

    /// Puts a keypair into the state store, in the place of one of this name; both parts are PEM. Of those that are there
    /// only kubelet's is a pair: the others have the CA's certificate, and a key that nothing verifies.
    ///
    /// # Errors
    ///
    /// As [`Cluster::put`].
    pub fn put_keypair(&self, name: &str, certificate: &str, key: &str) -> Result<(), String> {
        let (certificate, key) = (STANDARD.encode(certificate), STANDARD.encode(key));
        let keyset = format!(
            "apiVersion: kops/v1alpha2\nkind: Keyset\nmetadata:\n  name: {name}\nspec:\n  keys:\n  - id: \"1\"\n    publicMaterial: {certificate}\n    privateMaterial: {key}\n  type: Keypair\n"
        );
        for part in ["private", "issued"] {
            self.put(&format!("pki/{part}/{name}/keyset.yaml"), keyset.as_bytes())?;
        }
        Ok(())
    }

    /// Puts a channel of add-ons into the cluster's directory of the state store, and has nodes know it.
    ///
    /// # Errors
    ///
    /// As [`Cluster::put`].
    pub fn add_channel(&mut self, name: &str, contents: &[u8]) -> Result<(), String> {
        self.put(name, contents)?;
        self.channels
            .push(format!("s3://{BUCKET}/{CLUSTER}/{name}"));
        Ok(())
    }

    /// Adds an instance group of control planes.
    ///
    /// # Errors
    ///
    /// As [`Cluster::put`].
    pub fn add_control_planes(&mut self, group: &str) -> Result<(), String> {
        let like = example("instancegroup/control-plane")?;
        let renamed = like
            .replace("  name: control-plane\n", &format!("  name: {group}\n"))
            .replace(
                "instancegroup: control-plane\n",
                &format!("instancegroup: {group}\n"),
            );
        self.put_group(group, renamed)
    }

    /// Puts an instance group into the state store, in the place of one of this name.
    ///
    /// # Errors
    ///
    /// As [`Cluster::put`].
    pub fn put_group(&mut self, group: &str, object: String) -> Result<(), String> {
        self.put(&format!("instancegroup/{group}"), object.as_bytes())?;
        self.groups.insert(group.to_owned(), object);
        Ok(())
    }

    /// Has the mirror serve other bytes for an asset and the nodes pin those.
    pub fn replace_asset(&mut self, path: &str, contents: Vec<u8>) {
        self.pins
            .retain(|pin| !pin.ends_with(&format!("@{MIRROR}{path}")));
        self.add_asset(path, contents);
    }

    /// Has the mirror serve an asset and the nodes pin it.
    pub fn add_asset(&mut self, path: &str, contents: Vec<u8>) {
        self.pins
            .push(format!("{}@{MIRROR}{path}", sha256(&contents)));
        self.vpc.serve(path, contents);
    }

    /// Has nodes pin these, `digest@url`, in the place of the example's assets.
    pub fn pin_only(&mut self, pins: Vec<String>) {
        self.pins = pins;
    }

    /// The pins of all assets, `digest@url`.
    pub fn pins(&self) -> &[String] {
        &self.pins
    }

    /// The `kube_env.yaml` of a node of this group.
    pub fn kube_env(&self, group: &str) -> String {
        let mut text = kube_env(group, &self.pins);
        if !self.channels.is_empty() {
            text.push_str(&format!("channels:\n- {}\n", self.channels.join("\n- ")));
        }
        text
    }

    /// The user data of a node of this group: the documents, and then these commands.
    pub fn user_data(&self, group: &str, commands: &str) -> String {
        let group_spec = self.groups.get(group).cloned().unwrap_or_default();
        let is_worker = group_spec.contains("role: Node");
        let script = user_data(
            &self.kube_env(group),
            fields(&self.spec, is_worker).trim_end(),
            fields(&group_spec, is_worker).trim_end(),
        );
        script.replace("download-release\n", commands)
    }

    /// Launches an instance of this group.
    pub fn launch(&self, group: &str) -> Facts {
        self.launch_with(group, self.user_data(group, "").as_bytes())
    }

    /// Launches an instance of this group with other user data.
    pub fn launch_with(&self, group: &str, user_data: &[u8]) -> Facts {
        let owned = format!("kubernetes.io/cluster/{CLUSTER}");
        let name = format!("{group}.{CLUSTER}");
        let role = match group {
            "workers" => "k8s.io/role/node",
            _ => "k8s.io/role/master",
        };
        let tags = [
            ("Name", name.as_str()),
            ("KubernetesCluster", CLUSTER),
            (owned.as_str(), "owned"),
            (role, "1"),
            ("kops.k8s.io/instancegroup", group),
            ("aws:autoscaling:groupName", name.as_str()),
        ];
        self.vpc.launch(&tags, user_data)
    }

    /// Makes a free volume for the member `a` of each of etcd's clusters; their ids by cluster.
    pub fn add_volumes(&self) -> BTreeMap<&'static str, String> {
        ["main", "events"]
            .map(|etcd| (etcd, self.add_volume(etcd, "a", &["a"])))
            .into()
    }

    /// Makes a free volume for a member; its id.
    pub fn add_volume(&self, etcd: &str, member: &str, members: &[&str]) -> String {
        let owned = format!("kubernetes.io/cluster/{CLUSTER}");
        let (name, tag) = (
            format!("{member}.etcd-{etcd}.{CLUSTER}"),
            format!("k8s.io/etcd/{etcd}"),
        );
        let members = format!("{member}/{}", members.join(","));
        let tags = [
            ("Name", name.as_str()),
            ("KubernetesCluster", CLUSTER),
            (owned.as_str(), "owned"),
            ("k8s.io/role/master", "1"),
            (tag.as_str(), members.as_str()),
        ];
        self.vpc.ec2().create_volume(ZONE, &tags)
    }

    /// Has the name server know the stand-in for the API server, and each member of etcd at the instance that holds its volume now. Nothing of the agent's
    /// publishes these names yet, so this stands in for it.
    ///
    /// # Errors
    ///
    /// As [`Vpc::publish_names`].
    pub fn publish_members(&self) -> Result<(), String> {
        let ec2 = self.vpc.ec2();
        let router = ROUTER.parse().map_err(|_| "the router has an address")?;
        let mut names = BTreeMap::from([(api_name(), router)]);
        for (volume, holder) in ec2.holders() {
            for (etcd, name) in [("main", "etcd"), ("events", "etcd-events")] {
                let tag = ec2.tag_of(&volume, &format!("k8s.io/etcd/{etcd}"));
                let member = tag.as_deref().and_then(|tag| tag.split('/').next());
                if let (Some(member), Some(address)) = (member, self.vpc.address(&holder)) {
                    names.insert(format!("{name}-{member}.internal.{CLUSTER}"), address);
                }
            }
        }
        self.vpc.publish_names(&names)
    }
}

/// The name of the cluster's API server.
fn api_name() -> String {
    format!("api.internal.{CLUSTER}")
}

/// How a unit of a machine reaches AWS.
pub(super) fn endpoint_drop_in() -> String {
    format!("[Service]\nEnvironment=AWS_ENDPOINT_URL={AWS}\n")
}

/// A text with each of these parts replaced.
///
/// # Panics
///
/// When it lacks one.
pub fn changed(text: &str, changes: &[(&str, &str)]) -> String {
    let replace = |text: String, (from, to): &(&str, &str)| {
        assert!(text.contains(from), "{from} in {text}");
        text.replace(from, to)
    };
    changes.iter().fold(text.to_owned(), replace)
}

/// An object of the example, by its name in the state store.
///
/// # Errors
///
/// Of the file.
pub fn example(name: &str) -> Result<String, String> {
    let path = Path::new(EXAMPLE).join(name);
    std::fs::read_to_string(&path).map_err(|error| format!("{}: {error}", path.display()))
}

/// What user data has of a spec: some of its fields, without the object around them.
fn fields(object: &str, is_worker: bool) -> String {
    let below = object.lines().skip_while(|line| *line != "spec:").skip(1);
    let mut text = String::new();
    let mut is_carried = false;
    for line in below.map(|line| line.strip_prefix("  ").unwrap_or(line)) {
        if !line.starts_with([' ', '-']) {
            let name = line.split(':').next().unwrap_or_default();
            let is_more = !is_worker && CARRIED_TO_CONTROL_PLANES.contains(&name);
            is_carried = is_more || CARRIED.contains(&name);
        }
        if is_carried {
            text.push_str(&format!("{line}\n"));
        }
    }
    text
}

/// Fixes the range of pods: no controller is there to give nodes theirs.
fn with_pod_range(spec: &str) -> String {
    let flag = "    podManifestPath: /etc/kubernetes/manifests\n";
    spec.replace(flag, &format!("{flag}    podCIDR: {POD_RANGE}\n"))
}

/// Debian's plugins as the archive that a node expects; of a name and times that are always the same.
fn plugins(base: &Base) -> Result<Vec<u8>, String> {
    let folder = base.root().join("usr/lib/cni");
    let mut members = Vec::new();
    for name in PLUGINS {
        let bytes = std::fs::read(folder.join(name)).map_err(|error| format!("{name}: {error}"))?;
        members.push((name, bytes));
    }
    archive(&members).map_err(|error| error.to_string())
}
