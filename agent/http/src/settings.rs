//! Makes the clients: for mirrors and stores, for the metadata service, and for peers on this machine.

use super::client::{Client, Limits};
use super::connector::Connector;
use super::proxy::{Proxies, ProxySettings};
use super::resolver::Names;
use super::tls::{Tls, Trust, read_bundle, read_certificates, read_identity};
use quake_model::ports::{Condition, PortError};
use rustls::pki_types::ServerName;
use std::net::IpAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

/// How long the metadata service may take for one answer; it is on the same host.
const METADATA_TIMEOUT: Duration = Duration::from_secs(3);

/// How much of that its connection may take: less, so that a service that cannot be connected to is told apart from
/// one that does not answer.
const METADATA_CONNECT: Duration = Duration::from_secs(2);

/// How many redirects are followed; release hosts use two.
const MAX_REDIRECTS: usize = 5;

/// What every client of the agent shares.
#[derive(Debug, Clone, Default)]
pub struct HttpSettings {
    pub proxy: ProxySettings,
    /// A PEM file of certificate CAs trusted beside the system's, for a private mirror.
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

    /// Makes the client for mirrors, stores and AWS. It reads the bundle; the system's CAs are read when the
    /// first https connection is opened.
    ///
    /// # Errors
    ///
    /// `Io` when the bundle cannot be read, `Malformed` when it or a proxy's URL cannot be used.
    pub fn build_client(&self) -> Result<Client, PortError> {
        let extra = self.ca_bundle.as_deref().map(read_bundle).transpose()?;
        self.client_trusting(Trust::SystemAnd(extra.unwrap_or_default()))
    }

    fn client_trusting(&self, trust: Trust) -> Result<Client, PortError> {
        let proxies = Arc::new(self.proxy.read()?);
        let limits = Limits::default();
        let connector =
            Connector::network(Names::Resolved, Tls::new(trust), proxies, limits.connect);
        Ok(Client::new(connector, limits, MAX_REDIRECTS))
    }
}

/// Makes the client for the metadata service: no proxy, no redirect, no CA that would make a TLS peer believed.
pub fn build_metadata_client() -> Client {
    let limits = Limits {
        connect: METADATA_CONNECT,
        silence: None,
        whole: Some(METADATA_TIMEOUT),
    };
    direct_client(Names::Resolved, Trust::Only(Vec::new()), limits)
}

/// Makes the client for components on this machine, each request and its answer within `limit`: no proxy, no redirect,
/// any certificate, and every name is 127.0.0.1.
pub fn build_loopback_client(limit: Duration) -> Client {
    direct_client(Names::Loopback, Trust::Anyone, limits_of(limit))
}

/// Makes the client for the agent itself, at its socket or, without one, at the address in the URL; each request and
/// its answer within `limit`.
pub fn build_endpoint_client(socket: Option<&Path>, limit: Duration) -> Client {
    let limits = limits_of(limit);
    match socket {
        Some(path) => Client::new(Connector::socket(path.to_owned(), limit), limits, 0),
        None => direct_client(Names::Resolved, Trust::Only(Vec::new()), limits),
    }
}

/// What a client of an API server believes, and what it proves who it is with; all PEM.
#[derive(Clone, Copy)]
pub struct ApiServerTrust<'a> {
    /// The cluster's CAs, which alone are believed.
    pub ca_bundle: &'a [u8],
    pub certificate: &'a [u8],
    pub key: &'a [u8],
}

/// Makes the client for the cluster's API server, each request and its answer within `limit`: no proxy, no redirect.
///
/// # Errors
///
/// `Malformed` when a certificate or the key cannot be read.
pub fn build_api_server_client(
    trust: ApiServerTrust<'_>,
    limit: Duration,
) -> Result<Client, PortError> {
    let ca_bundle = read_certificates("the cluster's CA", trust.ca_bundle)?;
    let identity = read_identity(trust.certificate, trust.key)?;
    let tls = Tls::with_identity(Trust::Only(ca_bundle), identity);
    let proxies = Arc::new(Proxies::none());
    let connector = Connector::network(Names::Resolved, tls, proxies, limit);
    Ok(Client::new(connector, limits_of(limit), 0))
}

/// A peer of which everything is known before it is asked.
#[derive(Debug, Clone)]
pub struct PinnedPeer<'a> {
    /// The CAs that alone are believed, PEM.
    pub ca_bundle: &'a [u8],
    /// The name its certificate must be for, where it is not the URL's host.
    pub name: Option<&'a str>,
    /// The addresses of the URL's name; not used where its host is an address.
    pub addresses: Vec<IpAddr>,
}

/// Makes the client for one peer, such as kops-controller: no proxy, no redirect, no name looked up, each request and its answer
/// within `limit`. A certificate that is not believed is told of with its CA and those that are trusted.
///
/// # Errors
///
/// `Malformed` when a CA cannot be read, or the name is none.
pub fn build_pinned_client(peer: &PinnedPeer<'_>, limit: Duration) -> Result<Client, PortError> {
    let ca_bundle = read_certificates("the CA of the peer", peer.ca_bundle)?;
    let limits = Limits {
        // A peer that cannot be connected to is told apart from one that does not answer.
        connect: limit * 2 / 3,
        silence: None,
        whole: Some(limit),
    };
    let mut connector = Connector::network(
        Names::Known(peer.addresses.as_slice().into()),
        Tls::new(Trust::Cluster(ca_bundle)),
        Arc::new(Proxies::none()),
        limits.connect,
    );
    if let Some(name) = peer.name {
        let name = ServerName::try_from(name.to_owned()).map_err(|error| {
            let summary = format!("{name} is no name that a certificate could be for");
            PortError::new(Condition::Malformed, summary).because(&error)
        })?;
        connector = connector.expecting(name);
    }
    Ok(Client::new(connector, limits, 0))
}

fn limits_of(limit: Duration) -> Limits {
    Limits {
        connect: limit,
        silence: None,
        whole: Some(limit),
    }
}

fn direct_client(names: Names, trust: Trust, limits: Limits) -> Client {
    let proxies = Arc::new(Proxies::none());
    let connector = Connector::network(names, Tls::new(trust), proxies, limits.connect);
    Client::new(connector, limits, 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bundle_of(contents: &str) -> (tempfile::TempDir, HttpSettings) {
        let folder = tempfile::tempdir().expect("a scratch directory");
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
    fn a_bundle_that_cannot_be_used_is_remedied_at_the_variable_that_names_it() {
        let (folder, mut settings) = bundle_of("not pem at all");
        let malformed = settings.build_client().expect_err("it holds nothing");
        settings.ca_bundle = Some(folder.path().join("none.pem"));
        let missing = settings.build_client().expect_err("there is none");
        assert_eq!(missing.condition, Condition::Io);
        for (error, file) in [(malformed, "bundle.pem"), (missing, "none.pem")] {
            let remedy = error.remedy.unwrap_or_default();
            let named = remedy.contains("AWS_CA_BUNDLE") && remedy.contains(file);
            assert!(named, "{remedy}");
        }
    }

    #[test]
    fn a_proxy_url_that_cannot_be_used_is_refused_without_quoting_it() {
        for url in ["http://user:hunter2@:bad:", "socks5://user:hunter2@proxy"] {
            let settings = HttpSettings {
                proxy: ProxySettings::from_lookup(|name| {
                    (name == "https_proxy").then(|| url.to_owned())
                }),
                ca_bundle: None,
            };
            let error = settings.build_client().expect_err("no proxy of ours");
            assert!(!format!("{error:?}").contains("hunter2"), "{error:?}");
        }
    }
}
