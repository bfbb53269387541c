//! Names, resolved the way the agent itself does and by each name server alone.

use futures_util::future::join_all;
use quake_http::Resolver;
use quake_model::facts::NameSeen;
use std::fmt;
use std::net::IpAddr;
use std::time::{Duration, Instant};
use tokio::time::timeout;

/// How long one look at one name may take.
const LIMIT: Duration = Duration::from_millis(1_500);

/// Resolves names, each with what it is needed for: first the system's own way, then by each server alone. All at once.
pub async fn read_names(names: &[(String, String)], servers: &[IpAddr]) -> Vec<NameSeen> {
    let ways: Vec<Option<IpAddr>> = std::iter::once(None)
        .chain(servers.iter().copied().map(Some))
        .collect();
    let looks = names
        .iter()
        .flat_map(|(name, purpose)| ways.iter().map(|way| look(name, purpose, *way)));
    join_all(looks).await
}

/// The name servers of a `resolv.conf`, in their order.
pub fn name_servers(text: &str) -> Vec<IpAddr> {
    let lines = text
        .lines()
        .filter_map(|line| line.trim().strip_prefix("nameserver"));
    lines.filter_map(|rest| rest.trim().parse().ok()).collect()
}

async fn look(name: &str, purpose: &str, server: Option<IpAddr>) -> NameSeen {
    let begun = Instant::now();
    let lookup = async {
        match server {
            None => Resolver.lookup(name).await,
            Some(server) => Resolver.lookup_at(server, name).await,
        }
    };
    let (addresses, error) = match timeout(LIMIT, lookup).await {
        Ok(Ok(found)) => (found.iter().map(ToString::to_string).collect(), None),
        Ok(Err(error)) => (Vec::new(), Some(shortened(&error))),
        Err(_) => (Vec::new(), Some("no answer in 1.5s".to_owned())),
    };
    NameSeen {
        name: name.to_owned(),
        purpose: purpose.to_owned(),
        server: server.map(|server| server.to_string()).unwrap_or_default(),
        addresses,
        error,
        took_ms: u64::try_from(begun.elapsed().as_millis()).unwrap_or(u64::MAX),
    }
}

/// An error in one line of a bearable length.
fn shortened(error: &impl fmt::Display) -> String {
    let text = error.to_string();
    let line = text.lines().next().unwrap_or_default();
    line.chars().take(160).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::Ipv4Addr;

    #[tokio::test]
    async fn a_name_that_resolves_says_where_and_one_that_does_not_says_why() {
        let seen = look("localhost", "api-server", None).await;
        assert!(!seen.addresses.is_empty() && seen.server.is_empty());
        // Nothing answers there: an address of loopback that nobody uses.
        let nowhere = IpAddr::V4(Ipv4Addr::new(127, 99, 99, 99));
        let seen = look("node.quake.example", "api-server", Some(nowhere)).await;
        assert_eq!(seen.server, "127.99.99.99");
        assert!(
            seen.addresses.is_empty() && seen.error.is_some(),
            "{seen:?}"
        );
    }

    #[test]
    fn name_servers_are_read_from_resolv_conf() {
        let text = "# x\nnameserver 10.0.0.2\nsearch a\nnameserver fd00::53\nnameserver nonsense\n";
        let found: Vec<String> = name_servers(text).iter().map(ToString::to_string).collect();
        assert_eq!(found, ["10.0.0.2", "fd00::53"]);
    }
}
