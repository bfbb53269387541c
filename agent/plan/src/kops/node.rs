//! A node of this dialect as the engine knows it: documents, objects and machine, from which its items follow.

use super::{Context, Inputs, Machine, Objects, build};
use crate::dialect::kops::{BootConfig, NodeupConfig, lower};
use crate::distribution::Distribution;
use quake_model::digest::Digest;
use quake_model::facts::InstanceFacts;
use quake_model::fault::Fault;
use quake_model::item::Item;
use quake_model::spec::NodeSpec;
use std::collections::{BTreeMap, BTreeSet};

/// Everything that was read and observed of a node.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Node {
    /// `kube_env.yaml`.
    pub boot: BootConfig,
    /// The nodeup configuration, verified.
    pub config: NodeupConfig,
    /// What was read from the state store, or sent by kops-controller.
    pub objects: Objects,
    /// What is known of the machine.
    pub machine: Machine,
    /// Which distribution it runs.
    pub distribution: Distribution,
}

impl Node {
    /// What the node is to be; `members` are the base names of the files in each archive of the store, none before the
    /// archives are there.
    ///
    /// # Errors
    ///
    /// The first fault of a builder.
    pub fn spec(
        &self,
        instance: &InstanceFacts,
        members: &BTreeMap<Digest, Vec<String>>,
    ) -> Result<NodeSpec, Fault> {
        let context = Context::new(Inputs {
            boot: &self.boot,
            config: &self.config,
            instance,
            machine: &self.machine,
            distribution: self.distribution,
            objects: &self.objects,
            members,
        })?;
        let mut subjects = BTreeSet::new();
        let items = build(&context)?.into_iter().flat_map(|built| built.items);
        // What two builders want is wanted once; that they want the same is a law of builders.
        let items: Vec<Item> = items
            .filter(|item| subjects.insert(item.subject()))
            .collect();
        Ok(lower(&self.boot, &self.config, items))
    }
}
