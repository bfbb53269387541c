//! Mirrors that containerd passes over for tags: it takes digests alone from a host without the capability `resolve`
//! (containerd/containerd, `docs/hosts.md` and `core/remotes/docker/resolver.go`).

use crate::checks::check::{Certainty, Finding};
use crate::checks::images::has;
use crate::checks::node::Node;
use crate::checks::quote::quote;
use quake_formats::image_pull::{image_in, is_pull};
use quake_formats::syntax;
use quake_model::facts::Seen;
use serde_json::Value;

/// What a client in Go, or a registry, says of a request that did not go well.
const FAILURES: &[&str] = &[
    "i/o timeout",
    "connection refused",
    "connection reset by peer",
    "no such host",
    "no route to host",
    "network is unreachable",
    "handshake timeout",
    "deadline exceeded",
    "toomanyrequests",
    "429 Too Many Requests",
    "403 Forbidden",
    "401 Unauthorized",
];

/// The finding where a tag is looked up at the server of a file, which fails, as no mirror of the file resolves tags.
pub(super) fn unresolved(node: &Node<'_>, files: &[(&str, &Seen<String>)]) -> Option<Finding> {
    files.iter().find_map(|(path, text)| {
        let document = syntax::toml(text.ok()?).ok()?;
        let registry = path.rsplit('/').nth(1)?;
        let server = document.get("server").and_then(Value::as_str);
        let server = host_of(server.unwrap_or(registry));
        let mirror = without_resolve(&document, server)?;
        let line = failed_at(node, server)?;
        let name = host_of(&mirror.url);
        let had = mirror.capabilities.join("\", \"");
        let finding = Finding::new(
            format!("the tags of {registry} are looked up at {server}, which fails, and not at the mirror {name}: {path} gives the mirror the capabilities [\"{had}\"] without \"resolve\", so containerd takes digests alone from it"),
            format!("set capabilities = [\"pull\", \"resolve\"] below [host.{:?}] in {path}; containerd reads it at the next pull, without a restart; crictl pull IMAGE shows it; no way to {server} is needed then", mirror.url),
        );
        Some(
            finding
                .by(Certainty::Likely)
                .seen("hosts.toml", format_args!("capabilities = [\"{had}\"]"))
                .seen("pull", quote(line, 300)),
        )
    })
}

/// The name of a URL's host, or of what has no scheme.
fn host_of(url: &str) -> &str {
    let rest = url.split_once("://").map_or(url, |(_, rest)| rest);
    let host = rest.split('/').next().unwrap_or_default();
    // The registry's own name is that of a page (containerd, `core/remotes/docker/registry.go`, `DefaultHost`).
    match host {
        "docker.io" => "registry-1.docker.io",
        host => host,
    }
}

/// A host of a file with its capabilities.
struct Mirror {
    url: String,
    capabilities: Vec<String>,
}

/// The first mirror that may pull and not resolve, where none resolves.
fn without_resolve(document: &Value, server: &str) -> Option<Mirror> {
    let hosts = document.get("host")?.as_object()?;
    let mirrors = hosts.iter().filter(|(url, _)| host_of(url) != server);
    let mut mirrors: Vec<Mirror> = mirrors
        .map(|(url, host)| {
            let set = host.get("capabilities").and_then(Value::as_array);
            // Without the key a host has all of them.
            let all = || vec!["pull".to_owned(), "resolve".to_owned()];
            let words = |set: &Vec<Value>| {
                let words = set.iter().filter_map(Value::as_str);
                words.map(str::to_owned).collect()
            };
            Mirror {
                url: url.clone(),
                capabilities: set.map_or_else(all, words),
            }
        })
        .collect();
    let can = |mirror: &Mirror, word: &str| mirror.capabilities.iter().any(|it| it == word);
    if mirrors.iter().any(|mirror| can(mirror, "resolve")) {
        return None;
    }
    let place = mirrors.iter().position(|mirror| can(mirror, "pull"))?;
    Some(mirrors.swap_remove(place))
}

/// The latest line of a pull that failed at the server as it looked up a tag; none where the image came later.
fn failed_at<'a>(node: &Node<'a>, server: &str) -> Option<&'a str> {
    let asks = format!("https://{server}/v2/");
    let runtime = node.survey().runtime.ok();
    let there = runtime.and_then(|runtime| runtime.images.as_deref());
    let units = ["kubelet.service", "containerd.service"];
    let mut lines = units
        .iter()
        .flat_map(|unit| node.journal(unit).iter().rev());
    let line = lines.find(|line| {
        let url = line.split_once(&asks).map(|(_, rest)| rest);
        let path = url.and_then(|rest| rest.split(['"', '\\', '?']).next());
        let tag = path.and_then(|path| path.rsplit_once("/manifests/"));
        let is_of_tag = tag.is_some_and(|(_, tag)| !tag.starts_with("sha256:"));
        let fails = FAILURES.iter().any(|words| line.contains(words));
        let came = image_in(line)
            .zip(there)
            .is_some_and(|(image, there)| has(there, image));
        is_of_tag && fails && is_pull(line) && !came
    })?;
    Some(line)
}

#[cfg(test)]
mod tests {
    use crate::checks::Status;
    use crate::checks::node_sample::Sample;

    #[test]
    fn a_mirror_that_does_not_resolve_is_passed_over_for_tags() {
        let line = |host: &str, tag: &str| {
            format!(
                "E1121 03:20:50.214602 1201 log.go:32] \"PullImage from image service failed\" err=\"failed to resolve reference \\\"docker.io/library/redis:7.4.1\\\": failed to do request: Head \\\"https://{host}/v2/library/redis/manifests/{tag}\\\": dial tcp 98.85.153.80:443: i/o timeout\" image=\"redis:7.4.1\""
            )
        };
        let server = "registry-1.docker.io";
        for (capabilities, host, tag, status, says) in [
            (
                "\"pull\"",
                server,
                "7.4.1",
                Status::Warn,
                "without \"resolve\"",
            ),
            (
                "\"pull\", \"resolve\"",
                server,
                "7.4.1",
                Status::Ok,
                "1 registries",
            ),
            ("\"pull\"", server, "sha256:0a", Status::Ok, "1 registries"),
            ("\"pull\"", "quay.io", "7.4.1", Status::Ok, "1 registries"),
        ] {
            let mut node = Sample::worker();
            node.runtime().version = Some("2.1.4".to_owned());
            let text = format!(
                "server = \"https://{server}\"\n\n[host.\"https://harbor.corp.example/v2/dockerhub\"]\n  capabilities = [{capabilities}]\n  override_path = true\n"
            );
            node.text("/etc/containerd/certs.d/docker.io/hosts.toml", &text);
            node.journal("kubelet.service", &[&line(host, tag)]);
            node.assert("runtime.mirrors", status, says);
        }
    }
}
