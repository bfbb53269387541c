//! The inputs of a node, from either kops generation, and the spec that follows from them.

use crate::builders::legacy::{self, conditions, network, node_object, units};
use crate::builders::{self, kubelet_drop_ins};
use crate::credentials::{self, WantedKeypair, WantedSecret};
use crate::plan_inputs::PlanInputs;
use quake_model::fault::{Code, Fault};
use quake_model::location::Location;
use quake_model::spec::NodeSpec;
use std::sync::Arc;

/// What a node follows from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Node {
    /// kops legacy (1.8 to 1.15): the spec of its documents, without items.
    Legacy(Arc<NodeSpec>),
    /// kops (1.32 and newer).
    Current(Arc<builders::Node>),
}

impl Node {
    /// The spec with everything that the node must have. Facts of later phases may be empty: what needs them is omitted.
    ///
    /// # Errors
    ///
    /// The first fault of a builder; `config.item-conflict` if two builders want different things at one place.
    pub fn spec(&self, known: &PlanInputs) -> Result<NodeSpec, Fault> {
        let mut spec = match self {
            Self::Legacy(documents) => NodeSpec {
                items: [
                    network::items(documents),
                    legacy::items(documents, known),
                    units::items(documents, known),
                ]
                .concat(),
                start_conditions: units::start_conditions(documents),
                ready_conditions: conditions::conditions(documents),
                node_object: node_object(documents),
                ..(**documents).clone()
            },
            Self::Current(node) => node.spec(&known.instance, &known.members)?,
        };
        kubelet_drop_ins::add(&mut spec);
        Ok(spec)
    }

    /// The keypairs to read from the state store in the credentials phase.
    pub fn keypairs(&self) -> Vec<WantedKeypair> {
        match self {
            Self::Legacy(documents) => credentials::wanted(documents),
            Self::Current(_) => Vec::new(),
        }
    }

    /// The secrets to read from the state store in the credentials phase.
    pub fn secrets(&self) -> Vec<WantedSecret> {
        match self {
            Self::Legacy(documents) => credentials::wanted_secrets(documents),
            Self::Current(_) => Vec::new(),
        }
    }

    /// The manifests of etcd-manager to read from the state store in the files phase.
    pub fn etcd_manifests(&self) -> &[Location] {
        match self {
            Self::Legacy(documents) => &documents.etcd_manifests,
            Self::Current(_) => &[],
        }
    }

    /// The inputs of kops (1.32 and newer).
    ///
    /// # Errors
    ///
    /// `boot.internal` for a node of kops legacy.
    pub fn current(&self) -> Result<Arc<builders::Node>, Fault> {
        match self {
            Self::Current(node) => Ok(Arc::clone(node)),
            Self::Legacy(_) => {
                let summary = "only a node of kops (1.32 and newer) has a configuration";
                Err(Fault::new(Code::BootInternal, summary))
            }
        }
    }
}
