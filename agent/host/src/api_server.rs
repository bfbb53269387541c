//! The cluster's API server, told with kubelet's own certificate: it may create events, and that is all that is asked.

use quake_http::{
    ApiServerTrust, Client, build_api_server_client, build_loopback_client, describe_failure,
};
use quake_model::ports::{Condition, PortError};
use quake_model::redact::scrub;
use quake_model::signal::{ApiAccess, NodeEvent};
use std::time::Duration;

/// How long the API server may take for one answer. Admission of others may stand before an event; a guess.
const LIMIT: Duration = Duration::from_secs(5);

/// How much of an answer is read, in bytes: a status, whose message says why.
const LONGEST: usize = 16 << 10;

/// How much of it is shown.
const SHOWN: usize = 200;

/// Leaves an event at the API server: one attempt.
///
/// # Errors
///
/// As `Signals::post_node_event`.
pub async fn post_node_event(access: &ApiAccess, event: &NodeEvent) -> Result<(), PortError> {
    let client = client_of(access)?;
    let server = access.server.trim_end_matches('/');
    let url = format!("{server}/api/v1/namespaces/{}/events", event.namespace);
    let request = client.post(&url, "application/json", event.json.clone());
    let sent = request.header("accept", "application/json").send().await;
    let response = sent.map_err(|failure| describe_failure(&url, &failure))?;
    let status = response.status().as_u16();
    let condition = match status {
        // 409: the event is there, of an attempt whose answer was lost.
        200..=299 | 409 => return Ok(()),
        401 | 403 => Condition::Denied,
        429 => Condition::Throttled,
        400..=499 => Condition::Malformed,
        _ => Condition::Unreachable,
    };
    let reported = response.text(LONGEST).await.unwrap_or_default();
    let reported: String = scrub(&reported).chars().take(SHOWN).collect();
    let summary = format!(
        "the API server at {} answers {status} to an event of the node",
        scrub(server)
    );
    Err(PortError::new(condition, summary).seen("answer", reported))
}

fn client_of(access: &ApiAccess) -> Result<Client, PortError> {
    if access.ca_bundle.is_empty() {
        return Ok(build_loopback_client(LIMIT));
    }
    let trust = ApiServerTrust {
        ca_bundle: &access.ca_bundle,
        certificate: &access.certificate,
        key: access.key.expose(),
    };
    build_api_server_client(trust, LIMIT)
}

#[cfg(test)]
mod tests {
    use super::*;
    use quake_http::testing::{Reply, Seen, Server, closed_port};
    use quake_model::redact::Secret;

    async fn post(server: String) -> Result<(), PortError> {
        let access = ApiAccess {
            server,
            ca_bundle: Vec::new(),
            certificate: Vec::new(),
            key: Secret::new(Vec::new()),
        };
        let event = NodeEvent {
            name: "n.1".to_owned(),
            namespace: "default".to_owned(),
            json: b"{\"kind\":\"Event\"}".to_vec(),
        };
        post_node_event(&access, &event).await
    }

    #[tokio::test]
    async fn an_event_is_posted_once_as_json() {
        let took = |seen: &Seen| {
            let is_event = seen.path == "/api/v1/namespaces/default/events"
                && seen.method == "POST"
                && seen.body == "{\"kind\":\"Event\"}"
                && seen.header("content-type") == Some("application/json");
            Reply::text(if is_event { 201 } else { 400 }, "{}")
        };
        let server = Server::start(took).await;
        assert_eq!(post(server.url("/")).await, Ok(()));
        assert_eq!(server.seen().len(), 1);
    }

    #[tokio::test]
    async fn each_answer_means_something_else() {
        for (status, expected) in [
            (201, Ok(())),
            (409, Ok(())),
            (401, Err(Condition::Denied)),
            (403, Err(Condition::Denied)),
            (422, Err(Condition::Malformed)),
            (429, Err(Condition::Throttled)),
            (500, Err(Condition::Unreachable)),
            (503, Err(Condition::Unreachable)),
        ] {
            let answer = "{\"message\":\"token: Bearer abcdefghijklmnop1234567890\"}";
            let server = Server::start(move |_| Reply::text(status, answer)).await;
            let posted = post(server.url("")).await;
            let shown = format!("{posted:?}");
            assert!(!shown.contains("abcdefghijklmnop"), "{shown}");
            assert_eq!(
                posted.map_err(|error| error.condition),
                expected,
                "{status}"
            );
        }
        let silent = post(closed_port().await)
            .await
            .map_err(|error| error.condition);
        assert_eq!(silent, Err(Condition::Unreachable));
    }
}
