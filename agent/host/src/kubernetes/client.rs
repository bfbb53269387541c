//! The connection to an API server: `kube`'s client standing on the agent's own, kept while the same server is asked
//! with the same certificate.

use super::refusal::{Attempt, Refused};
use http_body_util::{BodyExt, Limited};
use kube::client::Body;
use kube::core::WatchEvent;
use quake_http::{
    AnswerBody, ApiServerTrust, Client, Limits, build_api_server_client, build_loopback_client,
    into_body,
};
use quake_model::ports::{Condition, PortError};
use quake_model::redact::scrub;
use quake_model::signal::ApiAccess;
use serde_json::Value;
use std::error::Error;
use std::fmt;
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll};
use std::time::Duration;
use tower_service::Service;

/// How long the API server may take for one answer that changes nothing. A guess: a page of five hundred objects takes a
/// busy server one second.
pub(super) const READ_LIMIT: Duration = Duration::from_secs(10);

/// How long it may take for a change: more than the ten seconds that the server gives a webhook unless it is told
/// otherwise (`timeoutSeconds` of admissionregistration.k8s.io/v1), so that it can still say which one was silent.
pub(super) const CHANGE_LIMIT: Duration = Duration::from_secs(15);

/// The longest answer that is read: a page of five hundred objects of some fifty kilobytes, which the largest nodes have.
const LONGEST: usize = 32 << 20;

/// How much of a refusal is read.
const LONGEST_REFUSAL: usize = 64 << 10;

/// How the agent names itself to the server, which writes it into its audit log.
const USER_AGENT: &str = concat!("quake-agent/", env!("CARGO_PKG_VERSION"));

/// An error of whatever type.
type BoxError = Box<dyn Error + Send + Sync>;

/// The real API server. Clones share its connection.
///
/// There is one client, for the access that was used last: a node has one cluster.
#[derive(Clone, Default)]
pub struct ClusterClient {
    kept: Arc<Mutex<Option<Kept>>>,
}

struct Kept {
    access: ApiAccess,
    client: kube::Client,
}

impl ClusterClient {
    /// One that is connected with nothing yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// Sends a request and reads its answer as JSON.
    pub(super) async fn ask(
        &self,
        access: &ApiAccess,
        request: http::Request<Vec<u8>>,
        attempt: &Attempt<'_>,
    ) -> Result<Value, PortError> {
        let client = self.client_for(access)?;
        let answer = client.request_text(request).await;
        let answer = answer.map_err(|error| attempt.failed(error))?;
        serde_json::from_str(&answer).map_err(|_| attempt.unreadable())
    }

    /// Sends a request for a watch, and gives its events as they come; `None` once the server ends it.
    pub(super) async fn watch(
        &self,
        access: &ApiAccess,
        request: http::Request<Vec<u8>>,
        attempt: &Attempt<'_>,
    ) -> Result<Events, PortError> {
        let client = self.client_for(access)?;
        let events = client.request_events::<Value>(request).await;
        let events = events.map_err(|error| attempt.failed(error))?;
        Ok(Box::pin(events))
    }

    fn client_for(&self, access: &ApiAccess) -> Result<kube::Client, PortError> {
        // What is kept is whole at every moment, so a panic elsewhere cannot have left it half-made.
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(kept) = kept.as_ref().filter(|kept| is_same(&kept.access, access)) {
            return Ok(kept.client.clone());
        }
        let client = connect(access)?;
        *kept = Some(Kept {
            access: access.clone(),
            client: client.clone(),
        });
        Ok(client)
    }
}

/// What happens to what is watched.
pub(super) type Events =
    Pin<Box<dyn futures_util::Stream<Item = Result<WatchEvent<Value>, kube::Error>> + Send>>;

impl fmt::Debug for ClusterClient {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ClusterClient").finish_non_exhaustive()
    }
}

fn is_same(one: &ApiAccess, other: &ApiAccess) -> bool {
    one.server == other.server
        && one.ca_bundle == other.ca_bundle
        && one.certificate == other.certificate
        && one.key.expose() == other.key.expose()
}

fn connect(access: &ApiAccess) -> Result<kube::Client, PortError> {
    let server = access.server.trim_end_matches('/').to_owned();
    let is_plain = server.starts_with("http://");
    if !is_plain && !server.starts_with("https://") {
        let summary = format!("{} is no URL of an API server", scrub(&server));
        return Err(PortError::new(Condition::Malformed, summary));
    }
    let client = if is_plain {
        build_loopback_client(READ_LIMIT)
    } else {
        // Without a CA nobody would be believed, which is told where the access is read and not where it is used.
        build_api_server_client(
            ApiServerTrust {
                ca_bundle: &access.ca_bundle,
                certificate: &access.certificate,
                key: access.key.expose(),
            },
            READ_LIMIT,
        )?
    };
    Ok(kube::Client::new(Transport { client, server }, "default"))
}

/// How long a request may take, its answer included, where that is not [`READ_LIMIT`].
#[derive(Debug, Clone, Copy)]
pub(super) struct Whole(pub(super) Duration);

/// The agent's own client as `kube` takes it. An answer that is no success is an error here already: `kube` would write
/// it to the developers' log, and it may quote what was sent.
#[derive(Clone)]
struct Transport {
    client: Client,
    server: String,
}

impl Service<http::Request<Body>> for Transport {
    type Response = http::Response<Limited<AnswerBody>>;
    type Error = BoxError;
    type Future = Pin<Box<dyn Future<Output = Result<Self::Response, BoxError>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: http::Request<Body>) -> Self::Future {
        let whole = request
            .extensions()
            .get::<Whole>()
            .map_or(READ_LIMIT, |whole| whole.0);
        let client = self.client.limited(Limits {
            whole: Some(whole),
            ..self.client.limits()
        });
        let request = addressed(&self.server, request);
        Box::pin(async move {
            let answer = client.dispatch(request?.map(into_body)).await?;
            if answer.status().is_success() {
                return Ok(answer.map(|body| Limited::new(body, LONGEST)));
            }
            Err(refused(answer).await.into())
        })
    }
}

/// The request as it goes to this server: `kube` knows its path alone.
fn addressed(
    server: &str,
    request: http::Request<Body>,
) -> Result<http::Request<Body>, http::Error> {
    let (mut head, body) = request.into_parts();
    let path = head.uri.path_and_query().map_or("/", |path| path.as_str());
    head.uri = format!("{server}{path}")
        .parse()
        .map_err(http::Error::from)?;
    let headers = &mut head.headers;
    let accepted = http::HeaderValue::from_static("application/json");
    headers.entry(http::header::ACCEPT).or_insert(accepted);
    let agent = http::HeaderValue::from_static(USER_AGENT);
    headers.insert(http::header::USER_AGENT, agent);
    Ok(http::Request::from_parts(head, body))
}

async fn refused(answer: http::Response<AnswerBody>) -> Refused {
    let status = answer.status().as_u16();
    let after = answer.headers().get(http::header::RETRY_AFTER);
    let retry_after = after.and_then(|value| value.to_str().ok()?.parse().ok());
    let mut body = answer.into_body();
    let mut said = Vec::new();
    // What breaks off was not said; the status was.
    while said.len() < LONGEST_REFUSAL {
        let Some(Ok(frame)) = body.frame().await else {
            break;
        };
        said.extend_from_slice(frame.data_ref().map_or(&[], |bytes| bytes));
    }
    Refused {
        status,
        retry_after,
        said,
    }
}
