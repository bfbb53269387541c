//! What the metadata service says of this instance, for a diagnosis: never a credential, of user data the bytes alone.

use crate::imds::{Imds, ImdsCredentials};
use quake_model::facts::{MetadataSeen, UserDataSeen};
use quake_model::ports::{Condition, Metadata, PortError};
use quake_model::time::Timestamp;
use std::time::{Instant, UNIX_EPOCH};

/// What was seen, and the user data as the service gives it, for whoever can read it.
#[derive(Debug, Clone)]
pub struct MetadataLook {
    /// What was seen; of problems of the user data nothing is known yet.
    pub seen: MetadataSeen,
    /// The user data, perhaps compressed.
    pub user_data: Option<Vec<u8>>,
}

/// Asks the metadata service for everything but secrets.
///
/// # Errors
///
/// `Unreachable`, `Throttled` or `Malformed`. A service that is turned off is none that only root may ask.
pub async fn look_at_metadata(imds: &Imds) -> Result<MetadataLook, PortError> {
    look(imds).await.map_err(refused_by_a_service)
}

async fn look(imds: &Imds) -> Result<MetadataLook, PortError> {
    let started = Instant::now();
    let instance = imds.read_instance().await?;
    let took_ms = u64::try_from(started.elapsed().as_millis()).unwrap_or(u64::MAX);
    let lifecycle = "meta-data/autoscaling/target-lifecycle-state";
    let (role, user_data, lifecycle, action, rebalance) = tokio::try_join!(
        read_role(imds),
        imds.read_optional("user-data"),
        imds.read_optional(lifecycle),
        imds.read_optional("meta-data/spot/instance-action"),
        imds.read_optional("meta-data/events/recommendations/rebalance"),
    )?;
    let (credentials_end, credentials_problem) = if role.is_some() {
        read_end(imds).await
    } else {
        (None, None)
    };
    let user_data = user_data.filter(|bytes| !bytes.is_empty());
    let lifecycle = lifecycle.map(|bytes| String::from_utf8_lossy(&bytes).trim().to_owned());
    let seen = MetadataSeen {
        instance,
        role,
        credentials_end,
        credentials_problem,
        took_ms,
        user_data: user_data.as_ref().map(|bytes| UserDataSeen {
            bytes: bytes.len() as u64,
            problems: Vec::new(),
        }),
        lifecycle: lifecycle.filter(|state| !state.is_empty()),
        interruption: action.as_deref().and_then(notice),
        rebalance: rebalance.as_deref().and_then(notice),
    };
    Ok(MetadataLook { seen, user_data })
}

/// A notice of EC2 in words: `{"action": "terminate", "time": "…"}`, or `{"noticeTime": "…"}` (EC2 User Guide, spot instance
/// interruption notices, rebalance recommendations).
fn notice(answer: &[u8]) -> Option<String> {
    let document: serde_json::Value = serde_json::from_slice(answer).ok()?;
    let text = |key: &str| document.get(key)?.as_str();
    match (text("action"), text("time"), text("noticeTime")) {
        (Some(action), Some(time), _) => Some(format!("{action} at {time}")),
        (Some(action), None, _) => Some(action.to_owned()),
        (None, _, Some(since)) => Some(format!("since {since}")),
        _ => None,
    }
}

async fn read_role(imds: &Imds) -> Result<Option<String>, PortError> {
    match imds.read_role().await {
        Ok(role) => Ok(Some(role)),
        Err(error) if error.condition == Condition::Missing => Ok(None),
        Err(error) => Err(error),
    }
}

/// When the role's credentials end, or why there are none.
async fn read_end(imds: &Imds) -> (Option<Timestamp>, Option<String>) {
    match ImdsCredentials::new(imds.clone()).load().await {
        Ok(credentials) => {
            let end = credentials.expiry();
            let since = end.and_then(|end| end.duration_since(UNIX_EPOCH).ok());
            let millis = since.and_then(|since| u64::try_from(since.as_millis()).ok());
            (millis.map(Timestamp), None)
        }
        Err(error) => (None, Some(error.summary)),
    }
}

/// A refusal by a service says nothing of who asks on this machine: root is refused, too.
pub(super) fn refused_by_a_service(error: PortError) -> PortError {
    let condition = match error.condition {
        Condition::Denied => Condition::Malformed,
        condition => condition,
    };
    PortError { condition, ..error }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::aws::Calls;
    use crate::imds::MetadataEndpoint;
    use quake_http::testing::{Reply, Seen, Server};

    const DOCUMENT: &str = r#"{"accountId":"123456789012","architecture":"x86_64","availabilityZone":"us-west-2a",
        "imageId":"ami-1","instanceId":"i-1","instanceType":"m5.large","privateIp":"10.0.0.1","region":"us-west-2"}"#;

    fn well(seen: &Seen) -> Reply {
        let path = seen.path.strip_prefix("/latest/").unwrap_or_default();
        let role = "meta-data/iam/security-credentials/";
        let text = match path {
            "api/token" => "token",
            "dynamic/instance-identity/document" => DOCUMENT,
            "meta-data/local-hostname" => "ip-10-0-0-1.ec2.internal",
            "meta-data/mac" => "0a:00:00:00:00:01",
            "user-data" => "#!/bin/sh\n",
            "meta-data/autoscaling/target-lifecycle-state" => "InService",
            path if path == role => "nodes",
            path if path.starts_with(role) => {
                r#"{"Code":"Success","AccessKeyId":"ASIAEXAMPLEEXAMPLE12","SecretAccessKey":"s3cr3t","Token":"t0ken","Expiration":"2099-01-01T00:00:00Z"}"#
            }
            _ => return Reply::text(404, ""),
        };
        Reply::text(200, text)
    }

    async fn looked(
        answer: impl Fn(&Seen) -> Reply + Send + Sync + 'static,
    ) -> Result<MetadataLook, PortError> {
        let server = Server::start(answer).await;
        let imds = Imds::new(&MetadataEndpoint::At(server.url("")), Calls::new());
        look_at_metadata(&imds).await
    }

    #[tokio::test]
    async fn everything_but_secrets_is_seen() {
        let look = looked(well).await.expect("it answers");
        let seen = &look.seen;
        assert_eq!(seen.instance.instance_id, "i-1");
        assert_eq!(seen.role.as_deref(), Some("nodes"));
        assert_eq!(seen.credentials_end, Some(Timestamp(4_070_908_800_000)));
        assert_eq!(seen.user_data.as_ref().map(|it| it.bytes), Some(10));
        assert_eq!(seen.lifecycle.as_deref(), Some("InService"));
        let reported = format!("{look:?}");
        assert!(
            !reported.contains("s3cr3t") && !reported.contains("t0ken"),
            "{reported}"
        );
    }

    #[tokio::test]
    async fn an_instance_without_role_user_data_and_group_is_seen_too() {
        let bare = |seen: &Seen| match seen.path.as_str() {
            path if path.contains("/iam/") || path.contains("/autoscaling/") => {
                Reply::text(404, "")
            }
            "/latest/user-data" => Reply::text(404, ""),
            _ => well(seen),
        };
        let seen = looked(bare).await.expect("it answers").seen;
        assert_eq!(
            (seen.role, seen.user_data, seen.lifecycle),
            (None, None, None)
        );
    }

    #[tokio::test]
    async fn a_spot_instance_that_is_taken_back_says_when() {
        let noticed = |seen: &Seen| match seen.path.as_str() {
            "/latest/meta-data/spot/instance-action" => Reply::text(
                200,
                r#"{"action": "terminate", "time": "2026-11-22T03:00:00Z"}"#,
            ),
            "/latest/meta-data/events/recommendations/rebalance" => {
                Reply::text(200, r#"{"noticeTime": "2026-11-22T02:50:00Z"}"#)
            }
            _ => well(seen),
        };
        let seen = looked(noticed).await.expect("it answers").seen;
        let notices = (seen.interruption.as_deref(), seen.rebalance.as_deref());
        let wanted = (
            "terminate at 2026-11-22T03:00:00Z",
            "since 2026-11-22T02:50:00Z",
        );
        assert_eq!(notices, (Some(wanted.0), Some(wanted.1)));
    }

    #[tokio::test]
    async fn a_role_that_cannot_be_assumed_says_so() {
        let refused = |seen: &Seen| {
            if seen.path.ends_with("/nodes") {
                Reply::text(200, r#"{"Code":"AssumeRoleUnauthorizedAccess"}"#)
            } else {
                well(seen)
            }
        };
        let seen = looked(refused).await.expect("it answers").seen;
        let problem = seen.credentials_problem.expect("there is one");
        assert!(
            problem.contains("AssumeRoleUnauthorizedAccess"),
            "{problem}"
        );
    }

    #[tokio::test]
    async fn a_service_that_is_turned_off_is_no_matter_of_root() {
        let error = looked(|_| Reply::text(403, ""))
            .await
            .expect_err("it is off");
        assert_ne!(error.condition, Condition::Denied);
        assert!(error.summary.contains("403"), "{error}");
    }
}
