//! Settings for a registry that lie where containerd does not look for them: below its name without the port, below another port,
//! or in the file of docker (containerd/containerd, `core/remotes/docker/config/hosts.go`, `hostPaths`).

use super::mirrors::DIRECTORY;
use crate::checks::check::{Certainty, Finding};
use crate::checks::from_journal::QUOTED;
use crate::checks::logs::is_late;
use crate::checks::node::Node;
use crate::checks::quote::quote;
use crate::log_lines::is_plain_name;
use quake_formats::syntax;
use quake_model::facts::Seen;

/// Where docker has its settings, and the key of registries without TLS.
const DOCKER: &str = "/etc/docker/daemon.json";
const INSECURE: &str = "insecure-registries";

/// What a client in Go says of a registry for which it lacks the settings.
const FAILURES: &[&str] = &[
    "server gave HTTP response to HTTPS client",
    "first record does not look like a TLS handshake",
    "x509: certificate signed by unknown authority",
];

/// The finding of a registry whose pulls fail for settings that are there, in another place.
pub(super) fn misplaced(node: &Node<'_>, files: &[(&str, &Seen<String>)]) -> Option<Finding> {
    let (registry, line) = failed(node)?;
    let folder = |path: &str| {
        path.strip_prefix(DIRECTORY)?
            .split('/')
            .next()
            .map(str::to_owned)
    };
    let folders: Vec<String> = files.iter().filter_map(|(path, _)| folder(path)).collect();
    let is_read = |folder: &String| is_of(folder, registry) || folder == "_default";
    if folders.iter().any(is_read) {
        return None;
    }
    let name = without_port(registry);
    let near = files
        .iter()
        .find(|(path, _)| folder(path).is_some_and(|folder| without_port(&folder) == name));
    let target = format!("{DIRECTORY}{registry}");
    let finding = match near {
        Some((path, _)) => {
            let from = folder(path)?;
            let is_plain = is_plain_name(&from) && is_plain_name(registry);
            let then = "containerd reads it at the next pull, without a restart; see that server and [host] in it have the port, too; put it there in what writes it (the image, the user data), too";
            Finding::new(
                format!(
                    "images of {registry} cannot be pulled, as the settings for it are in {path}: that is the file of {}, and containerd looks in {target}/ alone",
                    shown(&from)
                ),
                match is_plain {
                    true => {
                        format!("mkdir -p {target}; cp -a {DIRECTORY}{from}/. {target}/; {then}")
                    }
                    false => format!("copy {path} into the directory of that registry; {then}"),
                },
            )
        }
        None => of_docker(node, registry, &target)?,
    };
    Some(
        finding
            .by(Certainty::Likely)
            .seen("pull", quote(line, QUOTED)),
    )
}

/// The finding where docker's settings alone have the registry.
fn of_docker(node: &Node<'_>, registry: &str, target: &str) -> Option<Finding> {
    let text = node.text(DOCKER).ok()??;
    let document = syntax::json(text).ok()?;
    let mut named = document.get(INSECURE)?.as_array()?.iter();
    named.any(|name| name.as_str() == Some(registry)).then(|| {
        Finding::new(
            format!("images of {registry} cannot be pulled: {DOCKER} names it in {INSECURE}, which containerd does not read, and there is no {target}/hosts.toml"),
            format!("write {target}/hosts.toml with server = \"http://{registry}\" and a table [host.\"http://{registry}\"] with capabilities = [\"pull\", \"resolve\"]; containerd reads it at the next pull where its registry.config_path is /etc/containerd/certs.d; write it in the image or the user data, too; better is a registry with TLS"),
        )
    })
}

/// The registry of the latest pull that failed so, and the line of it.
fn failed<'a>(node: &Node<'a>) -> Option<(&'a str, &'a str)> {
    let units = ["containerd.service", "kubelet.service"];
    let lines = units
        .iter()
        .flat_map(|unit| node.journal(unit).iter().rev());
    let mut failing = lines.filter(|line| FAILURES.iter().any(|words| line.contains(words)));
    failing.find_map(|line| {
        let (_, rest) = line.split_once("https://")?;
        let (host, path) = rest.split_once('/')?;
        let is_pull = path.starts_with("v2/") && !host.contains(['"', '\\', ' ']);
        // A mirror is asked in the place of the registry.
        let is_mirror = path
            .split(['"', ' '])
            .next()
            .is_some_and(|path| path.contains("?ns="));
        (is_pull && !is_mirror && is_late(line, node)).then_some((host, line.as_str()))
    })
}

/// Whether a directory is that of a registry: its port stands behind a colon, or between underscores.
fn is_of(folder: &str, registry: &str) -> bool {
    let written = match registry.rsplit_once(':') {
        Some((name, port)) => format!("{name}_{port}_"),
        None => registry.to_owned(),
    };
    folder == registry || folder == written
}

/// The name of a registry, or of a directory, without its port.
fn without_port(name: &str) -> &str {
    if let Some((name, _)) = name.split_once(':') {
        return name;
    }
    let marked = name
        .strip_suffix('_')
        .and_then(|name| name.rsplit_once('_'));
    marked.map_or(name, |(name, _)| name)
}

/// A directory as the registry that it is for.
fn shown(folder: &str) -> String {
    let name = without_port(folder);
    match folder == name {
        true => format!("{name} without a port (443)"),
        false => folder.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use crate::checks::Status;
    use crate::checks::node_sample::Sample;

    fn line(host: &str) -> String {
        format!(
            "time=\"2026-11-21T03:21:50Z\" level=error msg=\"PullImage failed\" error=\"failed to do request: Head \\\"https://{host}/v2/a/b/manifests/1\\\": http: server gave HTTP response to HTTPS client\""
        )
    }

    fn node(host: &str, folder: &str) -> Sample {
        let mut node = Sample::worker();
        let path = "/etc/containerd/config.toml";
        node.text(path, "version = 2\n[plugins.\"io.containerd.grpc.v1.cri\".registry]\nconfig_path = \"/etc/containerd/certs.d\"\n");
        if !folder.is_empty() {
            let text = format!("server = \"http://{host}\"\n");
            node.text(
                &format!("/etc/containerd/certs.d/{folder}/hosts.toml"),
                &text,
            );
        }
        node.journal("containerd.service", &[&line(host)]);
        node
    }

    #[test]
    fn settings_of_another_port_are_not_those_of_the_registry() {
        for (host, folder, wanted) in [
            ("hub.quake.example:8082", "hub.quake.example", true),
            ("hub.quake.example", "hub.quake.example:8082", true),
            ("hub.quake.example", "hub.quake.example_8082_", true),
            ("hub.quake.example:8082", "hub.quake.example:5000", true),
            ("hub.quake.example:8082", "hub.quake.example_8082_", false),
            ("hub.quake.example:8082", "hub.quake.example:8082", false),
            ("hub.quake.example:8082", "_default", false),
            ("hub.quake.example:8082", "other.quake.example", false),
        ] {
            let report = node(host, folder).judge("runtime.mirrors");
            let says = format!("images of {host} cannot be pulled");
            assert_eq!(
                report.note.contains(&says),
                wanted,
                "{folder} {}",
                report.note
            );
            let fix = report
                .finding
                .map(|finding| finding.fix)
                .unwrap_or_default();
            let to =
                format!("cp -a /etc/containerd/certs.d/{folder}/. /etc/containerd/certs.d/{host}/");
            assert_eq!(fix.contains(&to), wanted, "{fix}");
        }
    }

    #[test]
    fn what_docker_alone_is_told_containerd_does_not_know() {
        let mut node = node("hub.quake.example:8082", "");
        node.text(
            "/etc/docker/daemon.json",
            "{\"insecure-registries\": [\"hub.quake.example:8082\"]}",
        );
        node.assert(
            "runtime.mirrors",
            Status::Warn,
            "which containerd does not read",
        );
    }
}
