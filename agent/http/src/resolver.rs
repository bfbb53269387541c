//! Resolves names with hickory, never with `getaddrinfo`.
//!
//! A static glibc binary that calls `getaddrinfo` loads the host's NSS modules, and with
//! `hosts: files resolve …` (Ubuntu, Flatcar) of a newer glibc it dies of SIGFPE on the first name
//! (measured, 2026-11: glibc 2.36 binary on 2.41). hickory reads `/etc/hosts` and `/etc/resolv.conf` itself.

use hickory_resolver::TokioResolver;
use hickory_resolver::config::{LookupIpStrategy, ResolverConfig};
use hickory_resolver::net::NetError;
use hickory_resolver::net::runtime::TokioRuntimeProvider;
use reqwest::dns::{Addrs, Name, Resolve, Resolving};
use std::net::{IpAddr, SocketAddr};

/// The one resolver of every client of the agent.
///
/// It reads the system's configuration anew for each name: an agent that starts before DHCP is done must
/// not keep an empty `resolv.conf`, and connections are reused, so names are rarely asked for twice.
#[derive(Debug, Clone, Copy, Default)]
pub struct Resolver;

impl Resolver {
    /// Resolves a name to its addresses, in the order in which they should be tried.
    ///
    /// # Errors
    ///
    /// Returns hickory's error when the name does not exist or no server answers.
    pub async fn lookup(self, name: &str) -> Result<Vec<IpAddr>, NetError> {
        // Without a readable resolv.conf the names of /etc/hosts still resolve, and no other does: a
        // public resolver as a fallback would send a cluster's internal names to strangers.
        let mut builder = TokioResolver::builder_tokio().unwrap_or_else(|_| {
            TokioResolver::builder_with_config(
                ResolverConfig::default(),
                TokioRuntimeProvider::default(),
            )
        });
        builder.options_mut().ip_strategy = LookupIpStrategy::Ipv4AndIpv6;
        let answer = builder.build()?.lookup_ip(name).await?;
        Ok(answer.iter().collect())
    }
}

impl Resolve for Resolver {
    fn resolve(&self, name: Name) -> Resolving {
        let resolver = *self;
        Box::pin(async move {
            let found = resolver.lookup(name.as_str()).await?;
            let addresses = found.into_iter().map(|address| SocketAddr::new(address, 0));
            Ok(Box::new(addresses) as Addrs)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn names_of_the_hosts_file_resolve_without_a_name_server() {
        let found = Resolver.lookup("localhost").await.expect("it is built in");
        assert!(found.iter().all(IpAddr::is_loopback) && !found.is_empty());
    }
}
