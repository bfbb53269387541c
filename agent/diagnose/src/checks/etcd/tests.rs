//! Tests of the checks of etcd.

use super::super::fixtures::{
    TAKEN, control_plane, expected_of, reads, says, stands, stuck_in, worker,
};
use super::*;
use quake_model::facts::{Seen, Survey};
use quake_model::time::Timestamp;

const MEMBERS: [&str; 2] = [
    "/mnt/master-vol-0m/var/etcd/data/member",
    "/mnt/master-vol-0e/data/token/member",
];

fn running() -> Survey {
    let mut survey = control_plane();
    for member in MEMBERS {
        stands(&mut survey, member, EntryKind::Directory, 0o700, 4096);
        for part in ["wal", "snap"] {
            stands(
                &mut survey,
                &format!("{member}/{part}"),
                EntryKind::Directory,
                0o700,
                4096,
            );
        }
        stands(
            &mut survey,
            &format!("{member}/snap/db"),
            EntryKind::File,
            0o600,
            1 << 20,
        );
    }
    survey
}

#[test]
fn the_data_of_every_member_must_be_whole() {
    let id = "etcd.data";
    assert_eq!(
        says(id, &running()),
        format!("ok: {}, {}", MEMBERS[1], MEMBERS[0])
    );
    let mut torn = running();
    torn.entries.remove(&format!("{}/wal", MEMBERS[0]));
    assert_eq!(says(id, &torn), format!("fail: {} has no wal", MEMBERS[0]));
    let mut open = running();
    stands(&mut open, MEMBERS[0], EntryKind::Directory, 0o755, 4096);
    assert_eq!(
        says(id, &open),
        format!("warn: {} is open to others than root", MEMBERS[0])
    );
    let mut gone = running();
    gone.entries.remove(MEMBERS[0]);
    assert_eq!(
        says(id, &gone),
        "fail: 1 of 2 members of etcd have data on their volumes"
    );
    stuck_in(&mut gone, Phase::Ready);
    assert_eq!(says(id, &gone), "skip: etcd has not started here yet");
    assert_eq!(
        says(id, &control_plane()),
        "skip: nothing below /mnt was looked at"
    );
    assert_eq!(
        says(id, &worker()),
        "skip: no member of etcd runs on this node"
    );
    stuck_in(&mut gone, Phase::Storage);
    assert!(says(id, &gone).starts_with("skip: the boot has not come"));
}

#[test]
fn a_database_at_its_quota_fails_and_the_quota_is_the_manifests() {
    let mut survey = running();
    let database = format!("{}/snap/db", MEMBERS[0]);
    stands(&mut survey, &database, EntryKind::File, 0o600, QUOTA);
    let said = says("etcd.data", &survey);
    assert_eq!(
        said,
        format!("fail: {database} has 2048 MiB, and its quota is 2048 MiB")
    );
    let manifest = "- --quota-backend-bytes=17179869184\n";
    reads(
        &mut survey,
        "/etc/kubernetes/manifests/etcd.manifest",
        manifest,
    );
    assert!(says("etcd.data", &survey).starts_with("ok: "));
    stands(&mut survey, &database, EntryKind::File, 0o600, MOST);
    assert!(says("etcd.data", &survey).starts_with("warn: "));
}

#[test]
fn a_quota_with_a_unit_is_none_that_etcd_reads() {
    let path = "/etc/kubernetes/manifests/etcd.manifest";
    let with = |value: &str| {
        let mut survey = running();
        let manifest = format!("- name: ETCD_QUOTA_BACKEND_BYTES\n  value: \"{value}\"\n");
        reads(&mut survey, path, &manifest);
        says("etcd.data", &survey)
    };
    assert_eq!(
        with("8G"),
        format!(
            "fail: {path} gives etcd the quota 8G: etcd reads bytes without a unit and does not start"
        )
    );
    assert!(with("6442450944").starts_with("ok: "));
    assert!(with("0").starts_with("ok: "));
}

#[test]
fn members_that_can_be_asked_must_answer() {
    let id = "etcd.alive";
    let mut survey = control_plane();
    assert!(says(id, &survey).starts_with("skip: its members ask for certificates"));
    expected_of(&mut survey).probes = vec!["etcd-main http://127.0.0.1:4001/health".to_owned()];
    assert!(says(id, &survey).starts_with("skip: "));
    let probe = |answer| {
        Seen::Yes(vec![ProbeSeen {
            component: "etcd-main".to_owned(),
            url: "http://127.0.0.1:4001/health".to_owned(),
            answer,
        }])
    };
    let body = || "{\"health\": \"true\"}".to_owned();
    survey.probes = probe(ProbeFacts::Answered {
        status: 200,
        body: body(),
    });
    assert_eq!(says(id, &survey), "ok: etcd-main");
    survey.probes = probe(ProbeFacts::Silent {
        reason: "connection refused".to_owned(),
    });
    assert_eq!(
        says(id, &survey),
        "fail: etcd-main does not answer: connection refused [ready.probe-failing]"
    );
    survey.probes = Seen::Yes(Vec::new());
    assert_eq!(says(id, &survey), "skip: no member was asked");
    stuck_in(&mut survey, Phase::Services);
    assert!(says(id, &survey).starts_with("skip: the boot has not come"));
}

#[test]
fn a_backup_of_last_week_is_a_warning() {
    let id = "etcd.backup";
    let mut survey = control_plane();
    assert!(says(id, &survey).starts_with("skip: the spec names no place"));
    let place = "s3://state/c.example.com/backups/etcd/main".to_owned();
    expected_of(&mut survey).backups = vec![place.clone()];
    assert!(says(id, &survey).starts_with("skip: "));
    let with = |newest| Seen::Yes(BTreeMap::from([(place.clone(), newest)]));
    survey.backups = with(Some(Timestamp(TAKEN.0 - 7_200_000)));
    assert_eq!(says(id, &survey), format!("ok: {place}: 2 hours ago"));
    survey.backups = with(Some(Timestamp(TAKEN.0 - 7 * STALE_MS)));
    assert!(says(id, &survey).starts_with(&format!("warn: {place} has its newest of 2026-11-14")));
    survey.backups = with(None);
    assert_eq!(says(id, &survey), "skip: the first backup is still to come");
}
