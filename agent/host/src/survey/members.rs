//! The members of etcd, asked with a certificate that the node has: their health, and over etcd's JSON gateway their
//! status, their alarms and the list of members. Everything is read.

use futures_util::future::join_all;
use quake_http::{
    ApiServerTrust, Client, HttpFailure, build_api_server_client, build_endpoint_client,
    describe_failure,
};
use quake_model::expected::{ExpectedClient, ExpectedMember};
use quake_model::facts::{MemberSeen, MemberStatus, Membership, ProbeFacts};
use quake_model::ports::{Condition, PortError};
use quake_model::redact::scrub;
use serde_json::Value;
use std::error::Error;
use std::time::Duration;

/// How much of an answer to a health check is kept, in bytes.
const BODY_START: usize = 256;

/// The longest answer of the gateway that is read.
const LONGEST: usize = 256 << 10;

/// Asks the members of this node, each question within `limit` and all at once; with `peers` those of other nodes, too,
/// for who is a member.
///
/// # Errors
///
/// `Denied` or `Missing` when a certificate or its key cannot be read, `Malformed` when it is none. A member that does not
/// answer is an answer too.
pub async fn look_at_members(
    members: &[ExpectedMember],
    peers: bool,
    limit: Duration,
) -> Result<Vec<MemberSeen>, PortError> {
    let looks = members
        .iter()
        .filter_map(|member| Some((member, member.client.as_ref()?)))
        .map(|(member, how)| async move {
            let client = client_of(how, limit).await?;
            Ok(look(&client, member, how, peers).await)
        });
    let seen: Result<Vec<Vec<MemberSeen>>, PortError> = join_all(looks).await.into_iter().collect();
    Ok(seen?.into_iter().flatten().collect())
}

/// Asks members for nothing but their health, each by its name and its URL, all at once; by a certificate where they want one. A
/// member whose quota is used up has its quorum all the same.
///
/// # Errors
///
/// As [`look_at_members`].
pub async fn look_at_health(
    members: &[(String, String)],
    how: Option<&ExpectedClient>,
    limit: Duration,
) -> Result<Vec<(String, ProbeFacts)>, PortError> {
    let client = match how {
        Some(how) => client_of(how, limit).await?,
        None => build_endpoint_client(None, limit),
    };
    let client = &client;
    let looks = members.iter().map(|(name, url)| async move {
        let answer = health(client, &format!("{url}/health?exclude=NOSPACE")).await;
        (name.clone(), answer)
    });
    Ok(join_all(looks).await)
}

async fn look(
    client: &Client,
    member: &ExpectedMember,
    how: &ExpectedClient,
    peers: bool,
) -> Vec<MemberSeen> {
    let own = ask_own(client, &member.cluster, how.url());
    let hosts = member
        .hosts
        .iter()
        .filter(|_| peers && member.hosts.len() > 1);
    let others = hosts.map(|host| ask_peer(client, &member.cluster, how.url_at(host)));
    let (own, others) = tokio::join!(own, join_all(others));
    std::iter::once(own).chain(others).collect()
}

async fn client_of(how: &ExpectedClient, limit: Duration) -> Result<Client, PortError> {
    let (ca_bundle, certificate, key) =
        tokio::try_join!(read(&how.ca), read(&how.certificate), read(&how.key))?;
    let trust = ApiServerTrust {
        ca_bundle: &ca_bundle,
        certificate: &certificate,
        key: &key,
    };
    build_api_server_client(trust, limit)
}

async fn read(path: &str) -> Result<Vec<u8>, PortError> {
    let unread = |error: std::io::Error| {
        let condition = match error.kind() {
            std::io::ErrorKind::PermissionDenied => Condition::Denied,
            std::io::ErrorKind::NotFound => Condition::Missing,
            _ => Condition::Io,
        };
        PortError::new(condition, format!("{path} cannot be read")).because(&error)
    };
    tokio::fs::read(path).await.map_err(unread)
}

async fn ask_own(client: &Client, cluster: &str, url: String) -> MemberSeen {
    let (health, status, alarms, members) = tokio::join!(
        async { health(client, &format!("{url}/health")).await },
        gateway(client, &url, "maintenance/status", "{}"),
        gateway(client, &url, "maintenance/alarm", r#"{"action":"GET"}"#),
        list(client, &url),
    );
    MemberSeen {
        cluster: cluster.to_owned(),
        url,
        own: true,
        health,
        status: status.ok().map(|answer| status_of(&answer)),
        alarms: alarms.map_or_else(|_| Vec::new(), |answer| alarms_of(&answer)),
        members: members.ok(),
    }
}

/// A peer is asked for nothing but the members: how it is itself is said on its own node.
async fn ask_peer(client: &Client, cluster: &str, url: String) -> MemberSeen {
    let listed = list(client, &url).await;
    let health = match &listed {
        Ok(_) => ProbeFacts::Answered {
            status: 200,
            body: String::new(),
        },
        Err(error) => ProbeFacts::Silent {
            reason: scrub(&error.to_string()),
        },
    };
    MemberSeen {
        cluster: cluster.to_owned(),
        url,
        own: false,
        health,
        status: None,
        alarms: Vec::new(),
        members: listed.ok(),
    }
}

async fn health(client: &Client, url: &str) -> ProbeFacts {
    let answered = async {
        let response = client.get(url).send().await?;
        let status = response.status().as_u16();
        let body = response.start(BODY_START).await.unwrap_or_default();
        Ok(ProbeFacts::Answered {
            status,
            body: scrub(&String::from_utf8_lossy(&body)),
        })
    };
    let silent = |failure: HttpFailure| ProbeFacts::Silent {
        reason: scrub(&reason_of(&failure)),
    };
    answered.await.unwrap_or_else(silent)
}

/// The innermost cause, which alone says something of the member.
fn reason_of(failure: &HttpFailure) -> String {
    if failure.is_timeout() {
        return "no answer in time".to_owned();
    }
    let mut cause: &dyn Error = failure;
    while let Some(next) = cause.source() {
        cause = next;
    }
    cause.to_string()
}

/// The members as this one knows them, asked of nobody else: without a quorum it still answers.
async fn list(client: &Client, url: &str) -> Result<Vec<Membership>, PortError> {
    let answer = gateway(
        client,
        url,
        "cluster/member/list",
        r#"{"linearizable":false}"#,
    )
    .await?;
    let rows = answer["members"].as_array().cloned().unwrap_or_default();
    Ok(rows.iter().map(membership_of).collect())
}

/// Calls etcd's JSON gateway, as etcd 3.4 and newer have it.
async fn gateway(client: &Client, url: &str, call: &str, body: &str) -> Result<Value, PortError> {
    let url = format!("{url}/v3/{call}");
    let unreachable = |failure| describe_failure(&url, &failure);
    let request = client.post(&url, "application/json", body.as_bytes().to_vec());
    let response = request.send().await.map_err(unreachable)?;
    let status = response.status().as_u16();
    if status != 200 {
        let summary = format!("{url} answers {status}");
        return Err(PortError::new(Condition::Io, summary));
    }
    let text = response.text(LONGEST).await.map_err(unreachable)?;
    serde_json::from_str(&text).map_err(|error| {
        PortError::new(Condition::Malformed, format!("{url} answers no JSON")).because(&error)
    })
}

/// The gateway writes 64-bit numbers as text, and leaves out what is zero or false.
fn number(value: &Value) -> Option<u64> {
    value.as_u64().or_else(|| value.as_str()?.parse().ok())
}

fn status_of(answer: &Value) -> MemberStatus {
    MemberStatus {
        version: answer["version"].as_str().unwrap_or_default().to_owned(),
        database_bytes: number(&answer["dbSize"]).unwrap_or_default(),
        quota_bytes: number(&answer["dbSizeQuota"]),
        has_leader: number(&answer["leader"]).is_some_and(|leader| leader != 0),
        is_learner: answer["isLearner"].as_bool().unwrap_or_default(),
    }
}

fn alarms_of(answer: &Value) -> Vec<String> {
    let rows = answer["alarms"].as_array().into_iter().flatten();
    let mut alarms: Vec<String> = rows
        .filter_map(|row| row["alarm"].as_str())
        .filter(|alarm| *alarm != "NONE")
        .map(str::to_owned)
        .collect();
    alarms.sort();
    alarms.dedup();
    alarms
}

fn membership_of(row: &Value) -> Membership {
    let urls = row["peerURLs"].as_array().into_iter().flatten();
    Membership {
        name: row["name"].as_str().unwrap_or_default().to_owned(),
        peer_urls: urls
            .filter_map(|url| url.as_str().map(str::to_owned))
            .collect(),
        is_learner: row["isLearner"].as_bool().unwrap_or_default(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use quake_http::build_loopback_client;
    use quake_http::testing::{Reply, Server, closed_port};

    /// A member as etcd 3.5 answers.
    fn answer(path: &str) -> Reply {
        let full = r#"{"health":"false","reason":"ALARM NOSPACE"}"#;
        match path {
            "/health" => Reply::text(503, full),
            "/v3/maintenance/status" => Reply::text(
                200,
                r#"{"header":{"member_id":"1"},"version":"3.5.21","dbSize":"2147483648","leader":"8925027824743593106","raftIndex":"8"}"#,
            ),
            "/v3/maintenance/alarm" => Reply::text(
                200,
                r#"{"header":{},"alarms":[{"memberID":"1","alarm":"NOSPACE"},{"memberID":"2","alarm":"NOSPACE"}]}"#,
            ),
            _ => Reply::text(
                200,
                r#"{"header":{},"members":[{"ID":"1","name":"etcd-a","peerURLs":["https://etcd-a.internal.c:2380"]},{"ID":"2","peerURLs":["https://etcd-b.internal.c:2380"],"isLearner":true}]}"#,
            ),
        }
    }

    #[tokio::test]
    async fn a_member_is_asked_for_all_that_it_says_of_itself() {
        let server = Server::start(|seen| answer(&seen.path)).await;
        let client = build_loopback_client(Duration::from_secs(2));
        let url = server.url("");
        let seen = ask_own(&client, "main", url.trim_end_matches('/').to_owned()).await;
        assert_eq!(seen.alarms, ["NOSPACE"]);
        let status = seen.status.expect("it says");
        assert_eq!((status.database_bytes, status.quota_bytes), (2 << 30, None));
        assert!(status.has_leader && !status.is_learner, "{status:?}");
        let members = seen.members.expect("it says");
        assert_eq!((members.len(), members[1].is_learner), (2, true));
        assert!(
            matches!(&seen.health, ProbeFacts::Answered { status: 503, body } if body.contains("ALARM NOSPACE")),
            "{:?}",
            seen.health
        );
    }

    #[tokio::test]
    async fn a_member_that_is_silent_is_seen_as_that() {
        let closed = closed_port().await;
        let client = build_loopback_client(Duration::from_secs(2));
        let seen = ask_own(&client, "main", closed).await;
        assert!(matches!(seen.health, ProbeFacts::Silent { .. }), "{seen:?}");
        assert_eq!((seen.status, seen.members), (None, None));
    }

    #[tokio::test]
    async fn members_of_other_hosts_are_asked_for_their_health_without_a_certificate() {
        let server = Server::start(|seen| match seen.path.as_str() {
            "/health?exclude=NOSPACE" => Reply::text(200, r#"{"health":"true"}"#),
            _ => Reply::text(404, ""),
        })
        .await;
        let url = server.url("").trim_end_matches('/').to_owned();
        let members = [("a".to_owned(), url), ("b".to_owned(), closed_port().await)];
        let seen = look_at_health(&members, None, Duration::from_secs(2)).await;
        let seen = seen.expect("no certificate is read");
        assert!(
            matches!(&seen[0], (name, ProbeFacts::Answered { status: 200, .. }) if name == "a"),
            "{seen:?}"
        );
        assert!(
            matches!(&seen[1], (name, ProbeFacts::Silent { reason }) if name == "b" && reason.to_lowercase().contains("refused")),
            "{seen:?}"
        );
    }

    #[tokio::test]
    async fn without_its_certificate_nobody_is_asked() {
        let limit = Duration::from_secs(2);
        let member = ExpectedMember {
            cluster: "main".to_owned(),
            client: Some(ExpectedClient {
                port: 4001,
                certificate: "/nowhere/etcd-client.crt".to_owned(),
                ..ExpectedClient::default()
            }),
            ..ExpectedMember::default()
        };
        let error = look_at_members(&[member], true, limit)
            .await
            .expect_err("it is not there");
        assert_eq!(error.condition, Condition::Missing);
        let unasked = look_at_members(&[ExpectedMember::default()], true, limit).await;
        assert_eq!(unasked, Ok(Vec::new()));
    }
}
