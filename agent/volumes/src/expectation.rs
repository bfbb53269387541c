//! Whether an empty volume would be an accident: is data expected where it goes?

use super::tags::{BLANK_OK, FORMATTED, Slot, UID, instant, is_of_cluster, operators, slot_of};
use super::world::ClusterGeneration;
use quake_model::facts::VolumeFacts;
use quake_model::time::Timestamp;
use std::collections::BTreeMap;

/// The etcd cluster that every cluster has.
const MAIN: &str = "main";

/// How long an operator's consent by tag holds, in milliseconds: long enough for an instance to be replaced, too
/// short to be forgotten on the volume.
const CONSENT_MS: u64 = 3_600_000;

/// Why data is expected in a slot.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Expectation {
    /// The volume had a filesystem before.
    WasFormatted,
    /// The state store has backups of the etcd cluster; the newest one's name.
    Backup(String),
    /// Another member's volume held data before this volume was made, or, for a member of `main`, one
    /// of another etcd cluster; its id.
    PeerHoldsData(String),
    /// Another volume of this very slot held its data; its id.
    SlotHadData(String),
}

/// Looks whether the volume's own tags, or those of the other members' volumes, say that data should be there.
///
/// At a cluster's first start all volumes are made before any of them is used; a volume that is younger than the
/// use of another one takes the place of one that is gone, or adds a member.
pub fn expects_data(
    cluster: &str,
    slot: &Slot,
    volume: &VolumeFacts,
    volumes: &[VolumeFacts],
    cluster_generation: &ClusterGeneration,
) -> Option<Expectation> {
    let of_this_life = |volume: &VolumeFacts| {
        let uid = volume.tags.get(UID);
        uid.is_some_and(|uid| cluster_generation.uids.contains(uid))
    };
    if of_this_life(volume) || volume.tags.contains_key(FORMATTED) {
        return Some(Expectation::WasFormatted);
    }
    // Also one that lost a tag, or that an operator set aside: its data is this member's.
    let is_same = |other: &&VolumeFacts| {
        let had = of_this_life(other) || other.tags.contains_key(FORMATTED);
        let ours = is_of_cluster(&other.tags, cluster) && had;
        ours && other.volume_id != volume.volume_id
            && Slot::of_tags(&other.tags).as_ref() == Some(slot)
    };
    let mut same: Vec<&VolumeFacts> = volumes.iter().filter(is_same).collect();
    same.sort_by(|a, b| a.volume_id.cmp(&b.volume_id));
    if let Some(other) = same.first() {
        return Some(Expectation::SlotHadData(other.volume_id.clone()));
    }
    let is_peer = |other: &&VolumeFacts| {
        let names = slot_of(&other.tags).ok().flatten();
        is_of_cluster(&other.tags, cluster)
            && other.volume_id != volume.volume_id
            && names.is_some_and(|it| match it.etcd == slot.etcd {
                true => it.member != slot.member,
                // kops never makes a cluster without `main`, so what was in use before is older than
                // this volume, and `main` had data then. Other etcd clusters may be added later.
                false => slot.etcd == MAIN,
            })
    };
    let held_before = |other: &&VolumeFacts| {
        let formatted = other.tags.get(FORMATTED).and_then(|text| instant(text));
        let adopted = of_this_life(other) && formatted.is_none();
        let used = formatted.is_some_and(|at| at < volume.created) && of_this_life(other);
        let attached = other
            .attachments
            .iter()
            .filter_map(|attachment| attachment.since);
        adopted || used || attached.min().is_some_and(|since| since < volume.created)
    };
    let mut peers: Vec<&VolumeFacts> = volumes.iter().filter(is_peer).filter(held_before).collect();
    peers.sort_by(|a, b| a.volume_id.cmp(&b.volume_id));
    peers
        .first()
        .map(|peer| Expectation::PeerHoldsData(peer.volume_id.clone()))
}

/// The newest backup among the names below an etcd cluster's backup store: directories named by instant and number
/// (`2024-05-06T07:08:09Z-000001`, etcd-manager's layout).
pub fn newest_backup(names: &[String]) -> Option<&str> {
    let is_backup = |name: &&str| {
        let parts = name.rsplit_once('-');
        parts.is_some_and(|(at, number)| {
            instant(at).is_some() && number.len() == 6 && number.bytes().all(|b| b.is_ascii_digit())
        })
    };
    let folders = names
        .iter()
        .map(|name| name.split('/').next().unwrap_or(name));
    folders.filter(is_backup).max()
}

/// When the newest backup among such names was made.
pub fn newest_backup_at(names: &[String]) -> Option<Timestamp> {
    let (at, _number) = newest_backup(names)?.rsplit_once('-')?;
    instant(at)
}

/// Whether an operator consented, by tag and within the hour, to an empty filesystem in this slot.
pub fn consents(tags: &BTreeMap<String, String>, slot: &Slot, now: Timestamp) -> bool {
    let consent = operators(tags, BLANK_OK).and_then(|value| value.rsplit_once('@'));
    consent.is_some_and(|(named, at)| {
        let fresh = instant(at).is_some_and(|at| now.0.abs_diff(at.0) <= CONSENT_MS);
        named == slot.to_string() && fresh
    })
}

/// The value of the consent's tag.
pub fn consent(slot: &Slot, now: Timestamp) -> String {
    format!("{slot}@{now}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_newest_backup_is_found_among_other_things() {
        let names = [
            "control/etcd-cluster-created",
            "2024-05-06T07:08:09Z-000001/_etcd_backup.meta",
            "2024-05-06T08:08:09Z-000002/etcd.backup.gz",
            "quake/slots/a.json",
        ]
        .map(str::to_owned);
        assert_eq!(newest_backup(&names), Some("2024-05-06T08:08:09Z-000002"));
        assert_eq!(newest_backup(&names[..1]), None);
        let at = newest_backup_at(&names).map(|at| at.to_string());
        assert_eq!(at.as_deref(), Some("2024-05-06T08:08:09.000Z"));
        assert_eq!(newest_backup_at(&names[3..]), None);
    }

    #[test]
    fn a_consent_holds_for_its_slot_and_for_an_hour() {
        let slot = Slot::new("main", "a");
        let given = Timestamp(1_700_000_000_000);
        let tags = BTreeMap::from([(BLANK_OK.to_owned(), consent(&slot, given))]);
        assert!(consents(&tags, &slot, Timestamp(given.0 + CONSENT_MS)));
        assert!(!consents(&tags, &slot, Timestamp(given.0 + CONSENT_MS + 1)));
        assert!(!consents(&tags, &Slot::new("events", "a"), given));
        assert!(!consents(&BTreeMap::new(), &slot, given));
    }
}
