//! The plan of a restore: lost volumes by age of the backups by who runs the members, and every
//! refusal.

use crate::snapshots::{events_of_36, main_of_34, read};
use quake_model::time::Timestamp;
use quake_volumes::restore::{
    Backup, BackupRecord, Blocker, Consent, ControlSpec, EtcdVersion, Health, MemberFacts,
    MemberStep, MemberVolume, PendingCommand, Refusal, RestoreFacts, SnapshotFacts, Source,
    lacks_etcdutl, plan_restore, refusal_fault, restore_code,
};

pub(crate) const HOUR: u64 = 3_600_000;
pub(crate) const NOW: Timestamp = Timestamp(1_795_658_400_000);
const FRESH: &str = "2026-11-26T01:45:00Z-000012";
const OLD: &str = "2026-11-16T02:00:00Z-000001";

fn backup(name: &str, hours: u64) -> Backup {
    Backup {
        name: name.to_owned(),
        taken: Timestamp(NOW.0 - hours * HOUR),
        bytes: Some(4096),
        record: Ok(BackupRecord {
            etcd_version: "3.4.13".to_owned(),
            member_count: Some(3),
        }),
    }
}

fn member(name: &str, volume: MemberVolume, health: Health) -> MemberFacts {
    MemberFacts {
        name: name.to_owned(),
        instance_group: Some("masters".to_owned()),
        volume,
        health,
    }
}

fn volume(id: &str, new: bool) -> MemberVolume {
    MemberVolume::One {
        id: id.to_owned(),
        instance: Some(format!("i-{id}")),
        new,
    }
}

fn down() -> Health {
    Health::Unhealthy {
        reason: "connection refused".to_owned(),
    }
}

/// Three members that run etcd-manager, of which the first `lost` have new, empty volumes, and the
/// rest are not healthy unless they are a majority.
pub(crate) fn managed(lost: usize, backups: Vec<Backup>) -> RestoreFacts {
    let members = ["a", "b", "c"].into_iter().enumerate().map(|(at, name)| {
        let (is_lost, works) = (at < lost, lost < 2);
        let health = if works && !is_lost {
            Health::Healthy
        } else {
            down()
        };
        member(name, volume(name, is_lost), health)
    });
    RestoreFacts {
        cluster: "c.example".to_owned(),
        etcd: "main".to_owned(),
        managed: true,
        version: EtcdVersion::parse("3.4.13"),
        members: members.collect(),
        store: Some("s3://b/c.example/backups/etcd/main".to_owned()),
        backups,
        pending: Vec::new(),
        control: Some(ControlSpec {
            member_count: 3,
            etcd_version: "3.4.13".to_owned(),
        }),
        lacks_etcdutl: None,
        begun: Vec::new(),
        source: Source::Newest,
        snapshot: None,
        consent: Consent::default(),
        now: NOW,
    }
}

/// Three members without their data, and a backup of now.
pub(crate) fn with_backup() -> RestoreFacts {
    managed(3, vec![backup(FRESH, 0)])
}

/// `refused CODE`, or what is restored.
pub(crate) fn outcome(facts: &RestoreFacts) -> String {
    match plan_restore(facts) {
        Err(refusal) => format!("refused {}", restore_code(&refusal)),
        Ok(plan) if !plan.is_ready() => {
            let codes = plan.blockers.iter().map(|it| it.fault().code.to_string());
            format!("waits {}", codes.collect::<Vec<_>>().join(" "))
        }
        Ok(plan) => format!(
            "restores {}, {} h are lost",
            plan.backup,
            plan.loss.age_seconds / 3600
        ),
    }
}

#[test]
fn every_cell_of_lost_volumes_and_age_of_backups_is_restored_or_refused_by_name() {
    let none = Vec::new;
    let fresh = || vec![backup(FRESH, 0), backup(OLD, 240)];
    let old = || vec![backup(OLD, 240)];
    let restored = |name: &str, hours: u64| format!("restores {name}, {hours} h are lost");
    for (lost, backups, wanted) in [
        (0, none(), "refused etcd.backup-missing".to_owned()),
        (0, fresh(), "refused etcd.quorum-healthy".to_owned()),
        (0, old(), "refused etcd.quorum-healthy".to_owned()),
        (1, none(), "refused etcd.backup-missing".to_owned()),
        (1, fresh(), "refused etcd.quorum-healthy".to_owned()),
        (1, old(), "refused etcd.quorum-healthy".to_owned()),
        (2, none(), "refused etcd.backup-missing".to_owned()),
        (2, fresh(), restored(FRESH, 0)),
        (2, old(), restored(OLD, 240)),
        (3, none(), "refused etcd.backup-missing".to_owned()),
        (3, fresh(), restored(FRESH, 0)),
        (3, old(), restored(OLD, 240)),
    ] {
        assert_eq!(outcome(&managed(lost, backups)), wanted, "{lost} lost");
    }
}

#[test]
fn volumes_that_are_not_there_yet_are_created_before_etcd_manager_is_asked() {
    for (missing, wanted) in [
        (1, format!("restores {FRESH}, 0 h are lost")),
        (2, "waits etcd.members-missing".to_owned()),
        (3, "waits etcd.members-missing".to_owned()),
    ] {
        let mut facts = managed(3, vec![backup(FRESH, 0)]);
        for member in &mut facts.members[..missing] {
            member.volume = MemberVolume::Missing;
        }
        assert_eq!(outcome(&facts), wanted, "{missing} missing");
        let plan = plan_restore(&facts).expect("it is planned");
        let created = plan
            .members
            .iter()
            .filter(|it| it.step == MemberStep::CreateVolume);
        assert_eq!(created.count(), missing);
        // Without any member etcd-manager reads its commands in every round.
        assert!(!plan.needs_restart);
    }
    let survivor = plan_restore(&managed(2, vec![backup(FRESH, 0)])).expect("it is planned");
    assert!(
        survivor.needs_restart,
        "one that has members reads them at its start"
    );
}

#[test]
fn a_cluster_of_five_is_not_restored_by_three() {
    let mut facts = managed(3, vec![backup(FRESH, 0)]);
    for name in ["d", "e"] {
        facts
            .members
            .push(member(name, MemberVolume::Missing, down()));
    }
    let plan = plan_restore(&facts).expect("it is planned");
    let wanted = Blocker::TooFewMembers {
        running: 3,
        needed: 4,
        members: 5,
    };
    assert_eq!(plan.blockers, [wanted]);
}

#[test]
fn members_that_run_and_were_not_asked_count_as_healthy() {
    let mut facts = managed(0, vec![backup(FRESH, 0)]);
    for member in &mut facts.members {
        member.health = Health::Unknown;
    }
    let refusal = plan_restore(&facts).expect_err("nobody knows that it is down");
    let fault = refusal_fault(&refusal);
    assert!(
        fault
            .remedy
            .as_deref()
            .is_some_and(|it| it.contains("control-plane node")),
        "{fault:?}"
    );
    facts.consent.replaces_healthy_quorum = true;
    assert!(plan_restore(&facts).is_ok(), "an operator knows better");
    // The backups stopped weeks ago, and each volume was replaced since then.
    let mut replaced = managed(3, vec![backup(OLD, 500)]);
    for member in &mut replaced.members {
        member.health = Health::Unknown;
    }
    assert_eq!(outcome(&replaced), "refused etcd.quorum-healthy");
}

/// A member without a leader is not healthy, and a leader has a quorum behind it.
#[test]
fn one_healthy_member_has_a_quorum_whatever_the_others_answer() {
    let mut facts = managed(3, vec![backup(FRESH, 0)]);
    facts.members[2].health = Health::Healthy;
    for others in [down(), Health::Unknown] {
        facts.members[0].health = others.clone();
        facts.members[1].health = others;
        assert_eq!(outcome(&facts), "refused etcd.quorum-healthy");
    }
}

/// A refusal's own world.
fn refused(change: impl FnOnce(&mut RestoreFacts)) -> String {
    let mut facts = managed(3, vec![backup(FRESH, 0), backup(OLD, 240)]);
    change(&mut facts);
    outcome(&facts)
}

#[test]
fn every_refusal_has_its_code() {
    let foreign = |facts: &mut RestoreFacts| facts.snapshot = Some(read(&events_of_36()));
    assert_eq!(refused(foreign), "refused etcd.backup-foreign");
    let cut = |facts: &mut RestoreFacts| {
        let whole = main_of_34();
        facts.snapshot = Some(read(&whole[..whole.len() - 700]));
    };
    assert_eq!(refused(cut), "refused etcd.snapshot-corrupt");
    let other = |facts: &mut RestoreFacts| facts.cluster = "other.example".to_owned();
    let read_there = |facts: &mut RestoreFacts| {
        facts.snapshot = Some(read(&main_of_34()));
        other(facts);
    };
    assert_eq!(refused(read_there), "refused etcd.backup-foreign");
    let empty = |facts: &mut RestoreFacts| {
        let read = read(&main_of_34()).map(|read| SnapshotFacts { keys: 0, ..read });
        facts.snapshot = Some(read);
    };
    assert_eq!(refused(empty), "refused etcd.backup-missing");
    let unknown = |facts: &mut RestoreFacts| facts.source = Source::Named("x".to_owned());
    assert_eq!(refused(unknown), "refused etcd.backup-missing");
    let incomplete = |facts: &mut RestoreFacts| {
        facts.backups[0].record = Err("it has no etcd.backup.gz".to_owned());
        facts.source = Source::Named(FRESH.to_owned());
    };
    assert_eq!(refused(incomplete), "refused etcd.snapshot-corrupt");
    let mixed = |facts: &mut RestoreFacts| {
        facts.pending = vec![PendingCommand {
            name: "2026-11-26T01:59:00Z-000000".to_owned(),
            backup: OLD.to_owned(),
        }];
    };
    assert_eq!(refused(mixed), "refused etcd.snapshots-mixed");
    let spec = |facts: &mut RestoreFacts| facts.control = None;
    assert_eq!(refused(spec), "waits config.object-missing");
    let several = |facts: &mut RestoreFacts| {
        let ids = vec!["vol-1".to_owned(), "vol-2".to_owned()];
        facts.members[0].volume = MemberVolume::Several { ids };
    };
    assert_eq!(refused(several), "waits storage.volume-conflict");
}

#[test]
fn a_backup_of_a_newer_etcd_is_refused_and_an_older_one_is_not() {
    for (spec, of_backup, wanted) in [
        ("3.4.13", "3.6.12", "refused etcd.version-unsupported"),
        ("3.4.13", "3.5.0", "refused etcd.version-unsupported"),
        ("3.5.21", "2.2.1", "refused etcd.version-unsupported"),
        ("3.6.12", "3.4.13", "restores"),
        ("3.4.13", "3.4.3", "restores"),
    ] {
        let found = refused(|facts| {
            for backup in &mut facts.backups {
                let record = backup.record.as_mut().expect("it is complete");
                record.etcd_version = of_backup.to_owned();
            }
            let control = facts.control.as_mut().expect("there is one");
            control.etcd_version = spec.to_owned();
        });
        assert!(found.starts_with(wanted), "{of_backup} by {spec}: {found}");
    }
}

#[test]
fn a_pod_without_etcdutl_restores_no_snapshot_of_etcd_36() {
    for (version, in_place, wanted) in [
        ("3.6.12", false, "waits etcd.programs-missing"),
        ("3.6.12", true, "restores"),
        ("3.5.21", false, "restores"),
    ] {
        let found = refused(|facts| {
            facts.lacks_etcdutl = Some("s3://b/c.example/manifests/etcd/main-a.yaml".to_owned());
            facts.consent.etcdutl_in_place = in_place;
            for backup in &mut facts.backups {
                let record = backup.record.as_mut().expect("it is complete");
                record.etcd_version = version.to_owned();
            }
            let control = facts.control.as_mut().expect("there is one");
            control.etcd_version = version.to_owned();
        });
        assert!(found.starts_with(wanted), "{version}: {found}");
    }
    let copied = "- --src=/usr/local/bin/etcd\n- --src=/usr/local/bin/etcdctl\n";
    assert!(lacks_etcdutl(copied));
    assert!(!lacks_etcdutl(&format!(
        "{copied}- --src=/usr/local/bin/etcdutl\n"
    )));
    assert!(!lacks_etcdutl(
        "- image:\n    reference: registry.k8s.io/etcd:v3.6.12\n"
    ));
}

#[test]
fn an_incomplete_backup_is_passed_over_unless_it_is_named() {
    let found = refused(|facts| facts.backups[0].record = Err("no meta".to_owned()));
    assert_eq!(found, format!("restores {OLD}, 240 h are lost"));
}

#[test]
fn the_same_restore_twice_is_one() {
    let mut facts = managed(3, vec![backup(FRESH, 0)]);
    facts.pending = vec![PendingCommand {
        name: "2026-11-26T01:59:00Z-000000".to_owned(),
        backup: FRESH.to_owned(),
    }];
    let plan = plan_restore(&facts).expect("it is the same");
    assert_eq!(plan.pending.as_deref(), Some("2026-11-26T01:59:00Z-000000"));
    assert_eq!(plan.consent, format!("main@{FRESH}"));
}

#[test]
fn no_refusal_and_no_plan_is_ever_an_empty_cluster() {
    for lost in 0..=3 {
        for backups in [vec![], vec![backup(FRESH, 0)]] {
            for consent in [false, true] {
                let mut facts = managed(lost, backups.clone());
                facts.consent.replaces_healthy_quorum = consent;
                match plan_restore(&facts) {
                    Ok(plan) => assert!(!plan.backup.is_empty()),
                    Err(refusal) => assert!(!refusal.to_string().is_empty()),
                }
                if backups.is_empty() {
                    let refusal = plan_restore(&facts).expect_err("nothing to restore from");
                    assert!(matches!(refusal, Refusal::NoBackup { .. }));
                }
            }
        }
    }
}
