//! What an operator asks about add-ons: how they stand, what applying would change, and to apply them now.

use super::addon::{AddonApplied, ObjectPlanned};
use super::channels::read_manifest;
use super::cluster_client::ClusterClient;
use crate::access::access_by;
use crate::resident::addons::AddonPorts;
use quake_addons::lease::{Holding, LeaseKind};
use quake_addons::{Addon, Channel, SelectedAddons, fault_of_read, is_due, parse_channel, select};
use quake_model::addon::{AddonState, AddonStatus, AddonVersion};
use quake_model::fault::{Code, Fault};
use quake_model::location::Location;
use quake_model::ports::Objects;
use quake_model::spec::KubernetesVersion;
use std::collections::{BTreeMap, BTreeSet};

/// A look at a cluster's add-ons: what its channels want, what it has, and its API server to ask more.
pub struct AddonInspector<'a, H> {
    host: &'a H,
    session: ClusterClient<'a, H>,
    selected: SelectedAddons,
    versions: BTreeMap<(String, String), AddonVersion>,
    /// The add-ons that lack a CA they ask for.
    lacking: BTreeSet<String>,
}

impl<'a, H: AddonPorts> AddonInspector<'a, H> {
    /// Looks at the cluster that the kubeconfig at `kubeconfig` leads to. A channel that cannot be read is a warning of the
    /// menu while another can.
    ///
    /// # Errors
    ///
    /// `addons.api-unreachable` for a kubeconfig that leads nowhere; the faults of a server that does not answer; the fault of
    /// the first channel where none can be read.
    pub async fn open(host: &'a H, kubeconfig: &str, channels: &[Location]) -> Result<Self, Fault> {
        let Some(access) = access_by(host, kubeconfig).await else {
            let summary = format!("{kubeconfig} is not there, or is no kubeconfig");
            let remedy = "add-ons are looked at from a control plane; elsewhere name a kubeconfig: --kubeconfig FILE";
            return Err(Fault::new(Code::AddonsApiUnreachable, summary).remedied_by(remedy));
        };
        let session = ClusterClient::open(host, access).await?;
        let (mut read, mut unread) = (Vec::new(), Vec::new());
        for channel in channels {
            match read_channel(host, channel).await {
                Ok(channel) => read.push(channel),
                Err(fault) => unread.push(fault),
            }
        }
        if read.is_empty()
            && let Some(fault) = unread.first()
        {
            return Err(fault.clone());
        }
        let mut selected = select(&read, session.version());
        selected.warnings.splice(0..0, unread);
        let versions = session.versions().await?;
        let mut lacking = BTreeSet::new();
        for addon in &selected.addons {
            match session.lacks_ca(addon).await {
                Ok(true) => drop(lacking.insert(addon.name.clone())),
                Ok(false) => {}
                // Whoever may not look into Secrets may look at all else.
                Err(fault) => selected.warnings.push(fault),
            }
        }
        Ok(Self {
            host,
            session,
            selected,
            versions,
            lacking,
        })
    }

    /// The API server's version.
    pub fn server(&self) -> KubernetesVersion {
        self.session.version()
    }

    /// What the channels want of this cluster.
    pub fn selected(&self) -> &SelectedAddons {
        &self.selected
    }

    /// What the cluster has of an add-on.
    pub fn applied(&self, addon: &Addon) -> Option<&AddonVersion> {
        let key = (addon.namespace.clone(), addon.name.clone());
        self.versions.get(&key)
    }

    /// Whether an add-on is to be applied: it is not there in this version, or lacks the CA that it asks for.
    pub fn is_due(&self, addon: &Addon) -> bool {
        is_due(&addon.version, self.applied(addon)) || self.lacking.contains(&addon.name)
    }

    /// How each add-on stands: applied, or waiting to be.
    pub fn statuses(&self) -> Vec<AddonStatus> {
        let status = |addon: &Addon| AddonStatus {
            name: addon.name.clone(),
            state: match self.is_due(addon) {
                true => AddonState::Waiting,
                false => AddonState::Applied,
            },
            wanted: addon.version.clone(),
            applied: self.applied(addon).cloned(),
            ..AddonStatus::default()
        };
        self.selected.addons.iter().map(status).collect()
    }

    /// Who the agents' lease says holds it, and so looks after the add-ons; `None` where no agent does.
    ///
    /// # Errors
    ///
    /// The fault of the look.
    pub async fn lease(&self) -> Result<Option<Holding>, Fault> {
        let kind = LeaseKind::new(self.server());
        let found = self.session.look(&kind.place()).await?;
        Ok(found.and_then(|found| kind.holding(&found)))
    }

    /// What applying an add-on would change; nothing is.
    ///
    /// # Errors
    ///
    /// Why its objects are not known. That the API server cannot say what becomes of one is no error.
    pub async fn plan(&self, addon: &Addon) -> Result<Vec<ObjectPlanned>, Fault> {
        let (manifest, _) = read_manifest(self.host, addon).await?;
        Ok(self.session.plan_addon(addon, &manifest).await)
    }

    /// Applies an add-on, be it due or not. A manifest other than the channel names is applied as it is: whoever asks has
    /// seen it.
    ///
    /// # Errors
    ///
    /// Why nothing of it was applied. What failed of its objects is in the answer.
    pub async fn apply(&self, addon: &Addon) -> Result<AddonApplied, Fault> {
        let (manifest, _) = read_manifest(self.host, addon).await?;
        let existing = self.applied(addon);
        let applied = self.session.apply_addon(addon, Some(&manifest), existing);
        Ok(applied.await)
    }
}

async fn read_channel<H: Objects>(host: &H, location: &Location) -> Result<Channel, Fault> {
    let read = host.read_object(location).await;
    let object = read.map_err(|error| fault_of_read(location, error))?;
    parse_channel(location, &object.bytes)
}
