//! Hosts that the node needs, connected to: TCP, and where it is spoken TLS, whose certificate is read be it trusted or
//! not. Nothing is asked of them.

use futures_util::future::join_all;
use quake_http::{Speaks, reach};
use quake_model::facts::ReachSeen;
use std::time::{Duration, Instant};

/// A host to connect to.
#[derive(Debug, Clone)]
pub struct Target {
    /// What it is needed for: `api-server`, `state-store`, `mirror` or `registry`.
    pub purpose: String,
    pub host: String,
    pub port: u16,
    /// Whether TLS is spoken there, and whose certificates are trusted.
    pub speaks: Speaks,
}

/// Connects to each target within the limit, all at once, in the order asked for.
pub async fn read_reach(targets: &[Target], limit: Duration) -> Vec<ReachSeen> {
    join_all(targets.iter().map(|target| look(target, limit))).await
}

async fn look(target: &Target, limit: Duration) -> ReachSeen {
    let begun = Instant::now();
    let result = reach(&target.host, target.port, &target.speaks, limit).await;
    ReachSeen {
        purpose: target.purpose.clone(),
        host: target.host.clone(),
        port: target.port,
        result,
        took_ms: u64::try_from(begun.elapsed().as_millis()).unwrap_or(u64::MAX),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use quake_model::facts::Reached;
    use tokio::net::TcpListener;

    #[tokio::test]
    async fn what_listens_is_told_apart_from_what_does_not() {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let port = listener.local_addr().expect("it is bound").port();
        let target = |port| Target {
            purpose: "mirror".into(),
            host: "127.0.0.1".into(),
            port,
            speaks: Speaks::Plain,
        };
        let limit = Duration::from_secs(5);
        let seen = read_reach(&[target(port)], limit).await;
        assert_eq!(seen[0].result, Reached::Connected { tls: None });
        drop(listener);
        let seen = read_reach(&[target(port)], limit).await;
        assert_eq!(seen[0].result, Reached::Refused);
    }
}
