//! Where data is expected although the volumes of an etcd cluster say nothing: all of them are gone.

use quake_model::facts::{Attachment, AttachmentState, VolumeFacts, VolumeState};
use quake_model::time::Timestamp;
use quake_volumes::{ClusterGeneration, Expectation, Slot, expects_data};

const MADE: Timestamp = Timestamp(1_795_658_400_000);
const LATER: Timestamp = Timestamp(MADE.0 + 3_600_000);

/// A volume that was made at one time, and attached at another.
fn volume(etcd: &str, member: &str, created: Timestamp, since: Option<Timestamp>) -> VolumeFacts {
    let tags = [
        ("KubernetesCluster".to_owned(), "c.example".to_owned()),
        ("k8s.io/role/master".to_owned(), "1".to_owned()),
        (format!("k8s.io/etcd/{etcd}"), format!("{member}/a,b,c")),
    ];
    let attached = |since| Attachment {
        instance_id: "i-0a".to_owned(),
        state: AttachmentState::Attached,
        device_name: "/dev/xvdu".to_owned(),
        since: Some(since),
        delete_on_termination: false,
    };
    VolumeFacts {
        volume_id: format!("vol-{etcd}-{member}"),
        zone: "us-test-1a".to_owned(),
        state: VolumeState::Available,
        size_gib: 20,
        created,
        encrypted: false,
        multi_attach: false,
        snapshot_id: None,
        tags: tags.into(),
        attachments: since.map(attached).into_iter().collect(),
    }
}

/// What is expected of the volume of this member, beside a volume of another etcd cluster.
fn expected(etcd: &str, created: Timestamp, other: &VolumeFacts) -> Option<Expectation> {
    let own = volume(etcd, "a", created, None);
    let volumes = [own.clone(), other.clone()];
    let generation = ClusterGeneration::default();
    expects_data(
        "c.example",
        &Slot::new(etcd, "a"),
        &own,
        &volumes,
        &generation,
    )
}

#[test]
fn main_is_expected_to_have_data_once_another_etcd_cluster_was_used() {
    let used = Timestamp(MADE.0 + 60_000);
    let events = volume("events", "a", MADE, Some(used));
    let found = expected("main", LATER, &events);
    let wanted = Expectation::PeerHoldsData("vol-events-a".to_owned());
    assert_eq!(
        found,
        Some(wanted),
        "the volume of main is younger than the use of events"
    );
    // At a first boot all volumes are there before one of them is used.
    assert_eq!(expected("main", MADE, &events), None);
    let unused = volume("events", "a", MADE, None);
    assert_eq!(expected("main", LATER, &unused), None);
}

#[test]
fn an_etcd_cluster_that_is_added_later_starts_empty() {
    let main = volume("main", "a", MADE, Some(Timestamp(MADE.0 + 60_000)));
    assert_eq!(expected("cilium", LATER, &main), None);
}
