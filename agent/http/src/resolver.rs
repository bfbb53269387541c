//! Resolves names with hickory, never with `getaddrinfo`.
//!
//! A static glibc binary that calls `getaddrinfo` loads the host's NSS modules, and with
//! `hosts: files resolve …` (Ubuntu, Flatcar) of a newer glibc it dies of SIGFPE on the first name
//! (measured, 2026-11: glibc 2.36 binary on 2.41). hickory reads `/etc/hosts` and `/etc/resolv.conf` itself.

use hickory_resolver::TokioResolver;
use hickory_resolver::config::{LookupIpStrategy, NameServerConfig, ResolveHosts, ResolverConfig};
use hickory_resolver::net::NetError;
use hickory_resolver::net::runtime::TokioRuntimeProvider;
use hyper_util::client::legacy::connect::dns::Name;
use std::future::Future;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;
use tokio::time::timeout;
use tower_service::Service;

/// How long the servers of `/etc/resolv.conf` may take to answer, and how often they are asked again. Together less than
/// [`CONNECT_TIMEOUT`](super::client::CONNECT_TIMEOUT): a name that nobody resolves fails as that, and not as a slow peer.
const ANSWER: Duration = Duration::from_millis(2_200);
const ASKED_AGAIN: usize = 1;

/// How long one address family waits for the other that has not answered yet. A guess: RFC 8305 has 50 ms, and a name
/// server that gives both gives them at almost the same time.
const OTHER_FAMILY: Duration = Duration::from_millis(250);

/// How long one server that is asked alone may take.
const ONE_SERVER: Duration = Duration::from_millis(1_400);

/// The one resolver of every client of the agent.
///
/// It reads the system's configuration anew for each name: an agent that starts before DHCP is done must
/// not keep an empty `resolv.conf`, and connections are reused, so names are rarely asked for twice.
#[derive(Debug, Clone, Copy, Default)]
pub struct Resolver;

impl Resolver {
    /// Resolves a name to its addresses, in the order in which they should be tried: those of IPv4 first.
    ///
    /// A name server that gives the addresses of one family and is silent about the other is enough.
    ///
    /// # Errors
    ///
    /// Returns hickory's error when the name does not exist or no server answers.
    pub async fn lookup(self, name: &str) -> Result<Vec<IpAddr>, NetError> {
        if let Ok(address) = name.parse() {
            return Ok(vec![address]);
        }
        let four = lookup_family(name, LookupIpStrategy::Ipv4Only);
        let six = lookup_family(name, LookupIpStrategy::Ipv6Only);
        let (four, six) = both_families(four, six).await;
        match (four, six) {
            (Ok(four), Ok(six)) => Ok([four, six].concat()),
            (Ok(found), Err(_)) | (Err(_), Ok(found)) => Ok(found),
            (Err(error), Err(_)) => Err(error),
        }
    }

    /// Resolves a name by one name server alone, asked once, whatever `/etc/hosts` and `/etc/resolv.conf` say.
    ///
    /// # Errors
    ///
    /// Returns hickory's error when the server does not know the name or does not answer.
    pub async fn lookup_at(self, server: IpAddr, name: &str) -> Result<Vec<IpAddr>, NetError> {
        let servers = vec![NameServerConfig::udp_and_tcp(server)];
        let mut builder = TokioResolver::builder_with_config(
            ResolverConfig::from_name_servers(servers),
            TokioRuntimeProvider::default(),
        );
        let options = builder.options_mut();
        options.ip_strategy = LookupIpStrategy::Ipv4AndIpv6;
        options.use_hosts_file = ResolveHosts::Never;
        options.attempts = 1;
        options.timeout = ONE_SERVER;
        let answer = builder.build()?.lookup_ip(name).await?;
        Ok(answer.iter().collect())
    }
}

/// Resolves a name to its addresses of one family.
async fn lookup_family(name: &str, family: LookupIpStrategy) -> Result<Vec<IpAddr>, NetError> {
    // Without a readable resolv.conf the names of /etc/hosts still resolve, and no other does: a
    // public resolver as a fallback would send a cluster's internal names to strangers.
    let mut builder = TokioResolver::builder_tokio().unwrap_or_else(|_| {
        TokioResolver::builder_with_config(
            ResolverConfig::default(),
            TokioRuntimeProvider::default(),
        )
    });
    let options = builder.options_mut();
    options.ip_strategy = family;
    options.timeout = options.timeout.min(ANSWER);
    options.attempts = options.attempts.min(ASKED_AGAIN);
    let answer = builder.build()?.lookup_ip(name).await?;
    Ok(answer.iter().collect())
}

/// Awaits both lookups. One that succeeded waits [`OTHER_FAMILY`] for the other, which then has timed out.
async fn both_families<T>(
    four: impl Future<Output = Result<T, NetError>>,
    six: impl Future<Output = Result<T, NetError>>,
) -> (Result<T, NetError>, Result<T, NetError>) {
    let (mut four, mut six) = (pin!(four), pin!(six));
    tokio::select! {
        found = four.as_mut() => {
            let other = await_other(&found, six).await;
            (found, other)
        }
        found = six.as_mut() => (await_other(&found, four).await, found),
    }
}

async fn await_other<T>(
    found: &Result<T, NetError>,
    other: Pin<&mut impl Future<Output = Result<T, NetError>>>,
) -> Result<T, NetError> {
    match found {
        Ok(_) => {
            let other = timeout(OTHER_FAMILY, other).await;
            other.unwrap_or(Err(NetError::Timeout))
        }
        Err(_) => other.await,
    }
}

/// How a client makes addresses of names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Names {
    /// By asking [`Resolver`].
    Resolved,
    /// Every name has these: they were looked up before.
    Known(Arc<[IpAddr]>),
    /// Every name is 127.0.0.1: a resolver might have another address for `localhost`.
    Loopback,
}

impl Service<Name> for Names {
    type Response = std::vec::IntoIter<SocketAddr>;
    type Error = NetError;
    type Future = Pin<Box<dyn Future<Output = Result<Self::Response, NetError>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), NetError>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, name: Name) -> Self::Future {
        let names = self.clone();
        Box::pin(async move {
            let found = match names {
                Self::Resolved => Resolver.lookup(name.as_str()).await?,
                Self::Known(addresses) => addresses.to_vec(),
                Self::Loopback => vec![IpAddr::V4(Ipv4Addr::LOCALHOST)],
            };
            // The connector puts the URL's port, or the scheme's, in the place of port 0.
            let addresses = found.into_iter().map(|address| SocketAddr::new(address, 0));
            Ok(addresses.collect::<Vec<_>>().into_iter())
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

    async fn never() -> Result<Vec<u8>, NetError> {
        std::future::pending().await
    }

    async fn after(pause: Duration, found: Result<Vec<u8>, NetError>) -> Result<Vec<u8>, NetError> {
        let _ = timeout(pause, never()).await;
        found
    }

    #[tokio::test(start_paused = true)]
    async fn a_family_without_an_answer_does_not_hold_up_the_other() {
        let (four, six) = both_families(after(OTHER_FAMILY, Ok(vec![4])), never()).await;
        assert_eq!(four.ok(), Some(vec![4]));
        assert!(six.is_err());
        let (four, six) = both_families(never(), after(OTHER_FAMILY, Ok(vec![6]))).await;
        assert!(four.is_err());
        assert_eq!(six.ok(), Some(vec![6]));
    }

    #[tokio::test(start_paused = true)]
    async fn a_family_that_fails_leaves_the_other_all_its_time() {
        let failed = after(Duration::ZERO, Err(NetError::NoConnections));
        let late = after(OTHER_FAMILY * 9, Ok(vec![4]));
        let (four, six) = both_families(late, failed).await;
        assert_eq!((four.ok(), six.ok()), (Some(vec![4]), None));
    }
}
