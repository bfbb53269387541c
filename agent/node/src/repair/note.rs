//! When a node writes its note, and what a note says of a peer.

use super::decision::Peer;
use quake_model::health_note::{HealthNote, NOTE_SCHEMA, NOTE_SUFFIX};
use quake_model::time::Timestamp;
use std::time::Duration;

/// How often an unhealthy node, or a member of etcd, writes its note again. A guess: 12 small objects an hour.
pub const HEARTBEAT: Duration = Duration::from_secs(5 * 60);

/// How old a note may be, by the reader's clock. Three heartbeats: clocks differ by less than five minutes, for AWS refuses
/// requests of others.
pub const FRESH: Duration = Duration::from_secs(15 * 60);

/// The name of an instance's note.
pub fn note_name(instance: &str) -> String {
    format!("{instance}{NOTE_SUFFIX}")
}

/// Reads a note; `None` for what is none.
pub fn read_note(bytes: &[u8]) -> Option<HealthNote> {
    serde_json::from_slice(bytes).ok()
}

/// Whether a note is to be written: it says something else than the last one, or its heartbeat is due.
pub fn note_due(last: Option<&HealthNote>, note: &HealthNote) -> bool {
    let beats = note.since.is_some() || note.etcd_healthy.is_some();
    let Some(last) = last else {
        return beats;
    };
    let says_the_same = HealthNote {
        at: last.at,
        ..note.clone()
    } == *last;
    let late = u128::from(note.at.0.abs_diff(last.at.0)) >= HEARTBEAT.as_millis();
    !says_the_same || (beats && late)
}

/// What a note says at `now`: the peer, if it is unhealthy, and whether its member of etcd answers. `None` for a note of
/// another schema and for one that is too old to say anything.
pub fn peer_of(note: &HealthNote, now: Timestamp) -> Option<(Option<Peer>, bool)> {
    let age = u128::from(now.0.abs_diff(note.at.0));
    if note.schema_version != NOTE_SCHEMA || age > FRESH.as_millis() {
        return None;
    }
    let peer = note.since.map(|since| Peer {
        instance: note.instance.clone(),
        since,
        symptoms: note.symptoms.clone(),
        asks: note.asks,
    });
    Some((peer, note.etcd_healthy == Some(true)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use quake_model::repair::Symptom;
    use std::collections::BTreeSet;

    fn note(at_minutes: u64, unhealthy: bool, etcd_healthy: Option<bool>) -> HealthNote {
        HealthNote {
            schema_version: NOTE_SCHEMA.to_owned(),
            instance: "i-0a".to_owned(),
            zone: "a".to_owned(),
            at: Timestamp(at_minutes * 60_000),
            since: unhealthy.then_some(Timestamp(0)),
            symptoms: unhealthy.then_some(Symptom::Kubelet).into_iter().collect(),
            asks: false,
            etcd_healthy,
        }
    }

    #[test]
    fn a_healthy_worker_writes_nothing_until_it_is_unhealthy_and_once_when_it_is_well_again() {
        assert!(!note_due(None, &note(0, false, None)));
        let first = note(1, true, None);
        assert!(note_due(None, &first));
        assert!(
            !note_due(Some(&first), &note(2, true, None)),
            "nothing is new"
        );
        assert!(
            note_due(Some(&first), &note(6, true, None)),
            "the heartbeat is due"
        );
        let asks = HealthNote {
            asks: true,
            ..note(2, true, None)
        };
        assert!(note_due(Some(&first), &asks));
        let well = note(3, false, None);
        assert!(note_due(Some(&first), &well));
        assert!(!note_due(Some(&well), &note(90, false, None)));
    }

    #[test]
    fn a_member_of_etcd_writes_its_note_again_and_again() {
        let first = note(0, false, Some(true));
        assert!(note_due(None, &first));
        assert!(!note_due(Some(&first), &note(4, false, Some(true))));
        assert!(note_due(Some(&first), &note(5, false, Some(true))));
        assert!(note_due(Some(&first), &note(1, false, Some(false))));
    }

    #[test]
    fn a_note_that_is_old_or_of_another_schema_says_nothing() {
        let unhealthy = note(10, true, Some(true));
        let (peer, etcd) = peer_of(&unhealthy, Timestamp(20 * 60_000)).expect("it is fresh");
        let peer = peer.expect("it is unhealthy");
        assert_eq!(
            (peer.symptoms, etcd),
            (BTreeSet::from([Symptom::Kubelet]), true)
        );
        assert_eq!(peer_of(&unhealthy, Timestamp(26 * 60_000)), None);
        let other = HealthNote {
            schema_version: "quake-agent/health-note/v2".to_owned(),
            ..unhealthy
        };
        assert_eq!(peer_of(&other, Timestamp(10 * 60_000)), None);
    }
}
