//! One connection: request after request, and watches as streams in chunks.

use super::{LONGEST, Shared, now};
use crate::http::server::{Stream, read_request};
use quake_apisim::{Failure, Outcome, Reply, Request, Watch, node_user};
use serde_json::Value;
use std::io::{self, Write};
use std::net::TcpStream;
use std::sync::PoisonError;
use std::time::{Duration, Instant};

/// How often a watch looks whether its server ends.
const LOOK: Duration = Duration::from_millis(100);

/// Answers what comes over a connection, until it ends.
pub(super) fn converse(stream: TcpStream, shared: &Shared) -> io::Result<()> {
    stream.set_read_timeout(Some(LONGEST))?;
    stream.set_nodelay(true)?;
    match &shared.tls {
        None => answer_all(&mut Plain(stream), shared),
        Some(config) => {
            let session = rustls::ServerConnection::new(std::sync::Arc::clone(config));
            let mut session = rustls::StreamOwned::new(session.map_err(io::Error::other)?, stream);
            let reported = answer_all(&mut session, shared);
            session.conn.send_close_notify();
            let _ = session.flush();
            reported
        }
    }
}

/// A connection of which it is known whether its client showed a certificate.
trait ByteStream: Stream {
    fn is_known(&self) -> bool;

    /// The user of a kubelet's certificate; `None` for any other's.
    fn node(&self) -> Option<String>;
}

/// A connection in the clear, where anyone may ask.
struct Plain(TcpStream);

impl io::Read for Plain {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        self.0.read(into)
    }
}

impl Write for Plain {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush()
    }
}

impl ByteStream for Plain {
    fn is_known(&self) -> bool {
        true
    }

    fn node(&self) -> Option<String> {
        None
    }
}

impl ByteStream for rustls::StreamOwned<rustls::ServerConnection, TcpStream> {
    fn is_known(&self) -> bool {
        self.conn.peer_certificates().is_some()
    }

    fn node(&self) -> Option<String> {
        node_user(self.conn.peer_certificates()?.first()?)
    }
}

fn answer_all(stream: &mut impl ByteStream, shared: &Shared) -> io::Result<()> {
    while let Some(requested) = read_request(stream)? {
        if shared.is_down() {
            return Ok(());
        }
        if !stream.is_known() {
            write_reply(stream, &Failure::unauthorized().into())?;
            continue;
        }
        let header = |name: &str| requested.header(name).unwrap_or_default().to_owned();
        let mut request = Request::new(&requested.method, &requested.target);
        let content_type = header("content-type");
        let content_type = content_type.split(';').next().unwrap_or_default().trim();
        content_type.clone_into(&mut request.content_type);
        request.user_agent = header("user-agent");
        request.body = requested.body;
        if let Some(user) = stream.node() {
            request.user = user;
        }
        let outcome = shared.model().answer(&request, now());
        shared.changed.notify_all();
        match outcome {
            Outcome::Reply(reply) => write_reply(stream, &reply)?,
            Outcome::Watch(watch) => stream_watch(stream, shared, *watch)?,
            Outcome::Refused | Outcome::Lost => return Ok(()),
        }
    }
    Ok(())
}

fn write_reply(stream: &mut impl Write, reply: &Reply) -> io::Result<()> {
    let (kind, body) = match &reply.body {
        Value::String(text) => ("text/plain", text.clone()),
        body => ("application/json", format!("{body}\n")),
    };
    let mut text = format!(
        "HTTP/1.1 {} Told\r\ncontent-type: {kind}\r\ncontent-length: {}\r\n",
        reply.status,
        body.len()
    );
    if let Some(seconds) = reply.retry_after {
        text.push_str(&format!("retry-after: {seconds}\r\n"));
    }
    text.push_str("\r\n");
    text.push_str(&body);
    stream.write_all(text.as_bytes())?;
    stream.flush()
}

/// Streams a watch until its time is over; a stream that the server cuts off has no last chunk.
fn stream_watch(stream: &mut impl Write, shared: &Shared, mut watch: Watch) -> io::Result<()> {
    let end = Instant::now() + watch.limit().unwrap_or(LONGEST).min(LONGEST);
    stream.write_all(
        b"HTTP/1.1 200 Told\r\ncontent-type: application/json\r\ntransfer-encoding: chunked\r\n\r\n",
    )?;
    stream.flush()?;
    let mut model = shared.model();
    loop {
        if shared.is_down() {
            return Err(io::ErrorKind::ConnectionAborted.into());
        }
        let polled = model.poll(&mut watch, now());
        if !polled.events.is_empty() {
            drop(model);
            for event in &polled.events {
                let line = format!("{event}\n");
                stream.write_all(format!("{:x}\r\n{line}\r\n", line.len()).as_bytes())?;
            }
            stream.flush()?;
            model = shared.model();
        }
        let left = end.saturating_duration_since(Instant::now());
        if polled.is_over || left.is_zero() {
            break;
        }
        let waited = shared.changed.wait_timeout(model, left.min(LOOK));
        model = waited.unwrap_or_else(PoisonError::into_inner).0;
    }
    drop(model);
    stream.write_all(b"0\r\n\r\n")?;
    stream.flush()
}
