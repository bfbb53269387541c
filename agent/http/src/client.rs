//! Makes the clients: one for mirrors and stores, one for the metadata service.

use super::proxy::ProxySettings;
use super::resolver::Resolver;
use quake_model::ports::{Condition, PortError};
use reqwest::redirect::Policy;
use reqwest::{Certificate, Client, ClientBuilder};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

/// How long a connection may take to open.
///
/// A guess: ten times the slowest round trip inside AWS, and short enough to try another mirror soon.
pub const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);

/// How long a peer may stay silent in the middle of an answer.
///
/// A limit on silence and not on the whole: a total limit kills large files on slow links.
pub const READ_TIMEOUT: Duration = Duration::from_secs(30);

/// How long the metadata service may take for one answer; it is on the same host.
const METADATA_TIMEOUT: Duration = Duration::from_secs(3);

/// How many redirects are followed; release hosts use two.
const MAX_REDIRECTS: usize = 5;

/// How the agent names itself to servers.
const USER_AGENT: &str = concat!("quake-agent/", env!("CARGO_PKG_VERSION"));

/// What every client of the agent shares.
#[derive(Debug, Clone, Default)]
pub struct HttpSettings {
    /// The proxies.
    pub proxy: ProxySettings,
    /// A PEM file of certificate authorities trusted beside the system's, for a private mirror.
    pub ca_bundle: Option<PathBuf>,
}

impl HttpSettings {
    /// Proxies from the environment, and `AWS_CA_BUNDLE` if it is set.
    pub fn from_environment() -> Self {
        Self {
            proxy: ProxySettings::from_environment(),
            ca_bundle: std::env::var_os("AWS_CA_BUNDLE").map(PathBuf::from),
        }
    }

    /// Makes the client for mirrors and stores; it reads the trusted authorities, which takes milliseconds.
    ///
    /// # Errors
    ///
    /// `Io` when the bundle cannot be read, `Malformed` when it or a proxy's URL cannot be used.
    pub fn build_client(&self) -> Result<Client, PortError> {
        let extra = self.read_bundle()?;
        let trusting = || self.base().map(|base| base.tls_certs_merge(extra.clone()));
        match trusting()?.build() {
            Ok(client) => Ok(client),
            // A machine without any trusted authority can still use mirrors of plain http, whose bytes
            // are pinned by digest all the same; https then fails on the certificate, with its name.
            Err(_) => self
                .base()?
                .tls_certs_only(extra)
                .build()
                .map_err(|error| unusable("the http client cannot be made", &error)),
        }
    }

    /// The bytes of the extra bundle, proven to hold certificates that can be used.
    ///
    /// # Errors
    ///
    /// As [`HttpSettings::build_client`].
    pub fn read_bundle_pem(&self) -> Result<Option<Vec<u8>>, PortError> {
        let Some(path) = &self.ca_bundle else {
            return Ok(None);
        };
        let pem = read_file(path)?;
        // The SDK's connector panics on a certificate it cannot parse, so it is tried here first.
        let certificates = parse_bundle(path, &pem)?;
        let trial = Client::builder().tls_certs_only(certificates).build();
        trial.map_err(|error| {
            unusable(
                &format!("the bundle {} is unusable", path.display()),
                &error,
            )
        })?;
        Ok(Some(pem))
    }

    fn read_bundle(&self) -> Result<Vec<Certificate>, PortError> {
        match (&self.ca_bundle, self.read_bundle_pem()?) {
            (Some(path), Some(pem)) => parse_bundle(path, &pem),
            _ => Ok(Vec::new()),
        }
    }

    fn base(&self) -> Result<ClientBuilder, PortError> {
        let builder = Client::builder()
            .user_agent(USER_AGENT)
            .dns_resolver(Arc::new(Resolver))
            // A connection for each request under way: hosts limit the rate of each, and one lost packet holds up one.
            .http1_only()
            .tcp_nodelay(true)
            .connect_timeout(CONNECT_TIMEOUT)
            .read_timeout(READ_TIMEOUT)
            .redirect(Policy::limited(MAX_REDIRECTS))
            .retry(reqwest::retry::never());
        let proxied = self.proxy.apply(builder);
        // The URL of a proxy can hold a password, so the error's own text, which quotes it, is left out.
        proxied.map_err(|_| {
            PortError::new(Condition::Malformed, "a proxy's url cannot be used").remedied_by(
                "correct http_proxy, https_proxy or all_proxy in the agent's environment",
            )
        })
    }
}

/// Makes the client for the metadata service: no proxy, no redirect, no TLS, no name to resolve.
///
/// # Errors
///
/// `Malformed` when the client cannot be made, which would be a defect of the build.
pub fn build_metadata_client() -> Result<Client, PortError> {
    Client::builder()
        .user_agent(USER_AGENT)
        .dns_resolver(Arc::new(Resolver))
        .tls_certs_only([])
        .no_proxy()
        .redirect(Policy::none())
        .retry(reqwest::retry::never())
        .connect_timeout(METADATA_TIMEOUT)
        .timeout(METADATA_TIMEOUT)
        .build()
        .map_err(|error| unusable("the metadata client cannot be made", &error))
}

fn read_file(path: &Path) -> Result<Vec<u8>, PortError> {
    std::fs::read(path).map_err(|error| {
        let summary = format!("the certificate bundle {} cannot be read", path.display());
        PortError::new(Condition::Io, summary).because(&error)
    })
}

fn parse_bundle(path: &Path, pem: &[u8]) -> Result<Vec<Certificate>, PortError> {
    let summary = format!("{} holds no usable certificate", path.display());
    match Certificate::from_pem_bundle(pem) {
        Ok(certificates) if certificates.is_empty() => {
            Err(PortError::new(Condition::Malformed, summary))
        }
        Ok(certificates) => Ok(certificates),
        Err(error) => Err(unusable(&summary, &error)),
    }
}

fn unusable(summary: &str, error: &reqwest::Error) -> PortError {
    PortError::new(Condition::Malformed, summary).because(error)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bundle_of(contents: &str) -> (tempfile::TempDir, HttpSettings) {
        let folder = tempfile::tempdir().expect("a scratch folder");
        let path = folder.path().join("bundle.pem");
        std::fs::write(&path, contents).expect("it is ours");
        let settings = HttpSettings {
            ca_bundle: Some(path),
            ..HttpSettings::default()
        };
        (folder, settings)
    }

    #[test]
    fn a_bundle_that_holds_no_usable_certificate_is_refused_by_name() {
        let broken = "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n";
        for contents in ["", "not pem at all", broken] {
            let (_folder, settings) = bundle_of(contents);
            let error = settings.build_client().expect_err("nothing can be trusted");
            assert_eq!(error.condition, Condition::Malformed, "{contents}");
            assert!(error.summary.contains("bundle.pem"), "{error}");
        }
    }

    #[test]
    fn a_proxy_url_that_cannot_be_used_is_refused_without_quoting_it() {
        let settings = HttpSettings {
            proxy: ProxySettings::from_lookup(|name| {
                (name == "https_proxy").then(|| "http://user:hunter2@:bad:".to_owned())
            }),
            ca_bundle: None,
        };
        let error = settings.build_client().expect_err("the url is no url");
        assert!(!format!("{error:?}").contains("hunter2"), "{error:?}");
    }
}
