//! What the server saw, read from its access log.

use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;

/// The form of a line, as nginx's `log_format` takes it.
pub(crate) const FORMAT: &str = "$connection $server_port $status $body_bytes_sent $uri";

/// What a run asked of the server.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Traffic {
    pub(crate) requests: u64,
    /// Connections that carried at least one request.
    pub(crate) connections: u64,
    /// Bytes of bodies given to the network.
    pub(crate) bytes: u64,
    /// Answers that were not a success.
    pub(crate) refused: u64,
}

/// Adds up the lines of one port; lines of another form count nothing.
pub(crate) fn sum(text: &str, port: u16) -> Traffic {
    let mut connections = BTreeSet::new();
    let mut traffic = Traffic::default();
    for line in text.lines() {
        let Some(request) = parse(line).filter(|request| request.port == port) else {
            continue;
        };
        connections.insert(request.connection);
        traffic.requests += 1;
        traffic.bytes += request.bytes;
        traffic.refused += u64::from(!(200..300).contains(&request.status));
    }
    traffic.connections = connections.len() as u64;
    traffic
}

struct Request {
    connection: u64,
    port: u16,
    status: u16,
    bytes: u64,
}

fn parse(line: &str) -> Option<Request> {
    let mut words = line.split(' ');
    Some(Request {
        connection: words.next()?.parse().ok()?,
        port: words.next()?.parse().ok()?,
        status: words.next()?.parse().ok()?,
        bytes: words.next()?.parse().ok()?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_of_one_connection_are_one_connection() {
        let text = "7 8443 200 100 /a\n7 8443 206 50 /b\n9 8443 404 9 /c\n9 8444 200 1 /d\nnoise\n";
        let traffic = sum(text, 8443);
        let expected = Traffic {
            requests: 3,
            connections: 2,
            bytes: 159,
            refused: 1,
        };
        assert_eq!(traffic, expected);
    }
}
