//! What the checks of names say of nodes.

use super::PUBLISHED;
use crate::checks::fixtures::instance as facts;
use crate::checks::report::Status;
use crate::checks::surveyed::{entry, proves, record, tree, unit};
use quake_model::expected::{Expected, ExpectedNames};
use quake_model::facts::{ActiveState, EntryKind, NameSeen, Seen, Survey};

fn node(files: &[(&str, &str)]) -> Survey {
    let mut record = record("node", "1.27.3");
    record.expected = Some(Expected {
        names: vec!["api.internal.k8s.example.com".into()],
        ..Expected::default()
    });
    Survey {
        record: Some(record),
        ..tree(files)
    }
}

const RESOLV: &str = "/etc/resolv.conf";
const BEHIND: (&str, &str) = (
    "/run/systemd/resolve/resolv.conf",
    "nameserver 10.0.0.2\nsearch ec2.internal\n",
);
const STUB: (&str, &str) = (RESOLV, "nameserver 127.0.0.53\noptions edns0\n");

#[test]
fn a_pod_that_keeps_a_name_server_of_before_is_told_and_a_stub_domain_is_none() {
    let question = |name: &str| {
        format!(
            "[ERROR] plugin/errors: 2 {name}. A: read udp 100.96.3.7:60211->10.20.0.53:53: i/o timeout"
        )
    };
    for (names, status) in [
        (["a.example.com", "b.example.org"], Status::Warn),
        (["a.corp.example", "b.corp.example"], Status::Ok),
    ] {
        let mut node = crate::checks::node_sample::Sample::worker();
        node.text(RESOLV, "nameserver 10.0.0.2\n");
        node.pod("coredns-1", "running");
        let pods = node.runtime().pods.as_mut().expect("it has pods");
        pods.last_mut().expect("one").log = names.map(question).to_vec();
        node.assert("dns.resolvers", status, "10.");
    }
}

#[test]
fn name_servers_are_there_and_not_too_many() {
    let cases = [
        (
            "nameserver 10.0.0.2\nsearch ec2.internal\n",
            Status::Ok,
            "10.0.0.2",
        ),
        (
            "# Generated\nsearch ec2.internal\n",
            Status::Fail,
            "names no name server",
        ),
        (
            "nameserver 1.1.1.1\nnameserver 1.1.1.2\nnameserver 1.1.1.3\nnameserver 1.1.1.4\n",
            Status::Warn,
            "4 name servers",
        ),
        (
            "nameserver 10.0.0.2\nsearch a b c d e f g\n",
            Status::Warn,
            "7 domains",
        ),
    ];
    for (text, status, words) in cases {
        proves("dns.resolvers", &node(&[(RESOLV, text)]), status, words);
    }
    proves(
        "dns.resolvers",
        &node(&[]),
        Status::Fail,
        "no /etc/resolv.conf",
    );
    proves("dns.resolvers", &Survey::default(), Status::Skip, RESOLV);
    let mut dangling = node(&[]);
    let mut link = entry(EntryKind::Link, 0o777);
    link.target = Some("../run/systemd/resolve/stub-resolv.conf".into());
    dangling.entries.insert(RESOLV.into(), link);
    proves(
        "dns.resolvers",
        &dangling,
        Status::Fail,
        "stub-resolv.conf, which is not there",
    );
}

#[test]
fn the_stub_needs_its_service_and_pods_need_what_is_behind_it() {
    let reported = (
        "/etc/sysconfig/kubelet",
        "DAEMON_ARGS=\"--resolv-conf=/run/systemd/resolve/resolv.conf\"\n",
    );
    let with = |active, files: &[(&str, &str)]| {
        let mut survey = node(files);
        survey.units = Seen::Yes(vec![unit("systemd-resolved.service", active)]);
        survey
    };
    proves(
        "dns.resolvers",
        &with(ActiveState::Active, &[STUB, BEHIND, reported]),
        Status::Ok,
        "10.0.0.2",
    );
    proves(
        "dns.resolvers",
        &with(ActiveState::Failed, &[STUB, BEHIND, reported]),
        Status::Fail,
        "does not run",
    );
    proves(
        "dns.resolvers",
        &with(ActiveState::Active, &[STUB, reported]),
        Status::Fail,
        "knows no name server",
    );
    proves(
        "dns.resolvers",
        &with(ActiveState::Active, &[STUB, BEHIND]),
        Status::Warn,
        "127.0.0.53, which is not there for them",
    );
}

fn name(name: &str, server: &str, addresses: &[&str], took_ms: u64) -> NameSeen {
    NameSeen {
        name: name.into(),
        purpose: "api-server".into(),
        server: server.into(),
        addresses: addresses.iter().map(|one| (*one).to_owned()).collect(),
        error: addresses.is_empty().then(|| "no records found".to_owned()),
        took_ms,
    }
}

#[test]
fn names_must_resolve_soon_and_to_real_addresses() {
    const API: &str = "api.internal.k8s.example.com";
    const S3: &str = "s3.us-west-2.amazonaws.com";
    let store = || name(S3, "", &["52.218.0.1"], 5);
    let cases = [
        (
            vec![name(API, "", &["10.0.1.9"], 5), store()],
            Status::Ok,
            "2 names",
        ),
        (
            vec![name(API, "", &[], 5), store()],
            Status::Fail,
            "associate-vpc-with-hosted-zone",
        ),
        (
            vec![name(API, "", &[], 5), name(S3, "", &[], 5)],
            Status::Fail,
            "none of 2 names resolves",
        ),
        (
            vec![name(API, "", &["203.0.113.123"], 5)],
            Status::Fail,
            "no control plane has published",
        ),
        (
            vec![name(API, "", &["10.0.1.9"], 4_000)],
            Status::Warn,
            "took 4000 ms",
        ),
        (
            vec![
                name(API, "", &["10.0.1.9"], 5),
                name(API, "10.0.9.9", &[], 5),
            ],
            Status::Warn,
            "10.0.9.9 does not resolve",
        ),
        (Vec::new(), Status::Skip, "no name"),
    ];
    for (seen, status, words) in cases {
        let mut survey = node(&[]);
        survey.names = Seen::Yes(seen);
        proves("dns.names", &survey, status, words);
    }
    proves("dns.names", &node(&[]), Status::Skip, "nothing recorded it");
}

#[test]
fn published_names_lead_to_the_node_that_publishes_them() {
    const API: &str = "api.internal.k8s.example.com";
    let member = |letter: &str| format!("etcd-{letter}.internal.k8s.example.com");
    let (a, b) = (member("a"), member("b"));
    let of = |seen: Vec<NameSeen>| {
        let mut survey = node(&[]);
        let record = survey.record.as_mut().expect("it was just made");
        record.instance.get_or_insert_with(facts).private_ip = "10.0.1.9".into();
        let expected = record.expected.as_mut().expect("it was just made");
        expected.published = vec![
            ExpectedNames {
                any_of: vec![API.into()],
            },
            ExpectedNames {
                any_of: vec![member("a"), member("b")],
            },
        ];
        let publish = |mut seen: NameSeen| {
            seen.purpose = PUBLISHED.into();
            seen
        };
        survey.names = Seen::Yes(seen.into_iter().map(publish).collect());
        survey
    };
    let (both, peer) = (["10.0.1.8", "10.0.1.9"], ["10.0.1.8"]);
    let right = vec![
        name(API, "", &both, 5),
        name(&a, "", &peer, 5),
        name(&b, "", &["10.0.1.9"], 5),
    ];
    proves("dns.published", &of(right.clone()), Status::Ok, "2 of this");
    let mut waiting = right.clone();
    waiting[1].addresses = vec!["203.0.113.123".into()];
    proves("dns.published", &of(waiting), Status::Fail, "203.0.113.123");
    let mut lost = right;
    lost[2].addresses = Vec::new();
    let words = "none of etcd-a.internal";
    proves("dns.published", &of(lost), Status::Warn, words);
    let foreign = vec![name(API, "", &peer, 5)];
    let words = "does not lead to this node, 10.0.1.9";
    proves("dns.published", &of(foreign), Status::Warn, words);
    let nothing = "publishes no names";
    proves("dns.published", &node(&[]), Status::Skip, nothing);
}

const HOSTS: &str = "/etc/hosts";

#[test]
fn the_hosts_file_has_localhost_and_whole_marks() {
    let local = "127.0.0.1 localhost\n";
    let part = "# Begin host entries managed by etcd-manager[etcd] - do not edit\n10.0.1.9 etcd-a.internal.k8s.example.com\n";
    let end = "# End host entries managed by etcd-manager[etcd]\n";
    let cases = [
        (local.to_owned(), Status::Ok, "1 names"),
        (format!("{local}{part}{end}"), Status::Ok, "2 names"),
        (
            "10.0.0.1 db\n".to_owned(),
            Status::Warn,
            "no line for localhost",
        ),
        (format!("{local}{part}"), Status::Warn, "never ends"),
        (
            format!("{local}{part}{end}{part}{end}"),
            Status::Warn,
            "begun twice",
        ),
    ];
    for (text, status, words) in cases {
        proves("dns.hosts-file", &node(&[(HOSTS, &text)]), status, words);
    }
    proves("dns.hosts-file", &node(&[]), Status::Warn, "localhost");
    proves("dns.hosts-file", &Survey::default(), Status::Skip, HOSTS);
}

#[test]
fn a_line_that_name_servers_contradict_fails_and_one_that_only_pins_warns() {
    const TEXT: &str = "127.0.0.1 localhost\n10.0.7.7 api.internal.k8s.example.com\n";
    let mut survey = node(&[(HOSTS, TEXT)]);
    proves(
        "dns.hosts-file",
        &survey,
        Status::Warn,
        "whatever the name servers say",
    );
    let reported = |address: &str| {
        Seen::Yes(vec![name(
            "api.internal.k8s.example.com",
            "10.0.0.2",
            &[address],
            5,
        )])
    };
    survey.names = reported("10.0.1.9");
    proves(
        "dns.hosts-file",
        &survey,
        Status::Fail,
        "to 10.0.7.7, and name servers to 10.0.1.9",
    );
    survey.names = reported("10.0.7.7");
    proves("dns.hosts-file", &survey, Status::Warn, "whatever");
    let record = survey.record.as_mut().expect("it has one");
    record.spec.as_mut().expect("it has one").cluster = "mesh.k8s.local".into();
    survey.names = Seen::default();
    proves("dns.hosts-file", &survey, Status::Ok, "2 names");
}

#[test]
fn what_root_is_denied_outside_of_the_machine_does_not_ask_for_root() {
    let mut survey = tree(&[]);
    survey.names = Seen::Denied("refused".to_owned());
    for (by_root, words) in [
        (true, "not allowed: refused"),
        (false, "needs root: refused"),
    ] {
        survey.by_root = by_root;
        proves("dns.names", &survey, Status::Skip, words);
    }
}
