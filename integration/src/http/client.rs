//! One request over TCP or a unix socket, and its whole answer.

use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

/// How long a server may be silent.
const SILENCE: Duration = Duration::from_secs(30);

/// Where a server listens.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Endpoint {
    Tcp(SocketAddr),
    Unix(PathBuf),
}

/// The answer to a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Answer {
    pub status: u16,
    /// The headers, names in lower case.
    pub headers: Vec<(String, String)>,
    pub body: Vec<u8>,
}

impl Answer {
    /// The body as text.
    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }

    /// The first header called `name`.
    pub fn header(&self, name: &str) -> Option<&str> {
        let found = self.headers.iter().find(|(header, _)| header == name);
        found.map(|(_, value)| value.as_str())
    }

    /// The body as JSON; null when it is none.
    pub fn json(&self) -> serde_json::Value {
        serde_json::from_slice(&self.body).unwrap_or_default()
    }
}

/// Gets a path.
///
/// # Errors
///
/// Returns the error of the connection, or `InvalidData` for an answer that is not HTTP.
pub fn get(endpoint: &Endpoint, path: &str) -> io::Result<Answer> {
    get_with(endpoint, path, &[])
}

/// Gets a path with headers.
///
/// # Errors
///
/// As [`get`].
pub fn get_with(endpoint: &Endpoint, path: &str, headers: &[(&str, &str)]) -> io::Result<Answer> {
    send(endpoint, "GET", path, headers, b"")
}

/// Sends a request with a body.
///
/// # Errors
///
/// As [`get`].
pub fn send(
    endpoint: &Endpoint,
    method: &str,
    path: &str,
    headers: &[(&str, &str)],
    body: &[u8],
) -> io::Result<Answer> {
    let request = whole(method, path, headers, body);
    let answer = match endpoint {
        Endpoint::Tcp(address) => exchange(&mut connect(address)?, &request)?,
        Endpoint::Unix(path) => {
            let mut stream = UnixStream::connect(path)?;
            stream.set_read_timeout(Some(SILENCE))?;
            exchange(&mut stream, &request)?
        }
    };
    let answer = parse(&answer)?;
    let text = String::from_utf8_lossy(&answer.body);
    crate::published::check_lines(&text).map_err(io::Error::other)?;
    Ok(answer)
}

/// Sends a request with a body over TLS to a server whose certificate has the address.
///
/// # Errors
///
/// As [`get`]; a peer that is not trusted, or does not trust, is one too.
pub fn send_by_tls(
    (address, config): (SocketAddr, &Arc<rustls::ClientConfig>),
    method: &str,
    path: &str,
    headers: &[(&str, &str)],
    body: &[u8],
) -> io::Result<Answer> {
    let name = rustls::pki_types::ServerName::from(address.ip());
    let tls = rustls::ClientConnection::new(Arc::clone(config), name).map_err(io::Error::other)?;
    let mut stream = rustls::StreamOwned::new(tls, connect(&address)?);
    let request = whole(method, path, headers, body);
    parse(&exchange(&mut stream, &request)?)
}

fn connect(address: &SocketAddr) -> io::Result<TcpStream> {
    let stream = TcpStream::connect_timeout(address, SILENCE)?;
    stream.set_read_timeout(Some(SILENCE))?;
    Ok(stream)
}

fn whole(method: &str, path: &str, headers: &[(&str, &str)], body: &[u8]) -> Vec<u8> {
    let mut request = format!("{method} {path} HTTP/1.1\r\n");
    for (name, value) in headers {
        request.push_str(&format!("{name}: {value}\r\n"));
    }
    if !headers
        .iter()
        .any(|(name, _)| name.eq_ignore_ascii_case("host"))
    {
        request.push_str("host: localhost\r\n");
    }
    request.push_str(&format!(
        "connection: close\r\ncontent-length: {}\r\n\r\n",
        body.len()
    ));
    let mut bytes = request.into_bytes();
    bytes.extend_from_slice(body);
    bytes
}

fn exchange(stream: &mut (impl Read + Write), request: &[u8]) -> io::Result<Vec<u8>> {
    stream.write_all(request)?;
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer)?;
    Ok(answer)
}

fn parse(answer: &[u8]) -> io::Result<Answer> {
    let invalid = || io::Error::new(io::ErrorKind::InvalidData, "the answer is not HTTP");
    let end = answer
        .windows(4)
        .position(|four| four == b"\r\n\r\n")
        .ok_or_else(invalid)?;
    let head = String::from_utf8_lossy(&answer[..end]).into_owned();
    let mut lines = head.lines();
    let status = lines.next().and_then(|line| line.split(' ').nth(1));
    let status = status
        .and_then(|text| text.parse().ok())
        .ok_or_else(invalid)?;
    let headers: Vec<(String, String)> = lines
        .filter_map(|line| line.split_once(':'))
        .map(|(name, value)| (name.to_ascii_lowercase(), value.trim().to_owned()))
        .collect();
    let rest = &answer[end + 4..];
    let chunked = headers
        .iter()
        .any(|(name, value)| name == "transfer-encoding" && value == "chunked");
    let body = if chunked {
        unchunk(rest).ok_or_else(invalid)?
    } else {
        rest.to_vec()
    };
    Ok(Answer {
        status,
        headers,
        body,
    })
}

fn unchunk(mut rest: &[u8]) -> Option<Vec<u8>> {
    let mut body = Vec::new();
    loop {
        let end = rest.windows(2).position(|two| two == b"\r\n")?;
        let size =
            usize::from_str_radix(std::str::from_utf8(&rest[..end]).ok()?.trim(), 16).ok()?;
        rest = &rest[end + 2..];
        if size == 0 {
            return Some(body);
        }
        body.extend_from_slice(rest.get(..size)?);
        rest = rest.get(size + 2..)?;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_chunked_body_is_put_together() {
        let answer = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n2\r\nde\r\n0\r\n\r\n";
        let answer = parse(answer).unwrap();
        assert_eq!((answer.status, answer.text().as_str()), (200, "abcde"));
    }
}
