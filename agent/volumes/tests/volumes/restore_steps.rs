//! What a restore asks for each member, and how many members that may be healthy forbid it.

use crate::restore::{managed, outcome};
use quake_volumes::restore::{
    Health, MemberFacts, MemberStep, MemberVolume, Refusal, RestoreFacts, SnapshotFacts, Source,
    plan_restore,
};

/// A member that was not asked; `instance` runs it.
fn unknown(name: String, instance: Option<&str>) -> MemberFacts {
    MemberFacts {
        volume: one(&name, instance),
        name,
        instance_group: None,
        health: Health::Unknown,
    }
}

fn one(id: &str, instance: Option<&str>) -> MemberVolume {
    MemberVolume::One {
        id: format!("vol-{id}"),
        instance: instance.map(str::to_owned),
        new: false,
    }
}

/// A cluster of which nobody was asked, and so many members run.
fn unasked(members: usize, running: usize) -> RestoreFacts {
    let mut facts = crate::restore::with_backup();
    facts.members = (0..members)
        .map(|at| unknown(at.to_string(), (at < running).then_some("i-1")))
        .collect();
    facts
}

#[test]
fn as_many_unasked_members_that_run_as_a_quorum_needs_forbid_a_restore() {
    for (members, quorum) in [(1, 1), (2, 2), (3, 2), (4, 3), (5, 3), (7, 4)] {
        for running in 0..=members {
            let result = plan_restore(&unasked(members, running));
            if running < quorum {
                assert!(result.is_ok(), "{running} of {members}");
                continue;
            }
            let Err(Refusal::QuorumHealthy {
                unknown,
                healthy,
                needed,
                ..
            }) = result
            else {
                panic!("{running} of {members}: {result:?}");
            };
            assert_eq!((unknown.len(), needed), (running, quorum));
            assert_eq!(healthy, Vec::<String>::new());
        }
    }
}

#[test]
fn where_a_member_is_healthy_the_refusal_names_it_and_nobody_else() {
    let mut facts = unasked(3, 3);
    facts.members[1].health = Health::Healthy;
    let Err(Refusal::QuorumHealthy {
        unknown, healthy, ..
    }) = plan_restore(&facts)
    else {
        panic!("{}", outcome(&facts));
    };
    assert_eq!((unknown, healthy), (Vec::new(), vec!["1".to_owned()]));
}

#[test]
fn a_refusal_says_how_many_members_a_quorum_needs_and_which_there_are() {
    let mut facts = unasked(3, 2);
    let text = |facts: &RestoreFacts| plan_restore(facts).expect_err("a quorum").to_string();
    assert_eq!(
        text(&facts),
        "main may have its quorum of 2: healthy are none, not asked and running are 0, 1"
    );
    facts.members[2].health = Health::Healthy;
    assert_eq!(text(&facts), "main has a quorum of 2: healthy are 2");
}

#[test]
fn a_snapshot_whose_members_prove_nothing_is_restored_from_the_clusters_own_store_alone() {
    let mut facts = crate::restore::with_backup();
    facts.snapshot = Some(Ok(SnapshotFacts {
        keys: 1,
        ..SnapshotFacts::default()
    }));
    assert!(plan_restore(&facts).is_ok(), "{}", outcome(&facts));
    facts.source = Source::Named(facts.backups[0].name.clone());
    assert!(plan_restore(&facts).is_ok(), "{}", outcome(&facts));
    facts.source = Source::File {
        path: "/root/snapshot.db".to_owned(),
        taken: facts.now,
    };
    let refused = plan_restore(&facts);
    assert!(matches!(refused, Err(Refusal::Unproven { .. })));
}

#[test]
fn etcd_manager_restores_older_minor_versions_and_an_etcd_without_it_the_one_before_alone() {
    for (is_managed, program, is_restored) in [
        (true, "3.6.12", true),
        (false, "3.6.12", false),
        (false, "3.5.21", true),
        (true, "4.4.0", false),
    ] {
        let mut facts = crate::restore::with_backup();
        facts.managed = is_managed;
        let control = facts.control.as_mut().expect("there is one");
        control.etcd_version = program.to_owned();
        let found = outcome(&facts);
        assert_eq!(
            found.starts_with("restores"),
            is_restored,
            "{program}: {found}"
        );
    }
}

#[test]
fn each_member_has_the_step_of_its_volume_and_of_who_runs_it() {
    let several = MemberVolume::Several {
        ids: vec!["vol-1".to_owned(), "vol-2".to_owned()],
    };
    for (volume, by_manager, by_agent) in [
        (
            MemberVolume::Missing,
            MemberStep::CreateVolume,
            MemberStep::CreateVolume,
        ),
        (several, MemberStep::ChooseVolume, MemberStep::ChooseVolume),
        (
            one("a", None),
            MemberStep::StartInstance,
            MemberStep::StartInstance,
        ),
        (
            one("a", Some("i-1")),
            MemberStep::Managed,
            MemberStep::ReplaceData,
        ),
    ] {
        for (is_managed, expected) in [(true, by_manager), (false, by_agent)] {
            let mut facts = crate::restore::with_backup();
            facts.managed = is_managed;
            facts.members[0].volume = volume.clone();
            let plan = plan_restore(&facts).expect("it is planned");
            let step = plan.members[0].step;
            assert_eq!(step, expected, "{volume:?}, managed: {is_managed}");
        }
    }
}

#[test]
fn etcd_manager_restarts_where_a_member_is_not_lost_and_nobody_does_otherwise() {
    for (lost, is_managed, expected) in [(3, true, false), (2, true, true), (2, false, false)] {
        let mut facts = crate::restore::with_backup();
        facts.members = managed(lost, Vec::new()).members;
        facts.managed = is_managed;
        let plan = plan_restore(&facts).expect("it is planned");
        assert_eq!(plan.needs_restart, expected, "{lost} lost");
    }
}
