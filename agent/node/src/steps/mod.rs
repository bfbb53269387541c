//! What becomes of items: the steps of each phase.

mod conditions;
mod early_images;
mod files;
mod owners;
mod runtime;
mod services;
mod sources;

pub use conditions::{conditions, static_pods};
pub use early_images::early_images;
pub use files::{etcd_manifests, files, reactions};
pub use owners::Owners;
pub use runtime::{runtime_assets, runtime_first};
pub use services::{runs, services};
pub(crate) use sources::kubeconfig_of;
pub use sources::{Issued, kubeconfig};

use crate::builders::{has_block, hosts_text};
use crate::dns;
use crate::plan_inputs::PlanInputs;
use quake_model::item::{CertificateOrder, HostRecord, Issuer, Item, Package, PackageSource};
use quake_model::phase::Phase;
use quake_model::spec::NodeSpec;
use quake_model::step::{Action, Step, WriteFile};

/// Where names are that no name server has to know.
const HOSTS: &str = "/etc/hosts";

/// The kernel modules and settings, the names of hosts, and the prefix of pods; `hosts` is `/etc/hosts` as it is.
pub fn network(spec: &NodeSpec, hosts: &[u8]) -> Vec<Step> {
    let items = of_phase(spec, Phase::Network);
    let mut actions: Vec<Action> = items
        .filter_map(|item| match item {
            Item::Module(module) => Some(Action::LoadModule {
                name: module.name.clone(),
                need: module.need,
            }),
            Item::Sysctl(sysctl) => Some(Action::SetSysctl {
                key: sysctl.key.clone(),
                value: sysctl.value.clone(),
                need: sysctl.need,
            }),
            Item::Ipv6Prefix => Some(Action::AssignPrefix),
            _ => None,
        })
        .collect();
    actions.extend(host_names(spec, hosts));
    steps_of(Phase::Network, actions)
}

/// Writes `/etc/hosts` with the block of this node's names; `None` where it has none, and the file holds no block.
fn host_names(spec: &NodeSpec, found: &[u8]) -> Option<Action> {
    let records = of_phase(spec, Phase::Network).filter_map(|item| match item {
        Item::HostRecord(record) => Some(record.clone()),
        _ => None,
    });
    let records: Vec<HostRecord> = records.collect();
    let text = String::from_utf8_lossy(found);
    if records.is_empty() && !has_block(&text) {
        return None;
    }
    let text = hosts_text(&text, &records);
    Some(Action::WriteFile(WriteFile::plain(HOSTS, 0o644, text)))
}

/// The phase in which the volumes of the group are mounted. Files may lie on them, and where the files do not wait for the
/// storage phase they are mounted first thing with the files.
fn mounting_phase(spec: &NodeSpec) -> Phase {
    match spec.holds_etcd_back() {
        true => Phase::Files,
        false => Phase::Storage,
    }
}

/// The volumes of the group that are mounted in `phase`, each after those that it is mounted below.
pub fn volumes(spec: &NodeSpec, phase: Phase) -> Vec<Step> {
    if phase != mounting_phase(spec) {
        return Vec::new();
    }
    let volumes = of_phase(spec, Phase::Storage).filter_map(|item| match item {
        Item::Volume(volume) => Some(volume.clone()),
        _ => None,
    });
    let mut volumes: Vec<_> = volumes.collect();
    volumes.sort_by(|one, other| one.path.cmp(&other.path));
    let actions = volumes.into_iter().map(Action::MountDevice).collect();
    steps_of(phase, actions)
}

/// Packages, all together and with where they come from, and users, beside the downloads.
pub fn assets(spec: &NodeSpec) -> Vec<Step> {
    let mut packages: Vec<Package> = Vec::new();
    let mut sources: Vec<PackageSource> = Vec::new();
    let mut actions = Vec::new();
    for item in of_phase(spec, Phase::Assets) {
        match item {
            Item::Package(package) => packages.push(package.clone()),
            Item::PackageSource(source) => sources.push(source.clone()),
            Item::User(user) => actions.push(Action::MakeUser(user.clone())),
            _ => {}
        }
    }
    if !packages.is_empty() {
        actions.push(Action::InstallPackages { sources, packages });
    }
    steps_of(Phase::Assets, actions)
}

fn steps_of(phase: Phase, actions: Vec<Action>) -> Vec<Step> {
    let steps = actions.into_iter();
    steps.map(|action| Step::new(phase, action)).collect()
}

/// Certificates: each that the node signs itself, and all of kops-controller's together.
pub fn credentials(spec: &NodeSpec) -> Vec<Step> {
    let (own, theirs): (Vec<&CertificateOrder>, Vec<&CertificateOrder>) =
        orders(spec).partition(|order| matches!(order.issuer, Issuer::Ca { .. }));
    let own = own.into_iter().cloned().map(Action::IssueCertificate);
    let theirs: Vec<CertificateOrder> = theirs.into_iter().cloned().collect();
    let theirs = (!theirs.is_empty()).then_some(Action::RequestCertificates { orders: theirs });
    own.chain(theirs)
        .map(|action| Step::new(Phase::Credentials, action))
        .collect()
}

/// The certificates that are ordered.
pub fn orders(spec: &NodeSpec) -> impl Iterator<Item = &CertificateOrder> {
    spec.items.iter().filter_map(Item::certificate)
}

fn of_phase(spec: &NodeSpec, phase: Phase) -> impl Iterator<Item = &Item> {
    spec.items.iter().filter(move |item| item.phase() == phase)
}

/// Plans the ready phase.
///
/// The node's names come first, because etcd needs them. Then the group of a warm pool is told: it gives an instance up
/// ten minutes after the launch (the timeout of kops' hook), and the conditions may take longer. Last, whether every
/// name server has the names.
pub fn ready(spec: &NodeSpec, known: &PlanInputs) -> Vec<Step> {
    let names = dns::steps(spec, known).map(|[publish, in_sync]| (publish, in_sync));
    let (publish, in_sync) = names.unzip();
    let conditions = spec.ready_conditions.iter().cloned().map(Action::Await);
    let hooks = spec.items.iter().filter_map(|item| match item {
        Item::LifecycleHook(hook) => Some(Action::CompleteLifecycle(hook.clone())),
        _ => None,
    });
    let steps = hooks
        .chain(conditions)
        .map(|action| Step::new(Phase::Ready, action));
    publish.into_iter().chain(steps).chain(in_sync).collect()
}
