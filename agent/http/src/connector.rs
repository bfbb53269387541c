//! Opens connections: to the host itself, through a proxy, or to a socket of this machine.

use super::failure::{BoxError, TimedOut};
use super::proxy::Proxies;
use super::resolver::Names;
use super::tls::Tls;
use http::header::USER_AGENT;
use http::uri::Scheme;
use http::{HeaderMap, HeaderValue, Uri};
use hyper::rt::{Read, ReadBufCursor, Write};
use hyper_rustls::{FixedServerNameResolver, HttpsConnector};
use hyper_util::client::legacy::connect::proxy::Tunnel;
use hyper_util::client::legacy::connect::{Connected, Connection, HttpConnector};
use hyper_util::client::proxy::matcher::Intercept;
use hyper_util::rt::TokioIo;
use rustls::pki_types::ServerName;
use std::future::Future;
use std::io;
use std::path::{Path, PathBuf};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;
use tokio::net::UnixStream;
use tokio::time::timeout;
use tower_service::Service;

/// How long a connection may be idle before the kernel asks whether its peer is there, and how long between questions.
const KEEPALIVE: Duration = Duration::from_secs(15);

/// How many such questions may stay without an answer.
const KEEPALIVE_QUESTIONS: u32 = 3;

/// How long bytes that were sent may stay without an acknowledgement.
const UNACKNOWLEDGED: Duration = Duration::from_secs(30);

type Opening = Pin<Box<dyn Future<Output = Result<Channel, BoxError>> + Send>>;

/// Opens the connections of one client. Each is open, its TLS included, within the limit, or failed.
#[derive(Debug, Clone)]
pub(crate) struct Connector {
    route: Route,
    limit: Duration,
}

/// How peers are reached.
#[derive(Debug, Clone)]
enum Route {
    Network {
        direct: Direct,
        proxies: Arc<Proxies>,
    },
    Socket(Arc<Path>),
}

impl Connector {
    pub(crate) fn network(names: Names, tls: Tls, proxies: Arc<Proxies>, limit: Duration) -> Self {
        let mut http = HttpConnector::new_with_resolver(names);
        http.enforce_http(false);
        http.set_nodelay(true);
        // Shared by the addresses of a name, so that one that swallows packets leaves time for the next.
        http.set_connect_timeout(Some(limit));
        http.set_keepalive(Some(KEEPALIVE));
        http.set_keepalive_interval(Some(KEEPALIVE));
        http.set_keepalive_retries(Some(KEEPALIVE_QUESTIONS));
        http.set_tcp_user_timeout(Some(UNACKNOWLEDGED));
        let direct = Direct {
            http,
            tls,
            name: None,
        };
        let route = Route::Network { direct, proxies };
        Self { route, limit }
    }

    /// The same where the peer's certificate must be for this name, whatever the URL's host.
    pub(crate) fn expecting(mut self, name: ServerName<'static>) -> Self {
        if let Route::Network { direct, .. } = &mut self.route {
            direct.name = Some(name);
        }
        self
    }

    /// To the socket at `path`, whatever the URL's host.
    pub(crate) fn socket(path: PathBuf, limit: Duration) -> Self {
        let route = Route::Socket(path.into());
        Self { route, limit }
    }

    /// The same with another limit.
    pub(crate) fn limited(&self, limit: Duration) -> Self {
        let mut connector = self.clone();
        connector.limit = limit;
        if let Route::Network { direct, .. } = &mut connector.route {
            direct.http.set_connect_timeout(Some(limit));
        }
        connector
    }

    /// What a proxy must be told for a request of plain http to `uri`, which goes to it as it is.
    pub(crate) fn proxy_authorization(&self, uri: &Uri) -> Option<HeaderValue> {
        match &self.route {
            Route::Network { proxies, .. } if uri.scheme() == Some(&Scheme::HTTP) => {
                proxies.for_uri(uri)?.basic_auth().cloned()
            }
            _ => None,
        }
    }

    async fn open(self, uri: Uri) -> Result<Channel, BoxError> {
        match self.route {
            Route::Socket(path) => {
                let stream = UnixStream::connect(&path).await?;
                Ok(Channel::new(TokioIo::new(stream)))
            }
            Route::Network { direct, proxies } => match proxies.for_uri(&uri) {
                None => direct.open(uri).await,
                Some(proxy) if uri.scheme() == Some(&Scheme::HTTPS) => {
                    tunnel(direct, &proxy, uri).await
                }
                Some(proxy) => {
                    let mut channel = direct.open(proxy.uri().clone()).await?;
                    channel.is_proxied = true;
                    Ok(channel)
                }
            },
        }
    }
}

impl Service<Uri> for Connector {
    type Response = Channel;
    type Error = BoxError;
    type Future = Opening;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, uri: Uri) -> Opening {
        let (connector, limit) = (self.clone(), self.limit);
        Box::pin(async move {
            let opened = timeout(limit, connector.open(uri)).await;
            opened.unwrap_or_else(|_| Err(TimedOut.into()))
        })
    }
}

/// Reaches the URL's host itself.
#[derive(Debug, Clone)]
struct Direct {
    http: HttpConnector<Names>,
    tls: Tls,
    /// Whose certificate is wanted; `None` for the URL's host.
    name: Option<ServerName<'static>>,
}

impl Direct {
    async fn open(mut self, uri: Uri) -> Result<Channel, BoxError> {
        if uri.scheme() != Some(&Scheme::HTTPS) {
            return Ok(Channel::new(self.http.call(uri).await?));
        }
        let config = self.tls.config()?;
        let mut https = match self.name {
            None => HttpsConnector::from((self.http, config)),
            Some(name) => {
                let name = Arc::new(FixedServerNameResolver::new(name));
                HttpsConnector::new(self.http, config, true, name)
            }
        };
        Ok(Channel::new(https.call(uri).await?))
    }
}

impl Service<Uri> for Direct {
    type Response = Channel;
    type Error = BoxError;
    type Future = Opening;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, uri: Uri) -> Opening {
        Box::pin(self.clone().open(uri))
    }
}

/// TLS to the host of `uri` through a proxy, which sees the host's name and nothing more.
async fn tunnel(direct: Direct, proxy: &Intercept, uri: Uri) -> Result<Channel, BoxError> {
    let config = direct.tls.config()?;
    let agent = (
        USER_AGENT,
        HeaderValue::from_static(super::client::USER_AGENT),
    );
    let mut tunnel = Tunnel::new(proxy.uri().clone(), direct);
    if let Some(authorization) = proxy.basic_auth() {
        tunnel = tunnel.with_auth(authorization.clone());
    }
    let tunnel = tunnel.with_headers(HeaderMap::from_iter([agent]));
    let mut https = HttpsConnector::from((tunnel, config));
    Ok(Channel::new(https.call(uri).await?))
}

/// One type for every kind of connection, so that the client is compiled once.
pub(crate) struct Channel {
    stream: Box<dyn Stream>,
    is_proxied: bool,
}

trait Stream: Read + Write + Connection + Unpin + Send {}

impl<S: Read + Write + Connection + Unpin + Send> Stream for S {}

impl Channel {
    fn new(stream: impl Stream + 'static) -> Self {
        Self {
            stream: Box::new(stream),
            is_proxied: false,
        }
    }
}

impl Connection for Channel {
    fn connected(&self) -> Connected {
        self.stream.connected().proxy(self.is_proxied)
    }
}

impl Read for Channel {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: ReadBufCursor<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_read(context, buffer)
    }
}

impl Write for Channel {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write(context, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        slices: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write_vectored(context, slices)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{Reply, Server};
    use crate::tls::Trust;

    #[tokio::test]
    async fn a_connection_sends_small_requests_at_once() {
        let server = Server::start(|_| Reply::text(200, "")).await;
        let tls = Tls::new(Trust::Only(Vec::new()));
        let proxies = Arc::new(Proxies::none());
        let limit = Duration::from_secs(5);
        let connector = Connector::network(Names::Resolved, tls, proxies, limit);
        let Route::Network { mut direct, .. } = connector.route else {
            panic!("it is of the network");
        };
        let uri = server.url("/").parse().expect("it is a url");
        let stream = direct.http.call(uri).await.expect("it listens");
        assert!(stream.inner().nodelay().expect("the socket is open"));
    }
}
