//! Asks the members of an etcd cluster whether they are healthy. Only a node of the control plane
//! can: members answer in the cluster's network, and most want a certificate.

use crate::commands::boot_history::read_record;
use quake_host::survey::{limited, look_at_members, look_at_probes};
use quake_model::facts::{ProbeFacts, Seen};
use quake_model::spec::{EtcdCluster, EtcdProvider};
use quake_volumes::restore::{Health, member_layout, member_name};
use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

/// How long all members together may take.
const LIMIT: Duration = Duration::from_secs(10);

/// The health of each member that was asked. On other hosts nobody is. `own` is the member of this
/// node.
pub(super) async fn ask(
    cluster: &str,
    etcd: &EtcdCluster,
    own: Option<&str>,
) -> BTreeMap<String, Health> {
    match etcd.provider {
        EtcdProvider::Manager => ask_with_certificate(etcd, own).await,
        EtcdProvider::Legacy => ask_plainly(cluster, etcd, own).await,
    }
}

/// By the certificate of the API server, as the last boot found it.
async fn ask_with_certificate(etcd: &EtcdCluster, own: Option<&str>) -> BTreeMap<String, Health> {
    let expected = read_record(Path::new("/")).and_then(|record| record.expected);
    let members = expected.map(|expected| expected.etcd).unwrap_or_default();
    let members: Vec<_> = members
        .into_iter()
        .filter(|it| it.cluster == etcd.name)
        .collect();
    let each = LIMIT * 3 / 4;
    let Seen::Yes(answers) = limited(LIMIT, look_at_members(&members, true, each)).await else {
        return BTreeMap::new();
    };
    let named = etcd.members.iter().filter_map(|member| {
        let host = format!("//{}.", member_name(&etcd.name, &member.name));
        let is_own = own == Some(member.name.as_str());
        let mut answers = answers.iter();
        let answer = match is_own {
            true => answers.find(|answer| answer.own),
            false => answers.find(|answer| !answer.own && answer.url.contains(&host)),
        };
        Some((member.name.clone(), health_of(&answer?.health)))
    });
    named.collect()
}

/// Without a certificate, as protokube ran etcd.
async fn ask_plainly(
    cluster: &str,
    etcd: &EtcdCluster,
    own: Option<&str>,
) -> BTreeMap<String, Health> {
    let names: Vec<String> = etcd.members.iter().map(|it| it.name.clone()).collect();
    let is_node = read_record(Path::new("/")).is_some();
    let Some(layout) = member_layout(cluster, &etcd.name, &names).filter(|_| is_node) else {
        return BTreeMap::new();
    };
    let port = match etcd.name.as_str() {
        "main" => 4001,
        _ => 4002,
    };
    let hosts = layout.members.iter();
    let hosts = hosts.map(|(name, _)| format!("{name}.internal.{cluster}"));
    let probe = |(name, host): (&String, String)| {
        // Only etcd's pods know the names of this node's own members.
        let is_own = own == Some(name.as_str());
        let host = if is_own { "127.0.0.1" } else { &host };
        format!("{name} http://{host}:{port}/health")
    };
    let probes: Vec<String> = names.iter().zip(hosts).map(probe).collect();
    let Seen::Yes(answers) = limited(LIMIT, look_at_probes(&probes)).await else {
        return BTreeMap::new();
    };
    let named = answers
        .into_iter()
        .map(|it| (it.component, health_of(&it.answer)));
    named.collect()
}

fn health_of(answer: &ProbeFacts) -> Health {
    match answer {
        // etcd answers 200 with {"health":"false"} in some versions.
        ProbeFacts::Answered { status: 200, body } if !body.contains("false") => Health::Healthy,
        ProbeFacts::Answered { status, body } => Health::Unhealthy {
            reason: format!("{status} {body}").trim().to_owned(),
        },
        // A refused connection is an answer of the host. Silence may be the network's or the name's.
        ProbeFacts::Silent { reason } if reason.to_lowercase().contains("refused") => {
            Health::Unhealthy {
                reason: reason.clone(),
            }
        }
        ProbeFacts::Silent { .. } => Health::Unknown,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_member_that_says_false_is_not_healthy_and_one_that_says_nothing_is_unknown() {
        let answered = |status, body: &str| ProbeFacts::Answered {
            status,
            body: body.to_owned(),
        };
        let silent = |reason: &str| ProbeFacts::Silent {
            reason: reason.to_owned(),
        };
        let is_healthy = answered(200, r#"{"health":"true"}"#);
        assert_eq!(health_of(&is_healthy), Health::Healthy);
        assert_eq!(health_of(&answered(200, "")), Health::Healthy);
        for ill in [
            answered(200, r#"{"health":"false"}"#),
            answered(503, ""),
            silent("connect: Connection refused (os error 111)"),
        ] {
            let health = health_of(&ill);
            assert!(matches!(health, Health::Unhealthy { .. }), "{ill:?}");
        }
        for unknown in [silent("no answer within 2 s"), silent("no such name")] {
            assert_eq!(health_of(&unknown), Health::Unknown);
        }
    }
}
