//! The machine that both sides are planned for: that of a rehearsal, or the one that the command line describes.

use crate::commands::identity::Identity;
use crate::commands::rehearse::zone_of;
use quake_assets::expected_members;
use quake_model::digest::Digest;
use quake_model::facts::{EniCapacity, InstanceFacts, NetworkFacts, OsFacts};
use quake_model::spec::{AssetKind, AssetSpec};
use quake_node::builders::{Lifecycle, LoginUser, Machine};
use quake_node::distribution::Distribution;
use quake_node::plan_inputs::{Credentials, PlanInputs};
use quake_testkit::region::{Region, example_instance};
use std::collections::BTreeMap;

/// What a rehearsal says of an instance type of which nothing is said.
const CAPACITY: EniCapacity = EniCapacity {
    interfaces: 3,
    addresses_per_interface: 10,
};

/// What the command line says of the machine.
#[derive(Debug)]
pub(super) struct MachineFacts {
    pub(super) identity: Option<Identity>,
    pub(super) os: Option<OsFacts>,
}

/// The machine of a group.
#[derive(Debug, Clone)]
pub(super) struct Host {
    pub(super) instance: InstanceFacts,
    pub(super) os: OsFacts,
    network: NetworkFacts,
    metadata: BTreeMap<String, String>,
    types: BTreeMap<String, EniCapacity>,
}

impl MachineFacts {
    /// The machine of a group's nodes.
    pub(super) fn host(&self, cluster: &str, group: &str) -> Host {
        let instance = match &self.identity {
            Some(identity) => identity.instance(),
            None => example_instance(&zone_of(group)),
        };
        let mut region = Region::with_instance(instance, cluster);
        if let Some(identity) = &self.identity {
            identity.surround(&mut region);
        }
        Host {
            os: self.os.clone().unwrap_or(region.os),
            instance: region.instance,
            network: region.network,
            metadata: region.metadata,
            types: region.types,
        }
    }
}

impl Host {
    /// What builders of kops (1.32 and newer) know of it.
    pub(super) fn machine(&self, distribution: Distribution, needs_capacity: bool) -> Machine {
        let metadata = |key: &str| self.metadata.get(key).cloned();
        let known = self.types.get(&self.instance.instance_type).copied();
        let links = self.network.links.iter();
        let ours = links.filter(|link| link.mac == self.instance.mac);
        let state = metadata("autoscaling/target-lifecycle-state");
        // A machine without a list of users has root.
        let users = distribution.login_users().iter();
        let root = users.filter(|name| **name == "root").map(|name| {
            let user = LoginUser {
                name: (*name).to_owned(),
                home: "/root".to_owned(),
            };
            ((*name).to_owned(), user)
        });
        Machine {
            public_ip: metadata("public-ipv4"),
            ipv6: metadata("ipv6"),
            lifecycle: Lifecycle::of_target_state(state.as_deref()),
            eni_capacity: needs_capacity.then(|| known.unwrap_or(CAPACITY)),
            interfaces: ours
                .map(|link| (link.name.clone(), link.mac.clone()))
                .collect(),
            login_users: root.collect(),
            ..Machine::default()
        }
    }

    /// What is known of a node when its files are planned, apart from what the state store has.
    pub(super) fn known(&self, assets: &[AssetSpec]) -> PlanInputs {
        PlanInputs {
            instance: self.instance.clone(),
            os: self.os.clone(),
            network: self.network.clone(),
            // As in a rehearsal.
            filesystems: vec!["overlay".to_owned()],
            members: members(assets),
            images: Vec::new(),
            slots: Vec::new(),
            credentials: Credentials::default(),
            etcd_manifests: Vec::new(),
        }
    }
}

/// What the archives are expected to hold, for nothing is downloaded.
fn members(assets: &[AssetSpec]) -> BTreeMap<Digest, Vec<String>> {
    let archives = assets
        .iter()
        .filter(|asset| asset.kind == AssetKind::Archive);
    archives
        .map(|asset| (asset.digest.clone(), expected_members(asset)))
        .collect()
}
