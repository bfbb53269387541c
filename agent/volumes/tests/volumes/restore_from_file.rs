//! The plan of a restore from a file, member by member: kops legacy without etcd-manager.

use crate::restore::{HOUR, NOW, managed, outcome};
use crate::snapshots::{main_of_34, read};
use quake_model::time::Timestamp;
use quake_volumes::restore::{BegunRestore, EtcdVersion, Health, RestoreFacts, Source};

/// A cluster of kops legacy without etcd-manager, restored from a file.
fn from_file(change: impl FnOnce(&mut RestoreFacts)) -> String {
    let mut facts = managed(3, Vec::new());
    facts.managed = false;
    facts.control = None;
    facts.store = None;
    facts.source = Source::File {
        path: "/root/main.db".to_owned(),
        taken: Timestamp(NOW.0 - HOUR),
    };
    facts.snapshot = Some(read(&main_of_34()));
    change(&mut facts);
    outcome(&facts)
}

fn begun(volume: &str, mark: &str, done: bool) -> BegunRestore {
    BegunRestore {
        volume: volume.to_owned(),
        mark: mark.to_owned(),
        done,
    }
}

#[test]
fn members_that_are_restored_one_after_the_other_go_on_until_all_are_done() {
    let hash = read(&main_of_34()).expect("it is whole").sha256[..12].to_owned();
    let refused = "refused etcd.quorum-healthy";
    let goes_on = "restores /root/main.db, 1 h are lost";
    for (done, begun_more, wanted) in [
        (&[][..], &[][..], refused),
        (&[], &["a"], goes_on),
        (&["a", "b"], &[], goes_on),
        (&["a", "b"], &["c"], goes_on),
        (&["a", "b", "c"], &[], refused),
    ] {
        let found = from_file(|facts| {
            let done = done.iter().map(|volume| begun(volume, &hash, true));
            let more = begun_more.iter().map(|volume| begun(volume, &hash, false));
            facts.begun = done.chain(more).collect();
            for member in &mut facts.members {
                member.health = Health::Healthy;
            }
        });
        assert_eq!(found, wanted, "{done:?} done, {begun_more:?} begun");
    }
}

#[test]
fn a_legacy_member_is_restored_from_a_file_that_proves_whose_it_is() {
    let restored = "restores /root/main.db, 1 h are lost";
    assert_eq!(from_file(|_| {}), restored);
    let hash = read(&main_of_34()).expect("it is whole").sha256[..12].to_owned();
    assert_eq!(
        from_file(|facts| facts.begun = vec![begun("a", &hash, false)]),
        restored
    );
    let other = from_file(|facts| facts.begun = vec![begun("a", "0123456789ab", false)]);
    assert_eq!(other, "refused etcd.snapshots-mixed");
    let unproven = from_file(|facts| {
        let read = facts.snapshot.as_mut().expect("it was read");
        read.as_mut().expect("it is whole").members.clear();
    });
    assert_eq!(unproven, "refused etcd.backup-foreign");
    let newer = from_file(|facts| facts.version = EtcdVersion::parse("3.3.10"));
    assert_eq!(newer, "refused etcd.version-unsupported");
    let v2 = from_file(|facts| facts.version = EtcdVersion::parse("2.2.1"));
    assert_eq!(v2, "refused etcd.version-unsupported");
    let store = from_file(|facts| facts.source = Source::Newest);
    assert_eq!(store, "refused etcd.backup-missing");
    let healthy = from_file(|facts| {
        for member in &mut facts.members {
            member.health = Health::Healthy;
        }
    });
    assert_eq!(healthy, "refused etcd.quorum-healthy");
}
