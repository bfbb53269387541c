//! Reads the facts a phase needs and hands them to its plan.

pub(crate) mod cloud;
mod config;
mod credentials;
mod images;
mod kops;
mod machine;
mod members;
pub(crate) mod objects;
mod startup_taint;

use crate::boot::facts::BootFacts;
use crate::boot::managed_files::recall_owned;
use crate::boot::observe::config::observe_config;
use crate::boot::observe::credentials::{observe_credentials, observe_etcd_manifests};
use crate::boot::observe::images::observe_images;
use crate::boot::observe::members::observe_members;
use crate::boot::pending_reactions::recall_pending;
use crate::boot::storage::{StoragePorts, plan_storage};
use crate::context::Context;
use crate::ensure;
use crate::ensure::files;
use crate::fault_mapping::{Operation, to_fault};
use quake_model::event::Event;
use quake_model::fault::{Code, Fault};
use quake_model::phase::Phase;
use quake_model::ports::{
    Assets, Bootstrap, Cloud, Disks, Files, Images, Kernel, Keys, Metadata, Meter, Objects,
};
use quake_model::spec::NodeSpec;
use quake_model::step::{Action, Step, WriteFile};
use quake_node::plan_inputs::PlanInputs;
use quake_node::steps::{self, Owners};
use quake_node::{assets, dns, node_environment};
use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

/// What it takes to find out what the node is to be.
pub(crate) trait ConfigPorts:
    Metadata + Cloud + Bootstrap + Keys + Objects + Files + Disks + Kernel + Meter
{
}

impl<T> ConfigPorts for T where
    T: Metadata + Cloud + Bootstrap + Keys + Objects + Files + Disks + Kernel + Meter
{
}

/// What the plans of all phases need of the host. No plan starts a unit, runs a program or calls the cluster.
pub(crate) trait PlanPorts: ConfigPorts + StoragePorts + Assets + Images {}

impl<T: ConfigPorts + StoragePorts + Assets + Images> PlanPorts for T {}

/// How long the metadata service may be silent. A guess: it answers within milliseconds once the link is up.
const METADATA_DEADLINE: Duration = Duration::from_secs(2 * 60);

/// How long a role may take to appear after it was attached. A guess: seconds as a rule.
const ROLE_DEADLINE: Duration = Duration::from_secs(5 * 60);

/// Where the machine has names that no name service need know.
const HOSTS: &str = "/etc/hosts";

/// The largest such file that is read.
const HOSTS_LIMIT: u64 = 1 << 20;

/// Observes what `phase` needs and plans it.
///
/// # Errors
///
/// Returns the fault of the observation or of the decision, after the tries its class allows.
pub(crate) async fn plan_phase<H: PlanPorts>(
    context: &Context<'_, H>,
    phase: Phase,
) -> Result<Vec<Step>, Fault> {
    let planned = match phase {
        Phase::Identity => {
            observe_identity(context).await?;
            Vec::new()
        }
        Phase::Config => plan_config(context).await?,
        Phase::Network => {
            observe_network(context).await?;
            let hosts = files::text(context, HOSTS).await?;
            steps::network(&*context.know(BootFacts::spec)?, hosts.as_bytes())
        }
        Phase::Storage => plan_volumes(context).await?,
        Phase::Assets => plan_assets(context).await?,
        Phase::Credentials => {
            observe_credentials(context).await?;
            steps::credentials(&*context.know(BootFacts::spec)?)
        }
        Phase::Files => plan_files(context).await?,
        Phase::Services => {
            let (spec, known) = plan_inputs(context)?;
            steps::services(&spec, &known)
        }
        Phase::Ready => {
            let (spec, known) = plan_inputs(context)?;
            steps::ready(&spec, &known)
        }
    };
    debug_assert_eq!(quake_node::lint::lint(&planned), Vec::<String>::new());
    Ok(planned)
}

fn plan_inputs<H>(context: &Context<'_, H>) -> Result<(Arc<NodeSpec>, PlanInputs), Fault> {
    let (spec, known) = context.know(|knowledge| (knowledge.spec(), knowledge.known()));
    Ok((spec?, known?))
}

async fn plan_config<H: ConfigPorts>(context: &Context<'_, H>) -> Result<Vec<Step>, Fault> {
    observe_config(context).await?;
    let (spec, known) = plan_inputs(context)?;
    Ok(node_environment::plan(&spec, &known))
}

async fn plan_volumes<H: StoragePorts>(context: &Context<'_, H>) -> Result<Vec<Step>, Fault> {
    let spec = context.know(BootFacts::spec)?;
    let mut planned = steps::volumes(&spec, Phase::Storage);
    planned.extend(plan_storage(context).await?);
    planned.extend(steps::etcd_manifests(&spec)?);
    Ok(planned)
}

async fn plan_assets<H: Assets + Images + Meter>(
    context: &Context<'_, H>,
) -> Result<Vec<Step>, Fault> {
    observe_images(context).await;
    let (spec, known) = plan_inputs(context)?;
    let mut planned = assets::plan(&spec, &known);
    ensure::assets::record(context, &planned).await?;
    planned.extend(steps::assets(&spec));
    Ok(planned)
}

/// Plans the files. The archives and the credentials are there now, and so builders yield what needs them.
async fn plan_files<H: Objects + Assets + Files + Meter>(
    context: &Context<'_, H>,
) -> Result<Vec<Step>, Fault> {
    observe_files(context).await?;
    observe_etcd_manifests(context).await?;
    let node = context.know(BootFacts::node)?;
    let spec = Arc::new(node.spec(&context.know(BootFacts::known)?)?);
    context.learn(|knowledge| knowledge.spec = Some(Arc::clone(&spec)));
    let owners = Owners::read(
        &spec,
        &files::text(context, "/etc/passwd").await?,
        &files::text(context, "/etc/group").await?,
    );
    let issued = context.know(|knowledge| knowledge.issued.clone());
    let mut planned = steps::volumes(&spec, Phase::Files);
    planned.extend(steps::files(
        &spec,
        &issued,
        &owners,
        context.is_planning(),
    )?);
    planned.extend(plan_host_names(context).await?);
    remove_leftovers(context, &planned).await?;
    let mut written = planned.clone();
    written.extend(steps::etcd_manifests(&spec)?);
    recall_owned(context, &written).await;
    recall_pending(context, &spec, &mut planned).await?;
    Ok(planned)
}

async fn observe_identity<H: Metadata + Files + Meter>(
    context: &Context<'_, H>,
) -> Result<(), Fault> {
    let wait = context.wait(Phase::Identity, "identity", METADATA_DEADLINE);
    let read = || async {
        let read = context.host.read_instance().await;
        read.map_err(|error| to_fault(Operation::ReadMetadata, error))
    };
    let instance = context.retry(&wait, read).await?;
    context.emitter.emit(Event::InstanceKnown {
        instance: instance.clone(),
    });
    context.learn(|knowledge| knowledge.instance = Some(instance));
    if context.request.needs_role {
        let wait = context.wait(Phase::Identity, "identity:role", ROLE_DEADLINE);
        let read = || async {
            let read = context.host.read_role().await;
            read.map_err(|error| to_fault(Operation::ReadRole, error))
        };
        context.retry(&wait, read).await?;
    }
    let os = context
        .host
        .read_os()
        .await
        .map_err(|error| error.into_fault(Code::IdentityOsUnknown))?;
    context.learn(|knowledge| knowledge.os = Some(os));
    Ok(())
}

/// Plans this node's names in `/etc/hosts`, for a cluster without a name service.
async fn plan_host_names<H: Files>(context: &Context<'_, H>) -> Result<Option<Step>, Fault> {
    let (spec, known) = context.know(|knowledge| (knowledge.spec(), knowledge.known()));
    let Some(records) = dns::host_records(&*spec?, &known?) else {
        return Ok(None);
    };
    let looked = context.host.look_file(HOSTS, HOSTS_LIMIT).await;
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

async fn observe_network<H: Kernel>(context: &Context<'_, H>) -> Result<(), Fault> {
    let read = context.host.read_network().await;
    let network = read.map_err(|error| to_fault(Operation::ReadNetwork, error))?;
    context.learn(|knowledge| knowledge.network = network);
    Ok(())
}

/// Reads which filesystem types the kernel knows. A scratch root has no `/proc`; overlay stands for it.
pub(super) async fn observe_files<H: Assets + Files>(
    context: &Context<'_, H>,
) -> Result<(), Fault> {
    let looked = context.host.look_file("/proc/filesystems", 1 << 16).await;
    let found = looked.map_err(|error| to_fault(Operation::UseFile, error))?;
    let text = found
        .and_then(|found| found.contents)
        .unwrap_or_else(|| b"overlay".to_vec());
    let filesystems = String::from_utf8_lossy(&text)
        .lines()
        .filter_map(|line| line.split_whitespace().last().map(str::to_owned))
        .collect();
    context.learn(|knowledge| knowledge.filesystems = filesystems);
    observe_members(context).await
}

/// Removes what a killed agent left half-written beside the files of `steps`.
pub(crate) async fn remove_leftovers<H: Files>(
    context: &Context<'_, H>,
    steps: &[Step],
) -> Result<(), Fault> {
    if context.is_planning() {
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
    let removed = context.host.remove_leftovers(&parents).await;
    removed.map_err(|error| to_fault(Operation::UseFile, error))
}
