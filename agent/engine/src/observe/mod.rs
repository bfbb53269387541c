//! Reads the facts a phase needs and hands them to its plan.

mod config;
mod credentials;
mod images;
mod kops;
mod kops_phases;
mod machine;
mod members;

use crate::context::Context;
use crate::ensure;
use crate::fault_mapping::{Operation, to_fault};
use quake_model::event::Event;
use quake_model::fault::{Code, Fault};
use quake_model::phase::Phase;
use quake_model::ports::Host;
use quake_model::step::{Action, Step, WriteFile};
use quake_node::{assets, dns, files, network, node_environment, ready, services};
use std::collections::BTreeSet;
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
        if self.know(|knowledge| knowledge.kops.is_some()) {
            return self.plan_kops_phase(phase).await;
        }
        match phase {
            Phase::Identity => self.observe_identity().await.map(|()| Vec::new()),
            Phase::Config => {
                self.observe_config().await?;
                self.plan_from_known(node_environment::plan)
            }
            Phase::Network => {
                self.observe_network().await?;
                self.plan_from_known(network::plan)
            }
            Phase::Storage => self.plan_storage().await,
            Phase::Assets => {
                self.observe_images().await;
                let steps = self.plan_from_known(assets::plan)?;
                ensure::assets::record(self, &steps).await?;
                Ok(steps)
            }
            Phase::Credentials => self.observe_credentials().await.map(|()| Vec::new()),
            Phase::Files => {
                self.observe_files().await?;
                let manifests = self.read_etcd_manifests().await?;
                let mut steps =
                    self.plan_from_known(|spec, known| files::plan(spec, known, &manifests))?;
                steps.extend(self.plan_host_names().await?);
                self.remove_leftovers(&steps).await?;
                self.recall_owned(&steps).await;
                Ok(steps)
            }
            Phase::Services => self.plan_from_known(services::plan),
            Phase::Ready => self.plan_from_known(ready::plan),
        }
    }

    fn plan_from_known(
        &self,
        plan: impl FnOnce(&quake_model::spec::NodeSpec, &quake_node::known::Known) -> Vec<Step>,
    ) -> Result<Vec<Step>, Fault> {
        let (spec, known) = self.know(|knowledge| (knowledge.spec(), knowledge.known()));
        let steps = plan(&*spec?, &known?);
        debug_assert_eq!(quake_node::lint::lint(&steps), Vec::<String>::new());
        Ok(steps)
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
