//! What the SDK's connector shares with every other client: the resolver and the proxies.

use aws_smithy_http_client::proxy::ProxyConfig;
use aws_smithy_runtime_api::client::dns::{DnsFuture, ResolveDns, ResolveDnsError};
use quake_http::{ProxySettings, Resolver};

/// The agent's resolver as the SDK takes it.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct SdkResolver;

impl ResolveDns for SdkResolver {
    fn resolve_dns<'a>(&'a self, name: &'a str) -> DnsFuture<'a> {
        DnsFuture::new(async move { Resolver.lookup(name).await.map_err(ResolveDnsError::new) })
    }
}

/// The proxies as the SDK takes them: one for one scheme or for both.
///
/// With two different proxies the one for https is taken, for that is what AWS speaks; an endpoint of
/// plain http is then reached directly.
pub(super) fn proxy_config(settings: &ProxySettings) -> ProxyConfig {
    let proxy = match (settings.http(), settings.https()) {
        (Some(http), Some(https)) if http == https => ProxyConfig::all(https.expose().as_str()),
        (_, Some(https)) => ProxyConfig::https(https.expose().as_str()),
        (Some(http), None) => ProxyConfig::http(http.expose().as_str()),
        (None, None) => Ok(ProxyConfig::disabled()),
    };
    // A URL that does not parse was refused with its reason when the reqwest client was made of it.
    proxy
        .unwrap_or_else(|_| ProxyConfig::disabled())
        .no_proxy(settings.direct())
}
