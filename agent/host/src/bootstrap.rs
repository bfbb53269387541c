//! kops-controller, as a node asks it (`pkg/kopscontrollerclient` and `cmd/kops-controller/pkg/server`, v1.36.2): past every
//! proxy, believed by the cluster's CAs alone, within fifteen seconds.

use crate::aws::{Aws, outdated, parse_date};
use crate::clock::SystemClock;
use quake_http::{
    HeaderMap, HttpFailure, PinnedPeer, Resolver, Response, StatusCode, Url, build_pinned_client,
    describe_failure, shown,
};
use quake_model::ports::{
    Bootstrap, BootstrapServer, Clock as _, Condition, PortError, TokenVersion,
};
use quake_model::redact::Secret;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::time::Duration;

/// How long a request may take, its answer included; as long as nodeup's.
const LIMIT: Duration = Duration::from_secs(15);

/// The longest answer that is taken. A configuration has some ten kilobytes; files of a cluster's spec may be in it, and a spec
/// has at most the megabyte that etcd takes.
const LONGEST: usize = 4 << 20;

/// How much of a refusal is read and told.
const TOLD: usize = 200;

/// The longest word of a refusal that is told: what is longer is no prose, and may be what was sent.
const LONGEST_WORD: usize = 48;

/// How far the clock may be off before AWS refuses what was signed by it (IAM user guide, "Troubleshoot signed requests").
const SKEW_MS: u64 = 5 * 60 * 1000;

/// What kops gives a name in DNS until a control plane has told its addresses (`pkg/dns`, v1.36.2).
const PLACEHOLDERS: [IpAddr; 2] = [
    IpAddr::V4(Ipv4Addr::new(203, 0, 113, 123)),
    IpAddr::V6(Ipv6Addr::new(0xfd00, 0xdead, 0x0add, 0, 0, 0, 0, 0)),
];

/// The real kops-controller.
#[derive(Debug, Clone)]
pub struct KopsController {
    aws: Aws,
}

impl KopsController {
    /// One that is asked with what this proves.
    pub fn new(aws: Aws) -> Self {
        Self { aws }
    }
}

impl Bootstrap for KopsController {
    async fn prove_instance(
        &self,
        body: &[u8],
        version: TokenVersion,
    ) -> Result<Secret<String>, PortError> {
        self.aws.prove_instance(body, version).await
    }

    async fn ask_bootstrap(
        &self,
        server: &BootstrapServer,
        proof: &Secret<String>,
        body: &[u8],
    ) -> Result<Vec<u8>, PortError> {
        let target = target_of(&server.url)?;
        let peer = PinnedPeer {
            ca_bundle: server.ca_bundle.as_bytes(),
            name: server.tls_server_name.as_deref(),
            addresses: addresses_of(&target).await?,
        };
        let client = build_pinned_client(&peer, LIMIT).map_err(|error| PortError {
            condition: Condition::Impossible,
            ..error
        })?;
        self.aws.count("kops-controller:Bootstrap");
        let sent = client
            .post(target.as_str(), "application/json", body.to_vec())
            .header("authorization", proof.expose())
            .send()
            .await;
        let answer = sent.map_err(|failure| unanswered(&target, &failure))?;
        if answer.status() != StatusCode::OK {
            return Err(refused(&target, answer).await);
        }
        let read = answer.start(LONGEST + 1).await;
        let read = read.map_err(|failure| unanswered(&target, &failure))?;
        if read.len() > LONGEST {
            let summary = format!("{} answered more than {LONGEST} bytes", place(&target));
            return Err(PortError::new(Condition::NotReady, summary));
        }
        Ok(read)
    }
}

fn target_of(base: &str) -> Result<Url, PortError> {
    let impossible = || {
        let summary = format!("{} is no https URL of a kops-controller", shown(base));
        PortError::new(Condition::Impossible, summary)
    };
    let mut target = Url::parse(base).map_err(|error| impossible().because(&error))?;
    if target.scheme() != "https" || target.host_str().is_none() {
        return Err(impossible());
    }
    let path = format!("{}/bootstrap", target.path().trim_end_matches('/'));
    target.set_path(&path);
    target.set_query(None);
    Ok(target)
}

/// The addresses of the server, looked up first: a name without one is no failure of the network.
async fn addresses_of(target: &Url) -> Result<Vec<IpAddr>, PortError> {
    let host = target.host_str().unwrap_or_default();
    let literal = host.trim_start_matches('[').trim_end_matches(']');
    let addresses = match literal.parse::<IpAddr>() {
        Ok(address) => vec![address],
        Err(_) => Resolver.lookup(host).await.map_err(|error| {
            if error.is_no_records_found() {
                let summary = format!("{host} has no address yet");
                return PortError::new(Condition::Missing, summary).seen("name", host);
            }
            let summary = format!("the name {host} cannot be resolved");
            PortError::new(Condition::Unreachable, summary).because(&error)
        })?,
    };
    if addresses.is_empty() || addresses.iter().all(|one| PLACEHOLDERS.contains(one)) {
        let found: Vec<String> = addresses.iter().map(ToString::to_string).collect();
        let found = found.join(", ");
        let summary =
            format!("{host} has the address that kops writes before there is one: {found}");
        return Err(PortError::new(Condition::Missing, summary).seen("name", host));
    }
    Ok(addresses)
}

/// The server, for a person.
fn place(target: &Url) -> String {
    shown(target.as_str())
}

/// What it means that no answer came.
fn unanswered(target: &Url, failure: &HttpFailure) -> PortError {
    if failure.is_of_dates() {
        return outdated(&format!("{} could not be connected to", place(target)));
    }
    let described = describe_failure(target.as_str(), failure);
    match failure.distrust() {
        None => described,
        Some(why) => {
            let summary = format!("{} is not believed: {why}", place(target));
            PortError::new(Condition::Unsafe, summary)
        }
    }
}

/// What another status than 200 means.
async fn refused(target: &Url, answer: Response) -> PortError {
    let status = answer.status();
    let offset = offset_of(answer.headers());
    // What cannot be read was not said.
    let said = said(&answer.start(TOLD).await.unwrap_or_default());
    let has = |text: &str| said.contains(text);
    let condition = match status.as_u16() {
        403 if offset.is_some_and(|offset| offset.unsigned_abs() > SKEW_MS) => Condition::ClockSkew,
        403 => Condition::Denied,
        409 => Condition::Conflict,
        400 if has("key name not enabled") => Condition::Malformed,
        400 if has("failed to build node config") => Condition::NotReady,
        400 => Condition::Impossible,
        429 => Condition::Throttled,
        _ => Condition::NotReady,
    };
    let mut summary = format!("{} answered {}", place(target), status.as_u16());
    if !said.is_empty() {
        summary = format!("{summary}: {said}");
    }
    let mut error = PortError::new(condition, summary).seen("status", status.as_u16());
    if let Some(offset) = offset.filter(|offset| offset.unsigned_abs() > 1000) {
        error = error.seen("clock-offset", format!("{} s", offset / 1000));
    }
    error
}

/// By how many milliseconds the local clock is ahead of the server's, where that tells its own.
fn offset_of(headers: &HeaderMap) -> Option<i64> {
    let date = headers.get("date")?.to_str().ok().and_then(parse_date)?;
    let now = i64::try_from(SystemClock.now().0).ok()?;
    Some(now - i64::try_from(date.0).ok()?)
}

/// The first line of a refusal, as far as it is prose: what has no spaces for long may be what was sent, or a key.
fn said(body: &[u8]) -> String {
    let text = String::from_utf8_lossy(body);
    let line = text.lines().next().unwrap_or_default();
    let words = line.split_whitespace().map(|word| {
        if word.chars().count() > LONGEST_WORD || word.chars().any(char::is_control) {
            "…"
        } else {
            word
        }
    });
    words.collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_path_of_a_server_is_kept_and_nothing_but_https_is_asked() {
        for (base, target) in [
            (
                "https://kc.internal:3988/",
                "https://kc.internal:3988/bootstrap",
            ),
            (
                "https://kc.internal:3988",
                "https://kc.internal:3988/bootstrap",
            ),
            (
                "https://10.0.0.1:3988/a/?b",
                "https://10.0.0.1:3988/a/bootstrap",
            ),
        ] {
            let found = target_of(base).map(|url| url.to_string());
            assert_eq!(found.as_deref(), Ok(target));
        }
        for base in ["http://kc.internal:3988/", "kc.internal:3988", ""] {
            let error = target_of(base).expect_err(base);
            assert_eq!(error.condition, Condition::Impossible);
        }
    }

    #[tokio::test]
    async fn an_address_that_stands_for_none_is_none() {
        for host in ["203.0.113.123", "[fd00:dead:add::]"] {
            let url = target_of(&format!("https://{host}:3988/")).expect("it is a URL");
            let error = addresses_of(&url).await.expect_err(host);
            assert_eq!(error.condition, Condition::Missing, "{error}");
        }
        let url = target_of("https://127.0.0.1:3988/").expect("it is a URL");
        assert_eq!(addresses_of(&url).await, Ok(vec![[127, 0, 0, 1].into()]));
    }

    #[test]
    fn of_a_refusal_its_first_line_is_told_and_no_long_word() {
        let long = "x".repeat(60);
        let body = format!("failed to  verify token {long} for\u{7} it\nsecond line");
        assert_eq!(said(body.as_bytes()), "failed to verify token … … it");
        assert_eq!(said(b""), "");
    }
}
