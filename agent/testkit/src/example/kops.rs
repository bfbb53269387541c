//! A small cluster as kops 1.36 makes one, of our own writing: containerd, etcd-manager, kops-channels, and a kops-controller
//! for its workers. `rehearse` boots it when it is given no state store.

use super::ca_bundle::{CaBundle, quoted};
use crate::Controller;
use quake_model::facts::InstanceFacts;
use quake_model::fault::Fault;
use quake_node::config::current::config_hash;
use sha2::{Digest as _, Sha256};

/// The cluster's name.
pub const CLUSTER: &str = "demo.example.com";

/// Where its objects are.
pub const CONFIG_BASE: &str = "s3://demo-state-store/demo.example.com";

/// Its instance groups: a control plane and workers.
pub const INSTANCE_GROUPS: &[&str] = &[CONTROL_PLANE, WORKERS];

const CONTROL_PLANE: &str = "control-plane";
const WORKERS: &str = "workers";

const MIRROR: &str = "https://assets.example.com";

/// Objects that are the same whatever the keys are.
const FIXED: &[(&str, &str)] = &[
    ("kops-version.txt", "1.36.2"),
    (
        "cluster-completed.spec",
        include_str!("../../example/kops/cluster-completed.spec"),
    ),
    (
        "manifests/etcd/main-control-plane.yaml",
        include_str!("../../example/kops/etcd-main.yaml"),
    ),
    (
        "manifests/etcd/events-control-plane.yaml",
        include_str!("../../example/kops/etcd-events.yaml"),
    ),
    (
        "manifests/channels/kops-channels.yaml",
        include_str!("../../example/kops/kops-channels.yaml"),
    ),
    (
        "manifests/static/kube-apiserver-healthcheck.yaml",
        include_str!("../../example/kops/kube-apiserver-healthcheck.yaml"),
    ),
    (
        "addons/bootstrap-channel.yaml",
        include_str!("../../example/kops/addons/bootstrap-channel.yaml"),
    ),
    (
        "addons/limit-range.addons.k8s.io/v1.5.0.yaml",
        include_str!("../../example/kops/addons/limit-range.yaml"),
    ),
    ("backups/etcd/main/control/etcd-cluster-spec", ETCD_CLUSTER),
    (
        "backups/etcd/events/control/etcd-cluster-spec",
        ETCD_CLUSTER,
    ),
];

/// What kops tells etcd-manager of a cluster of etcd.
const ETCD_CLUSTER: &str = "{\n  \"memberCount\": 1,\n  \"etcdVersion\": \"3.6.12\"\n}\n";

/// The example cluster with its keypairs.
#[derive(Debug, Clone)]
pub struct Cluster {
    ca_bundle: CaBundle,
}

impl Cluster {
    /// The cluster with these keypairs.
    pub fn new(ca_bundle: CaBundle) -> Self {
        Self { ca_bundle }
    }

    /// The state store's objects, by location.
    pub fn objects(&self) -> Vec<(String, String)> {
        let fixed = FIXED
            .iter()
            .map(|(key, text)| ((*key).to_owned(), (*text).to_owned()));
        let keysets = self.ca_bundle.keysets().into_iter();
        let keysets = keysets.map(|(name, text)| (format!("pki/private/{name}/keyset.yaml"), text));
        let configs = INSTANCE_GROUPS.iter().map(|group| {
            let key = format!("igconfig/{}/{group}/nodeupconfig.yaml", role(group));
            (key, self.nodeup_config(group))
        });
        fixed
            .chain(keysets)
            .chain(configs)
            .map(|(key, text)| (format!("{CONFIG_BASE}/{key}"), text))
            .collect()
    }

    /// The `kube_env.yaml` of a node of this instance group, if there is such a group.
    pub fn kube_env(&self, instance_group: &str) -> Option<String> {
        let hash = config_hash(self.nodeup_config(instance_group).as_bytes());
        let (certificate, _) = self.ca_bundle.kubernetes_ca();
        let (role, origin) = match instance_group {
            CONTROL_PLANE => ("ControlPlane", format!("ConfigBase: {CONFIG_BASE}\n")),
            WORKERS => (
                "Node",
                format!(
                    "ConfigServer:\n  CACertificates: {}\n  servers:\n  - https://kops-controller.internal.{CLUSTER}:3988/\n",
                    quoted(&certificate)
                ),
            ),
            _ => return None,
        };
        Some(format!(
            "CloudProvider: aws\nClusterName: {CLUSTER}\n{origin}InstanceGroupName: {instance_group}\n\
             InstanceGroupRole: {role}\nNodeupConfigHash: {hash}\n"
        ))
    }

    /// The cluster's kops-controller, as this instance of the workers sees it.
    ///
    /// # Errors
    ///
    /// What is wrong with the configuration: a bug.
    pub fn controller(&self, instance: &InstanceFacts) -> Result<Controller, Fault> {
        let config = self.nodeup_config(WORKERS);
        let (certificate, key) = self.ca_bundle.kubernetes_ca();
        Controller::new("nodeupconfig.yaml", &config, instance, &certificate, key)
    }

    fn nodeup_config(&self, instance_group: &str) -> String {
        let assets = pinned(instance_group);
        match instance_group {
            CONTROL_PLANE => {
                let config = include_str!("../../example/kops/nodeupconfig-control-plane.yaml");
                let key = quoted(&self.ca_bundle.service_account_key());
                let config = config.replace("@service-account@", &key);
                format!("{assets}{}{config}", self.ca_bundle.of_control_plane())
            }
            _ => {
                let config = include_str!("../../example/kops/nodeupconfig-workers.yaml");
                format!("{assets}{}{config}", self.ca_bundle.of_worker())
            }
        }
    }
}

fn role(instance_group: &str) -> &'static str {
    match instance_group {
        CONTROL_PLANE => "control-plane",
        _ => "node",
    }
}

/// `Assets` of a nodeup configuration.
fn pinned(instance_group: &str) -> String {
    let lines = ["amd64", "arm64"].map(|processor| {
        let assets = assets(processor).into_iter();
        // kops pins protokube for control planes, and no node of this cluster runs it.
        let assets = assets
            .filter(|(url, _)| instance_group == CONTROL_PLANE || !url.ends_with("/protokube"));
        let lines: String = assets
            .map(|(url, bytes)| format!("  - {}@{url}\n", sha256(&bytes)))
            .collect();
        format!("  {processor}:\n{lines}")
    });
    format!("Assets:\n{}", lines.concat())
}

/// What its mirrors serve, by URL, under the digests that the configuration pins. An archive is a list of names, one a line.
pub fn mirrors() -> Vec<(String, String)> {
    ["amd64", "arm64"].into_iter().flat_map(assets).collect()
}

fn assets(processor: &str) -> Vec<(String, String)> {
    let binary = |path: &str| {
        let url = format!("{MIRROR}/{path}").replace("ARCH", processor);
        let text = format!("example asset {url}\n");
        (url, text)
    };
    let archive = |path: &str, names: &str| {
        let url = format!("{MIRROR}/{path}").replace("ARCH", processor);
        // Each has a digest of its own, as archives of two processors do.
        (url, format!("{names}LICENSE-{processor}\n"))
    };
    vec![
        binary("release/v1.36.1/bin/linux/ARCH/kubelet"),
        binary("release/v1.36.1/bin/linux/ARCH/kubectl"),
        binary("cloud-provider-aws/v1.36.0/linux/ARCH/ecr-credential-provider-linux-ARCH"),
        archive(
            "plugins/v1.6.2/cni-plugins-linux-ARCH-v1.6.2.tgz",
            "bridge\nhost-local\nloopback\nportmap\nptp\n",
        ),
        archive(
            "containerd/v2.2.4/containerd-2.2.4-linux-ARCH.tar.gz",
            "containerd\ncontainerd-shim-runc-v2\nctr\n",
        ),
        binary("runc/v1.3.5/runc.ARCH"),
        binary("kops/1.36.2/linux/ARCH/protokube"),
    ]
}

fn sha256(text: &str) -> String {
    let digest = Sha256::digest(text);
    digest.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_channel_pins_the_addon_that_the_store_has() {
        let text = |end: &str| {
            FIXED
                .iter()
                .find(|(key, _)| key.ends_with(end))
                .map(|(_, text)| *text)
        };
        let addon = text("v1.5.0.yaml").expect("the add-on is there");
        let channel = text("bootstrap-channel.yaml").expect("the channel is there");
        assert!(channel.contains(&format!("manifestHash: {}\n", sha256(addon))));
    }
}
