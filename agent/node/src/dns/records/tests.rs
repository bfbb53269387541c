//! The batches, and that nodes which make them at once agree.

use super::*;
use proptest::prelude::*;
use std::collections::BTreeMap;

const API: &str = "api.internal.c.example.com";
const ETCD: &str = "etcd-a.internal.c.example.com";

fn publication(address: &str) -> Publication {
    Publication {
        shared: Some(API.to_owned()),
        ..crate::dns::sample(ETCD, address)
    }
}

fn record(name: &str, addresses: &[&str]) -> AddressRecord {
    let addresses = addresses.iter().map(ToString::to_string);
    AddressRecord::plain(name, TTL_SECONDS, addresses)
}

fn set(addresses: &[&str]) -> BTreeSet<String> {
    addresses.iter().map(ToString::to_string).collect()
}

/// What a batch makes of records; `None` when it does not fit them.
fn applied(
    mut records: BTreeMap<String, AddressRecord>,
    changes: &[RecordChange],
) -> Option<BTreeMap<String, AddressRecord>> {
    for RecordChange { verb, record } in changes {
        match (verb, records.get(&record.name)) {
            (ChangeVerb::Create, Some(_)) => return None,
            (ChangeVerb::Delete, found) if found != Some(record) => return None,
            (ChangeVerb::Delete, _) => drop(records.remove(&record.name)),
            (ChangeVerb::Create | ChangeVerb::Upsert, _) => {
                records.insert(record.name.clone(), record.clone());
            }
        }
    }
    Some(records)
}

#[test]
fn names_that_are_not_there_are_made_and_those_that_are_right_are_left() {
    let publication = publication("10.0.0.1");
    let made = decide(&publication, &[], &set(&[]));
    let verbs: Vec<_> = made.changes.iter().map(|change| change.verb).collect();
    assert_eq!(verbs, [ChangeVerb::Create, ChangeVerb::Upsert]);
    let right = [record(ETCD, &["10.0.0.1"]), record(API, &["10.0.0.1"])];
    assert_eq!(decide(&publication, &right, &set(&[])), Decision::default());
    assert!(!peers_matter(&publication, &right));
}

#[test]
fn a_living_peers_address_stays_and_nobodys_goes() {
    let publication = publication("10.0.0.1");
    let found = [
        record(API, &["10.0.0.2", "10.0.0.9", "203.0.113.123"]),
        record(ETCD, &["203.0.113.123"]),
    ];
    assert!(peers_matter(&publication, &found));
    let decision = decide(&publication, &found, &set(&["10.0.0.2", "10.0.0.3"]));
    let changes = decision
        .changes
        .into_iter()
        .map(|change| (change.verb, change.record));
    let expected = [
        (ChangeVerb::Delete, found[0].clone()),
        (ChangeVerb::Create, record(API, &["10.0.0.1", "10.0.0.2"])),
        (ChangeVerb::Upsert, record(ETCD, &["10.0.0.1"])),
    ];
    assert_eq!(changes.collect::<Vec<_>>(), expected);
}

#[test]
fn another_time_to_live_is_put_right() {
    let publication = publication("10.0.0.1");
    let mut found = [record(API, &["10.0.0.1"]), record(ETCD, &["10.0.0.1"])];
    for record in &mut found {
        record.ttl_seconds = 10;
    }
    assert_eq!(decide(&publication, &found, &set(&[])).changes.len(), 3);
}

#[test]
fn what_is_steered_is_left_and_named() {
    let publication = publication("10.0.0.1");
    let mut api = record(API, &[]);
    api.steered_by = Some("an alias".to_owned());
    let found = [api, record(ETCD, &["10.0.0.1"])];
    assert!(!peers_matter(&publication, &found));
    let decision = decide(&publication, &found, &set(&[]));
    assert_eq!(decision.changes, []);
    assert_eq!(decision.left, [(API.to_owned(), "an alias".to_owned())]);
}

proptest! {
    /// Nodes look and write in any order; who is refused looks again. In the end the shared name has all of them and nobody
    /// else, whoever's addresses were there before.
    #[test]
    fn nodes_that_write_at_once_agree(
        before in proptest::collection::btree_set(1_u8..9, 0..4),
        turns in proptest::collection::vec(0_usize..4, 0..60),
    ) {
        let address = |number: usize| format!("10.0.0.{}", number + 1);
        let peers: BTreeSet<String> = (0..4).map(address).collect();
        let mut records = BTreeMap::new();
        if !before.is_empty() {
            let before = before.iter().map(|number| format!("10.0.0.{number}"));
            records.insert(API.to_owned(), AddressRecord::plain(API, 10, before));
        }
        let publications: Vec<Publication> = (0..4)
            .map(|number| Publication { own: BTreeSet::new(), ..publication(&address(number)) })
            .collect();
        let mut seen: Vec<Option<Vec<AddressRecord>>> = vec![None; 4];
        // However the turns fell, each then has as many as it may need alone.
        for node in turns.into_iter().chain((0..4).flat_map(|node| [node; 4])) {
            match seen[node].take() {
                None => seen[node] = Some(records.values().cloned().collect()),
                Some(found) => {
                    let changes = decide(&publications[node], &found, &peers).changes;
                    if let Some(changed) = applied(records.clone(), &changes) {
                        records = changed;
                    }
                }
            }
        }
        prop_assert_eq!(&records[API].addresses, &peers);
        for publication in &publications {
            let found: Vec<_> = records.values().cloned().collect();
            prop_assert_eq!(decide(publication, &found, &peers), Decision::default());
        }
    }
}
