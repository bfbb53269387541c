//! A node of kops (1.32 and newer), planned from its state store.

use super::keys::{keyset_of, stand_in};
use super::machine::Host;
use super::reader::Reader;
use quake_model::digest::Digest;
use quake_model::fault::{Code, Fault};
use quake_model::location::Location;
use quake_model::redact::Secret;
use quake_model::spec::{NodeSpec, Role};
use quake_model::step::Need;
use quake_node::builders::{
    Node, Objects, WantedObject, needs_eni_capacity, processor, wanted_objects,
};
use quake_node::config::current::{
    Cluster, NodeupConfig, ROLES, StoredGroup, derive_boot_config, read_boot_config,
    read_nodeup_config, role_directory,
};
use quake_node::config::legacy::Document;
use quake_node::distribution::Distribution;
use quake_node::keyset::read_secret;
use std::sync::Arc;

/// A group of kops (1.32 and newer) in its state store.
#[derive(Debug, Clone)]
pub(super) struct StoredNode {
    pub(super) base: Location,
    pub(super) cluster: Arc<Cluster>,
    pub(super) name: String,
    pub(super) role: Role,
    pub(super) nodeup_config: Document,
    /// The certificates of the cluster's CA.
    pub(super) ca: String,
    /// The boot configuration that nodes are launched with, where it is known.
    pub(super) kube_env: Option<Document>,
}

/// The groups of a cluster, by role.
///
/// # Errors
///
/// What listing them comes to.
pub(super) async fn groups(
    reader: &Reader,
    base: &Location,
) -> Result<Vec<(String, Role, Document)>, Fault> {
    let mut groups = Vec::new();
    for role in ROLES {
        let folder = base.join("igconfig").join(role_directory(role));
        for name in reader.list(&folder).await? {
            let location = folder.join(&name).join("nodeupconfig.yaml");
            if let Some(document) = reader.read(&location).await? {
                groups.push((name, role, document));
            }
        }
    }
    Ok(groups)
}

impl StoredNode {
    /// The user data's part that says what the node is.
    ///
    /// # Errors
    ///
    /// What the store lacks.
    pub(super) fn kube_env(&self) -> Result<Document, Fault> {
        if let Some(document) = &self.kube_env {
            return Ok(document.clone());
        }
        let derived = derive_boot_config(&StoredGroup {
            cluster: &self.cluster,
            base: &self.base,
            name: &self.name,
            role: self.role,
            source: &self.nodeup_config.source,
            nodeup_config: self.nodeup_config.text.as_bytes(),
            ca: Some(&self.ca),
        })?;
        Ok(Document {
            source: format!("what {} has of {}", self.base, self.name),
            text: derived.text,
        })
    }

    /// What the node is to be.
    ///
    /// # Errors
    ///
    /// What is wrong with its configuration.
    pub(super) async fn plan(&self, reader: &Reader, host: &Host) -> Result<NodeSpec, Fault> {
        let kube_env = self.kube_env()?;
        let (boot, _) = read_boot_config(&kube_env.source, &kube_env.text)?;
        let Document { source, text } = &self.nodeup_config;
        let processor = processor(&host.instance.architecture);
        let (config, _) = read_nodeup_config(source, text, processor)?;
        let distribution = Distribution::identify(&host.os)?;
        let objects = objects(reader, &config, wanted_objects(&boot, &config)).await?;
        let node = Node {
            machine: host.machine(distribution, needs_eni_capacity(&config)),
            boot,
            config,
            objects,
            distribution,
            takes_over_addons: false,
        };
        let known = host.known(&node.config.assets);
        quake_node::node::Node::Current(Arc::new(node)).spec(&known)
    }
}

async fn objects(
    reader: &Reader,
    config: &NodeupConfig,
    wanted: Vec<WantedObject>,
) -> Result<Objects, Fault> {
    let mut objects = Objects::default();
    for wanted in wanted {
        match wanted {
            WantedObject::Keyset { name, location } => {
                let keyset = keyset_of(reader, config, &name, &location).await?;
                objects.keysets.insert(name, keyset);
            }
            WantedObject::Secret {
                name,
                location,
                need,
            } => {
                let secret = match (reader.read_private(&location).await?, need) {
                    (Some(document), _) => Some(read_secret(&document.source, &document.text)?),
                    (None, Need::Optional) => None,
                    (None, Need::Required) => Some(Secret::new(stand_in(&name).into_bytes())),
                };
                objects.secrets.extend(secret.map(|secret| (name, secret)));
            }
            WantedObject::Cluster { location } => {
                let read = reader.read(&location).await?;
                objects.cluster = read.map(|document| (location, document.text));
            }
            WantedObject::Manifest { location } => {
                let read = reader.read(&location).await?;
                let document = read.ok_or_else(|| {
                    let summary = format!("there is no {location}");
                    Fault::new(Code::ConfigObjectMissing, summary).seen("object", &location)
                })?;
                objects
                    .manifests
                    .insert(location, document.text.into_bytes());
            }
        }
    }
    Ok(objects)
}

/// The digest of user data, by which two are compared.
pub(super) fn digest_of(text: &str) -> String {
    use quake_model::digest::Algorithm;
    use sha2::Digest as _;
    Digest::from_bytes(Algorithm::Sha256, &sha2::Sha256::digest(text.as_bytes())).to_string()
}
