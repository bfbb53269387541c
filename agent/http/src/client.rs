//! The client: a pool of connections, and the limits of what they may cost in time and memory.

use super::body::{AnswerBody, earliest};
use super::connector::Connector;
use super::failure::{BoxError, HttpFailure};
use super::request::RequestBuilder;
use bytes::Bytes;
use http::header::PROXY_AUTHORIZATION;
use http::{Method, Request};
use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt, Empty, Full};
use hyper_util::client::legacy;
use hyper_util::rt::{TokioExecutor, TokioTimer};
use std::fmt;
use std::time::Duration;
use tokio::time::{Instant, timeout_at};

/// How long a connection may take to open.
///
/// A guess: ten times the slowest round trip inside AWS, and short enough to try another mirror soon.
pub const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);

/// How long a peer may stay silent in the middle of an answer.
///
/// A limit on silence and not on the whole: a total limit kills large files on slow links.
pub const READ_TIMEOUT: Duration = Duration::from_secs(30);

/// How many bytes a connection reads at once, and so the size of its buffers; also the longest head of an answer.
///
/// Without it the client's library takes up to 400 KiB for each buffer of a fast peer, several at a time: docs/adr/0015
/// has the figures.
const READ_BUFFER: usize = 64 << 10;

/// How long a connection is kept that nothing uses.
const KEEP_IDLE: Duration = Duration::from_secs(90);

/// How the agent names itself to servers.
pub(crate) const USER_AGENT: &str = concat!("quake-agent/", env!("CARGO_PKG_VERSION"));

/// A body that is sent.
pub type RequestBody = UnsyncBoxBody<Bytes, BoxError>;

/// How long a request may take.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Limits {
    /// A connection, from its name to its TLS.
    pub connect: Duration,
    /// Without any byte of the answer, its first included.
    pub silence: Option<Duration>,
    /// All of it, redirects and body included.
    pub whole: Option<Duration>,
}

impl Limits {
    /// When a request that begins now must have ended.
    pub(crate) fn ends(&self) -> Option<Instant> {
        self.whole.map(|whole| Instant::now() + whole)
    }
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            connect: CONNECT_TIMEOUT,
            silence: Some(READ_TIMEOUT),
            whole: None,
        }
    }
}

/// A client. Clones share its connections.
///
/// HTTP/1.1 only, a connection for each request under way: hosts limit the rate of each, and one lost packet holds up
/// one. A request is made once, except that one which a kept connection closed under, unread, goes to another.
#[derive(Clone)]
pub struct Client {
    pool: legacy::Client<Connector, RequestBody>,
    connector: Connector,
    limits: Limits,
    redirects: usize,
}

impl Client {
    /// A client without a connection.
    pub(crate) fn new(connector: Connector, limits: Limits, redirects: usize) -> Self {
        Self {
            pool: pool_of(connector.clone()),
            connector,
            limits,
            redirects,
        }
    }

    /// A request for what is at `url`.
    pub fn get(&self, url: &str) -> RequestBuilder {
        RequestBuilder::new(self.clone(), Method::GET, url)
    }

    /// A request to put nothing at `url`.
    pub fn put(&self, url: &str) -> RequestBuilder {
        RequestBuilder::new(self.clone(), Method::PUT, url)
    }

    /// A request to make something of `body`, of this content type, at `url`.
    pub fn post(&self, url: &str, content_type: &str, body: Vec<u8>) -> RequestBuilder {
        RequestBuilder::new(self.clone(), Method::POST, url)
            .header("content-type", content_type)
            .body(body)
    }

    /// The same client under other limits. Its connections are shared where they may take as long to open.
    #[must_use]
    pub fn limited(&self, limits: Limits) -> Self {
        if limits.connect == self.limits.connect {
            return Self {
                limits,
                ..self.clone()
            };
        }
        let connector = self.connector.limited(limits.connect);
        Self::new(connector, limits, self.redirects)
    }

    /// The limits of each request.
    pub fn limits(&self) -> Limits {
        self.limits
    }

    /// How many redirects are followed.
    pub(crate) fn redirects(&self) -> usize {
        self.redirects
    }

    /// Sends a request as it is, once; no redirect is followed.
    ///
    /// # Errors
    ///
    /// Returns why no answer came.
    pub async fn dispatch(
        &self,
        request: Request<RequestBody>,
    ) -> Result<http::Response<AnswerBody>, HttpFailure> {
        self.dispatch_until(request, self.limits.ends()).await
    }

    pub(crate) async fn dispatch_until(
        &self,
        mut request: Request<RequestBody>,
        ends: Option<Instant>,
    ) -> Result<http::Response<AnswerBody>, HttpFailure> {
        if let Some(authorization) = self.connector.proxy_authorization(request.uri()) {
            let headers = request.headers_mut();
            headers.entry(PROXY_AUTHORIZATION).or_insert(authorization);
        }
        let silence = self.limits.silence;
        let sent = self.pool.request(request);
        let answered = match earliest(silence, ends) {
            Some(end) => timeout_at(end, sent)
                .await
                .map_err(|_| HttpFailure::silent())?,
            None => sent.await,
        };
        let answer = answered.map_err(HttpFailure::head)?;
        Ok(answer.map(|incoming| AnswerBody::new(incoming, silence, ends)))
    }
}

impl fmt::Debug for Client {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut shown = f.debug_struct("Client");
        shown.field("limits", &self.limits).finish_non_exhaustive()
    }
}

/// A body that another library made, to be sent.
pub fn into_body<B>(body: B) -> RequestBody
where
    B: http_body::Body<Data = Bytes> + Send + 'static,
    B::Error: Into<BoxError>,
{
    body.map_err(Into::into).boxed_unsync()
}

/// A body of nothing.
pub(crate) fn no_body() -> RequestBody {
    into_body(Empty::new())
}

/// A body that is wholly here.
pub(crate) fn whole_body(bytes: Bytes) -> RequestBody {
    into_body(Full::new(bytes))
}

fn pool_of(connector: Connector) -> legacy::Client<Connector, RequestBody> {
    legacy::Client::builder(TokioExecutor::new())
        .http1_read_buf_exact_size(READ_BUFFER)
        .pool_idle_timeout(KEEP_IDLE)
        .pool_timer(TokioTimer::new())
        .build(connector)
}

#[cfg(test)]
mod tests;
