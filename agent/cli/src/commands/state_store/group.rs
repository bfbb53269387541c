//! Finds an instance group of kops 1.32 and newer, and derives the boot configuration of its nodes.

use super::cluster::StoredCluster;
use super::read::{list_optional, read_optional};
use crate::commands::running::{fail, usage};
use crate::output;
use quake_model::fault::{Code, Fault};
use quake_model::spec::Role;
use quake_node::config::current::{
    CLUSTER_OBJECT, DerivedBootConfig, ROLES, StoredGroup, derive_boot_config, role_directory,
};
use quake_node::config::legacy::Document;

/// An instance group as the state store has it.
#[derive(Debug, Clone)]
pub(crate) struct FoundGroup {
    pub(crate) name: String,
    pub(crate) role: Role,
    /// `nodeupconfig.yaml`, as its bytes are.
    pub(crate) nodeup_config: Document,
}

/// Says on standard error what was assumed.
pub(crate) fn say_assumptions(assumptions: &[String]) {
    for assumption in assumptions {
        output::error_line(format_args!("assumed: {assumption}"));
    }
}

impl StoredCluster {
    /// Finds an instance group by its name.
    pub(crate) async fn group(&self, name: &str) -> Result<FoundGroup, u8> {
        let mut found = Vec::new();
        for role in ROLES {
            let location = self.base.join("igconfig").join(role_directory(role));
            let location = location.join(name).join("nodeupconfig.yaml");
            let read = read_optional(self.objects(), &location).await;
            let nodeup_config = read.map_err(|fault| fail(&fault))?;
            found.extend(nodeup_config.map(|nodeup_config| FoundGroup {
                name: name.to_owned(),
                role,
                nodeup_config,
            }));
        }
        match (found.pop(), found.is_empty()) {
            (Some(group), true) => Ok(group),
            (Some(_), false) => Err(usage(&format!(
                "{} has the instance group {name} in several directories below igconfig: remove those of the roles that it \
                 has no more",
                self.base
            ))),
            (None, _) => Err(self.lacks(name).await),
        }
    }

    /// Prints that a group is not there; the exit status.
    async fn lacks(&self, name: &str) -> u8 {
        let groups = match self.groups().await {
            Ok(groups) => groups,
            Err(status) => return status,
        };
        let advice = "after `kops create ig` it takes `kops update cluster --yes`";
        usage(&format!(
            "{} has no configuration of the instance group {name} ({advice}); it has: {}",
            self.base,
            groups.join(", ")
        ))
    }

    /// The names of all instance groups that have a configuration, by role.
    pub(crate) async fn groups(&self) -> Result<Vec<String>, u8> {
        let mut groups = Vec::new();
        for role in ROLES {
            let location = self.base.join("igconfig").join(role_directory(role));
            let listed = list_optional(self.objects(), &location).await;
            groups.extend(listed.map_err(|fault| fail(&fault))?);
        }
        Ok(groups)
    }

    /// Derives the boot configuration of a group's nodes, which trust the CA with these certificates.
    pub(crate) fn derive(
        &self,
        group: &FoundGroup,
        ca: Option<&str>,
    ) -> Result<DerivedBootConfig, u8> {
        let derived = self.spec.as_ref().map(|cluster| {
            derive_boot_config(&StoredGroup {
                cluster,
                base: &self.base,
                name: &group.name,
                role: group.role,
                source: &group.nodeup_config.source,
                nodeup_config: group.nodeup_config.text.as_bytes(),
                ca,
            })
        });
        let gone = || {
            let location = self.base.join(CLUSTER_OBJECT);
            let summary = "the state store has no cluster-completed.spec, which has the location of the cluster";
            let fault = Fault::new(Code::ConfigClusterSpecMissing, summary);
            Err(fault.seen("location", location))
        };
        derived.unwrap_or_else(gone).map_err(|fault| fail(&fault))
    }
}
