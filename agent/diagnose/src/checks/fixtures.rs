//! Surveys for the tests of checks: nodes of a small cluster that are as they should be, and what a check says of one.

use super::node::Node;
use super::{Verdict, find};
use quake_model::boot::{BootId, BootState};
use quake_model::expected::{Expected, ExpectedAsset, ExpectedClient, ExpectedMember, ExpectedPod};
use quake_model::facts::{
    EntryFacts, EntryKind, InstanceFacts, MetadataSeen, Owner, Seen, Survey, UnitFacts, Unseen,
};
use quake_model::phase::PHASES;
use quake_model::record::{PhaseRecord, PhaseStatus, Record, SpecRecord};
use quake_model::time::Timestamp;

/// 2026-11-21T03:22:17Z, when the surveys are taken.
pub(super) const TAKEN: Timestamp = Timestamp(1_795_231_337_000);

/// The name of the cluster.
pub(super) const CLUSTER: &str = "c.example.com";

/// A worker whose boot ended well, and nothing seen of it but its record.
pub(super) fn worker() -> Survey {
    Survey {
        taken: TAKEN,
        agent_version: "1.0.0".to_owned(),
        by_root: true,
        record: Some(record("worker")),
        ..Survey::default()
    }
}

/// The same of a control plane with one member of two etcd clusters.
pub(super) fn control_plane() -> Survey {
    let mut survey = worker();
    let mut record = record("control-plane");
    let member = |cluster: &str| ExpectedMember {
        cluster: cluster.to_owned(),
        members: vec!["a".to_owned()],
        groups: vec!["masters".to_owned()],
        ..ExpectedMember::default()
    };
    let expected = record.expected.get_or_insert_default();
    expected.etcd = vec![member("main"), member("events")];
    survey.record = Some(record);
    survey
}

/// The same with etcd-manager's pods, and with two peers that this node's member `a` has in each etcd cluster.
pub(super) fn control_plane_of_three() -> Survey {
    let mut survey = control_plane();
    let spots = [
        ("main", "etcd", 4001, 2380),
        ("events", "etcd-events", 4002, 2381),
    ];
    let members = spots.map(|(cluster, name, port, peers)| ExpectedMember {
        cluster: cluster.to_owned(),
        members: ["a", "b", "c"].map(str::to_owned).to_vec(),
        groups: ["masters", "masters-b", "masters-c"]
            .map(str::to_owned)
            .to_vec(),
        hosts: ["a", "b", "c"]
            .map(|member| format!("{name}-{member}.internal.{CLUSTER}"))
            .to_vec(),
        peer_ports: vec![peers, peers + 1616],
        pod: Some(ExpectedPod {
            name: format!("etcd-manager-{cluster}"),
            manifest: format!("/etc/kubernetes/manifests/etcd-{cluster}-a.manifest"),
        }),
        client: Some(ExpectedClient {
            port,
            certificate: "/srv/kubernetes/kube-apiserver/etcd-client.crt".to_owned(),
            key: "/srv/kubernetes/kube-apiserver/etcd-client.key".to_owned(),
            ca: "/srv/kubernetes/kube-apiserver/etcd-ca.crt".to_owned(),
        }),
    });
    expected_of(&mut survey).etcd = members.to_vec();
    survey
}

/// The record of the only boot, for changing it.
pub(super) fn record_of(survey: &mut Survey) -> &mut Record {
    survey.record.as_mut().expect("the scene has a record")
}

/// What the node is expected to have, for changing it.
pub(super) fn expected_of(survey: &mut Survey) -> &mut Expected {
    let expected = record_of(survey).expected.as_mut();
    expected.expect("the scene has it")
}

/// The boot came as far as `phase`, which runs, and no further.
pub(super) fn stuck_in(survey: &mut Survey, phase: quake_model::phase::Phase) {
    let record = record_of(survey);
    record.state = BootState::Preparing;
    for row in PHASES.iter().filter(|row| row.phase >= phase) {
        record.phases.insert(row.phase, PhaseRecord::default());
    }
}

/// The instance of the scene.
pub(super) fn instance() -> InstanceFacts {
    InstanceFacts {
        instance_id: "i-0a".to_owned(),
        instance_type: "m5.large".to_owned(),
        zone: "us-west-2a".to_owned(),
        region: "us-west-2".to_owned(),
        account_id: "111122223333".to_owned(),
        image_id: "ami-0a".to_owned(),
        private_ip: "10.0.0.4".to_owned(),
        local_hostname: "ip-10-0-0-4.us-west-2.compute.internal".to_owned(),
        mac: "0a:00:00:00:00:01".to_owned(),
        architecture: "x86_64".to_owned(),
    }
}

/// What its metadata service says.
pub(super) fn metadata() -> MetadataSeen {
    MetadataSeen {
        instance: instance(),
        role: Some("nodes.c.example.com".to_owned()),
        credentials_end: Some(Timestamp(TAKEN.0 + 3_600_000)),
        credentials_problem: None,
        took_ms: 2,
        user_data: None,
        lifecycle: None,
        interruption: None,
        rebalance: None,
    }
}

fn record(role: &str) -> Record {
    let done = PhaseRecord {
        status: PhaseStatus::Done,
        ..PhaseRecord::default()
    };
    Record {
        boot: Some(BootId::new(Timestamp(TAKEN.0 - 600_000), 1)),
        version: "1.0.0".to_owned(),
        command: "boot".to_owned(),
        started: Timestamp(TAKEN.0 - 600_000),
        updated: Timestamp(TAKEN.0 - 540_000),
        elapsed_ms: 60_000,
        state: BootState::Ready,
        instance: Some(instance()),
        spec: Some(SpecRecord {
            cluster: CLUSTER.to_owned(),
            instance_group: if role == "worker" { "nodes" } else { "masters" }.to_owned(),
            role: role.to_owned(),
            kubernetes: "1.15.12".to_owned(),
            source: "user-data/kube_env.yaml".to_owned(),
            digest: "sha256:00".to_owned(),
        }),
        expected: Some(expected()),
        phases: PHASES.iter().map(|row| (row.phase, done.clone())).collect(),
        ..Record::default()
    }
}

fn expected() -> Expected {
    Expected {
        generation: Some(quake_model::spec::KopsGeneration::Legacy),
        node_name: instance().local_hostname,
        config_base: "s3://state/c.example.com".to_owned(),
        runtime: "containerd".to_owned(),
        kubelet_flags: vec!["cloud-provider=aws".to_owned()],
        kubeconfig: "/var/lib/kubelet/kubeconfig".to_owned(),
        manifest_directory: "/etc/kubernetes/manifests".to_owned(),
        assets: vec![ExpectedAsset {
            name: "kubelet".to_owned(),
            digest: format!("sha256:{}", "a".repeat(64)),
            hosts: vec!["a.example".to_owned(), "b.example".to_owned()],
            paths: vec!["/usr/local/bin/kubelet".to_owned()],
        }],
        ..Expected::default()
    }
}

/// A file or directory at `path`.
pub(super) fn stands(survey: &mut Survey, path: &str, kind: EntryKind, mode: u32, size: u64) {
    let entry = EntryFacts {
        kind,
        mode,
        owner: Owner::default(),
        size,
        modified: TAKEN,
        target: None,
    };
    survey.entries.insert(path.to_owned(), entry);
}

/// A file at `path` with this text.
pub(super) fn reads(survey: &mut Survey, path: &str, text: &str) {
    stands(survey, path, EntryKind::File, 0o644, text.len() as u64);
    let text = Seen::Yes(text.to_owned());
    survey.texts.insert(path.to_owned(), text);
}

/// A unit that runs.
pub(super) fn unit(name: &str) -> UnitFacts {
    UnitFacts {
        name: name.to_owned(),
        found: true,
        active: quake_model::facts::ActiveState::Active,
        sub_state: "running".to_owned(),
        enabled: true,
        installable: true,
        needs_reload: false,
        restarts: 0,
        active_since_us: 1,
        result: "success".to_owned(),
        main_started_us: 1,
        main_ended: None,
        notifies: false,
    }
}

/// What a check says of a survey: a word, then its text and the code in brackets.
pub(super) fn says(id: &str, survey: &Survey) -> String {
    let check = find(id).unwrap_or_else(|| panic!("there is no check {id}"));
    let text = |word: &str, finding: super::Finding| {
        assert!(!finding.fix.is_empty(), "{id} says what to do");
        let code = finding.code.map(|code| format!(" [{code}]"));
        format!("{word}: {}{}", finding.summary, code.unwrap_or_default())
    };
    match (check.judge)(&Node::new(survey)) {
        Ok(Verdict::Ok(note)) => format!("ok: {note}"),
        Ok(Verdict::Warn(finding)) => text("warn", finding),
        Ok(Verdict::Fail(finding)) => text("fail", finding),
        Ok(Verdict::Skip(why)) | Err(Unseen::NotTaken(why)) => format!("skip: {why}"),
        Err(Unseen::Denied(why)) => format!("skip: needs root: {why}"),
        Err(Unseen::TimedOut(millis)) => format!("error: not seen in {millis} ms"),
        Err(Unseen::Failed(why)) => format!("error: {why}"),
    }
}
