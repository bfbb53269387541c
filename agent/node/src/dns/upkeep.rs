//! What a node that runs looks after of its names: that they lead to it, for as long as it holds what makes them its own.
//!
//! It does less than a boot. A shared name that has this node's address is left, whoever else's it has: that is dns-controller's, or
//! the other nodes'. A member's name that leads elsewhere is put back only while the member's volume is attached to this
//! instance: where it moved, its new holder has written the name.

use super::records::decide;
use super::wanted::publication;
use crate::builders::legacy::own_members;
use crate::plan_inputs::PlanInputs;
use quake_model::dns::{AddressRecord, Publication, ZoneReference};
use quake_model::facts::VolumeFacts;
use quake_model::fault::{Code, Fault};
use quake_model::spec::NodeSpec;
use std::collections::{BTreeMap, BTreeSet};

/// The names that a node published, and what makes them its own.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Upkeep {
    /// The names, in a zone that is named by its id.
    pub publication: Publication,
    /// The volume of each name that is a member's.
    pub volumes: BTreeMap<String, String>,
    pub instance_id: String,
}

/// What the node of this spec looks after in the zone `zone_id`, in which its names were published.
pub fn upkeep(spec: &NodeSpec, known: &PlanInputs, zone_id: &str) -> Option<Upkeep> {
    let publication = Publication {
        zone: ZoneReference::Id(zone_id.to_owned()),
        ..publication(spec, known)?
    };
    let members = own_members(spec, known).into_iter();
    Some(Upkeep {
        publication,
        volumes: members
            .map(|(name, volume)| (name.to_ascii_lowercase(), volume))
            .collect(),
        instance_id: known.instance.instance_id.clone(),
    })
}

/// What a look at the names of a node that runs found to do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Due {
    /// What is to be brought about: the names that are wrong, and no other.
    pub publication: Publication,
    /// The first name that somebody steers, and how: it is left.
    pub steered: Option<(String, String)>,
}

impl Upkeep {
    /// What is to be brought about where these records were found: the names that are wrong, without the shared name where it has
    /// `address` already.
    pub fn due(&self, found: &[AddressRecord], address: &str) -> Due {
        let leads_here = |name: &String| {
            let mut there = found.iter().filter(|record| record.name == *name);
            there.any(|record| record.addresses.contains(address))
        };
        let shared = self.publication.shared.clone();
        let mut publication = Publication {
            address: address.to_owned(),
            shared: shared.filter(|name| !leads_here(name)),
            ..self.publication.clone()
        };
        // Which peers live changes nothing about which names are wrong.
        let decision = decide(&publication, found, &BTreeSet::new());
        let changes = decision.changes.into_iter();
        let wrong: BTreeSet<String> = changes.map(|change| change.record.name).collect();
        publication.own.retain(|name| wrong.contains(name));
        publication.shared = publication.shared.filter(|name| wrong.contains(name));
        Due {
            publication,
            steered: decision.left.into_iter().next(),
        }
    }

    /// The volumes to ask about before the names of `publication` are written.
    pub fn volumes_of(&self, publication: &Publication) -> Vec<String> {
        let own = publication.own.iter();
        let volumes = own.filter_map(|name| self.volumes.get(name));
        volumes.cloned().collect()
    }

    /// Takes out of `publication` the members' names whose volumes are not attached to this instance any more, and says so of
    /// the first. A volume that is not among `volumes` is none that is attached here, whether it was asked about or not.
    pub fn without_lost(
        &self,
        publication: Publication,
        volumes: &[VolumeFacts],
    ) -> (Publication, Option<Fault>) {
        let is_held = |id: &String| {
            let mut found = volumes.iter().filter(|volume| volume.volume_id == *id);
            found.any(|volume| volume.is_attached_to(&self.instance_id))
        };
        let lost = |name: &String| self.volumes.get(name).filter(|volume| !is_held(volume));
        let mut own = publication.own.clone();
        own.retain(|name| lost(name).is_none());
        let first = publication
            .own
            .iter()
            .find_map(|name| Some((name, lost(name)?)));
        let fault = first.map(|(name, volume)| {
            let summary = format!(
                "{name} leads elsewhere, and {volume}, which makes it this node's, is not attached to this instance: it is left"
            );
            Fault::new(Code::DnsConflict, summary)
                .seen("volume", volume)
                .remedied_by(format!(
                    "nothing where the volume moved to another node; else see who holds it: quake-agent volumes explain {volume}"
                ))
        });
        (Publication { own, ..publication }, fault)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dns::{TTL_SECONDS, peers_matter};
    use quake_model::facts::{Attachment, AttachmentState, VolumeState};
    use quake_model::time::Timestamp;

    const API: &str = "api.internal.c";
    const MAIN: &str = "etcd-a.internal.c";
    const EVENTS: &str = "etcd-events-a.internal.c";

    fn sample() -> Upkeep {
        Upkeep {
            publication: Publication {
                own: [MAIN.to_owned(), EVENTS.to_owned()].into(),
                shared: Some(API.to_owned()),
                ..crate::dns::sample(MAIN, "10.0.0.1")
            },
            volumes: [(MAIN, "vol-1"), (EVENTS, "vol-2")]
                .map(|(name, volume)| (name.to_owned(), volume.to_owned()))
                .into(),
            instance_id: "i-1".to_owned(),
        }
    }

    fn record(name: &str, ttl: u32, addresses: &[&str]) -> AddressRecord {
        AddressRecord::plain(name, ttl, addresses.iter().map(ToString::to_string))
    }

    fn changed(found: &[AddressRecord], address: &str) -> Vec<String> {
        let due = sample().due(found, address).publication;
        let changes = decide(&due, found, &BTreeSet::new()).changes;
        changes
            .into_iter()
            .map(|change| change.record.name)
            .collect()
    }

    #[test]
    fn a_shared_name_that_has_our_address_is_left_whatever_else_it_has() {
        let own = [MAIN, EVENTS].map(|name| record(name, TTL_SECONDS, &["10.0.0.1"]));
        for (ttl, addresses, is_left) in [
            (TTL_SECONDS, vec!["10.0.0.1"], true),
            (TTL_SECONDS, vec!["10.0.0.1", "10.0.0.2"], true),
            (300, vec!["10.0.0.1", "203.0.113.123"], true),
            (TTL_SECONDS, vec!["10.0.0.2"], false),
        ] {
            let mut found = own.to_vec();
            found.push(record(API, ttl, &addresses));
            let due = sample().due(&found, "10.0.0.1").publication;
            assert_eq!(due.shared.is_none(), is_left, "{addresses:?}");
            assert_eq!(peers_matter(&due, &found), !is_left, "{addresses:?}");
            assert_eq!(changed(&found, "10.0.0.1").is_empty(), is_left);
        }
    }

    #[test]
    fn what_is_gone_or_leads_elsewhere_is_due_and_all_of_it_where_the_address_changed() {
        let right = [API, MAIN, EVENTS].map(|name| record(name, TTL_SECONDS, &["10.0.0.1"]));
        assert!(changed(&right, "10.0.0.1").is_empty());
        assert_eq!(changed(&right[..2], "10.0.0.1"), [EVENTS]);
        assert_eq!(changed(&right[1..], "10.0.0.1"), [API]);
        let moved = changed(&right, "10.0.0.9");
        let moved: BTreeSet<&str> = moved.iter().map(String::as_str).collect();
        assert_eq!(moved, [API, MAIN, EVENTS].into());
    }

    fn volume(id: &str, holder: &str, state: AttachmentState) -> VolumeFacts {
        VolumeFacts {
            attachments: vec![Attachment {
                instance_id: holder.to_owned(),
                device_name: "/dev/xvdu".to_owned(),
                state,
                since: None,
                delete_on_termination: false,
            }],
            volume_id: id.to_owned(),
            zone: "us-test-1a".to_owned(),
            state: VolumeState::InUse,
            size_gib: 20,
            created: Timestamp(0),
            encrypted: false,
            multi_attach: false,
            snapshot_id: None,
            tags: BTreeMap::new(),
        }
    }

    #[test]
    fn a_name_that_is_right_is_not_due_whatever_else_is() {
        let mut found = [API, MAIN, EVENTS].map(|name| record(name, TTL_SECONDS, &["10.0.0.1"]));
        found[0] = record(API, TTL_SECONDS, &["10.0.0.2"]);
        let due = sample().due(&found, "10.0.0.1").publication;
        assert_eq!((due.own.len(), due.shared.as_deref()), (0, Some(API)));
        assert!(sample().volumes_of(&due).is_empty(), "no member's name");
        found[1] = record(MAIN, TTL_SECONDS, &["10.0.0.2"]);
        let due = sample().due(&found, "10.0.0.1").publication;
        assert_eq!(due.own, [MAIN.to_owned()].into());
        assert_eq!(sample().volumes_of(&due), ["vol-1"]);
        found[1].steered_by = Some("a weight".to_owned());
        let due = sample().due(&found, "10.0.0.1");
        assert!(due.publication.own.is_empty(), "{due:?}");
        let steered = due.steered.map(|(name, _)| name);
        assert_eq!(steered.as_deref(), Some(MAIN));
    }

    #[test]
    fn a_members_name_is_put_back_only_while_its_volume_is_here() {
        let upkeep = sample();
        let due = Publication {
            own: [MAIN.to_owned()].into(),
            ..upkeep.publication.clone()
        };
        for (holder, state, is_ours) in [
            ("i-1", AttachmentState::Attached, true),
            ("i-1", AttachmentState::Detaching, false),
            ("i-1", AttachmentState::Detached, false),
            ("i-2", AttachmentState::Attached, false),
        ] {
            let volumes = [volume("vol-1", holder, state)];
            let (left, fault) = upkeep.without_lost(due.clone(), &volumes);
            assert_eq!(left.own.contains(MAIN), is_ours, "{holder} {state:?}");
            assert_eq!(fault.is_none(), is_ours);
        }
    }

    #[test]
    fn a_members_name_whose_volume_nobody_saw_is_left() {
        let upkeep = sample();
        let seen = [volume("vol-1", "i-1", AttachmentState::Attached)];
        let (left, fault) = upkeep.without_lost(upkeep.publication.clone(), &seen);
        let fault = fault.expect("nothing says that the other is here");
        assert_eq!(
            (left.own, left.shared),
            ([MAIN.to_owned()].into(), Some(API.to_owned()))
        );
        assert_eq!(fault.code, Code::DnsConflict);
        assert!(
            fault
                .summary
                .starts_with("etcd-events-a.internal.c leads elsewhere, and vol-2")
        );
    }
}
