//! Reads the facts a phase needs and hands them to its plan.

mod config;
mod credentials;
mod images;
mod kops;
mod machine;
mod members;
pub(crate) mod objects;

use crate::boot::facts::BootFacts;
use crate::boot::observe::config::observe_config;
use crate::boot::observe::credentials::{observe_credentials, observe_etcd_manifests};
use crate::boot::storage::plan_storage;
use crate::context::Context;
use crate::ensure;
use crate::fault_mapping::{Operation, to_fault};
use quake_model::event::Event;
use quake_model::fault::{Code, Fault};
use quake_model::phase::Phase;
use quake_model::ports::Host;
use quake_model::spec::NodeSpec;
use quake_model::step::{Action, Step, WriteFile};
use quake_node::plan_inputs::PlanInputs;
use quake_node::steps::{self, Owners};
use quake_node::{assets, dns, node_environment};
use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

/// How long the metadata service may be silent. A guess: it answers within milliseconds once the link is up.
const METADATA_DEADLINE: Duration = Duration::from_secs(2 * 60);

/// How long a role may take to appear after it was attached. A guess: seconds as a rule.
const ROLE_DEADLINE: Duration = Duration::from_secs(5 * 60);

/// Where the machine has names that no name service need know.
const HOSTS: &str = "/etc/hosts";

/// The largest such file that is read.
const HOSTS_LIMIT: u64 = 1 << 20;

impl<H: Host> Context<'_, H> {
    /// Observes what `phase` needs and plans it.
    ///
    /// # Errors
    ///
    /// Returns the fault of the observation or of the decision, after the tries its class allows.
    pub(crate) async fn plan_phase(&self, phase: Phase) -> Result<Vec<Step>, Fault> {
        let planned = match phase {
            Phase::Identity => {
                self.observe_identity().await?;
                Vec::new()
            }
            Phase::Config => self.plan_config().await?,
            Phase::Network => {
                self.observe_network().await?;
                let hosts = self.text(HOSTS).await?;
                steps::network(&*self.know(BootFacts::spec)?, hosts.as_bytes())
            }
            Phase::Storage => self.plan_volumes().await?,
            Phase::Assets => self.plan_assets().await?,
            Phase::Credentials => {
                observe_credentials(self).await?;
                steps::credentials(&*self.know(BootFacts::spec)?)
            }
            Phase::Files => self.plan_files().await?,
            Phase::Services => {
                let (spec, known) = self.plan_inputs()?;
                steps::services(&spec, &known)
            }
            Phase::Ready => {
                let (spec, known) = self.plan_inputs()?;
                steps::ready(&spec, &known)
            }
        };
        debug_assert_eq!(quake_node::lint::lint(&planned), Vec::<String>::new());
        Ok(planned)
    }

    fn plan_inputs(&self) -> Result<(Arc<NodeSpec>, PlanInputs), Fault> {
        let (spec, known) = self.know(|knowledge| (knowledge.spec(), knowledge.known()));
        Ok((spec?, known?))
    }

    async fn plan_config(&self) -> Result<Vec<Step>, Fault> {
        observe_config(self).await?;
        let (spec, known) = self.plan_inputs()?;
        Ok(node_environment::plan(&spec, &known))
    }

    async fn plan_volumes(&self) -> Result<Vec<Step>, Fault> {
        let spec = self.know(BootFacts::spec)?;
        let mut planned = steps::volumes(&spec, Phase::Storage);
        planned.extend(plan_storage(self).await?);
        planned.extend(steps::etcd_manifests(&spec)?);
        Ok(planned)
    }

    async fn plan_assets(&self) -> Result<Vec<Step>, Fault> {
        self.observe_images().await;
        let (spec, known) = self.plan_inputs()?;
        let mut planned = assets::plan(&spec, &known);
        ensure::assets::record(self, &planned).await?;
        planned.extend(steps::assets(&spec));
        Ok(planned)
    }

    /// Plans the files. The archives and the credentials are there now, and so builders yield what needs them.
    async fn plan_files(&self) -> Result<Vec<Step>, Fault> {
        self.observe_files().await?;
        observe_etcd_manifests(self).await?;
        let node = self.know(BootFacts::node)?;
        let spec = Arc::new(node.spec(&self.know(BootFacts::known)?)?);
        self.learn(|knowledge| knowledge.spec = Some(Arc::clone(&spec)));
        let owners = Owners::read(
            &spec,
            &self.text("/etc/passwd").await?,
            &self.text("/etc/group").await?,
        );
        let issued = self.know(|knowledge| knowledge.issued.clone());
        let mut planned = steps::volumes(&spec, Phase::Files);
        planned.extend(steps::files(&spec, &issued, &owners, self.is_planning())?);
        planned.extend(self.plan_host_names().await?);
        self.remove_leftovers(&planned).await?;
        let mut written = planned.clone();
        written.extend(steps::etcd_manifests(&spec)?);
        self.recall_owned(&written).await;
        self.recall_owed(&spec, &mut planned).await?;
        Ok(planned)
    }

    async fn observe_identity(&self) -> Result<(), Fault> {
        let wait = self.wait(Phase::Identity, "identity", METADATA_DEADLINE);
        let read = || async {
            let read = self.host.read_instance().await;
            read.map_err(|error| to_fault(Operation::ReadMetadata, error))
        };
        let instance = self.retry(&wait, read).await?;
        self.emitter.emit(Event::InstanceKnown {
            instance: instance.clone(),
        });
        self.learn(|knowledge| knowledge.instance = Some(instance));
        if self.request.needs_role {
            let wait = self.wait(Phase::Identity, "identity:role", ROLE_DEADLINE);
            let read = || async {
                let read = self.host.read_role().await;
                read.map_err(|error| to_fault(Operation::ReadRole, error))
            };
            self.retry(&wait, read).await?;
        }
        let os = self
            .host
            .read_os()
            .await
            .map_err(|error| error.into_fault(Code::IdentityOsUnknown))?;
        self.learn(|knowledge| knowledge.os = Some(os));
        Ok(())
    }

    /// Plans this node's names in `/etc/hosts`, for a cluster without a name service.
    async fn plan_host_names(&self) -> Result<Option<Step>, Fault> {
        let (spec, known) = self.know(|knowledge| (knowledge.spec(), knowledge.known()));
        let Some(records) = dns::host_records(&*spec?, &known?) else {
            return Ok(None);
        };
        let looked = self.host.look_file(HOSTS, HOSTS_LIMIT).await;
        let found = looked.map_err(|error| to_fault(Operation::UseFile, error))?;
        // What cannot be read whole cannot be kept byte for byte.
        let unreadable = || {
            let summary = format!("{HOSTS} is no text of at most {HOSTS_LIMIT} bytes");
            Fault::new(Code::FilesOccupied, summary).seen("path", HOSTS)
        };
        let found = match found.map(|found| found.contents) {
            None => String::new(),
            Some(bytes) => {
                let text = bytes.and_then(|bytes| String::from_utf8(bytes).ok());
                text.ok_or_else(unreadable)?
            }
        };
        let text = dns::hosts_text(&found, &records);
        let file = WriteFile::plain(HOSTS, 0o644, text);
        Ok(Some(Step::new(Phase::Files, Action::WriteFile(file))))
    }

    async fn observe_network(&self) -> Result<(), Fault> {
        let read = self.host.read_network().await;
        let network = read.map_err(|error| to_fault(Operation::ReadNetwork, error))?;
        self.learn(|knowledge| knowledge.network = network);
        Ok(())
    }

    /// Reads which filesystem types the kernel knows. A scratch root has no `/proc`; overlay stands for it.
    pub(super) async fn observe_files(&self) -> Result<(), Fault> {
        let looked = self.host.look_file("/proc/filesystems", 1 << 16).await;
        let found = looked.map_err(|error| to_fault(Operation::UseFile, error))?;
        let text = found
            .and_then(|found| found.contents)
            .unwrap_or_else(|| b"overlay".to_vec());
        let filesystems = String::from_utf8_lossy(&text)
            .lines()
            .filter_map(|line| line.split_whitespace().last().map(str::to_owned))
            .collect();
        self.learn(|knowledge| knowledge.filesystems = filesystems);
        self.observe_members().await
    }

    /// Removes what a killed agent left half-written beside the files of `steps`.
    pub(crate) async fn remove_leftovers(&self, steps: &[Step]) -> Result<(), Fault> {
        if self.is_planning() {
            return Ok(());
        }
        let paths = steps.iter().filter_map(|step| match &step.action {
            Action::WriteFile(file) => Some(file.path.as_str()),
            Action::Place(place) => Some(place.path.as_str()),
            _ => None,
        });
        let parents =
            paths.filter_map(|path| path.rsplit_once('/').map(|(parent, _)| parent.to_owned()));
        let parents: BTreeSet<String> = parents.collect();
        let parents: Vec<String> = parents.into_iter().collect();
        let removed = self.host.remove_leftovers(&parents).await;
        removed.map_err(|error| to_fault(Operation::UseFile, error))
    }
}
