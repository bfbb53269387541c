//! Turns what Route 53 shows into facts, and changes into what it takes.

use aws_sdk_route53::error::BuildError;
use aws_sdk_route53::types::{
    Change, ChangeAction, HostedZone, HostedZoneConfig, ResourceRecord, ResourceRecordSet, RrType,
    Vpc,
};
use quake_model::dns::{
    AddressRecord, ChangeVerb, RecordChange, ZoneFacts, ZoneKind, bare_zone_id,
};
use std::collections::BTreeSet;

/// A name in lower case and without the dot at its end.
pub(super) fn bare_name(name: &str) -> String {
    name.trim_end_matches('.').to_ascii_lowercase()
}

/// What Route 53 sorts names by: the labels in reverse, with a dot behind each (its API reference, read 2026-11).
pub(super) fn listing_key(name: &str) -> String {
    let labels = bare_name(name);
    labels.rsplit('.').flat_map(|label| [label, "."]).collect()
}

/// A zone, with its VPCs where they are told.
pub(super) fn zone_facts(zone: &HostedZone, vpcs: &[Vpc]) -> ZoneFacts {
    let is_private = zone.config().is_some_and(HostedZoneConfig::private_zone);
    ZoneFacts {
        id: bare_zone_id(zone.id()).to_owned(),
        name: bare_name(zone.name()),
        kind: if is_private {
            ZoneKind::Private
        } else {
            ZoneKind::Public
        },
        vpcs: vpcs
            .iter()
            .filter_map(|vpc| vpc.vpc_id().map(str::to_owned))
            .collect(),
    }
}

/// An address record; `None` for records of other types.
pub(super) fn address_record(set: &ResourceRecordSet) -> Option<AddressRecord> {
    if *set.r#type() != RrType::A {
        return None;
    }
    let values = set.resource_records().iter();
    let addresses: BTreeSet<String> = values.map(|record| record.value().to_owned()).collect();
    let steered_by = match (set.alias_target(), set.set_identifier()) {
        (Some(target), _) => Some(format!("an alias of {}", bare_name(target.dns_name()))),
        (None, Some(set)) => Some(format!("a routing policy, as {set}")),
        (None, None) => None,
    };
    Some(AddressRecord {
        name: bare_name(set.name()),
        ttl_seconds: set.ttl().and_then(|ttl| ttl.try_into().ok()).unwrap_or(0),
        addresses,
        steered_by,
    })
}

/// Changes as Route 53 takes them.
pub(super) fn changes_of(changes: &[RecordChange]) -> Result<Vec<Change>, BuildError> {
    changes.iter().map(change_of).collect()
}

fn change_of(change: &RecordChange) -> Result<Change, BuildError> {
    let action = match change.verb {
        ChangeVerb::Create => ChangeAction::Create,
        ChangeVerb::Delete => ChangeAction::Delete,
        ChangeVerb::Upsert => ChangeAction::Upsert,
    };
    let record = &change.record;
    let values = record.addresses.iter();
    let values = values.map(|address| ResourceRecord::builder().value(address).build());
    let set = ResourceRecordSet::builder()
        .name(format!("{}.", record.name))
        .r#type(RrType::A)
        .ttl(i64::from(record.ttl_seconds))
        .set_resource_records(Some(values.collect::<Result<_, _>>()?))
        .build()?;
    Change::builder()
        .action(action)
        .resource_record_set(set)
        .build()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_sorted_as_route_53_sorts_them() {
        let mut names = [
            "etcd.internal.c.example",
            "etcd-a.internal.c.example",
            "x.api.internal.c.example",
            "api.internal.c.example",
            "internal.c.example",
        ];
        names.sort_by_key(|name| listing_key(name));
        let sorted = [
            "internal.c.example",
            "api.internal.c.example",
            "x.api.internal.c.example",
            "etcd-a.internal.c.example",
            "etcd.internal.c.example",
        ];
        assert_eq!(names, sorted);
        assert_eq!(listing_key("A.example."), "example.a.");
    }
}
