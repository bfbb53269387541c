//! Tests of the checks of etcd as it runs, where etcd-manager runs it.

use crate::checks::fixtures::{
    TAKEN, control_plane, control_plane_of_three, expected_of, reads, record_of, says, stands,
    stuck_in,
};
use quake_model::facts::{
    EntryKind, MemberSeen, MemberStatus, Membership, PodSeen, ProbeFacts, ProbeSeen, ReachSeen,
    Reached, RuntimeSeen, SURVEY_SCHEMA, Seen, Survey,
};
use quake_model::fault::{Code, Fault};
use quake_model::phase::Phase;
use quake_model::record::{PendingCondition, PhaseStatus};

const MANIFESTS: [&str; 2] = [
    "/etc/kubernetes/manifests/etcd-main-a.manifest",
    "/etc/kubernetes/manifests/etcd-events-a.manifest",
];

fn member(cluster: &str, own: bool, health: ProbeFacts) -> MemberSeen {
    let name = if cluster == "main" {
        "etcd"
    } else {
        "etcd-events"
    };
    let listed = |member: &str| Membership {
        name: format!("{name}-{member}"),
        peer_urls: vec![format!(
            "https://{name}-{member}.internal.c.example.com:2380"
        )],
        is_learner: false,
    };
    MemberSeen {
        cluster: cluster.to_owned(),
        url: "https://127.0.0.1:4001".to_owned(),
        own,
        health,
        status: Some(MemberStatus {
            database_bytes: 24 << 20,
            quota_bytes: Some(2 << 30),
            has_leader: true,
            ..MemberStatus::default()
        }),
        alarms: Vec::new(),
        members: Some(["a", "b", "c"].map(listed).to_vec()),
    }
}

fn answered(status: u16, body: &str) -> ProbeFacts {
    ProbeFacts::Answered {
        status,
        body: body.to_owned(),
    }
}

fn silent() -> ProbeFacts {
    ProbeFacts::Silent {
        reason: "connection refused".to_owned(),
    }
}

fn container(pod: &str, state: &str) -> PodSeen {
    PodSeen {
        namespace: "kube-system".to_owned(),
        name: format!("{pod}-i-0a"),
        container: "etcd-manager".to_owned(),
        state: state.to_owned(),
        ..PodSeen::default()
    }
}

/// The second control plane's ports, and the third's.
fn peers(result: &Reached) -> Vec<ReachSeen> {
    let port = |(host, port): (&str, u16)| ReachSeen {
        purpose: "etcd-peer".to_owned(),
        host: format!("{host}.internal.c.example.com"),
        port,
        result: result.clone(),
        took_ms: 1,
    };
    [
        ("etcd-b", 2380),
        ("etcd-b", 3996),
        ("etcd-c", 2380),
        ("etcd-c", 3996),
    ]
    .map(port)
    .to_vec()
}

/// A control plane of which all is well.
fn well() -> Survey {
    let mut survey = control_plane_of_three();
    SURVEY_SCHEMA.clone_into(&mut survey.schema_version);
    for manifest in MANIFESTS {
        reads(&mut survey, manifest, "kind: Pod\n");
    }
    survey.runtime = Seen::Yes(RuntimeSeen {
        pods: Some(vec![
            container("etcd-manager-main", "running"),
            container("etcd-manager-events", "running"),
        ]),
        ..RuntimeSeen::default()
    });
    let health = || answered(200, "{\"health\":\"true\"}");
    survey.etcd = Seen::Yes(vec![
        member("main", true, health()),
        member("events", true, health()),
        member("main", false, answered(200, "")),
    ]);
    survey.reach = Seen::Yes(peers(&Reached::Connected { tls: None }));
    survey
}

fn first_of(survey: &mut Survey) -> &mut MemberSeen {
    match &mut survey.etcd {
        Seen::Yes(members) => &mut members[0],
        _ => panic!("members were asked"),
    }
}

#[test]
fn a_node_that_is_well_has_all_its_checks_made() {
    let survey = well();
    for (id, wanted) in [
        ("etcd.pods", "ok: etcd-manager-main, etcd-manager-events"),
        ("etcd.peers", "ok: 4 ports of peers take connections"),
        ("etcd.alarms", "ok: main, events"),
        ("etcd.membership", "ok: etcd-a, etcd-events-a"),
        ("etcd.alive", "ok: etcd-main, etcd-events"),
    ] {
        assert_eq!(says(id, &survey), wanted, "{id}");
    }
    // Where the agent runs the members itself, nothing of it is asked for.
    for id in ["etcd.pods", "etcd.peers", "etcd.alarms", "etcd.membership"] {
        let said = says(id, &control_plane());
        assert!(said.starts_with("skip: "), "{id}: {said}");
    }
}

#[test]
fn an_alarm_is_found_in_the_list_and_in_the_answer_to_the_health_check() {
    let id = "etcd.alarms";
    let full = "fail: etcd's cluster main is full and takes no writes: the alarm NOSPACE stands";
    let mut listed = well();
    first_of(&mut listed).alarms = vec!["NOSPACE".to_owned()];
    assert_eq!(says(id, &listed), full);
    let mut answers = well();
    let body = r#"{"health":"false","reason":"ALARM NOSPACE"}"#;
    first_of(&mut answers).health = answered(503, body);
    assert_eq!(says(id, &answers), full);
    assert_eq!(
        says("etcd.alive", &answers),
        format!("fail: etcd-main answered 503: {body} [ready.probe-failing]")
    );
    first_of(&mut answers).health =
        answered(503, r#"{"health":"false","reason":"RAFT NO LEADER"}"#);
    assert_eq!(says(id, &answers), "ok: main, events");
}

#[test]
fn a_member_that_its_peers_do_not_list_was_removed() {
    let id = "etcd.membership";
    let mut survey = well();
    let Seen::Yes(members) = &mut survey.etcd else {
        panic!("members were asked")
    };
    members[0].health = silent();
    members[0].members = None;
    let listed = members[2].members.as_mut().expect("a peer lists them");
    listed.remove(0);
    assert_eq!(
        says(id, &survey),
        "fail: etcd-a was removed from etcd's cluster main, and cannot start"
    );
    // One that was added and has not started has no name yet.
    let Seen::Yes(members) = &mut survey.etcd else {
        panic!("members were asked")
    };
    members[2]
        .members
        .as_mut()
        .expect("a peer lists them")
        .push(Membership {
            peer_urls: vec!["https://etcd-a.internal.c.example.com:2380".to_owned()],
            ..Membership::default()
        });
    assert_eq!(says(id, &survey), "ok: etcd-a, etcd-events-a");
    let Seen::Yes(members) = &mut survey.etcd else {
        panic!("members were asked")
    };
    for member in members.iter_mut() {
        member.members = None;
    }
    assert_eq!(says(id, &survey), "skip: no member named the others");
}

#[test]
fn a_learner_is_a_warning() {
    let mut survey = well();
    let status = first_of(&mut survey).status.as_mut();
    status.expect("it says").is_learner = true;
    assert_eq!(
        says("etcd.membership", &survey),
        "warn: etcd-a only learns in etcd's cluster main: it has no vote"
    );
}

#[test]
fn peers_that_are_blocked_fail_where_no_majority_is_left() {
    let id = "etcd.peers";
    let mut survey = well();
    survey.reach = Seen::Yes(peers(&Reached::TimedOut));
    assert_eq!(
        says(id, &survey),
        "fail: etcd's peer etcd-b.internal.c.example.com:2380 of main does not answer: a security group, a network ACL or a filter of a host drops the packets, or its instance does not run"
    );
    let mut one = peers(&Reached::Connected { tls: None });
    one[2].result = Reached::Refused;
    survey.reach = Seen::Yes(one);
    assert_eq!(
        says(id, &survey),
        "warn: etcd's peer etcd-c.internal.c.example.com:2380 of main refuses connections: nothing listens there"
    );
    survey.reach = Seen::NotTaken("--offline".to_owned());
    assert_eq!(says(id, &survey), "skip: --offline");
    survey.reach = Seen::Yes(Vec::new());
    assert_eq!(says(id, &survey), "skip: no peer was connected to");
}

#[test]
fn the_own_ports_of_a_member_that_is_down_are_no_peers() {
    let mut survey = well();
    let mut tried = peers(&Reached::Connected { tls: None });
    tried.push(ReachSeen {
        host: "etcd-a.internal.c.example.com".to_owned(),
        result: Reached::Refused,
        ..tried[0].clone()
    });
    survey.reach = Seen::Yes(tried);
    assert!(says("etcd.peers", &survey).starts_with("ok: 4 ports"));
    // Three members in one group: the address says which is this node's.
    for member in &mut expected_of(&mut survey).etcd {
        member.groups = vec!["masters".to_owned(); 3];
    }
    reads(
        &mut survey,
        "/etc/hosts",
        "10.0.0.4 etcd-a.internal.c.example.com\n",
    );
    assert!(says("etcd.peers", &survey).starts_with("ok: 4 ports"));
}

#[test]
fn a_pod_without_its_manifest_is_held_back_or_lost() {
    let id = "etcd.pods";
    let mut lost = well();
    lost.entries.remove(MANIFESTS[0]);
    assert_eq!(
        says(id, &lost),
        format!(
            "fail: etcd-manager-main has no manifest: {} is gone",
            MANIFESTS[0]
        )
    );
    let mut held = well();
    for manifest in MANIFESTS {
        held.entries.remove(manifest);
        held.texts.remove(manifest);
    }
    stuck_in(&mut held, Phase::Storage);
    for phase in [Phase::Files, Phase::Services] {
        let found = record_of(&mut held).phases.get_mut(&phase);
        found.expect("the scene has it").status = PhaseStatus::Done;
    }
    assert!(says(id, &held).starts_with("skip: the boot has not come"));
    let summary = "main/a is claimed by vol-0a, vol-0b; nothing was attached";
    let storage = record_of(&mut held).phases.get_mut(&Phase::Storage);
    storage.expect("the scene has it").unmet.insert(
        "storage".to_owned(),
        PendingCondition {
            step: "storage".to_owned(),
            attempt: 3,
            since: TAKEN,
            next_at: TAKEN,
            deadline: TAKEN,
            fault: Fault::new(Code::StorageVolumeConflict, summary),
        },
    );
    assert_eq!(
        says(id, &held),
        format!(
            "fail: the agent holds etcd-manager-main, etcd-manager-events back: {summary} [storage.volume-conflict]"
        )
    );
    // No other check takes the absence for a fault of its own.
    expected_of(&mut held).static_pods = vec!["etcd-manager-main".to_owned()];
    assert_eq!(says("staticpods.manifests", &held), "ok: 0 manifests");
    assert!(says("staticpods.running", &held).starts_with("ok: "));
}

#[test]
fn a_pod_that_ended_is_named() {
    let mut survey = well();
    survey.runtime = Seen::Yes(RuntimeSeen {
        pods: Some(vec![PodSeen {
            exit_code: Some(1),
            restarts: 9,
            ..container("etcd-manager-main", "exited")
        }]),
        ..RuntimeSeen::default()
    });
    assert_eq!(
        says("etcd.pods", &survey),
        "fail: etcd-manager-main ended with 1, started again 9 times"
    );
}

#[test]
fn an_api_server_that_misses_etcd_makes_etcd_the_cause() {
    let id = "etcd.alive";
    let mut survey = well();
    survey.probes = Seen::Yes(vec![ProbeSeen {
        component: "kube-apiserver".to_owned(),
        url: "http://127.0.0.1:3990/livez".to_owned(),
        answer: answered(500, "[+]ping ok\n[-]etcd failed: reason withheld\n"),
    }]);
    assert!(says(id, &survey).starts_with(
        "fail: kube-apiserver says that etcd failed, though etcd-main, etcd-events answers here"
    ));
    survey.etcd = Seen::Denied("etcd-client.key cannot be read".to_owned());
    assert!(says(id, &survey).starts_with("fail: kube-apiserver says that etcd failed ["));
    survey.probes = Seen::Yes(Vec::new());
    assert!(says(id, &survey).starts_with("skip: needs root"));
}

#[test]
fn data_without_etcd_managers_state_are_not_started() {
    let mut survey = well();
    for volume in ["vol-0m", "vol-0e"] {
        // Where the root is read-only, they are mounted below another directory.
        let mount = format!("/mnt/disks/master-{volume}");
        for folder in ["", "/wal", "/snap"] {
            let path = format!("{mount}/data/token/member{folder}");
            stands(&mut survey, &path, EntryKind::Directory, 0o700, 4096);
        }
        stands(
            &mut survey,
            &format!("{mount}/state"),
            EntryKind::File,
            0o600,
            200,
        );
    }
    let said = says("etcd.data", &survey);
    assert!(
        said.starts_with("ok: /mnt/disks/master-vol-0e/data/token/member"),
        "{said}"
    );
    survey.entries.remove("/mnt/disks/master-vol-0e/state");
    let said = says("etcd.data", &survey);
    assert!(said.starts_with("fail: /mnt/disks/master-vol-0e/data/token/member is there, and "));
}
