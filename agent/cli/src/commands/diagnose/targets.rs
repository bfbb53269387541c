//! What a node needs of the world around it: names to resolve and hosts to connect to, of what it is expected to have.

use quake_host::survey::Target;
use quake_http::Speaks;
use quake_model::expected::Expected;
use quake_model::record::Record;
use std::collections::BTreeSet;
use std::path::PathBuf;

/// The cluster's authority on a node, which signs the API server's certificate.
const AUTHORITY: &str = "/srv/kubernetes/ca.crt";

/// The hosts to connect to, each once.
pub(super) fn targets(record: &Record, expected: &Expected) -> Vec<Target> {
    let mut targets = Vec::new();
    for server in &expected.api_servers {
        targets.extend(api_server(server));
    }
    if let (true, Some(instance)) = (expected.config_base.starts_with("s3://"), &record.instance) {
        let host = format!("s3.{}.amazonaws.com", instance.region);
        targets.push(target("state-store", &host, 443, Speaks::Tls));
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
    targets
}

/// The names to resolve, each with what it is for. An address is none.
pub(super) fn names(record: &Record, expected: &Expected) -> Vec<(String, String)> {
    let of_targets = targets(record, expected).into_iter();
    let mut names: Vec<(String, String)> = expected
        .names
        .iter()
        .map(|name| (name.clone(), "api-server".to_owned()))
        .collect();
    for target in of_targets {
        let is_address = target.host.parse::<std::net::IpAddr>().is_ok();
        if !is_address && !names.iter().any(|(name, _)| *name == target.host) {
            names.push((target.host, target.purpose));
        }
    }
    names
}

fn api_server(url: &str) -> Option<Target> {
    let (scheme, rest) = url.split_once("://")?;
    let authority = rest.split('/').next()?;
    let (default, speaks) = match scheme {
        "https" => (443, Speaks::TlsOf(PathBuf::from(AUTHORITY))),
        _ => (80, Speaks::Plain),
    };
    let (host, port) = with_port(authority, default);
    Some(target("api-server", host, port, speaks))
}

fn with_port(authority: &str, default: u16) -> (&str, u16) {
    match authority.rsplit_once(':') {
        Some((host, port)) => port
            .parse()
            .map_or((authority, default), |port| (host, port)),
        None => (authority, default),
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
    use quake_model::expected::ExpectedAsset;

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
        let record = Record::default();
        let found: Vec<String> = targets(&record, &expected)
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
        let names = names(&record, &expected);
        assert_eq!(names.len(), 3, "{names:?}");
    }
}
