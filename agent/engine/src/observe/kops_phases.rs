//! Plans the phases of a node of the newer dialect from its items.

use crate::boot_facts::BootFacts;
use crate::context::Context;
use crate::ensure;
use crate::fault_mapping::{Operation, to_fault};
use quake_model::fault::Fault;
use quake_model::phase::Phase;
use quake_model::ports::Host;
use quake_model::step::Step;
use quake_node::kops::steps::{self, Owners};
use std::sync::Arc;

impl<H: Host> Context<'_, H> {
    pub(super) async fn plan_kops_phase(&self, phase: Phase) -> Result<Vec<Step>, Fault> {
        let spec = self.know(BootFacts::spec)?;
        let planned = match phase {
            // Both are done before anybody knows the dialect.
            Phase::Identity | Phase::Config => Vec::new(),
            Phase::Network => {
                let hosts = self.text("/etc/hosts").await?;
                let planned = steps::network(&spec, hosts.as_bytes());
                self.observe_links().await?;
                planned
            }
            Phase::Storage => {
                let mut planned = steps::volumes(&spec, phase);
                planned.extend(self.plan_storage().await?);
                planned.extend(steps::etcd_manifests(&spec)?);
                planned
            }
            Phase::Assets => {
                self.observe_images().await;
                let known = self.know(BootFacts::known)?;
                let mut planned = quake_node::assets::plan(&spec, &known);
                ensure::assets::record(self, &planned).await?;
                planned.extend(steps::assets(&spec));
                planned
            }
            Phase::Credentials => steps::credentials(&spec),
            Phase::Files => self.plan_kops_files().await?,
            Phase::Services => steps::services(&spec, &self.know(BootFacts::known)?),
            Phase::Ready => steps::ready(&spec),
        };
        debug_assert_eq!(quake_node::lint::lint(&planned), Vec::<String>::new());
        Ok(planned)
    }

    async fn observe_links(&self) -> Result<(), Fault> {
        let read = self.host.read_network().await;
        let network = read.map_err(|error| to_fault(Operation::ReadNetwork, error))?;
        self.learn(|knowledge| knowledge.network = network);
        Ok(())
    }

    /// Archives are there now, and so builders yield what is placed from them.
    async fn plan_kops_files(&self) -> Result<Vec<Step>, Fault> {
        self.observe_files().await?;
        let node = self.know(BootFacts::kops)?;
        let instance = self.know(BootFacts::instance)?;
        let members = self.know(|knowledge| knowledge.members.clone());
        let spec = Arc::new(node.spec(&instance, &members)?);
        self.learn(|knowledge| knowledge.spec = Some(Arc::clone(&spec)));
        let owners = Owners::read(
            &spec,
            &self.text("/etc/passwd").await?,
            &self.text("/etc/group").await?,
        );
        let issued = self.know(|knowledge| knowledge.issued.clone());
        let mut planned = steps::volumes(&spec, Phase::Files);
        planned.extend(steps::files(&spec, &issued, &owners, self.is_planning())?);
        self.remove_leftovers(&planned).await?;
        let mut written = planned.clone();
        written.extend(steps::etcd_manifests(&spec)?);
        self.recall_owned(&written).await;
        self.recall_owed(&spec, &mut planned).await?;
        Ok(planned)
    }
}
