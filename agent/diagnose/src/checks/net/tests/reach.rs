//! Checks of what is reached.

use super::node;
use crate::checks::node_sample::Sample;
use crate::checks::report::Status;
use crate::checks::surveyed::{NOW, proves, tree};
use quake_model::expected::{Expected, ExpectedAsset};
use quake_model::facts::{ReachSeen, Reached, Seen, Survey, TlsSeen};
use quake_model::phase::Phase;
use quake_model::time::Timestamp;

fn reached(purpose: &str, host: &str, result: Reached) -> ReachSeen {
    ReachSeen {
        purpose: purpose.into(),
        host: host.into(),
        port: 443,
        result,
        took_ms: 12,
    }
}

fn reaching(seen: Vec<ReachSeen>) -> Survey {
    Survey {
        reach: Seen::Yes(seen),
        ..node("node", "calico", &[])
    }
}

fn certificate(distrusted: Option<&str>, days: i64) -> Reached {
    let ends = Timestamp(NOW.0.saturating_add_signed(days * 86_400_000));
    Reached::Connected {
        tls: Some(TlsSeen {
            distrusted: distrusted.map(str::to_owned),
            not_after: Some(ends),
            names: vec!["proxy.corp".into()],
        }),
    }
}

#[test]
fn why_a_host_cannot_be_used_is_told_in_its_own_words() {
    let cases = [
        (certificate(None, 300), Status::Ok, "in 12 ms"),
        (certificate(None, 3), Status::Warn, "ends on 2026-11-26"),
        (certificate(None, -1), Status::Fail, "ended on 2026-11-22"),
        (
            certificate(Some("unknown issuer"), 300),
            Status::Fail,
            "unknown issuer; it is for proxy.corp",
        ),
        (Reached::Refused, Status::Fail, "nothing listens"),
        (Reached::TimedOut, Status::Fail, "does not answer"),
        (
            Reached::Unreachable {
                why: "network is unreachable".into(),
            },
            Status::Fail,
            "network is unreachable",
        ),
        (
            Reached::Unreachable {
                why: "Invalid argument (os error 22)".into(),
            },
            Status::Fail,
            "gc_thresh3",
        ),
        (Reached::NoAddress, Status::Fail, "has no address"),
    ];
    for (result, status, words) in cases {
        for (id, purpose) in [
            ("net.api-server", "api-server"),
            ("net.state-store", "state-store"),
        ] {
            proves(
                id,
                &reaching(vec![reached(purpose, "a.example", result.clone())]),
                status,
                words,
            );
        }
    }
    proves(
        "net.api-server",
        &reaching(Vec::new()),
        Status::Skip,
        "none was connected to",
    );
    proves(
        "net.api-server",
        &tree(&[]),
        Status::Skip,
        "nothing recorded it",
    );
}

#[test]
fn of_each_asset_one_mirror_is_enough() {
    let seen = || {
        vec![
            reached("mirror", "a.example", Reached::TimedOut),
            reached("mirror", "b.example", certificate(None, 300)),
        ]
    };
    let wanting = |hosts: &[&str], fetched: bool| {
        let mut survey = reaching(seen());
        let record = survey.record.as_mut().expect("it has one");
        record.expected = Some(Expected {
            assets: vec![ExpectedAsset {
                name: "kubelet".into(),
                hosts: hosts.iter().map(|host| (*host).to_owned()).collect(),
                ..ExpectedAsset::default()
            }],
            ..Expected::default()
        });
        if !fetched {
            record.phases.remove(&Phase::Assets);
        }
        survey
    };
    proves(
        "net.mirrors",
        &wanting(&["a.example", "b.example"], false),
        Status::Warn,
        "a.example:443 does not answer",
    );
    proves(
        "net.mirrors",
        &wanting(&["a.example"], false),
        Status::Fail,
        "no mirror of kubelet can be used: a.example:443 does not answer",
    );
    proves(
        "net.mirrors",
        &wanting(&["a.example:443"], true),
        Status::Warn,
        "fetched already: kubelet",
    );
    proves("net.mirrors", &reaching(Vec::new()), Status::Skip, "none");
}

#[test]
fn an_api_server_of_its_own_that_ended_is_told_by_its_pod() {
    let mut node = Sample::control_plane();
    let refused = || reached("api-server", "127.0.0.1", Reached::Refused);
    node.survey.reach = Seen::Yes(vec![refused()]);
    node.assert("net.api-server", Status::Fail, "nothing listens");
    node.pod("kube-apiserver", "exited").exit_code = Some(1);
    node.assert("net.api-server", Status::Skip, "its pod does not run");
    node.survey.reach = Seen::Yes(vec![
        refused(),
        reached("api-server", "api.example.com", Reached::TimedOut),
    ]);
    node.assert("net.api-server", Status::Fail, "nothing listens");
}
