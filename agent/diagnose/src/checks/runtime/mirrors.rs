//! `runtime.mirrors`: containerd's settings for registries.

use super::configuration::{Reading, read};
use super::is_containerd;
use super::ports::misplaced;
use super::tags::unresolved;
use crate::checks::check::{Finding, Verdict};
use crate::checks::node::Node;
use crate::checks::quote::quote;
use crate::checks::read_error::read_error;
use quake_formats::syntax;
use quake_model::facts::{ReachSeen, Reached, Seen, Unseen};
use serde_json::Value;

/// Where the settings are looked at, a directory for each registry.
pub(super) const DIRECTORY: &str = "/etc/containerd/certs.d/";

pub(super) fn judge(node: &Node<'_>) -> Result<Verdict, Unseen> {
    if is_containerd(node) == Some(false) {
        return Verdict::skip("docker is the runtime");
    }
    let files = files(node);
    if let Some(finding) = misplaced(node, &files) {
        return finding.warn();
    }
    if files.is_empty() {
        return Verdict::skip(format!("there is no hosts.toml in {DIRECTORY}"));
    }
    let mut hosts = Vec::new();
    for (path, text) in &files {
        let text = text.get().map(String::as_str)?;
        let fix = "fix it; containerd reads it at each pull";
        let document = match syntax::toml(text) {
            Ok(document) => document,
            Err(misread) => return read_error(&misread, path, text, fix).warn(),
        };
        match named(&document) {
            Ok(named) => hosts.extend(named),
            Err(wrong) => return Finding::new(format!("{path}: {wrong}"), fix).warn(),
        }
    }
    if let Some(finding) = unread(node, files[0].0)? {
        return finding.warn();
    }
    for (path, text) in &files {
        let document = text.ok().map(|text| syntax::toml(text));
        let Some(host) = document.and_then(|read| lengthened(&read.ok()?)) else {
            continue;
        };
        let asks = format!("{}/v2/", host.trim_end_matches('/'));
        let mut lines = node.journal("containerd.service").iter().rev();
        let line = lines.find(|line| line.contains(&asks));
        let finding = Finding::new(
            format!(
                "{path} names {host} without override_path = true: containerd puts /v2 behind that path and asks {asks}, which the registry does not have"
            ),
            format!(
                "set override_path = true below [host.{host:?}] in {path}; containerd reads it at the next pull"
            ),
        );
        return match line {
            Some(line) => finding.seen("journal", quote(line, 300)).fail(),
            None => finding.warn(),
        };
    }
    let ignored = two_directories(node)?
        .or_else(|| server_alone(node, &files))
        .or_else(|| unresolved(node, &files));
    match ignored.or_else(|| unreached(node, &hosts)) {
        Some(finding) => finding.warn(),
        None => Verdict::ok(format!("{} registries, {} hosts", files.len(), hosts.len())),
    }
}

fn files<'a>(node: &Node<'a>) -> Vec<(&'a str, &'a Seen<String>)> {
    let texts = node.survey().texts.range(DIRECTORY.to_owned()..);
    texts
        .take_while(|(path, _)| path.starts_with(DIRECTORY))
        .filter(|(path, _)| path.ends_with("/hosts.toml"))
        .map(|(path, text)| (path.as_str(), text))
        .collect()
}

/// The hosts that a file names, or what is wrong with one.
fn named(document: &Value) -> Result<Vec<String>, String> {
    let hosts = document.get("host").and_then(Value::as_object);
    let server = document.get("server").and_then(Value::as_str);
    let urls = server.into_iter().chain(
        hosts
            .into_iter()
            .flat_map(|hosts| hosts.keys().map(String::as_str)),
    );
    let mut named = Vec::new();
    for url in urls {
        let rest = match url.split_once("://") {
            Some(("http" | "https", rest)) => rest,
            Some((scheme, _)) => {
                return Err(format!(
                    "{url:?} has the scheme {scheme}, and http or https is wanted"
                ));
            }
            None => url,
        };
        let ca = rest.split('/').next().unwrap_or_default();
        let host = ca.rsplit('@').next().unwrap_or_default();
        if host.is_empty() {
            return Err(format!("{url:?} names no host"));
        }
        named.push(host.to_owned());
    }
    Ok(named)
}

/// A host with the path of a project, behind which containerd puts `/v2` unless it is told to override the path
/// (containerd/containerd, `core/remotes/docker/config/hosts.go`).
fn lengthened(document: &Value) -> Option<String> {
    let hosts = document.get("host").and_then(Value::as_object)?;
    let is_lengthened = |(url, host): &(&String, &Value)| {
        let overrides = host.get("override_path").and_then(Value::as_bool);
        let path = url.trim_end_matches('/');
        path.contains("/v2/") && !path.ends_with("/v2") && overrides != Some(true)
    };
    let mut hosts = hosts.iter();
    Some(hosts.find(is_lengthened)?.0.clone())
}

/// A finding where containerd's own configuration does not lead to the files.
fn unread(node: &Node<'_>, path: &str) -> Result<Option<Finding>, Unseen> {
    let Reading::Read(configuration) = read(node)? else {
        return Ok(None);
    };
    // containerd 2 looks there by itself.
    if configuration.version >= 3 || runs_second(node) {
        return Ok(None);
    }
    let set = configuration
        .registry()
        .and_then(|registry| registry.get("config_path")?.as_str());
    let leads = set.is_some_and(|set| {
        set.split(':')
            .any(|one| one.trim_end_matches('/') == DIRECTORY.trim_end_matches('/'))
    });
    Ok((!leads).then(|| {
        Finding::new(
            format!("containerd does not read {path}: registry.config_path does not name {DIRECTORY}"),
            "set config_path = \"/etc/containerd/certs.d\" in [plugins.\"io.containerd.grpc.v1.cri\".registry], then: systemctl restart containerd.service",
        )
    }))
}

fn runs_second(node: &Node<'_>) -> bool {
    let runtime = node.survey().runtime.ok();
    let version = runtime.and_then(|runtime| runtime.version.as_deref());
    version.is_some_and(|version| !version.trim_start_matches('v').starts_with("1."))
}

/// Two directories in `config_path`, of which containerd 2.2.0 reads none (containerd/containerd issue 12636).
fn two_directories(node: &Node<'_>) -> Result<Option<Finding>, Unseen> {
    let runtime = node.survey().runtime.ok();
    let version = runtime.and_then(|runtime| runtime.version.as_deref());
    let Reading::Read(configuration) = read(node)? else {
        return Ok(None);
    };
    let set = configuration
        .registry()
        .and_then(|registry| registry.get("config_path")?.as_str());
    let is_of_fault =
        version.is_some_and(|version| version.trim_start_matches('v').starts_with("2.2.0"));
    let two = set.filter(|set| is_of_fault && set.contains(':'));
    Ok(two.map(|set| {
        Finding::new(
            format!("registry.config_path has two directories ({set}), and containerd 2.2.0 then uses no hosts.toml for the default registry: images come past the mirrors"),
            "set config_path = \"/etc/containerd/certs.d\" alone, then: systemctl restart containerd.service; or install containerd 2.2.1",
        )
    }))
}

/// A file with settings of its server and no table of a host, which containerd 2 passes over (containerd/containerd issue 13212).
fn server_alone(node: &Node<'_>, files: &[(&str, &Seen<String>)]) -> Option<Finding> {
    const SETTINGS: &[&str] = &["ca", "client", "skip_verify", "header"];
    if !runs_second(node) {
        return None;
    }
    files.iter().find_map(|(path, text)| {
        let document = syntax::toml(text.ok()?).ok()?;
        let key = SETTINGS.iter().find(|key| document.get(**key).is_some())?;
        let server = document.get("server")?.as_str()?;
        document.get("host").is_none().then(|| {
            Finding::new(
                format!("{path} sets {key} for its server and has no [host] table: containerd 2 does not use {key} then"),
                format!("move {key} below [host.{server:?}] in {path}; containerd reads it at the next pull"),
            )
        })
    })
}

fn unreached(node: &Node<'_>, hosts: &[String]) -> Option<Finding> {
    let reach = node.survey().reach.ok()?;
    let is_ours = |seen: &&ReachSeen| {
        let with_port = format!("{}:{}", seen.host, seen.port);
        hosts
            .iter()
            .any(|host| *host == seen.host || *host == with_port)
    };
    let how = |seen: &ReachSeen| match &seen.result {
        Reached::Connected { .. } => None,
        Reached::Refused => Some("the connection is refused".to_owned()),
        Reached::TimedOut => Some("nothing answers".to_owned()),
        Reached::Unreachable { why } => Some(why.clone()),
        Reached::NoAddress => Some("its name has no address".to_owned()),
    };
    let (seen, how) = reach
        .iter()
        .filter(is_ours)
        .find_map(|seen| Some((seen, how(seen)?)))?;
    Some(Finding::new(
        format!(
            "the registry's host {}:{} cannot be reached: {how}",
            seen.host, seen.port
        ),
        "check the security groups and the name, or take the host out of its hosts.toml; containerd tries the next host only after a time-out",
    ))
}
