//! The documents of the bundled example clusters, with other groups and members of etcd.

use crate::names_world::ZONE;
use crate::plan::{Group, KopsGeneration, Plan};
use quake_engine::Configuration;
use quake_model::time::Timestamp;
use quake_node::config::current::config_hash;
use quake_node::config::legacy::Document;
use quake_testkit::example::{self, CaBundle, kops};
use std::collections::BTreeMap;
use std::sync::OnceLock;

/// When every simulated world begins.
pub(crate) const EPOCH: Timestamp = Timestamp(1_795_000_000_000);

/// The name of the example's one control plane group.
const EXAMPLE: &str = "control-plane";

/// A channel of one add-on for the cluster of kops legacy.
const CHANNEL: &str = "kind: Addons\nmetadata: {name: bootstrap}\nspec:\n  addons:\n  - name: one.addons.k8s.io\n    id: one\n    manifest: one.yaml\n";

const MANIFEST: &str =
    "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: settings, namespace: kube-system}\n";

/// Keys are made once for all worlds: no decision depends on their bytes.
fn ca_bundle() -> &'static CaBundle {
    static MADE: OnceLock<CaBundle> = OnceLock::new();
    MADE.get_or_init(|| CaBundle::make(EPOCH).expect("this machine has randomness"))
}

/// The example cluster of the current kops.
pub(crate) fn current() -> &'static kops::Cluster {
    static MADE: OnceLock<kops::Cluster> = OnceLock::new();
    MADE.get_or_init(|| kops::Cluster::new(ca_bundle().clone()))
}

fn current_objects() -> &'static Vec<(String, String)> {
    static MADE: OnceLock<Vec<(String, String)>> = OnceLock::new();
    MADE.get_or_init(|| current().objects())
}

/// A piece of a private key of the cluster that no sink may show.
pub(crate) fn secret() -> String {
    let (_, key) = ca_bundle().kubernetes_ca();
    // The first line of every key of a kind is the same.
    key.expose().lines().nth(2).unwrap_or_default().to_owned()
}

impl Plan {
    /// The cluster's name.
    pub(crate) fn cluster(&self) -> &'static str {
        match self.generation {
            KopsGeneration::Legacy => example::CLUSTER,
            KopsGeneration::Current => kops::CLUSTER,
        }
    }

    pub(crate) fn config_base(&self) -> &'static str {
        match self.generation {
            KopsGeneration::Legacy => example::CONFIG_BASE,
            KopsGeneration::Current => kops::CONFIG_BASE,
        }
    }

    /// The state store.
    pub(crate) fn objects(&self) -> BTreeMap<String, Vec<u8>> {
        let mut objects = BTreeMap::new();
        let mut put = |location: String, text: String| {
            objects.insert(location, text.into_bytes());
        };
        let base = self.config_base();
        match self.generation {
            KopsGeneration::Legacy => {
                for (location, text) in example::objects() {
                    put(location, self.with_zone(self.with_members(text)));
                }
                for (_, group) in self.control_planes() {
                    let location = format!("{base}/instancegroup/{}", group.name);
                    put(location, legacy_group(group));
                }
                put(
                    format!("{base}/addons/bootstrap-channel.yaml"),
                    CHANNEL.to_owned(),
                );
                put(format!("{base}/addons/one.yaml"), MANIFEST.to_owned());
            }
            KopsGeneration::Current => {
                for (location, text) in current_objects() {
                    put(location.clone(), self.with_members(text));
                }
                for (_, group) in self.control_planes() {
                    let renamed = |text: &str| renamed(text, group);
                    for etcd in ["main", "events"] {
                        let text = example_object(&format!("manifests/etcd/{etcd}-{EXAMPLE}.yaml"));
                        put(
                            format!("{base}/manifests/etcd/{etcd}-{}.yaml", group.name),
                            renamed(&text),
                        );
                    }
                    let location = format!(
                        "{base}/igconfig/control-plane/{}/nodeupconfig.yaml",
                        group.name
                    );
                    put(location, control_plane_config(group));
                }
            }
        }
        if self.has_backup {
            let location =
                format!("{base}/backups/etcd/main/2026-05-06T07:08:09Z-000001/_etcd_backup.meta");
            put(location, "{}".to_owned());
        }
        if self.versions_addons {
            self.put_channel(1, &mut objects);
        }
        objects
    }

    /// The text of the cluster with this plan's members in the place of the example's one.
    fn with_members(&self, text: &str) -> String {
        let member = |encrypted: &str, group: &str, name: &str| {
            format!("    -{encrypted} instanceGroup: {group}\n      name: {name}\n")
        };
        let mut text = text.to_owned();
        for encrypted in ["", " encryptedVolume: true\n     "] {
            let wanted: String = self
                .control_planes()
                .flat_map(|(_, group)| group.members.iter().map(|name| (name, &group.name)))
                .map(|(name, group)| member(encrypted, group, name))
                .collect();
            text = text.replace(&member(encrypted, EXAMPLE, "a"), &wanted);
        }
        text
    }

    /// The text of the cluster with the zone of its names, where it has one.
    fn with_zone(&self, text: String) -> String {
        match self.publishes_names {
            true => text.replacen("\nspec:\n", &format!("\nspec:\n  dnsZone: {ZONE}\n"), 1),
            false => text,
        }
    }

    /// Where a node of a group finds its configuration.
    pub(crate) fn configuration(&self, group: &Group) -> Configuration {
        let text = match (self.generation, group.is_control_plane()) {
            (KopsGeneration::Legacy, false) => {
                example::kube_env("workers").unwrap_or_default().to_owned()
            }
            (KopsGeneration::Legacy, true) => {
                let text = example::kube_env(EXAMPLE).unwrap_or_default();
                text.replace(
                    "InstanceGroupName: control-plane",
                    &format!("InstanceGroupName: {}", group.name),
                )
            }
            (KopsGeneration::Current, false) => current().kube_env("workers").unwrap_or_default(),
            (KopsGeneration::Current, true) => {
                let hash = config_hash(control_plane_config(group).as_bytes());
                format!(
                    "CloudProvider: aws\nClusterName: {}\nConfigBase: {}\nInstanceGroupName: {}\n\
                     InstanceGroupRole: ControlPlane\nNodeupConfigHash: {hash}\n",
                    kops::CLUSTER,
                    kops::CONFIG_BASE,
                    group.name
                )
            }
        };
        Configuration {
            kube_env: Some(Document {
                source: "kube_env.yaml".to_owned(),
                text,
            }),
            ..Configuration::default()
        }
    }

    /// What mirrors serve.
    pub(crate) fn mirrors(&self) -> Vec<(String, String)> {
        match self.generation {
            KopsGeneration::Legacy => example::mirrors(),
            KopsGeneration::Current => kops::mirrors(),
        }
    }
}

fn legacy_group(group: &Group) -> String {
    let example = example::objects();
    let mut found = example.iter();
    let text = found.find(|(location, _)| location.ends_with("instancegroup/control-plane"));
    text.map_or_else(String::new, |(_, text)| text.replace(EXAMPLE, &group.name))
}

fn example_object(key: &str) -> String {
    let location = format!("{}/{key}", kops::CONFIG_BASE);
    let mut found = current_objects().iter();
    let found = found.find(|(at, _)| *at == location);
    found.map_or_else(String::new, |(_, text)| text.clone())
}

fn renamed(text: &str, group: &Group) -> String {
    let label = "kops.k8s.io/instancegroup: ";
    text.replace(
        &format!("{label}{EXAMPLE}"),
        &format!("{label}{}", group.name),
    )
    .replace(
        &format!("-{EXAMPLE}.yaml"),
        &format!("-{}.yaml", group.name),
    )
}

fn control_plane_config(group: &Group) -> String {
    renamed(
        &example_object("igconfig/control-plane/control-plane/nodeupconfig.yaml"),
        group,
    )
}
