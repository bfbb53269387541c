//! What a node needs of the world around it: names to resolve and hosts to connect to, of what it is expected to have.

use quake_diagnose::checks::PUBLISHED;
use quake_host::aws::{AwsSettings, Environment};
use quake_host::survey::Target;
use quake_http::{ProxySettings, Speaks};
use quake_model::expected::Expected;
use quake_model::record::Record;
use std::collections::BTreeSet;
use std::path::PathBuf;

/// The cluster's CA on a node, which signs the API server's certificate.
const AUTHORITY: &str = "/srv/kubernetes/ca.crt";

/// What ports of etcd's members are connected to for. etcd-manager itself sees to their names.
const ETCD_PEER: &str = "etcd-peer";

/// The way out of the machine, where it is not straight to AWS.
#[derive(Debug, Clone, Default)]
pub(super) struct WayOut {
    /// The endpoint of S3, if it is not AWS' own.
    pub(super) s3_endpoint: Option<String>,
    /// What goes through a proxy is neither resolved nor connected to from here.
    pub(super) proxy: ProxySettings,
}

impl WayOut {
    /// The way of the agent's requests in this process' environment.
    pub(super) fn of_environment() -> Self {
        let settings = AwsSettings::from_environment(Environment::Node);
        Self {
            s3_endpoint: settings.s3_endpoint,
            proxy: ProxySettings::from_environment(),
        }
    }

    fn is_straight(&self, target: &Target) -> bool {
        let scheme = match target.speaks {
            Speaks::Plain => "http",
            Speaks::Tls | Speaks::TlsOf(_) => "https",
        };
        let url = format!("{scheme}://{}:{}/", target.host, target.port);
        !self.proxy.takes(&url)
    }
}

/// The hosts to connect to, each once.
pub(super) fn targets(record: &Record, expected: &Expected, way: &WayOut) -> Vec<Target> {
    let mut targets = Vec::new();
    for server in &expected.api_servers {
        targets.extend(api_server(server));
    }
    for server in &expected.bootstrap_servers {
        let ca = Speaks::TlsOf(PathBuf::from(AUTHORITY));
        targets.extend(of_url("kops-controller", server, ca));
    }
    if let (true, Some(instance)) = (expected.config_base.starts_with("s3://"), &record.instance) {
        let host = format!("s3.{}.amazonaws.com", instance.region);
        let own = || Some(target("state-store", &host, 443, Speaks::Tls));
        targets.extend(match &way.s3_endpoint {
            Some(endpoint) => s3_at(endpoint),
            None => own(),
        });
    }
    let mut seen = BTreeSet::new();
    for host in expected.assets.iter().flat_map(|asset| &asset.hosts) {
        if seen.insert(host) {
            let (name, port) = with_port(host, 443);
            let speaks = match port {
                443 => Speaks::Tls,
                _ => Speaks::Plain,
            };
            targets.push(target("mirror", name, port, speaks));
        }
    }
    targets.retain(|target| way.is_straight(target));
    // Members of etcd reach each other straight, whatever proxy the agent uses.
    for member in expected.etcd.iter().filter(|it| it.hosts.len() > 1) {
        for host in &member.hosts {
            let ports = member.peer_ports.iter();
            targets.extend(ports.map(|port| target(ETCD_PEER, host, *port, Speaks::Plain)));
        }
    }
    targets
}

/// The names to resolve, each with what it is for. An address is none.
pub(super) fn names(record: &Record, expected: &Expected, way: &WayOut) -> Vec<(String, String)> {
    let of_targets = targets(record, expected, way).into_iter();
    let mut names: Vec<(String, String)> = expected
        .names
        .iter()
        .map(|name| (name.clone(), "api-server".to_owned()))
        .collect();
    let published = expected.published.iter().flat_map(|names| &names.any_of);
    names.extend(published.map(|name| (name.clone(), PUBLISHED.to_owned())));
    for target in of_targets {
        let is_address = target.host.parse::<std::net::IpAddr>().is_ok();
        let is_needed = !is_address && target.purpose != ETCD_PEER;
        if is_needed && !names.iter().any(|(name, _)| *name == target.host) {
            names.push((target.host, target.purpose));
        }
    }
    names
}

fn api_server(url: &str) -> Option<Target> {
    of_url("api-server", url, Speaks::TlsOf(PathBuf::from(AUTHORITY)))
}

/// An endpoint of S3 that is not AWS' own.
fn s3_at(endpoint: &str) -> Option<Target> {
    of_url("state-store", endpoint, Speaks::Tls)
}

/// The host and port of a URL; `secure` is spoken where its scheme is https.
fn of_url(purpose: &str, url: &str, secure: Speaks) -> Option<Target> {
    let (scheme, rest) = url.split_once("://")?;
    let ca = rest.split('/').next()?;
    let (default, speaks) = match scheme {
        "https" => (443, secure),
        _ => (80, Speaks::Plain),
    };
    let (host, port) = with_port(ca, default);
    Some(target(purpose, host, port, speaks))
}

fn with_port(ca: &str, default: u16) -> (&str, u16) {
    match ca.rsplit_once(':') {
        Some((host, port)) => port.parse().map_or((ca, default), |port| (host, port)),
        None => (ca, default),
    }
}

fn target(purpose: &str, host: &str, port: u16, speaks: Speaks) -> Target {
    Target {
        purpose: purpose.to_owned(),
        host: host.to_owned(),
        port,
        speaks,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use quake_model::expected::{ExpectedAsset, ExpectedMember};
    use quake_model::facts::InstanceFacts;

    #[test]
    fn each_host_is_named_once_with_its_port_and_its_purpose() {
        let asset = |hosts: &[&str]| ExpectedAsset {
            hosts: hosts.iter().map(ToString::to_string).collect(),
            ..ExpectedAsset::default()
        };
        let expected = Expected {
            api_servers: vec!["https://api.internal.c.example".to_owned()],
            names: vec!["api.internal.c.example".to_owned()],
            assets: vec![
                asset(&["a.example", "b.example:8080"]),
                asset(&["a.example"]),
            ],
            ..Expected::default()
        };
        let (record, way) = (Record::default(), WayOut::default());
        let found: Vec<String> = targets(&record, &expected, &way)
            .iter()
            .map(|target| format!("{} {}:{}", target.purpose, target.host, target.port))
            .collect();
        assert_eq!(
            found,
            [
                "api-server api.internal.c.example:443",
                "mirror a.example:443",
                "mirror b.example:8080"
            ]
        );
        let names = names(&record, &expected, &way);
        assert_eq!(names.len(), 3, "{names:?}");
    }

    #[test]
    fn the_ports_of_etcds_peers_are_tried_and_their_names_are_its_own_business() {
        let member = |hosts: &[&str]| ExpectedMember {
            hosts: hosts.iter().map(ToString::to_string).collect(),
            peer_ports: vec![2380, 3996],
            ..ExpectedMember::default()
        };
        let expected = Expected {
            etcd: vec![member(&["etcd-a.x", "etcd-b.x"]), member(&["alone.x"])],
            ..Expected::default()
        };
        let (record, way) = (Record::default(), WayOut::default());
        let found: Vec<String> = targets(&record, &expected, &way)
            .iter()
            .map(|it| format!("{} {}:{}", it.purpose, it.host, it.port))
            .collect();
        let wanted = [
            "etcd-a.x:2380",
            "etcd-a.x:3996",
            "etcd-b.x:2380",
            "etcd-b.x:3996",
        ];
        assert_eq!(found, wanted.map(|place| format!("etcd-peer {place}")));
        assert_eq!(names(&record, &expected, &way), Vec::new());
    }

    #[test]
    fn what_goes_through_a_proxy_is_left_out_and_an_endpoint_is_gone_to() {
        let expected = Expected {
            config_base: "s3://store/c.example".to_owned(),
            assets: vec![ExpectedAsset {
                hosts: vec!["a.example".to_owned()],
                ..ExpectedAsset::default()
            }],
            ..Expected::default()
        };
        let record = Record {
            instance: Some(InstanceFacts {
                region: "eu-west-1".to_owned(),
                ..InstanceFacts::default()
            }),
            ..Record::default()
        };
        let shown = |way: &WayOut| -> Vec<String> {
            let targets = targets(&record, &expected, way);
            let shown = targets.iter().map(|it| format!("{}:{}", it.host, it.port));
            shown.collect()
        };
        let straight = ["s3.eu-west-1.amazonaws.com:443", "a.example:443"];
        assert_eq!(shown(&WayOut::default()), straight);
        let proxied = |direct: &str| WayOut {
            s3_endpoint: Some("http://minio.example:9000".to_owned()),
            proxy: ProxySettings::from_lookup(|name| match name {
                "https_proxy" => Some("http://proxy:3128".to_owned()),
                "no_proxy" => Some(direct.to_owned()),
                _ => None,
            }),
        };
        assert_eq!(shown(&proxied("")), ["minio.example:9000"]);
        let direct = ["minio.example:9000", "a.example:443"];
        assert_eq!(shown(&proxied(".example")), direct);
    }
}
