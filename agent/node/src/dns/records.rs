//! By which changes records come to be as wanted.
//!
//! A name that is this node's alone is put right whatever is there: who holds the volume is the member. A name that all control
//! planes share is changed by a batch that removes exactly what was seen and makes what is wanted: Route 53 does all of a batch
//! or nothing, so of two nodes that saw the same one is refused, looks again, and adds itself to what the other wrote.

use quake_model::dns::{AddressRecord, ChangeVerb, Publication, RecordChange};
use std::collections::BTreeSet;

/// How long a resolver may keep the names, in seconds: as long as with protokube and dns-controller.
pub const TTL_SECONDS: u32 = 60;

/// What is to be done about records.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Decision {
    /// The batch; empty when all is as wanted.
    pub changes: Vec<RecordChange>,
    /// Names that are not this agent's to change, each with what steers it.
    pub left: Vec<(String, String)>,
}

/// Whether it matters which other control planes there are: somebody else's address is at the shared name.
pub fn peers_matter(publication: &Publication, found: &[AddressRecord]) -> bool {
    let shared = publication.shared.as_ref();
    let record = found.iter().find(|record| Some(&record.name) == shared);
    record.is_some_and(|record| {
        record.steered_by.is_none()
            && record
                .addresses
                .iter()
                .any(|one| *one != publication.address)
    })
}

/// Decides what makes `found` as `publication` wants it, where `peers` are the addresses of the cluster's control planes that
/// live.
///
/// At the shared name stays what is a peer's, ours is added, and what is nobody's is taken out, such as the address that kops
/// writes before there is one. Peers are not added: each adds itself. The order of `found` does not matter, and of its own
/// outcome it makes nothing more.
pub fn decide(
    publication: &Publication,
    found: &[AddressRecord],
    peers: &BTreeSet<String>,
) -> Decision {
    let mut decision = Decision::default();
    for name in publication.names() {
        let mut there = found.iter().filter(|record| record.name == name);
        if let Some(steer) = there.clone().find_map(|record| record.steered_by.clone()) {
            decision.left.push((name, steer));
            continue;
        }
        let there = there.next();
        let mut addresses = BTreeSet::from([publication.address.clone()]);
        let is_shared = !publication.own.contains(&name);
        if let Some(record) = there.filter(|_| is_shared) {
            addresses.extend(record.addresses.intersection(peers).cloned());
        }
        let wanted = AddressRecord::plain(&name, TTL_SECONDS, addresses);
        if there == Some(&wanted) {
            continue;
        }
        let change = |verb, record: &AddressRecord| RecordChange {
            verb,
            record: record.clone(),
        };
        if is_shared {
            let seen = there.map(|record| change(ChangeVerb::Delete, record));
            decision.changes.extend(seen);
            decision.changes.push(change(ChangeVerb::Create, &wanted));
        } else {
            decision.changes.push(change(ChangeVerb::Upsert, &wanted));
        }
    }
    decision
}

#[cfg(test)]
mod tests;
