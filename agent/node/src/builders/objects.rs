//! Which objects of the state store a node needs, all known from its configuration alone, so that they are read in one wave.

use crate::config::current::{BootConfig, CLUSTER_OBJECT, NodeupConfig, Origin};
use crate::keyset::KeyBundle;
use quake_model::fault::{Code, Fault};
use quake_model::location::Location;
use quake_model::redact::Secret;
use quake_model::spec::Role;
use quake_model::step::Need;
use std::collections::BTreeMap;

/// An object that is to be read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum WantedObject {
    /// A keyset; the older name in the same place where there is none by the newer.
    Keyset { name: String, location: Location },
    Secret {
        name: String,
        location: Location,
        /// Whether the node can do without it.
        need: Need,
    },
    /// The cluster's own object, which says what etcd's members are.
    Cluster { location: Location },
    /// A manifest, whose bytes are used as they are.
    Manifest { location: Location },
}

/// What was read.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Objects {
    pub keysets: BTreeMap<String, KeyBundle>,
    /// Secrets by name. On a worker kops-controller sends those it may have.
    pub secrets: BTreeMap<String, Secret<Vec<u8>>>,
    /// The cluster's own object and where it is, on a node that runs etcd.
    pub cluster: Option<(Location, String)>,
    pub manifests: BTreeMap<Location, Vec<u8>>,
}

impl Objects {
    /// A manifest's bytes.
    ///
    /// # Errors
    ///
    /// `config.object-missing`.
    pub fn manifest(&self, location: &Location) -> Result<&[u8], Fault> {
        let found = self.manifests.get(location).map(Vec::as_slice);
        found.ok_or_else(|| {
            let summary = format!("{location} was not read");
            Fault::new(Code::ConfigObjectMissing, summary).seen("object", location)
        })
    }
}

/// The objects that a node reads from the state store itself; none for one that asks kops-controller.
///
/// The nine deprecated tokens that nodeup reads are not among them: they fill a file, `known_tokens.csv`, that no flag names.
pub fn wanted_objects(boot: &BootConfig, config: &NodeupConfig) -> Vec<WantedObject> {
    let (Origin::Store(base), Some(stores)) = (&boot.origin, &config.stores) else {
        return Vec::new();
    };
    let mut wanted = Vec::new();
    // The keysets that sign something on this node: those it is given the id of. An API server without a control plane is told
    // of some whose keys it does not use, but it may read them, and which it uses is its builders' business.
    if matches!(boot.role, Role::ControlPlane | Role::ApiServer) {
        let private = stores.keypairs.join("private");
        wanted.extend(config.keypair_ids.keys().map(|name| WantedObject::Keyset {
            name: name.clone(),
            location: private.join(name).join("keyset.yaml"),
        }));
    }
    wanted.extend(secrets(config).map(|(name, need)| WantedObject::Secret {
        name: name.to_owned(),
        location: stores.secrets.join(name),
        need,
    }));
    if boot.role == Role::ControlPlane {
        let location = base.join(CLUSTER_OBJECT);
        wanted.push(WantedObject::Cluster { location });
    }
    let channels = config.channels_manifest.iter();
    let manifests = config.etcd_manifests.iter().chain(channels).cloned();
    let pods = config.static_manifests.iter();
    let manifests = manifests.chain(pods.map(|pod| base.join(&pod.path)));
    wanted.extend(manifests.map(|location| WantedObject::Manifest { location }));
    wanted
}

fn secrets(config: &NodeupConfig) -> impl Iterator<Item = (&'static str, Need)> {
    let api_server = config.api_server.as_ref();
    let hash = api_server.and_then(|section| section.text("EncryptionConfigSecretHash"));
    let encryption = hash.map(|_| ("encryptionconfig", Need::Required));
    std::iter::once(("dockerconfig", Need::Optional)).chain(encryption)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::builders::sample::Sample;

    const STORES: &str = "configStore: {keypairs: s3://b/c/pki, secrets: s3://b/c/secrets}\n";

    fn places(sample: &Sample) -> Vec<String> {
        let wanted = wanted_objects(&sample.boot, &sample.config);
        let place = |object: &WantedObject| match object {
            WantedObject::Keyset { location, .. }
            | WantedObject::Secret { location, .. }
            | WantedObject::Cluster { location }
            | WantedObject::Manifest { location } => location.to_string(),
        };
        wanted.iter().map(place).collect()
    }

    #[test]
    fn a_control_plane_knows_all_its_objects_before_it_reads_one() {
        let keys = format!(
            "{STORES}KeypairIDs: {{kubernetes-ca: \"1\"}}\netcdManifests: [s3://b/c/manifests/etcd/main-a.yaml]\n\
             channelsManifest: s3://b/c/manifests/channels/kops-channels.yaml\n\
             staticManifests: [{{key: x, path: manifests/static/x.yaml}}]\n"
        );
        let wanted = [
            "s3://b/c/pki/private/kubernetes-ca/keyset.yaml",
            "s3://b/c/secrets/dockerconfig",
            "s3://bucket/c.example.com/cluster-completed.spec",
            "s3://b/c/manifests/etcd/main-a.yaml",
            "s3://b/c/manifests/channels/kops-channels.yaml",
            "s3://bucket/c.example.com/manifests/static/x.yaml",
        ];
        assert_eq!(places(&Sample::control_plane(&keys)), wanted);
    }

    #[test]
    fn the_encryption_of_secrets_is_read_only_where_it_is_asked_for() {
        let keys = format!("{STORES}APIServerConfig: {{EncryptionConfigSecretHash: abc}}\n");
        let sample = Sample::control_plane(&keys);
        assert!(places(&sample).contains(&"s3://b/c/secrets/encryptionconfig".to_owned()));
        assert_eq!(places(&Sample::control_plane(STORES)).len(), 2);
    }

    #[test]
    fn a_worker_reads_nothing_from_the_store() {
        assert_eq!(places(&Sample::worker(STORES)), [""; 0]);
    }
}
