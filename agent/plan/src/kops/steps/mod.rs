//! What becomes of items: the steps of each phase.

mod files;
mod hosts;
mod owners;
mod ready;
mod services;
mod sources;

pub use files::{files, reactions};
pub use owners::Owners;
pub use ready::{conditions, ready};
pub use services::{runs, services};
pub use sources::{Issued, kubeconfig};

use quake_model::fault::{Code, Fault};
use quake_model::item::{CertificateOrder, Issuer, Item, Package};
use quake_model::phase::Phase;
use quake_model::spec::NodeSpec;
use quake_model::step::{Action, Step};

/// The kernel modules and the names of hosts; `hosts` is `/etc/hosts` as it is.
///
/// # Errors
///
/// `config.unsupported` for what no step brings about yet.
pub fn network(spec: &NodeSpec, hosts: &[u8]) -> Result<Vec<Step>, Fault> {
    let mut steps = Vec::new();
    for item in of_phase(spec, Phase::Network) {
        match item {
            Item::Module(module) => steps.push(Step::new(
                Phase::Network,
                Action::LoadModule {
                    name: module.name.clone(),
                    need: module.need,
                },
            )),
            Item::HostRecord(_) => {}
            other => return Err(unsupported(other)),
        }
    }
    steps.extend(hosts::write(spec, hosts).map(|file| Step::new(Phase::Network, file)));
    Ok(steps)
}

/// Refuses volumes, which no step brings about yet.
///
/// # Errors
///
/// `config.unsupported`.
pub fn storage(spec: &NodeSpec) -> Result<Vec<Step>, Fault> {
    let mut volumes = of_phase(spec, Phase::Storage);
    volumes
        .next()
        .map_or(Ok(Vec::new()), |item| Err(unsupported(item)))
}

/// Packages, all together, and users, beside the downloads.
///
/// # Errors
///
/// `config.unsupported` for what no step brings about yet.
pub fn assets(spec: &NodeSpec) -> Result<Vec<Step>, Fault> {
    let mut packages: Vec<Package> = Vec::new();
    let mut steps = Vec::new();
    for item in of_phase(spec, Phase::Assets) {
        match item {
            Item::Package(package) => packages.push(package.clone()),
            Item::User(user) => {
                steps.push(Step::new(Phase::Assets, Action::MakeUser(user.clone())));
            }
            other => return Err(unsupported(other)),
        }
    }
    if !packages.is_empty() {
        steps.push(Step::new(
            Phase::Assets,
            Action::InstallPackages { packages },
        ));
    }
    Ok(steps)
}

/// Certificates: each that the node signs itself, and all of kops-controller's together.
pub fn credentials(spec: &NodeSpec) -> Vec<Step> {
    let (own, theirs): (Vec<&CertificateOrder>, Vec<&CertificateOrder>) =
        orders(spec).partition(|order| matches!(order.issuer, Issuer::Authority { .. }));
    let own = own.into_iter().cloned().map(Action::IssueCertificate);
    let theirs: Vec<CertificateOrder> = theirs.into_iter().cloned().collect();
    let theirs = (!theirs.is_empty()).then_some(Action::RequestCertificates { orders: theirs });
    own.chain(theirs)
        .map(|action| Step::new(Phase::Credentials, action))
        .collect()
}

/// The certificates that are ordered.
pub fn orders(spec: &NodeSpec) -> impl Iterator<Item = &CertificateOrder> {
    spec.items.iter().filter_map(|item| match item {
        Item::Certificate(order) => Some(order),
        _ => None,
    })
}

fn of_phase(spec: &NodeSpec, phase: Phase) -> impl Iterator<Item = &Item> {
    spec.items.iter().filter(move |item| item.phase() == phase)
}

/// The fault of an item that no step brings about yet: half a node helps nobody.
fn unsupported(item: &Item) -> Fault {
    let summary = format!("{} is not brought about by this agent yet", item.subject());
    Fault::new(Code::ConfigUnsupported, summary).seen("item", item.subject())
}
