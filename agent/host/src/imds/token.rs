//! The session token: asked for once per process, at whichever endpoint answers first.

use crate::aws::Calls;
use futures_util::future::{Either, select};
use quake_http::{
    Client, HttpFailure, Response, StatusCode, describe_failure, is_after_connecting,
};
use quake_model::ports::{Condition, PortError};
use quake_model::redact::Secret;
use std::pin::pin;
use std::time::{Duration, Instant};

/// How long a token is asked for, in seconds; six hours is the most the service grants.
const TOKEN_SECONDS: u64 = 21_600;

/// How long before its end a token is not used any more.
const TOKEN_MARGIN: Duration = Duration::from_secs(60);

/// How long the first endpoint is alone before the second is asked too.
///
/// The service answers in about a millisecond; the figure is that of happy eyeballs (RFC 8305) and keeps
/// an ordinary boot at one token request.
const HEAD_START: Duration = Duration::from_millis(250);

/// The longest token that is believed; those of EC2 have 56 characters.
const MAX_TOKEN_BYTES: usize = 1024;

/// A token, where it is good, and until when.
#[derive(Debug, Clone)]
pub(super) struct Session {
    /// The endpoint that answered, without a trailing slash.
    pub(super) endpoint: String,
    /// What every request must carry.
    pub(super) token: Secret<String>,
    ends: Instant,
}

impl Session {
    /// Whether the token is good for another request.
    pub(super) fn is_fresh(&self) -> bool {
        Instant::now() + TOKEN_MARGIN < self.ends
    }
}

/// Asks `endpoints` (one or two) for a token: the first success wins and the other request is dropped.
///
/// # Errors
///
/// Of two failures the one that says most: `Denied`, then `Malformed`, then `Unreachable`.
pub(super) async fn open_session(
    client: &Client,
    endpoints: &[String],
    calls: &Calls,
) -> Result<Session, PortError> {
    let Some((first, others)) = endpoints.split_first() else {
        let summary = "no metadata endpoint is configured";
        return Err(PortError::new(Condition::Unreachable, summary));
    };
    let Some(second) = others.first() else {
        return request_token(client, first, calls).await;
    };
    let mut first = pin!(request_token(client, first, calls));
    let early = tokio::time::timeout(HEAD_START, first.as_mut()).await;
    let second = pin!(request_token(client, second, calls));
    match early {
        Ok(Ok(session)) => Ok(session),
        Ok(Err(error)) => second.await.map_err(|other| more_telling(error, other)),
        Err(_) => match select(first, second).await {
            Either::Left((Ok(session), _)) | Either::Right((Ok(session), _)) => Ok(session),
            Either::Left((Err(error), other)) => other.await.map_err(|e| more_telling(error, e)),
            Either::Right((Err(error), other)) => other.await.map_err(|e| more_telling(e, error)),
        },
    }
}

async fn request_token(
    client: &Client,
    endpoint: &str,
    calls: &Calls,
) -> Result<Session, PortError> {
    let url = format!("{endpoint}/latest/api/token");
    calls.count("imds:Token");
    let sent = client
        .put(&url)
        .header(
            "x-aws-ec2-metadata-token-ttl-seconds",
            &TOKEN_SECONDS.to_string(),
        )
        .send()
        .await;
    let response = sent.map_err(|failure| silent(&url, &failure))?;
    let requested = Instant::now();
    check_token_status(&url, response.status())?;
    let granted = granted_seconds(&response);
    // A byte more than is believed tells an answer that is too long.
    let token = response.start(MAX_TOKEN_BYTES + 1).await;
    let token = token.map_err(|failure| silent(&url, &failure))?;
    let token = String::from_utf8_lossy(&token).into_owned();
    if !is_plausible(&token) {
        let summary = format!("{url} answered something that is not a token");
        return Err(PortError::new(Condition::Malformed, summary).seen("bytes", token.len()));
    }
    Ok(Session {
        endpoint: endpoint.to_owned(),
        token: Secret::new(token),
        ends: requested + Duration::from_secs(granted),
    })
}

/// The error of a token request that was not answered; it names the usual reason for silence after connecting.
fn silent(url: &str, failure: &HttpFailure) -> PortError {
    let swallowed = is_after_connecting(failure);
    let described = describe_failure(url, failure);
    if swallowed {
        let remedy = "run the agent in the host's network namespace, or raise --http-put-response-hop-limit of the instance: a token answer does not cross more hops than that";
        return described.remedied_by(remedy);
    }
    described
}

/// The error of an answer that is no token.
///
/// EC2 answers 403 where the service is turned off or this host may not ask, and 401 only to a read with a token that is
/// not valid, not to the request for one (EC2 user guide, response codes of IMDSv2). A 401 or
/// a 404 here comes from something in its place that knows no session tokens. All three refuse; what to do differs.
fn check_token_status(url: &str, status: StatusCode) -> Result<(), PortError> {
    let condition = match status {
        StatusCode::OK => return Ok(()),
        StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN | StatusCode::NOT_FOUND => {
            Condition::Denied
        }
        status if status.is_server_error() || status == StatusCode::TOO_MANY_REQUESTS => {
            Condition::Unreachable
        }
        _ => Condition::Malformed,
    };
    let summary = format!("{url} answered {} to a token request", status.as_u16());
    let error = PortError::new(condition, summary).seen("status", status.as_u16());
    match status {
        StatusCode::FORBIDDEN => Err(error.remedied_by(TURN_ON)),
        StatusCode::UNAUTHORIZED | StatusCode::NOT_FOUND => Err(error.remedied_by(STAND_ASIDE)),
        _ => Err(error),
    }
}

/// What to do where EC2's own service refuses.
const TURN_ON: &str = "turn the metadata service on: aws ec2 modify-instance-metadata-options --instance-id <id> --http-endpoint enabled --http-tokens required";

/// What to do where something else answers in its place.
const STAND_ASIDE: &str = "EC2's own service does not answer so: let this host past what stands before 169.254.169.254 and fd00:ec2::254 (a proxy, or an agent that hands out roles) and try: curl -X PUT http://169.254.169.254/latest/api/token -H 'X-aws-ec2-metadata-token-ttl-seconds: 60'";

fn granted_seconds(response: &Response) -> u64 {
    let header = response
        .headers()
        .get("x-aws-ec2-metadata-token-ttl-seconds");
    let text = header.and_then(|value| value.to_str().ok());
    let seconds = text.and_then(|text| text.parse().ok());
    seconds.unwrap_or(TOKEN_SECONDS).min(TOKEN_SECONDS)
}

fn is_plausible(token: &str) -> bool {
    let readable = |byte: u8| byte.is_ascii_graphic() && byte != b'<' && byte != b'>';
    !token.is_empty() && token.len() <= MAX_TOKEN_BYTES && token.bytes().all(readable)
}

/// Of the failures of the IPv4 and the IPv6 endpoint, the one that tells an operator more.
fn more_telling(first: PortError, second: PortError) -> PortError {
    let weight = |error: &PortError| match error.condition {
        Condition::Denied => 2,
        Condition::Malformed => 1,
        _ => 0,
    };
    let (mut reported, other) = if weight(&second) > weight(&first) {
        (second, first)
    } else {
        (first, second)
    };
    reported.causes.push(other.summary);
    reported
}
