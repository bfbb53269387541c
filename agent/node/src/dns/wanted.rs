//! Which names a node publishes: those of the etcd members whose volumes it holds, and the API server's.

use crate::builders::legacy::own_member_names;
use crate::plan_inputs::PlanInputs;
use quake_model::dns::Publication;
use quake_model::item::HostRecord;
use quake_model::phase::Phase;
use quake_model::spec::{InternalNames, NamesPlace, NodeSpec};
use quake_model::step::{Action, Condition, Step};

/// The names and the address that they are to lead to; `None` where there is nothing to publish: on a worker, and on an
/// instance without an IPv4 address.
fn names<'a>(spec: &'a NodeSpec, known: &PlanInputs) -> Option<(&'a InternalNames, Vec<String>)> {
    let names = spec.names.as_ref()?;
    let own = own_member_names(spec, known);
    let is_any = names.api.is_some() || !own.is_empty();
    (is_any && !known.instance.private_ip.is_empty()).then_some((names, own))
}

/// What this node is to publish in a zone; `None` where its names belong elsewhere, or nowhere.
pub fn publication(spec: &NodeSpec, known: &PlanInputs) -> Option<Publication> {
    let (names, own) = names(spec, known)?;
    let NamesPlace::Zone { zone, visible } = &names.place else {
        return None;
    };
    let own = own.iter().map(|name| name.to_ascii_lowercase()).collect();
    Some(Publication {
        zone: zone.clone(),
        kind: *visible,
        cluster: spec.cluster.clone(),
        address: known.instance.private_ip.clone(),
        shared: names.api.as_ref().map(|name| name.to_ascii_lowercase()),
        own,
    })
}

/// The names that this node is to find in its own `/etc/hosts`; `None` where its names belong into a zone, or nowhere.
pub fn host_records(spec: &NodeSpec, known: &PlanInputs) -> Option<Vec<HostRecord>> {
    let (names, own) = names(spec, known)?;
    if names.place != NamesPlace::HostsFile {
        return None;
    }
    let all = own.into_iter().chain(names.api.clone());
    let record = |name| HostRecord {
        name,
        address: known.instance.private_ip.clone(),
    };
    Some(all.map(record).collect())
}

/// The steps that publish this node's names: first of all once kubelet runs, for without them etcd forms no cluster; and last
/// of all, whether every name server has them.
pub fn steps(spec: &NodeSpec, known: &PlanInputs) -> Option<[Step; 2]> {
    let publication = publication(spec, known)?;
    let zone = publication.zone.to_string();
    let publish = Step::new(Phase::Ready, Action::PublishNames(publication));
    let in_sync = Action::Await(Condition::NamesInSync { zone });
    Some([publish, Step::new(Phase::Ready, in_sync)])
}
