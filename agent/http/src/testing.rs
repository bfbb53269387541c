//! A small HTTP server for tests: one closure answers, and every request is remembered.

use std::sync::{Arc, Mutex};
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::TcpListener;

/// One request as the server read it.
#[derive(Debug, Clone)]
pub struct Seen {
    /// Such as `GET`.
    pub method: String,
    /// The target with its query; absolute when the client took the server for a proxy.
    pub path: String,
    /// The head's lines after the first, as sent.
    pub headers: Vec<String>,
    /// The body, as far as it is text.
    pub body: String,
}

impl Seen {
    /// The value of a header, if it was sent.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find_map(|line| {
            let (key, value) = line.split_once(':')?;
            key.eq_ignore_ascii_case(name).then_some(value.trim())
        })
    }
}

/// What the server sends back.
#[derive(Debug, Clone)]
pub struct Reply {
    status: u16,
    headers: Vec<String>,
    body: Vec<u8>,
    declared: Option<usize>,
    is_chunked: bool,
    hangs: bool,
    bytes_per_second: Option<usize>,
}

impl Reply {
    /// A body of text.
    pub fn text(status: u16, body: &str) -> Self {
        Self::bytes(status, body.as_bytes())
    }

    /// A body of bytes.
    pub fn bytes(status: u16, body: &[u8]) -> Self {
        Self {
            status,
            headers: Vec::new(),
            body: body.to_vec(),
            declared: None,
            is_chunked: false,
            hangs: false,
            bytes_per_second: None,
        }
    }

    /// Adds a header.
    pub fn with(mut self, name: &str, value: &str) -> Self {
        self.headers.push(format!("{name}: {value}\r\n"));
        self
    }

    /// Declares a length that the body does not have; the connection closes after the body.
    pub fn declaring(mut self, length: usize) -> Self {
        self.declared = Some(length);
        self
    }

    /// Declares no length: the body is in the chunked coding already.
    pub fn chunked(mut self) -> Self {
        self.is_chunked = true;
        self
    }

    /// Sends what there is and then neither sends nor closes.
    pub fn hanging(mut self) -> Self {
        self.hangs = true;
        self
    }

    /// Sends no more than so many bytes each second, as hosts do that limit each connection.
    pub fn paced(mut self, bytes_per_second: usize) -> Self {
        self.bytes_per_second = Some(bytes_per_second);
        self
    }

    /// The same length, with one byte wrong.
    pub fn lying(mut self) -> Self {
        let middle = self.body.len() / 2;
        if let Some(byte) = self.body.get_mut(middle) {
            *byte ^= 1;
        }
        self
    }

    /// Sends half of what it declares, and closes.
    pub fn cut_in_half(self) -> Self {
        let half = self.body.len() / 2;
        self.cut_at(half)
    }

    /// Closes after the head.
    pub fn cut_to_nothing(self) -> Self {
        self.cut_at(0)
    }

    fn cut_at(mut self, length: usize) -> Self {
        self.declared = Some(self.body.len());
        self.body.truncate(length);
        self
    }

    fn head(&self) -> String {
        let length = self.declared.unwrap_or(self.body.len());
        let length = match self.is_chunked {
            true => "transfer-encoding: chunked".to_owned(),
            false => format!("content-length: {length}"),
        };
        let extra = self.headers.concat();
        format!(
            "HTTP/1.1 {} x\r\n{length}\r\nconnection: close\r\n{extra}\r\n",
            self.status
        )
    }
}

/// The server; it ends with the test's runtime.
#[derive(Debug)]
pub struct Server {
    address: std::net::SocketAddr,
    seen: Arc<Mutex<Vec<Seen>>>,
}

impl Server {
    /// Starts a server on a free port of 127.0.0.1.
    pub async fn start<F>(answer: F) -> Self
    where
        F: Fn(&Seen) -> Reply + Send + Sync + 'static,
    {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let address = listener.local_addr().expect("it is bound");
        let seen = Arc::new(Mutex::new(Vec::new()));
        let (answer, log) = (Arc::new(answer), Arc::clone(&seen));
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let (answer, log) = (Arc::clone(&answer), Arc::clone(&log));
                tokio::spawn(async move { serve(stream, &*answer, &log).await });
            }
        });
        Self { address, seen }
    }

    /// The URL of a path on this server.
    pub fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.address)
    }

    /// Requests so far.
    pub fn seen(&self) -> Vec<Seen> {
        self.seen
            .lock()
            .expect("no test panics while it holds it")
            .clone()
    }

    /// Requests so far as `METHOD path`.
    pub fn lines(&self) -> Vec<String> {
        let line = |seen: &Seen| format!("{} {}", seen.method, seen.path);
        self.seen().iter().map(line).collect()
    }
}

/// The URL of a port on which nothing listens.
pub async fn closed_port() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
    let address = listener.local_addr().expect("it is bound");
    format!("http://{address}")
}

#[expect(
    clippy::disallowed_methods,
    reason = "a server of a test is slow on purpose"
)]
async fn serve<S, F>(mut stream: S, answer: &F, log: &Mutex<Vec<Seen>>)
where
    S: AsyncRead + AsyncWrite + Unpin,
    F: Fn(&Seen) -> Reply,
{
    let Some(seen) = read_request(&mut stream).await else {
        return;
    };
    let reply = answer(&seen);
    log.lock()
        .expect("no test panics while it holds it")
        .push(seen);
    let sent = [reply.head().into_bytes(), reply.body.clone()].concat();
    // The client may have gone away on purpose; that is its test's business.
    for portion in sent.chunks(reply.bytes_per_second.map_or(usize::MAX, |rate| rate / 50)) {
        let _ = stream.write_all(portion).await;
        if reply.bytes_per_second.is_some() {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }
    let _ = stream.flush().await;
    if reply.hangs {
        std::future::pending::<()>().await;
    }
}

pub(crate) async fn read_request<S: AsyncRead + Unpin>(stream: &mut S) -> Option<Seen> {
    let mut bytes = Vec::new();
    let head_end = loop {
        if let Some(at) = bytes.windows(4).position(|window| window == b"\r\n\r\n") {
            break at;
        }
        let mut chunk = [0_u8; 4096];
        let count = stream.read(&mut chunk).await.ok()?;
        if count == 0 {
            return None;
        }
        bytes.extend_from_slice(&chunk[..count]);
    };
    let head = String::from_utf8_lossy(&bytes[..head_end]).into_owned();
    let mut lines = head.split("\r\n").map(str::to_owned);
    let first = lines.next()?;
    let mut words = first.split(' ');
    let mut seen = Seen {
        method: words.next()?.to_owned(),
        path: words.next()?.to_owned(),
        headers: lines.collect(),
        body: String::new(),
    };
    seen.body = read_body(stream, &seen, bytes.split_off(head_end + 4)).await;
    Some(seen)
}

async fn read_body<S: AsyncRead + Unpin>(stream: &mut S, seen: &Seen, mut body: Vec<u8>) -> String {
    let length = seen
        .header("content-length")
        .and_then(|text| text.parse().ok());
    let length: usize = length.unwrap_or(0);
    let mut chunk = [0_u8; 4096];
    while body.len() < length {
        match stream.read(&mut chunk).await {
            Ok(count) if count > 0 => body.extend_from_slice(&chunk[..count]),
            _ => break,
        }
    }
    String::from_utf8_lossy(&body).into_owned()
}
