//! The items of a golden's cluster.

use crate::support::{Node, base_name, boots, conformance, folders};
use quake_model::digest::Digest;
use quake_node::builders::{Built, Objects};
use quake_node::distribution::{Distribution, Project};
use quake_node::keyset::KeyBundle;
use serde_json::Value;
use std::collections::BTreeMap;
use std::fs;

/// How a golden's cluster is made of one that boots.
pub(super) struct Cluster {
    pub(super) boot: &'static str,
    /// What is changed in its configuration.
    pub(super) edit: fn(&mut Value),
    pub(super) processor: &'static str,
    /// kops' tests run on Ubuntu 26.04, unless they say otherwise.
    pub(super) project: (Project, (u32, u32)),
    /// Whether containerd's archive is the one of kops' tests.
    pub(super) members: bool,
}

impl Default for Cluster {
    fn default() -> Self {
        Self {
            boot: "",
            edit: |_| {},
            processor: "amd64",
            project: (Project::Ubuntu, (26, 4)),
            members: false,
        }
    }
}

/// What is in the archive of containerd in kops' tests.
const MEMBERS: &[&str] = &[
    "containerd",
    "containerd-shim",
    "containerd-shim-runc-v1",
    "containerd-shim-runc-v2",
    "containerd-stress",
    "ctr",
];

/// A cluster with what is made of it.
pub(super) struct BuiltCluster {
    pub(super) built: Vec<Built>,
    pub(super) assets: BTreeMap<Digest, String>,
}

impl Cluster {
    /// What the builders make of it.
    pub(super) fn built(&self) -> BuiltCluster {
        let boot = boots().into_iter().find(|boot| boot.name == self.boot);
        let boot = boot.expect("the boot is beside the goldens");
        let mut node = Node::of(&boot, self.processor, |text| {
            let mut document: Value = serde_saphyr::from_str(&text).expect("it is YAML");
            injected(&mut document);
            (self.edit)(&mut document);
            document.to_string()
        });
        node.objects.secrets.clear();
        keysets(&mut node.objects);
        if self.members {
            let mut assets = node.config.assets.iter();
            let archive = assets.find(|asset| asset.name.starts_with("containerd-"));
            let names = MEMBERS.iter().map(|name| (*name).to_owned()).collect();
            let archive = archive.map(|archive| (archive.digest.clone(), names));
            node.members.extend(archive);
        }
        let (project, version) = self.project;
        node.distribution = Distribution { project, version };
        let names = node.config.assets.iter();
        BuiltCluster {
            built: node.built(),
            assets: names
                .map(|asset| (asset.digest.clone(), asset.name.clone()))
                .collect(),
        }
    }
}

/// What kops' tests put into every configuration: two generations of one CA. No static pods.
fn injected(document: &mut Value) {
    let root = conformance("kops/golden-pki").expect("it is beside the goldens");
    let bundle = fs::read_to_string(root.join("kubernetes-ca-bundle.pem")).expect("it is there");
    if let Some(ca_bundle) = document["CAs"].as_object_mut() {
        ca_bundle.insert("kubernetes-ca".into(), bundle.into());
    }
    if let Some(ids) = document["KeypairIDs"].as_object_mut() {
        ids.insert("kubernetes-ca".into(), "3".into());
        ids.insert("service-account".into(), "2".into());
    }
    // Of service accounts there are two generations, too; which keys they are the comparison does not see.
    if let Some(keys) = document["APIServerConfig"]["ServiceAccountPublicKeys"].as_str() {
        document["APIServerConfig"]["ServiceAccountPublicKeys"] = keys.repeat(2).into();
    }
    if let Some(keys) = document.as_object_mut() {
        keys.remove("staticManifests");
    }
}

/// The keysets of kops' tests.
fn keysets(objects: &mut Objects) {
    let root = conformance("kops/golden-pki/private").expect("it is beside the goldens");
    for folder in folders(&root) {
        let path = folder.join("keyset.yaml");
        let text = fs::read_to_string(&path).expect("it is there");
        let bundle = KeyBundle::read(&path.display().to_string(), &text).expect("a keyset");
        objects.keysets.insert(base_name(&folder), bundle);
    }
}
