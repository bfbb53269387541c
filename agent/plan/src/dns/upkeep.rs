//! What a node that runs looks after of its names: that they lead to it, for as long as it holds what makes them its own.
//!
//! It does less than a boot. A shared name that has this node's address is left, whoever else's it has: that is dns-controller's, or
//! the other nodes'. A member's name that leads elsewhere is put back only while the member's volume is attached to this
//! instance: where it moved, its new holder has written the name.

use super::wanted::publication;
use crate::files::own_members;
use crate::known::Known;
use quake_model::dns::{AddressRecord, Publication, ZoneReference};
use quake_model::facts::VolumeFacts;
use quake_model::fault::{Code, Fault};
use quake_model::spec::NodeSpec;
use std::collections::BTreeMap;

/// The names that a node published, and what makes them its own.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Upkeep {
    /// The names, in a zone that is named by its id.
    pub publication: Publication,
    /// The volume of each name that is a member's.
    pub volumes: BTreeMap<String, String>,
    /// This instance.
    pub instance_id: String,
}

/// What the node of this spec looks after in the zone `zone_id`, in which its names were published.
pub fn upkeep(spec: &NodeSpec, known: &Known, zone_id: &str) -> Option<Upkeep> {
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

impl Upkeep {
    /// What is to be brought about where these records were found: without the shared name where it has `address` already.
    pub fn due(&self, found: &[AddressRecord], address: &str) -> Publication {
        let leads_here = |name: &String| {
            let mut there = found.iter().filter(|record| record.name == *name);
            there.any(|record| record.addresses.contains(address))
        };
        let shared = self.publication.shared.clone();
        Publication {
            address: address.to_owned(),
            shared: shared.filter(|name| !leads_here(name)),
            ..self.publication.clone()
        }
    }

    /// The volumes to ask about before any of these names is written.
    pub fn volumes_of(&self, names: &[String]) -> Vec<String> {
        let volumes = names.iter().filter_map(|name| self.volumes.get(name));
        volumes.cloned().collect()
    }

    /// Takes out of `publication` the members' names whose volumes are not attached to this instance any more, and says so of
    /// the first. Only what is among `asked` is judged.
    pub fn without_lost(
        &self,
        publication: Publication,
        asked: &[String],
        volumes: &[VolumeFacts],
    ) -> (Publication, Option<Fault>) {
        let is_held = |id: &String| {
            let mut found = volumes.iter().filter(|volume| volume.volume_id == *id);
            found.any(|volume| volume.is_attached_to(&self.instance_id))
        };
        let lost = |name: &String| {
            let volume = self.volumes.get(name)?;
            (asked.contains(volume) && !is_held(volume)).then(|| volume.clone())
        };
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
                .seen("volume", &volume)
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
    use crate::dns::{TTL_SECONDS, decide, peers_matter};
    use quake_model::facts::{Attachment, AttachmentState, VolumeState};
    use quake_model::time::Timestamp;
    use std::collections::BTreeSet;

    const API: &str = "api.internal.c";
    const MAIN: &str = "etcd-a.internal.c";
    const EVENTS: &str = "etcd-events-a.internal.c";

    fn sample() -> Upkeep {
        Upkeep {
            publication: Publication {
                zone: ZoneReference::Id("Z1".to_owned()),
                kind: None,
                cluster: "c".to_owned(),
                address: "10.0.0.1".to_owned(),
                own: [MAIN.to_owned(), EVENTS.to_owned()].into(),
                shared: Some(API.to_owned()),
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
        let due = sample().due(found, address);
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
            let due = sample().due(&found, "10.0.0.1");
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
    fn a_members_name_is_put_back_only_while_its_volume_is_here() {
        let upkeep = sample();
        let asked = upkeep.volumes_of(&[MAIN.to_owned(), API.to_owned()]);
        assert_eq!(asked, ["vol-1"]);
        for (holder, state, is_ours) in [
            ("i-1", AttachmentState::Attached, true),
            ("i-1", AttachmentState::Detaching, false),
            ("i-1", AttachmentState::Detached, false),
            ("i-2", AttachmentState::Attached, false),
        ] {
            let volumes = [volume("vol-1", holder, state)];
            let (left, fault) = upkeep.without_lost(upkeep.publication.clone(), &asked, &volumes);
            assert_eq!(left.own.contains(MAIN), is_ours, "{holder} {state:?}");
            assert!(left.own.contains(EVENTS), "nobody asked about it");
            assert_eq!(fault.is_none(), is_ours);
        }
        let (left, fault) = upkeep.without_lost(upkeep.publication.clone(), &asked, &[]);
        let fault = fault.expect("EC2 does not show it");
        assert_eq!((left.own.len(), fault.code), (1, Code::DnsConflict));
        assert!(
            fault
                .summary
                .starts_with("etcd-a.internal.c leads elsewhere, and vol-1")
        );
    }
}
