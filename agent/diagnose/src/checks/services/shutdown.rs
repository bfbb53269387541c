//! The check of how long a shutdown may be put off.

use crate::checks::check::{Check, Finding, Severity, Source, Verdict};
use crate::checks::kubelet_config::{kubelet_flag, kubelet_key};
use crate::checks::node::Node;
use quake_model::facts::Unseen;
use std::collections::BTreeMap;
use std::time::Duration;

pub(in crate::checks) const CHECKS: &[Check] = &[Check {
    id: "shutdown.inhibitor",
    title: "logind lets kubelet delay a shutdown until pods have ended",
    severity: Severity::Warning,
    tags: &["shutdown", "kubelet"],
    sources: &[Source::Files],
    because: &[],
    why: "else logind ends the delay early, and pods are killed",
    remedy: "set InhibitDelayMaxSec= in /etc/systemd/logind.conf.d to at least kubelet's shutdownGracePeriod, then: systemctl reload systemd-logind",
    judge: inhibitor,
}];

/// logind's own default (logind.conf(5)).
const DEFAULT: Duration = Duration::from_secs(5);

fn inhibitor(node: &Node<'_>) -> Result<Verdict, Unseen> {
    let requested = kubelet_key(node, "shutdownGracePeriod")
        .or_else(|| kubelet_flag(node, "shutdown-grace-period"));
    let requested = requested
        .as_deref()
        .and_then(go_duration)
        .unwrap_or_default();
    if requested.is_zero() {
        return Verdict::skip("kubelet does not ask for a delay of shutdowns");
    }
    let (allowed, by) = allowed(node)?;
    if allowed >= requested {
        return Verdict::ok(format!(
            "{}s are asked for and {}s allowed",
            requested.as_secs(),
            allowed.as_secs()
        ));
    }
    Finding::new(
        format!("kubelet asks for {}s before a shutdown, and logind allows {}s", requested.as_secs(), allowed.as_secs()),
        format!(
            "printf '[Login]\\nInhibitDelayMaxSec={}\\n' >/etc/systemd/logind.conf.d/99-kubelet.conf && systemctl reload systemd-logind && systemctl restart kubelet",
            requested.as_secs()
        ),
    )
    .seen("set by", by)
    .warn()
}

/// What logind allows, and who says so: of drop-ins the last by name counts, and those of `/etc` hide others of the
/// same name (systemd-system.conf(5)).
fn allowed<'a>(node: &Node<'a>) -> Result<(Duration, &'a str), Unseen> {
    let mut dropins: BTreeMap<&str, &'a str> = BTreeMap::new();
    for folder in [
        "/usr/lib/systemd/logind.conf.d/",
        "/etc/systemd/logind.conf.d/",
    ] {
        for path in node
            .survey()
            .texts
            .keys()
            .filter(|path| path.starts_with(folder))
        {
            dropins.insert(&path[folder.len()..], path);
        }
    }
    let files = std::iter::once("/etc/systemd/logind.conf").chain(dropins.into_values());
    let mut found = (DEFAULT, "logind's default");
    for path in files {
        let text = node.text(path)?.unwrap_or_default();
        let value = text
            .lines()
            .rev()
            .find_map(|line| line.trim().strip_prefix("InhibitDelayMaxSec="));
        if let Some(allowed) = value.and_then(systemd_duration) {
            found = (allowed, path);
        }
    }
    Ok(found)
}

/// A duration of Go such as `1m30s`; `None` for what is none.
fn go_duration(text: &str) -> Option<Duration> {
    let text = text.trim();
    if text == "0" {
        return Some(Duration::ZERO);
    }
    spans(text)
}

/// A duration of systemd such as `30`, `30s` or `1min 30s`; a number alone means seconds.
fn systemd_duration(text: &str) -> Option<Duration> {
    let text = text.trim();
    match text {
        "infinity" => Some(Duration::MAX),
        _ => text
            .parse()
            .ok()
            .and_then(|seconds| Duration::try_from_secs_f64(seconds).ok())
            .or_else(|| spans(text)),
    }
}

fn spans(text: &str) -> Option<Duration> {
    let mut rest = text;
    let mut whole = Duration::ZERO;
    while !rest.is_empty() {
        let digits = rest.find(|c: char| !c.is_ascii_digit() && c != '.')?;
        let number: f64 = rest[..digits].parse().ok()?;
        let unit = &rest[digits..];
        let end = unit
            .find(|c: char| c.is_ascii_digit())
            .unwrap_or(unit.len());
        let seconds = match unit[..end].trim() {
            "ms" => 0.001,
            "s" | "sec" | "second" | "seconds" => 1.0,
            "m" | "min" | "minute" | "minutes" => 60.0,
            "h" | "hr" | "hour" | "hours" => 3600.0,
            _ => return None,
        };
        whole += Duration::try_from_secs_f64(number * seconds).ok()?;
        rest = &unit[end..];
    }
    Some(whole)
}
