//! Which requests go through a proxy, from the environment's usual variables.
//!
//! The instance's own services (metadata, time, loopback) never do: a proxy that answers for
//! 169.254.169.254 would hand out another machine's identity, or an error page.

use http::Uri;
use hyper_util::client::proxy::matcher::{Intercept, Matcher};
use quake_model::ports::{Condition, PortError};
use quake_model::redact::Secret;
use url::Url;

/// Hosts that never go through a proxy, whatever `no_proxy` says.
const ALWAYS_DIRECT: &str = "169.254.0.0/16,fe80::/10,fd00:ec2::/32,127.0.0.0/8,::1,localhost";

/// The proxies in force. Their URLs may carry a password and are never printed.
#[derive(Debug, Clone, Default)]
pub struct ProxySettings {
    http: Option<Secret<String>>,
    https: Option<Secret<String>>,
    direct: String,
}

impl ProxySettings {
    /// Reads `http_proxy`, `https_proxy`, `all_proxy` and `no_proxy`, in either case.
    pub fn from_environment() -> Self {
        Self::from_lookup(|name| std::env::var(name).ok())
    }

    /// Reads the same settings from `lookup`, which answers for one variable's name.
    pub fn from_lookup(lookup: impl Fn(&str) -> Option<String>) -> Self {
        let either = |name: &str| {
            let found = lookup(name).or_else(|| lookup(&name.to_ascii_uppercase()));
            found.filter(|value| !value.trim().is_empty())
        };
        let all = either("all_proxy");
        let direct = match either("no_proxy") {
            Some(listed) => format!("{listed},{ALWAYS_DIRECT}"),
            None => ALWAYS_DIRECT.to_owned(),
        };
        Self {
            http: either("http_proxy").or(all.clone()).map(Secret::new),
            https: either("https_proxy").or(all).map(Secret::new),
            direct,
        }
    }

    /// No proxy at all.
    pub fn none() -> Self {
        Self::default()
    }

    /// Whether a request to `url` goes through a proxy. Of proxies that cannot be used, and of what is no URL: no.
    pub fn takes(&self, url: &str) -> bool {
        let uri = url.parse::<Uri>().ok();
        let taken = self.read().ok().zip(uri);
        taken.is_some_and(|(proxies, uri)| proxies.for_uri(&uri).is_some())
    }

    /// Reads the URLs.
    ///
    /// # Errors
    ///
    /// `Malformed` when one is not that of an http or https proxy.
    pub(crate) fn read(&self) -> Result<Proxies, PortError> {
        let mut rules = Matcher::builder().no(self.direct.clone());
        if let Some(url) = &self.http {
            rules = rules.http(usable(url.expose())?);
        }
        if let Some(url) = &self.https {
            rules = rules.https(usable(url.expose())?);
        }
        Ok(Proxies(rules.build()))
    }
}

/// The URL in full, as the rules need it: they leave out one that they cannot read, and the request would go direct.
fn usable(text: &str) -> Result<String, PortError> {
    // A bare `proxy:3128` is usual, and parses as a URL of the scheme `proxy`.
    let full = match text.contains("://") {
        true => text.to_owned(),
        false => format!("http://{text}"),
    };
    let parsed = Url::parse(&full).ok();
    let url = parsed.filter(|url| matches!(url.scheme(), "http" | "https") && url.has_host());
    let url = url.filter(|url| url.as_str().parse::<Uri>().is_ok());
    // The URL of a proxy can hold a password, so no error quotes it.
    url.map(String::from).ok_or_else(|| {
        PortError::new(Condition::Malformed, "a proxy's url cannot be used")
            .remedied_by("correct http_proxy, https_proxy or all_proxy in the agent's environment")
    })
}

/// The rules of which request goes through which proxy.
#[derive(Debug)]
pub(crate) struct Proxies(Matcher);

impl Proxies {
    pub(crate) fn none() -> Self {
        Self(Matcher::builder().build())
    }

    /// The proxy for a request to `uri`, if it goes through one.
    pub(crate) fn for_uri(&self, uri: &Uri) -> Option<Intercept> {
        self.0.intercept(uri)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::HttpSettings;
    use crate::testing::{Reply, Server};

    fn settings(pairs: &[(&str, &str)]) -> ProxySettings {
        ProxySettings::from_lookup(|name| {
            let found = pairs.iter().find(|(key, _)| *key == name);
            found.map(|(_, value)| (*value).to_owned())
        })
    }

    #[test]
    fn what_goes_through_a_proxy_is_known_beforehand() {
        let proxied = settings(&[("https_proxy", "proxy:3128"), ("no_proxy", ".example.org")]);
        assert!(proxied.takes("https://s3.eu-west-1.amazonaws.com/"));
        assert!(!proxied.takes("https://a.example.org/"));
        assert!(!proxied.takes("http://mirror.example/"));
        assert!(!proxied.takes("https://169.254.169.254/"));
        assert!(!proxied.takes("no url"));
        assert!(!settings(&[("https_proxy", "::")]).takes("https://a.example/"));
    }

    async fn body_through(proxy: &ProxySettings, url: &str) -> String {
        let settings = HttpSettings {
            proxy: proxy.clone(),
            ca_bundle: None,
        };
        let client = settings.build_client().expect("the settings are valid");
        let response = client.get(url).send().await.expect("a server answers");
        response.text(1024).await.expect("it has a body")
    }

    #[tokio::test]
    async fn the_instances_own_services_never_go_through_a_proxy() {
        let proxy = Server::start(|_| Reply::text(200, "from the proxy")).await;
        let direct = Server::start(|_| Reply::text(200, "from the service")).await;
        let proxied = settings(&[("HTTP_PROXY", &proxy.url("")), ("no_proxy", "example.org")]);
        let named = body_through(&proxied, "http://mirror.example/kubelet").await;
        let loopback = body_through(&proxied, &direct.url("/latest/api/token")).await;
        assert_eq!(
            (named.as_str(), loopback.as_str()),
            ("from the proxy", "from the service")
        );
    }

    #[test]
    fn the_password_of_a_proxy_is_never_printed() {
        let settings = settings(&[("https_proxy", "http://user:hunter2@proxy:3128")]);
        assert!(!format!("{settings:?}").contains("hunter2"));
    }

    #[test]
    fn all_proxy_stands_in_for_both_schemes_and_loses_to_the_specific_ones() {
        let settings = settings(&[("all_proxy", "http://a:1"), ("https_proxy", "http://b:2")]);
        assert_eq!(settings.http, Some(Secret::new("http://a:1".to_owned())));
        assert_eq!(settings.https, Some(Secret::new("http://b:2".to_owned())));
    }
}
