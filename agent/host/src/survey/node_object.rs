//! The node as the API server shows it, asked with kubelet's own certificate: it may read its node, and little else.

use quake_http::{
    ApiServerTrust, Client, build_api_server_client, build_loopback_client, describe_failure,
};
use quake_model::facts::{NodeCondition, NodeObject, TaintSeen};
use quake_model::ports::{Condition, PortError};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use std::time::Duration;

/// How long the API server may take for one answer.
const LIMIT: Duration = Duration::from_millis(1500);

/// The longest answer that is read; a node's object has some tens of kilobytes, most of them names of images.
const LONGEST: usize = 2 << 20;

/// Asks the API server at `server` for the node called `name`; `None` when it does not know it. Without `trust` the
/// server is one on this machine that speaks plain http.
///
/// # Errors
///
/// `Malformed` when a certificate cannot be read, `Unreachable` when no answer came, `Denied` when the certificate is
/// not accepted, `Io` for any other answer.
pub async fn look_at_node(
    server: &str,
    trust: Option<ApiServerTrust<'_>>,
    name: &str,
) -> Result<Option<NodeObject>, PortError> {
    let client = match trust {
        Some(trust) => build_api_server_client(trust, LIMIT)?,
        None => build_loopback_client(LIMIT),
    };
    let server = server.trim_end_matches('/');
    let (node, version) = (
        format!("{server}/api/v1/nodes/{name}"),
        format!("{server}/version"),
    );
    let (node, version) = tokio::join!(
        get::<Node>(&client, &node),
        get::<Version>(&client, &version)
    );
    let Some(node) = node? else {
        return Ok(None);
    };
    let mut seen = node.seen();
    // Only the comparison of versions is lost without it.
    if let Ok(Some(version)) = version {
        seen.server_version = version.git_version;
    }
    Ok(Some(seen))
}

async fn get<T: DeserializeOwned>(client: &Client, url: &str) -> Result<Option<T>, PortError> {
    let sent = client
        .get(url)
        .header("accept", "application/json")
        .send()
        .await;
    let unreachable = |failure| describe_failure(url, &failure);
    let response = sent.map_err(unreachable)?;
    let status = response.status().as_u16();
    let condition = match status {
        200 => None,
        404 => return Ok(None),
        401 | 403 => Some(Condition::Denied),
        _ => Some(Condition::Io),
    };
    if let Some(condition) = condition {
        return Err(PortError::new(
            condition,
            format!("the API server answers {status}"),
        ));
    }
    let text = response.text(LONGEST).await.map_err(unreachable)?;
    let malformed = |error: serde_json::Error| {
        PortError::new(
            Condition::Malformed,
            "the API server's answer cannot be read",
        )
        .because(&error)
    };
    serde_json::from_str(&text).map(Some).map_err(malformed)
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Version {
    git_version: String,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Node {
    metadata: Metadata,
    spec: Spec,
    status: Status,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Metadata {
    name: String,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Spec {
    #[serde(rename = "providerID")]
    provider_id: String,
    #[serde(rename = "podCIDR")]
    pod_range: String,
    taints: Vec<TaintSeen>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Status {
    conditions: Vec<ConditionObject>,
    node_info: Info,
    allocatable: Allocatable,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct ConditionObject {
    #[serde(rename = "type")]
    kind: String,
    status: String,
    reason: String,
    message: String,
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Info {
    kubelet_version: String,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Allocatable {
    pods: String,
}

impl Node {
    fn seen(self) -> NodeObject {
        let conditions = self
            .status
            .conditions
            .into_iter()
            .map(|condition| NodeCondition {
                kind: condition.kind,
                status: condition.status,
                reason: condition.reason,
                message: condition.message,
            });
        NodeObject {
            name: self.metadata.name,
            conditions: conditions.collect(),
            taints: self.spec.taints,
            provider_id: self.spec.provider_id,
            kubelet_version: self.status.node_info.kubelet_version,
            server_version: String::new(),
            pods: self.status.allocatable.pods.parse().unwrap_or_default(),
            pod_range: self.spec.pod_range,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use quake_http::testing::{Reply, Server, closed_port};

    const NODE: &str = "{\"metadata\": {\"name\": \"n\"}, \"spec\": {\"providerID\": \"aws:///z/i-1\", \
        \"taints\": [{\"key\": \"k\", \"effect\": \"NoSchedule\"}]}, \"status\": {\"conditions\": [{\"type\": \"Ready\", \
        \"status\": \"True\", \"reason\": \"r\", \"message\": \"m\"}], \"nodeInfo\": {\"kubeletVersion\": \"v1.29.3\"}, \
        \"allocatable\": {\"pods\": \"110\"}}}";

    #[tokio::test]
    async fn the_object_is_read_with_the_servers_version() {
        let server = Server::start(|seen| match seen.path.as_str() {
            "/api/v1/nodes/n" => Reply::text(200, NODE),
            "/version" => Reply::text(200, "{\"gitVersion\": \"v1.29.9\"}"),
            _ => Reply::text(404, "{}"),
        })
        .await;
        let seen = look_at_node(&server.url("/"), None, "n")
            .await
            .expect("it answers");
        let seen = seen.expect("it knows the node");
        assert_eq!(
            (seen.name.as_str(), seen.pods, seen.provider_id.as_str()),
            ("n", 110, "aws:///z/i-1")
        );
        assert_eq!(
            (seen.kubelet_version.as_str(), seen.server_version.as_str()),
            ("v1.29.3", "v1.29.9")
        );
        assert_eq!(
            (
                seen.conditions[0].kind.as_str(),
                seen.taints[0].key.as_str()
            ),
            ("Ready", "k")
        );
        let other = look_at_node(&server.url(""), None, "m")
            .await
            .expect("it answers");
        assert_eq!(other, None);
    }

    #[tokio::test]
    async fn a_refusal_is_told_apart_from_silence() {
        let server = Server::start(|_| Reply::text(401, "{}")).await;
        let refused = look_at_node(&server.url(""), None, "n")
            .await
            .expect_err("it refuses");
        assert_eq!(refused.condition, Condition::Denied);
        let silent = look_at_node(&closed_port().await, None, "n")
            .await
            .expect_err("nobody is there");
        assert_eq!(silent.condition, Condition::Unreachable);
    }
}
