//! Asks the members of an etcd cluster whether they are healthy. Only a node of the control plane
//! can: members answer in the cluster's network, and most want a certificate.

use crate::commands::boot_history::read_record;
use quake_host::survey::{limited, look_at_health};
use quake_model::expected::{ExpectedClient, ExpectedMember};
use quake_model::facts::{ProbeFacts, Seen};
use quake_model::record::Record;
use quake_model::spec::{EtcdCluster, EtcdProvider};
use quake_volumes::Facts;
use quake_volumes::restore::{Health, member_addresses, member_name};
use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

/// How long all members together may take.
const LIMIT: Duration = Duration::from_secs(10);

/// The health of each member that was asked. On other hosts nobody is. `own` is the member of this
/// node.
pub(super) async fn ask(
    facts: &Facts,
    etcd: &EtcdCluster,
    own: Option<&str>,
) -> BTreeMap<String, Health> {
    let Some(record) = read_record(Path::new("/")) else {
        return BTreeMap::new();
    };
    let (members, how) = match etcd.provider {
        EtcdProvider::Manager => match expected_of(&record, etcd) {
            Some((member, how)) => (by_certificate(member, how, own), Some(how)),
            None => return BTreeMap::new(),
        },
        EtcdProvider::Legacy => {
            let names = etcd.members.iter().map(|member| member.name.clone());
            let names: Vec<String> = names.collect();
            let addresses = member_addresses(facts, &etcd.name);
            let place = (facts.cluster.as_str(), etcd.name.as_str());
            (plainly(place, &names, own, &addresses), None)
        }
    };
    let looks = look_at_health(&members, how, LIMIT * 3 / 4);
    let Seen::Yes(answers) = limited(LIMIT, looks).await else {
        return BTreeMap::new();
    };
    let named = answers.into_iter();
    named
        .map(|(name, answer)| (name, health_of(&answer)))
        .collect()
}

/// The etcd cluster as the last boot found it, and how its members are asked: by the certificate of the API server.
fn expected_of<'a>(
    record: &'a Record,
    etcd: &EtcdCluster,
) -> Option<(&'a ExpectedMember, &'a ExpectedClient)> {
    let mut members = record.expected.as_ref()?.etcd.iter();
    let member = members.find(|it| it.cluster == etcd.name)?;
    Some((member, member.client.as_ref()?))
}

/// Each member and its URL. Only etcd's pods know the name of this node's own member.
fn by_certificate(
    member: &ExpectedMember,
    how: &ExpectedClient,
    own: Option<&str>,
) -> Vec<(String, String)> {
    let named = member.members.iter().enumerate();
    let urls = named.filter_map(|(at, name)| {
        let url = match own == Some(name.as_str()) {
            true => how.url(),
            false => how.url_at(member.hosts.get(at)?),
        };
        Some((name.clone(), url))
    });
    urls.collect()
}

/// The same without certificates, as protokube ran etcd: at the address of the instance that has a member's volume. A name may be
/// that of an instance of before.
fn plainly(
    (cluster, etcd): (&str, &str),
    names: &[String],
    own: Option<&str>,
    addresses: &BTreeMap<String, String>,
) -> Vec<(String, String)> {
    let port = match etcd {
        "main" => 4001,
        _ => 4002,
    };
    let urls = names.iter().map(|name| {
        let host = match (own == Some(name.as_str()), addresses.get(name)) {
            (true, _) => "127.0.0.1".to_owned(),
            (false, Some(address)) => address.clone(),
            (false, None) => format!("{}.internal.{cluster}", member_name(etcd, name)),
        };
        (name.clone(), format!("http://{host}:{port}"))
    });
    urls.collect()
}

fn health_of(answer: &ProbeFacts) -> Health {
    match answer {
        // etcd answers 200 with {"health":"false"} in some versions.
        ProbeFacts::Answered { status: 200, body } if !body.contains("false") => Health::Healthy,
        // An alarm is looked for before a leader, so it may have one.
        ProbeFacts::Answered { body, .. } if body.contains("ALARM") => Health::Unknown,
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
    fn members_of_other_nodes_are_asked_where_their_volumes_are_or_else_by_their_names() {
        let names = ["a", "b", "c"].map(str::to_owned);
        let addresses = ["a", "b"].map(|name| (name.to_owned(), "10.0.0.11".to_owned()));
        let place = ("c.example", "events");
        let looks = plainly(place, &names, Some("a"), &addresses.into());
        let urls: Vec<&str> = looks.iter().map(|(_, url)| url.as_str()).collect();
        assert_eq!(
            urls,
            [
                "http://127.0.0.1:4002",
                "http://10.0.0.11:4002",
                "http://etcd-events-c.internal.c.example:4002",
            ]
        );
    }

    #[test]
    fn a_member_that_wants_a_certificate_is_asked_by_its_name() {
        let how = ExpectedClient {
            port: 4001,
            ..ExpectedClient::default()
        };
        let names = |names: &[&str]| names.iter().map(|it| (*it).to_owned()).collect();
        let mut member = ExpectedMember {
            members: names(&["a", "b"]),
            hosts: names(&["etcd-a.internal.c", "etcd-b.internal.c"]),
            ..ExpectedMember::default()
        };
        let urls = |member: &ExpectedMember| {
            let looks = by_certificate(member, &how, Some("b"));
            let urls = looks.into_iter().map(|(name, url)| format!("{name} {url}"));
            urls.collect::<Vec<String>>()
        };
        let own = "b https://127.0.0.1:4001";
        assert_eq!(urls(&member), ["a https://etcd-a.internal.c:4001", own]);
        member.hosts.clear();
        assert_eq!(urls(&member), [own]);
    }

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
        for unknown in [
            silent("no answer within 2 s"),
            silent("no such name"),
            answered(503, r#"{"health":"false","reason":"ALARM CORRUPT"}"#),
        ] {
            assert_eq!(health_of(&unknown), Health::Unknown);
        }
    }
}
