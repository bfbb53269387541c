//! The rehearsal of a node of kops 1.32 and newer: its boot configuration, derived from the state store where none is named,
//! and the kops-controller that gives a worker its configuration and signs its certificates.

use super::below::below;
use super::running::{fail, usage};
use super::scratch::Keep;
use super::state_store::{FoundGroup, StoredCluster, read_ca, read_optional, say_assumptions};
use crate::output;
use quake_engine::Configuration;
use quake_formats::yaml::parse;
use quake_host::clock::SystemClock;
use quake_model::facts::InstanceFacts;
use quake_model::ports::Clock as _;
use quake_model::redact::Secret;
use quake_model::spec::Role;
use quake_node::config::current::{BootConfig, Origin, is_boot_config, read_boot_config};
use quake_node::config::legacy::Document;
use quake_node::keyset::KeyBundle;
use quake_node::pki::unsigned_ca;
use quake_testkit::{Controller, SimHost};
use std::fs;
use std::os::unix::fs::DirBuilderExt as _;
use std::path::Path;

/// Who signs the one certificate that is not of the cluster's CA.
const CILIUM_CA: &str = "etcd-clients-ca-cilium";

/// Where a rehearsal keeps its stand-in CA below the scratch root, so that the next one changes nothing.
const STAND_IN: &str = "var/lib/quake-agent/rehearsal/stand-in-ca";

/// What a rehearsal of such a node is made of.
#[derive(Debug, Clone, Copy)]
pub(super) struct Wanted<'a> {
    /// The cluster in the state store.
    pub(super) cluster: Option<&'a StoredCluster>,
    /// The directory that stands for every bucket.
    pub(super) folder: Option<&'a Path>,
    /// The instance group that is asked for.
    pub(super) group: Option<&'a str>,
    /// The directory of the CA that signs.
    pub(super) ca: Option<&'a Path>,
    pub(super) root: &'a Path,
    /// Whether what is made is kept for the next rehearsal.
    pub(super) keep: Keep,
}

/// The kops-controller that a worker asks.
pub(super) struct Served {
    nodeup_config: Document,
    signer: Signer,
    cilium: Option<(String, Secret<String>)>,
}

/// A CA that signs.
#[derive(Debug, Clone)]
struct Signer {
    certificate: String,
    key: Secret<String>,
    /// What nodes are to trust, PEM.
    trusted: String,
}

/// The boot configuration, where `kube_env.yaml` is one that can be read.
pub(super) fn boot_config(configuration: &Configuration) -> Option<BootConfig> {
    let document = configuration.kube_env.as_ref()?;
    let root = parse(&document.source, &document.text).ok()?;
    if !is_boot_config(&root) {
        return None;
    }
    let (boot, _) = read_boot_config(&document.source, &document.text).ok()?;
    Some(boot)
}

impl Wanted<'_> {
    /// Derives the boot configuration where none is named; returns the kops-controller that the node asks, if it asks one.
    pub(super) async fn complete(
        self,
        configuration: &mut Configuration,
    ) -> Result<Option<Served>, u8> {
        if configuration.kube_env.is_none()
            && let Some(cluster) = self.cluster
        {
            return self.derive(cluster, configuration).await;
        }
        let Some(boot) = boot_config(configuration) else {
            return Ok(None);
        };
        let Origin::Server(server) = &boot.origin else {
            return Ok(None);
        };
        let Some(cluster) = self.cluster else {
            let message = match self.folder {
                Some(folder) => format!("{} has no cluster {}", folder.display(), boot.cluster),
                None => "this node asks kops-controller: name its state store too".to_owned(),
            };
            return Err(usage(&message));
        };
        let nodeup_config = cluster.group(&boot.instance_group).await?.nodeup_config;
        let is_trusted = |signer: &Signer| server.ca_bundle.contains(signer.certificate.trim());
        let signer = match self.given()? {
            Some(signer) => Some(signer),
            None => self.stored(cluster).await?.filter(is_trusted),
        };
        let Some(signer) = signer else {
            let message =
                "the state store has no key of the CA that this node trusts: name --ca-dir";
            return Err(usage(message));
        };
        self.serve(cluster, nodeup_config, signer).await.map(Some)
    }

    /// Derives the boot configuration of the group that is asked for.
    async fn derive(
        self,
        cluster: &StoredCluster,
        configuration: &mut Configuration,
    ) -> Result<Option<Served>, u8> {
        let Some(group) = self.group else {
            let groups = cluster.groups().await?.join(", ");
            return Err(usage(&format!(
                "which node? give --instance-group, one of {groups}"
            )));
        };
        let group = cluster.group(group).await?;
        let signer = match group.role {
            Role::Worker => Some(self.signer(cluster).await?),
            Role::ControlPlane | Role::ApiServer | Role::Bastion => None,
        };
        let trusted = signer.as_ref().map(|signer| signer.trusted.as_str());
        let derived = cluster.derive(&group, trusted)?;
        say_assumptions(&derived.assumptions);
        configuration.kube_env = Some(Document {
            source: format!("what {} has of {}", cluster.base, group.name),
            text: derived.text,
        });
        let FoundGroup { nodeup_config, .. } = group;
        match signer {
            Some(signer) => self.serve(cluster, nodeup_config, signer).await.map(Some),
            None => Ok(None),
        }
    }

    /// The CA that signs for a worker whose boot configuration is derived, and so can trust any.
    async fn signer(self, cluster: &StoredCluster) -> Result<Signer, u8> {
        let stored = self.stored(cluster).await?;
        if let Some(given) = self.given()? {
            // With all of its generations, where the store knows it.
            let known = stored.filter(|it| it.trusted.contains(given.certificate.trim()));
            let trusted = known.map_or_else(|| given.trusted.clone(), |known| known.trusted);
            return Ok(Signer { trusted, ..given });
        }
        if let Some(stored) = stored {
            return Ok(stored);
        }
        output::error_line(
            "assumed: a stand-in CA signs in this rehearsal: the state store has no private key of the cluster's CA",
        );
        self.stand_in()
    }

    /// The CA of `--ca-dir`.
    fn given(self) -> Result<Option<Signer>, u8> {
        let Some(folder) = self.ca else {
            return Ok(None);
        };
        let certificate = read(&folder.join("kubernetes-ca/crt"))?;
        Ok(Some(Signer {
            trusted: certificate.clone(),
            certificate,
            key: Secret::new(read(&folder.join("kubernetes-ca/key"))?),
        }))
    }

    /// The cluster's CA; `None` where the store has no key of it.
    async fn stored(self, cluster: &StoredCluster) -> Result<Option<Signer>, u8> {
        let bundle = read_ca(cluster.objects(), &cluster.base).await;
        let Some(bundle) = bundle.map_err(|fault| fail(&fault))? else {
            return Ok(None);
        };
        let primary = bundle.primary();
        Ok(primary.key.clone().map(|key| Signer {
            certificate: primary.certificate.clone(),
            key,
            trusted: bundle.certificates(),
        }))
    }

    /// A CA of this rehearsal alone: that of an earlier one into the same root, or a new one.
    fn stand_in(self) -> Result<Signer, u8> {
        let folder = below(self.root, STAND_IN)?;
        let [certificate, key] = ["crt", "key"].map(|name| folder.join(name));
        if certificate.is_file() && key.is_file() {
            let certificate = read(&certificate)?;
            return Ok(Signer {
                trusted: certificate.clone(),
                certificate,
                key: Secret::new(read(&key)?),
            });
        }
        let made = make_ca()?;
        if self.keep == Keep::Yes {
            let mut private = fs::DirBuilder::new();
            let written = private
                .recursive(true)
                .mode(0o700)
                .create(&folder)
                .and_then(|()| fs::write(&certificate, &made.certificate))
                .and_then(|()| fs::write(&key, made.key.expose()));
            written.map_err(|error| {
                usage(&format!("{} cannot be written: {error}", folder.display()))
            })?;
        }
        Ok(made)
    }

    async fn serve(
        self,
        cluster: &StoredCluster,
        nodeup_config: Document,
        signer: Signer,
    ) -> Result<Served, u8> {
        let given = self.ca.map(|folder| folder.join(CILIUM_CA));
        let cilium = match given.filter(|folder| folder.is_dir()) {
            Some(folder) => {
                let key = Secret::new(read(&folder.join("key"))?);
                Some((read(&folder.join("crt"))?, key))
            }
            None => stored_cilium(cluster).await?,
        };
        Ok(Served {
            nodeup_config,
            signer,
            cilium,
        })
    }
}

impl Served {
    /// Lets the simulated region answer as this node's kops-controller.
    pub(super) fn answer(self, sim: &SimHost, instance: &InstanceFacts) -> Result<(), u8> {
        let Document { source, text } = &self.nodeup_config;
        let Signer {
            certificate, key, ..
        } = self.signer;
        let made = Controller::new(source, text, instance, &certificate, key);
        let made = made.map_err(|fault| fail(&fault))?;
        sim.answer_bootstrap(Controller {
            cilium: self.cilium,
            ..made.with_bare_names()
        });
        Ok(())
    }
}

/// The CA of Cilium's own etcd, from the state store; `None` where the cluster has none.
async fn stored_cilium(cluster: &StoredCluster) -> Result<Option<(String, Secret<String>)>, u8> {
    let place = cluster.base.join("pki/private").join(CILIUM_CA);
    let read = read_optional(cluster.objects(), &place.join("keyset.yaml")).await;
    let Ok(Some(document)) = read else {
        // Most clusters have none, and whoever may not read it cannot sign with it.
        return Ok(None);
    };
    let bundle = KeyBundle::read(&document.source, &document.text);
    let bundle = bundle.map_err(|fault| fail(&fault))?;
    let pair = bundle.primary();
    let key = pair.key.clone();
    Ok(key.map(|key| (pair.certificate.clone(), key)))
}

fn make_ca() -> Result<Signer, u8> {
    let failed = |what: &dyn std::fmt::Display| usage(&format!("no stand-in CA: {what}"));
    let made = quake_host::keys::make_key().map_err(|error| failed(&error))?;
    let waiting = unsigned_ca("kubernetes-ca", &made.public, SystemClock.now());
    let waiting = waiting.map_err(|fault| failed(&fault))?;
    let signature = quake_host::keys::sign(&made.key, waiting.kind, &waiting.message);
    let signature = signature.map_err(|error| failed(&error))?;
    let certificate = waiting.signed(&signature).map_err(|fault| failed(&fault))?;
    Ok(Signer {
        trusted: certificate.clone(),
        certificate,
        key: made.key,
    })
}

fn read(path: &Path) -> Result<String, u8> {
    fs::read_to_string(path)
        .map_err(|error| usage(&format!("{} cannot be read: {error}", path.display())))
}
