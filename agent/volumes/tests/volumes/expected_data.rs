//! Where data is expected: a volume that takes the place of one with data must not be formatted as if it were the first.

use quake_model::facts::{Attachment, AttachmentState, VolumeFacts, VolumeState};
use quake_model::time::Timestamp;
use quake_volumes::{
    ClusterGeneration, Expectation, FORMATTED, Slot, UID, expects_data, newest_backup,
};

/// When the volume in question was made.
const MADE: u64 = 1_767_225_600_000;
const AT_THAT_MOMENT: &str = "2026-01-01T00:00:00Z";
const BEFORE: &str = "2025-12-31T23:59:59Z";

fn volume(id: &str, etcd: &str, more: &[(&str, &str)]) -> VolumeFacts {
    let (cluster, tag) = etcd.split_once('=').expect("a literal");
    let mut tags = vec![
        ("KubernetesCluster".to_owned(), "c".to_owned()),
        (format!("k8s.io/etcd/{cluster}"), tag.to_owned()),
    ];
    tags.extend(
        more.iter()
            .map(|&(key, value)| (key.to_owned(), value.to_owned())),
    );
    VolumeFacts {
        volume_id: id.to_owned(),
        zone: "z".to_owned(),
        state: VolumeState::Available,
        size_gib: 20,
        created: Timestamp(MADE),
        encrypted: false,
        multi_attach: false,
        snapshot_id: None,
        tags: tags.into_iter().collect(),
        attachments: Vec::new(),
    }
}

/// The same, attached since this moment.
fn attached(mut volume: VolumeFacts, since: u64) -> VolumeFacts {
    volume.attachments.push(Attachment {
        instance_id: "i-1".to_owned(),
        state: AttachmentState::Attached,
        device_name: "/dev/xvdba".to_owned(),
        since: Some(Timestamp(since)),
        delete_on_termination: false,
    });
    volume
}

/// What is expected of `vol-1` of `main/a`, beside this other volume.
fn beside(other: VolumeFacts) -> Option<Expectation> {
    expected(&volume("vol-1", "main=a/a,b", &[]), vec![other])
}

fn expected(volume: &VolumeFacts, others: Vec<VolumeFacts>) -> Option<Expectation> {
    let generation = ClusterGeneration {
        uids: ["U".to_owned()].into(),
        current: Some("U".to_owned()),
        born: None,
    };
    let mut volumes = others;
    volumes.push(volume.clone());
    expects_data("c", &Slot::new("main", "a"), volume, &volumes, &generation)
}

#[test]
fn a_volume_that_was_formatted_holds_data() {
    for tag in [(UID, "U"), (FORMATTED, BEFORE)] {
        let volume = volume("vol-1", "main=a/a,b", &[tag]);
        assert_eq!(expected(&volume, vec![]), Some(Expectation::WasFormatted));
    }
    let of_another_life = volume("vol-1", "main=a/a,b", &[(UID, "W")]);
    assert_eq!(expected(&of_another_life, vec![]), None);
    assert_eq!(expected(&volume("vol-1", "main=a/a,b", &[]), vec![]), None);
}

#[test]
fn another_volume_of_the_slot_that_had_data_is_named() {
    let same = |more: &[(&str, &str)]| beside(volume("vol-2", "main=a/a,b", more));
    let had = Some(Expectation::SlotHadData("vol-2".to_owned()));
    assert_eq!(same(&[(UID, "U")]), had);
    assert_eq!(same(&[(FORMATTED, BEFORE)]), had);
    assert_eq!(same(&[(UID, "W")]), None);
    assert_eq!(same(&[]), None);
    let of_another_cluster = [(UID, "U"), ("KubernetesCluster", "d")];
    assert_eq!(same(&of_another_cluster), None);
    let two = ["vol-3", "vol-2"].map(|id| volume(id, "main=a/a,b", &[(UID, "U")]));
    let first = expected(&volume("vol-1", "main=a/a,b", &[]), two.into());
    assert_eq!(first, had, "the first by its id");
    let of_events = volume("vol-2", "events=a/a,b", &[(UID, "U")]);
    let as_peer = Some(Expectation::PeerHoldsData("vol-2".to_owned()));
    assert_eq!(beside(of_events), as_peer, "no volume of the slot itself");
}

#[test]
fn main_is_expected_to_have_data_once_another_etcd_cluster_was_used() {
    let events = || volume("vol-2", "events=a/a,b", &[]);
    let holds = Some(Expectation::PeerHoldsData("vol-2".to_owned()));
    let younger = beside(attached(events(), MADE - 1));
    assert_eq!(younger, holds, "it was made after events was used");
    // At a first boot all volumes are there before one of them is used.
    assert_eq!(beside(attached(events(), MADE + 60_000)), None);
    assert_eq!(beside(events()), None);
}

#[test]
fn an_etcd_cluster_that_is_added_later_starts_empty() {
    let main = attached(volume("vol-2", "main=a/a,b", &[]), MADE - 1);
    let cilium = volume("vol-1", "cilium=a/a,b", &[]);
    let slot = Slot::new("cilium", "a");
    let volumes = [cilium.clone(), main];
    let generation = ClusterGeneration::default();
    let found = expects_data("c", &slot, &cilium, &volumes, &generation);
    assert_eq!(found, None);
}

#[test]
fn a_peer_that_held_data_before_the_volume_was_made_is_named() {
    let peer = |more: &[(&str, &str)]| volume("vol-2", "main=b/a,b", more);
    let holds = Some(Expectation::PeerHoldsData("vol-2".to_owned()));
    let since = MADE - 1;
    let rows: [(&str, VolumeFacts, bool); 9] = [
        ("adopted, and nobody knows when", peer(&[(UID, "U")]), true),
        (
            "formatted before",
            peer(&[(UID, "U"), (FORMATTED, BEFORE)]),
            true,
        ),
        (
            "formatted at that moment",
            peer(&[(UID, "U"), (FORMATTED, AT_THAT_MOMENT)]),
            false,
        ),
        (
            "formatted in another life",
            peer(&[(UID, "W"), (FORMATTED, BEFORE)]),
            false,
        ),
        ("never used", peer(&[]), false),
        ("attached before", attached(peer(&[]), since), true),
        ("attached at that moment", attached(peer(&[]), MADE), false),
        (
            "attached before and again",
            attached(attached(peer(&[]), since), MADE),
            true,
        ),
        (
            "of another cluster",
            attached(peer(&[("KubernetesCluster", "d")]), since),
            false,
        ),
    ];
    for (what, other, is_held) in rows {
        assert_eq!(beside(other), holds.clone().filter(|_| is_held), "{what}");
    }
    let of_events = attached(volume("vol-2", "events=b/a,b", &[]), since);
    assert_eq!(beside(of_events), holds, "of the other etcd cluster");
    let same_member = attached(volume("vol-2", "main=a/a,b", &[]), since);
    assert_eq!(beside(same_member), None, "no peer");
    let two = ["vol-3", "vol-2"].map(|id| attached(volume(id, "main=b/a,b", &[]), since));
    let first = expected(&volume("vol-1", "main=a/a,b", &[]), two.into());
    assert_eq!(first, holds, "the first by its id");
}

#[test]
fn only_an_instant_and_six_digits_name_a_backup() {
    let is_backup = |name: &str| newest_backup(&[name.to_owned()]).is_some();
    assert!(is_backup("2024-05-06T07:08:09Z-000001"));
    for other in [
        "2024-05-06T07:08:09Z-00001",
        "2024-05-06T07:08:09Z-0000001",
        "2024-05-06T07:08:09Z-00000a",
        "2024-05-06T07:08:09Z-a",
        "yesterday-000001",
        "000001",
    ] {
        assert!(!is_backup(other), "{other}");
    }
}
