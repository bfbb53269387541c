//! Connections to the endpoint, bounded in number and in time: whoever can connect to it can take nothing from the boot.

use axum::Router;
use axum::body::Body;
use axum::http::Request;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, UnixListener};
use tokio::task::{AbortHandle, JoinSet};
use tokio::time::timeout;
use tower_service::Service;

/// The most connections to one listener. A new one is always taken: the oldest that waits for a request is closed for it.
pub(super) const MOST: usize = 64;

/// How long a conversation and its parts may take.
#[derive(Debug, Clone, Copy)]
pub(super) struct Limits {
    /// The head of a request, and the wait for the next one.
    head: Duration,
    /// After this long a connection takes no further request.
    open_for: Duration,
    /// The last answer then.
    last_answer: Duration,
}

/// The last answer may take a little more than the longest wait for news.
pub(super) const LIMITS: Limits = Limits {
    head: Duration::from_secs(5),
    open_for: Duration::from_secs(60),
    last_answer: Duration::from_secs(70),
};

/// The most memory for what a reader sends and has not been read.
const BUFFER: usize = 16 * 1024;

/// The pause after the machine had no descriptor for a connection.
const EXHAUSTED: Duration = Duration::from_millis(200);

/// Where connections come from.
pub(super) trait Listener: Send + Sync + 'static {
    /// One connection.
    type Connection: AsyncRead + AsyncWrite + Unpin + Send + 'static;

    /// The next connection.
    fn accept(&self) -> impl Future<Output = io::Result<Self::Connection>> + Send;
}

impl Listener for TcpListener {
    type Connection = tokio::net::TcpStream;

    async fn accept(&self) -> io::Result<Self::Connection> {
        Self::accept(self).await.map(|(connection, _)| connection)
    }
}

impl Listener for UnixListener {
    type Connection = tokio::net::UnixStream;

    async fn accept(&self) -> io::Result<Self::Connection> {
        Self::accept(self).await.map(|(connection, _)| connection)
    }
}

/// A connection that is served.
struct Open {
    task: AbortHandle,
    /// Whether a request of it is being answered.
    is_busy: Arc<AtomicBool>,
}

/// Serves `app` to whoever connects. It never ends; all connections end with it.
pub(super) async fn serve<L: Listener>(listener: L, app: Router, limits: Limits) {
    let mut tasks = JoinSet::new();
    let mut open: Vec<Open> = Vec::new();
    loop {
        let connection = tokio::select! {
            accepted = listener.accept() => accepted,
            Some(_) = tasks.join_next() => continue,
        };
        let Ok(connection) = connection else {
            wait_for_a_descriptor().await;
            continue;
        };
        open.retain(|one| !one.task.is_finished());
        make_room(&mut open);
        let is_busy = Arc::new(AtomicBool::new(false));
        let conversation = converse(connection, app.clone(), limits, Arc::clone(&is_busy));
        let task = tasks.spawn(conversation);
        open.push(Open { task, is_busy });
    }
}

#[expect(
    clippy::disallowed_methods,
    reason = "accept fails at once until a descriptor is free, and nothing shows when one is"
)]
async fn wait_for_a_descriptor() {
    tokio::time::sleep(EXHAUSTED).await;
}

/// Closes the oldest connection without a request, or the oldest, where there are as many as there may be.
fn make_room(open: &mut Vec<Open>) {
    if open.len() >= MOST {
        let waits = |one: &Open| !one.is_busy.load(Ordering::Relaxed);
        let oldest = open.iter().position(waits).unwrap_or_default();
        open.remove(oldest).task.abort();
    }
}

/// Answers the requests of one connection.
async fn converse<C>(connection: C, app: Router, limits: Limits, is_busy: Arc<AtomicBool>)
where
    C: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    let answer = service_fn(move |request: Request<Incoming>| {
        let (mut app, is_busy) = (app.clone(), Arc::clone(&is_busy));
        async move {
            is_busy.store(true, Ordering::Relaxed);
            let answer = app.call(request.map(Body::new)).await;
            is_busy.store(false, Ordering::Relaxed);
            answer
        }
    });
    let conversation = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(limits.head)
        .max_buf_size(BUFFER)
        .serve_connection(TokioIo::new(connection), answer);
    tokio::pin!(conversation);
    // How a conversation ended is the reader's business.
    if timeout(limits.open_for, conversation.as_mut())
        .await
        .is_ok()
    {
        return;
    }
    conversation.as_mut().graceful_shutdown();
    let _ = timeout(limits.last_answer, conversation).await;
}

#[cfg(test)]
mod tests {
    use super::*;
    use axum::routing::get;
    use std::io::ErrorKind;
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    use tokio::net::TcpStream;

    /// Limits that a test need not wait for. What has none of its own never ends.
    const SHORT: Limits = Limits {
        head: Duration::from_millis(50),
        open_for: Duration::from_millis(100),
        last_answer: Duration::from_millis(50),
    };

    async fn started(limits: Limits) -> std::net::SocketAddr {
        let app = Router::new()
            .route("/now", get(async || "now"))
            .route("/never", get(std::future::pending::<()>));
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        tokio::spawn(serve(listener, app, limits));
        address
    }

    async fn sent(address: std::net::SocketAddr, text: &str) -> TcpStream {
        let mut stream = TcpStream::connect(address).await.unwrap();
        stream.write_all(text.as_bytes()).await.unwrap();
        stream
    }

    /// What comes until the connection ends, which it does of itself; a reset is an end as well.
    async fn rest(mut stream: TcpStream) -> String {
        let mut text = String::new();
        let read = timeout(LIMITS.open_for, stream.read_to_string(&mut text));
        match read.await.expect("the connection ends") {
            Err(error) if error.kind() != ErrorKind::ConnectionReset => text = error.to_string(),
            _ => {}
        }
        text
    }

    const REQUEST: &str = "GET /now HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n";

    #[tokio::test]
    async fn a_new_connection_is_answered_however_many_say_nothing() {
        let address = started(LIMITS).await;
        let mut silent = Vec::new();
        for text in [
            "",
            "GET /now HT",
            "GET /never HTTP/1.1\r\nHost: localhost\r\n\r\n",
        ] {
            for _ in 0..MOST {
                silent.push(sent(address, text).await);
            }
            assert!(
                rest(sent(address, REQUEST).await).await.ends_with("now"),
                "{text:?}"
            );
        }
        let mut closed = 0;
        for mut stream in silent {
            let mut byte = [0];
            let read = timeout(Duration::from_millis(20), stream.read(&mut byte)).await;
            closed += usize::from(matches!(read, Ok(Ok(0) | Err(_))));
        }
        assert!(closed >= 2 * MOST, "{closed} were closed");
    }

    #[tokio::test]
    async fn a_head_that_does_not_come_ends_its_connection() {
        let limits = Limits {
            open_for: Duration::MAX,
            ..SHORT
        };
        let address = started(limits).await;
        for text in ["", "GET /now HTTP/1.1\r\nHost:"] {
            let reported = rest(sent(address, text).await).await;
            assert!(
                reported.is_empty() || reported.starts_with("HTTP/1.1 408"),
                "{reported}"
            );
        }
    }

    #[tokio::test]
    async fn an_answer_that_does_not_come_ends_its_connection() {
        let address = started(SHORT).await;
        let began = tokio::time::Instant::now();
        let request = "GET /never HTTP/1.1\r\nHost: localhost\r\n\r\n";
        assert_eq!(rest(sent(address, request).await).await, "");
        assert!(began.elapsed() >= SHORT.open_for + SHORT.last_answer);
    }
}
