//! The kops-controller of a rehearsal: it gives the configuration that the state store has for the node's group, and signs
//! with an authority of the operator's choice.

use super::running;
use crate::host::NodeHost;
use quake_engine::Configuration;
use quake_model::facts::InstanceFacts;
use quake_model::ports::Objects;
use quake_model::redact::Secret;
use quake_model::spec::{EtcdCluster, Role};
use quake_plan::dialect::kops::{
    BootConfig, CLUSTER_OBJECT, Origin, is_boot_config, read_boot_config, read_cluster,
};
use quake_plan::keyset::read_keyset;
use quake_plan::yaml::parse;
use quake_testkit::{Controller, SimHost};
use std::fs;
use std::path::{Path, PathBuf};

/// Who signs the one certificate that is not of the cluster's authority.
const CILIUM_AUTHORITY: &str = "etcd-clients-ca-cilium";

/// What a kops-controller is made of.
#[derive(Debug, Clone, Copy)]
pub(super) struct Wanted<'a> {
    /// The node's documents.
    pub(super) configuration: &'a Configuration,
    /// The folder that stands for every bucket.
    pub(super) folder: Option<&'a Path>,
    /// The folder of the authority.
    pub(super) authority: Option<&'a Path>,
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

/// The etcd clusters of a control plane of kops 1.32 and newer, to know which volumes its region must have; none where the
/// boot itself will say what is wrong.
pub(super) async fn foresee_etcd(
    host: &NodeHost,
    configuration: &Configuration,
) -> Vec<EtcdCluster> {
    let Some(boot) = boot_config(configuration).filter(|boot| boot.role == Role::ControlPlane)
    else {
        return Vec::new();
    };
    let Origin::Store(base) = &boot.origin else {
        return Vec::new();
    };
    let location = base.join(CLUSTER_OBJECT);
    let Ok(object) = host.read_object(&location).await else {
        return Vec::new();
    };
    let text = String::from_utf8_lossy(&object.bytes);
    let cluster = read_cluster(&location.to_string(), &text);
    cluster.map_or_else(|_| Vec::new(), |cluster| cluster.etcd)
}

impl Wanted<'_> {
    /// Lets the simulated region answer as this node's kops-controller, if it asks one.
    ///
    /// # Errors
    ///
    /// Prints what is missing and returns the exit status.
    pub(super) fn answer(self, sim: &SimHost, instance: &InstanceFacts) -> Result<(), u8> {
        if let Some(controller) = self.controller(instance)? {
            sim.answer_bootstrap(controller);
        }
        Ok(())
    }

    /// The kops-controller that this node asks; `None` for a node that asks none.
    ///
    /// # Errors
    ///
    /// Prints what is missing and returns the exit status.
    fn controller(self, instance: &InstanceFacts) -> Result<Option<Controller>, u8> {
        let Some(boot) = boot_config(self.configuration) else {
            return Ok(None);
        };
        if !matches!(boot.origin, Origin::Server(_)) {
            return Ok(None);
        }
        let (Some(folder), Some(authority)) = (self.folder, self.authority) else {
            let message =
                "this node asks kops-controller: name the folder of its state store, and --ca-dir";
            return Err(running::usage(message));
        };
        let (path, text) = nodeup_config(folder, &boot)?;
        let certificate = read(&authority.join("kubernetes-ca/crt"))?;
        let key = Secret::new(read(&authority.join("kubernetes-ca/key"))?);
        let source = path.display().to_string();
        let made = Controller::of(&source, &text, instance, &certificate, key);
        let made = made.map_err(|fault| running::usage(&fault.to_string()))?;
        let cilium = match authority.join(CILIUM_AUTHORITY) {
            given if given.is_dir() => {
                let key = Secret::new(read(&given.join("key"))?);
                Some((read(&given.join("crt"))?, key))
            }
            _ => stored_authority(&path)?,
        };
        Ok(Some(Controller {
            cilium,
            ..made.with_bare_names()
        }))
    }
}

/// The authority of Cilium's own etcd, from the state store that this configuration is in; `None` where the cluster has none.
fn stored_authority(nodeup_config: &Path) -> Result<Option<(String, Secret<String>)>, u8> {
    // <base>/igconfig/<role>/<group>/nodeupconfig.yaml
    let Some(base) = nodeup_config.ancestors().nth(4) else {
        return Ok(None);
    };
    let keyset = base
        .join("pki/private")
        .join(CILIUM_AUTHORITY)
        .join("keyset.yaml");
    if !keyset.is_file() {
        return Ok(None);
    }
    let source = keyset.display().to_string();
    let pair = read_keyset(&source, &read(&keyset)?);
    let pair = pair.map_err(|fault| running::usage(&fault.to_string()))?;
    Ok(pair.key.map(|key| (pair.certificate, key)))
}

/// The configuration of the node's group: in the folder of the cluster, which is in that of a bucket.
fn nodeup_config(folder: &Path, boot: &BootConfig) -> Result<(PathBuf, String), u8> {
    let group = Path::new("igconfig")
        .join(boot.role_word())
        .join(&boot.instance_group)
        .join("nodeupconfig.yaml");
    let below = fs::read_dir(folder).into_iter().flatten().flatten();
    let mut bases: Vec<PathBuf> = below.map(|entry| entry.path()).collect();
    bases.push(folder.to_owned());
    bases.sort();
    let candidates = bases
        .into_iter()
        .flat_map(|base| [base.join(&boot.cluster).join(&group), base.join(&group)]);
    let found = candidates.into_iter().find(|path| path.is_file());
    let path = found.ok_or_else(|| {
        let message = format!("{} holds no {}", folder.display(), group.display());
        running::usage(&message)
    })?;
    let text = read(&path)?;
    Ok((path, text))
}

fn read(path: &Path) -> Result<String, u8> {
    fs::read_to_string(path)
        .map_err(|error| running::usage(&format!("{} cannot be read: {error}", path.display())))
}
