//! `runtime.config`: what is wrong with containerd's configuration.

use super::configuration::{CONFIG, Configuration, Reading, read};
use super::handlers;
use super::is_containerd;
use crate::checks::check::{Finding, Verdict};
use crate::checks::kubelet_config::kubelet_setting;
use crate::checks::node::Node;
use crate::checks::read_error::read_error;
use quake_model::facts::Unseen;

/// What puts the agent's own rendering back.
const RESTORE: &str = "systemctl restart quake-agent.service writes the agent's own; then: systemctl restart containerd.service";

/// Snapshotters that are part of containerd.
const SNAPSHOTTERS: &[&str] = &[
    "aufs",
    "blockfile",
    "btrfs",
    "devmapper",
    "erofs",
    "native",
    "overlayfs",
    "zfs",
];

/// How bad a problem is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Weight {
    /// The node cannot run pods.
    Breaks,
    /// A setting has no effect, or will have none.
    Misleads,
}

pub(super) fn judge(node: &Node<'_>) -> Result<Verdict, Unseen> {
    if is_containerd(node) == Some(false) {
        return match left_layers(node)? {
            Some(finding) => finding.warn(),
            None => Verdict::skip("docker is the runtime, and starts containerd itself"),
        };
    }
    let configuration = match read(node)? {
        Reading::Absent => return Verdict::skip(format!("there is no {CONFIG}")),
        Reading::Broken(path, text, misread) => {
            let fix = match path == CONFIG {
                true => RESTORE.to_owned(),
                false => {
                    format!("fix or remove {path}, then: systemctl restart containerd.service")
                }
            };
            return read_error(&misread, path, text, fix).fail();
        }
        Reading::Read(configuration) => configuration,
    };
    if let Some(finding) = handlers::undefined(node) {
        return finding.fail();
    }
    let mut problems = Vec::new();
    // Where docker may be the runtime, a containerd that does not serve kubelet is as it should be.
    if is_containerd(node) == Some(true) {
        problems.extend(disabled(&configuration));
        problems.extend(refused_by_itself(node));
        problems.extend(another_socket(&configuration, node));
    }
    problems.extend(two_registries(&configuration));
    problems.extend(unknown_snapshotter(&configuration));
    problems.extend(odd_version(&configuration, node));
    problems.extend(sections_of_another_version(&configuration));
    problems.extend(replaced_sections(&configuration));
    problems.extend(unknown_key(&configuration));
    verdict(problems, &configuration)
}

/// Drivers of docker that leave layers which no image owns, or are slow: kops wrote `overlay` up to 1.9 (kubernetes/kops issue
/// 3197).
fn left_layers(node: &Node<'_>) -> Result<Option<Finding>, Unseen> {
    const FILE: &str = "/etc/sysconfig/docker";
    const OLD: &[&str] = &["overlay", "devicemapper", "aufs"];
    let text = node.text(FILE)?.unwrap_or_default();
    let mut words = text.split(|c: char| c.is_whitespace() || c == '"');
    let driver = words.find_map(|word| word.strip_prefix("--storage-driver="));
    let old = driver.filter(|driver| OLD.contains(driver));
    Ok(old.map(|driver| {
        let finding = Finding::new(
            format!("docker keeps its layers with the storage driver {driver}, which leaves layers that no image owns: the disk fills and docker system df shows little"),
            "set docker.storage: overlay2 in kops edit cluster, then roll the group: a new node begins with no layers; du -sh /var/lib/docker/* shows how much it is",
        );
        finding.seen("file", FILE).advice()
    }))
}

fn verdict(
    mut problems: Vec<(Weight, Finding)>,
    read: &Configuration<'_>,
) -> Result<Verdict, Unseen> {
    problems.sort_by_key(|(weight, _)| *weight);
    let mut problems = problems.into_iter();
    let Some((weight, mut first)) = problems.next() else {
        let files = read.documents.len();
        return Verdict::ok(format!(
            "version {} of the format, {files} file(s)",
            read.version
        ));
    };
    for (_, other) in problems {
        first = first.seen("also", other.summary);
    }
    match weight {
        Weight::Breaks => first.fail(),
        Weight::Misleads => first.warn(),
    }
}

/// A socket that kubelet does not look for containerd at.
fn another_socket(read: &Configuration<'_>, node: &Node<'_>) -> Option<(Weight, Finding)> {
    let own = read.socket()?;
    let endpoint = kubelet_setting(
        node,
        "container-runtime-endpoint",
        "containerRuntimeEndpoint",
    )?;
    let endpoint = endpoint.strip_prefix("unix://")?;
    // `/var/run` leads to `/run`.
    let plain = |path: &str| path.strip_prefix("/var").unwrap_or(path).to_owned();
    (plain(own) != plain(endpoint)).then(|| {
        let finding = Finding::new(
            format!("containerd listens at {own}, and kubelet looks for it at {endpoint}"),
            RESTORE,
        );
        (Weight::Breaks, finding.seen("file", CONFIG))
    })
}

fn disabled(read: &Configuration<'_>) -> Option<(Weight, Finding)> {
    let serves_kubelet = |name: &&str| {
        matches!(
            *name,
            "cri"
                | "io.containerd.grpc.v1.cri"
                | "io.containerd.cri.v1.runtime"
                | "io.containerd.cri.v1.images"
        )
    };
    let name = read.disabled().find(serves_kubelet)?;
    let summary = format!("{CONFIG} turns off {name}, the plugin that serves kubelet");
    let fix = format!(
        "take {name:?} out of disabled_plugins (packages of docker write it there); {RESTORE}"
    );
    Some((Weight::Breaks, Finding::new(summary, fix)))
}

/// What containerd says of its configuration when it prints it.
fn refused_by_itself(node: &Node<'_>) -> Option<(Weight, Finding)> {
    let problems = &node.survey().runtime.ok()?.configuration_problems;
    let summary = format!(
        "containerd refuses its configuration: {}",
        problems.first()?
    );
    let mut finding = Finding::new(
        summary,
        format!("containerd config dump shows what it reads; {RESTORE}"),
    );
    for problem in &problems[1..] {
        finding = finding.seen("also", problem);
    }
    Some((Weight::Breaks, finding))
}

/// Mirrors in the file and mirrors in a directory: the plugin that serves kubelet does not load with both.
fn two_registries(read: &Configuration<'_>) -> Option<(Weight, Finding)> {
    let registry = read.registry()?;
    let path = registry
        .get("config_path")?
        .as_str()
        .filter(|path| !path.is_empty())?;
    let is_table = |name: &&&str| {
        registry
            .get(**name)
            .and_then(|table| table.as_object())
            .is_some_and(|t| !t.is_empty())
    };
    let other = ["mirrors", "configs"].iter().find(is_table)?;
    // Of `configs` only what concerns TLS is refused; authentication may stay.
    if *other == "configs" && !has_tls(registry) {
        return None;
    }
    let summary = format!(
        "registry has both config_path and {other}, with which the plugin that serves kubelet does not load"
    );
    let fix = format!(
        "move {other} to {path}/<registry>/hosts.toml, or take config_path out; then: systemctl restart containerd.service"
    );
    Some((
        Weight::Breaks,
        Finding::new(summary, fix).seen("config_path", path),
    ))
}

fn has_tls(registry: &serde_json::Value) -> bool {
    let hosts = registry
        .get("configs")
        .and_then(|configs| configs.as_object());
    hosts.is_some_and(|hosts| hosts.values().any(|host| host.get("tls").is_some()))
}

fn unknown_snapshotter(read: &Configuration<'_>) -> Option<(Weight, Finding)> {
    let name = read.snapshotter()?;
    if SNAPSHOTTERS.contains(&name) || read.proxied().any(|proxied| proxied == name) {
        return None;
    }
    let summary =
        format!("snapshotter {name:?} is neither part of containerd nor among proxy_plugins");
    let fix = format!(
        "set snapshotter to \"overlayfs\", or add [proxy_plugins.{name}] with the address of its socket; then: systemctl restart containerd.service"
    );
    Some((Weight::Breaks, Finding::new(summary, fix)))
}

/// What stands at the root of the file (containerd/containerd, `cmd/containerd/server/config/config.go`, and earlier
/// `services/server/config/config.go`).
const ROOT: &[&str] = &[
    "cgroup",
    "debug",
    "disabled_plugins",
    "grpc",
    "imports",
    "metrics",
    "no_subreaper",
    "oom_score",
    "plugin_dir",
    "plugins",
    "proxy_plugins",
    "required_plugins",
    "root",
    "state",
    "stream_processors",
    "subreaper",
    "temp",
    "timeouts",
    "ttrpc",
    "version",
];

/// A key at the root of the file that is of a plugin: containerd passes over it (containers/nri-plugins, pull request 745).
fn unknown_key(read: &Configuration<'_>) -> Option<(Weight, Finding)> {
    let (path, key) = read.documents.iter().find_map(|(path, document)| {
        let mut keys = document.as_object()?.keys();
        let key = keys.find(|key| !ROOT.contains(&key.as_str()))?;
        Some((*path, key))
    })?;
    let summary = format!(
        "{key} stands at the root of {path}, where containerd knows no such key: it has no effect"
    );
    let (runtime, images) = read.section_names();
    let section = match key.as_str() {
        key if key.starts_with("plugin_re") => "io.containerd.nri.v1.nri",
        "sandbox_image" | "registry" | "snapshotter" | "max_concurrent_downloads" => images,
        _ => runtime,
    };
    let fix = format!(
        "move it below [plugins.\"{section}\"] if it is of that plugin, else take it out; then: systemctl restart containerd.service; containerd config dump shows what it reads"
    );
    Some((Weight::Misleads, Finding::new(summary, fix)))
}

/// A version that the running containerd does not know.
fn odd_version(read: &Configuration<'_>, node: &Node<'_>) -> Option<(Weight, Finding)> {
    let version = read.version;
    if !(1..=3).contains(&version) {
        let summary = format!("{CONFIG} has version {version}, and containerd knows 1 to 3");
        return Some((Weight::Breaks, Finding::new(summary, RESTORE)));
    }
    let running = node.survey().runtime.ok()?.version.as_deref()?;
    let major: u32 = running
        .trim_start_matches('v')
        .split('.')
        .next()?
        .parse()
        .ok()?;
    let summary = match (version, major) {
        (3, 1) => format!(
            "containerd {running} does not know version 3 of the format: its plugins run with their defaults"
        ),
        (1, 2..) => format!(
            "{CONFIG} has version 1 of the format, which containerd {running} does not take any more"
        ),
        _ => return None,
    };
    let fix = match version {
        3 => format!(
            "write version = 2 and [plugins.\"io.containerd.grpc.v1.cri\"] sections, or install containerd 2; {RESTORE}"
        ),
        _ => format!("containerd config migrate prints it in the newest version; {RESTORE}"),
    };
    let weight = match version {
        1 => Weight::Breaks,
        _ => Weight::Misleads,
    };
    Some((weight, Finding::new(summary, fix)))
}

/// Sections that the version of the file gives no meaning.
fn sections_of_another_version(read: &Configuration<'_>) -> Option<(Weight, Finding)> {
    let (runtime, images) = read.section_names();
    let another = |name: &str| match read.version {
        1 => {
            name.starts_with("io.containerd.grpc.v1.cri")
                || name.starts_with("io.containerd.cri.v1.")
        }
        2 => name == "cri" || name.starts_with("io.containerd.cri.v1."),
        // The third version has a part of its own under the old name.
        _ => name == "cri",
    };
    let (path, name) = read.sections().find(|(_, name)| another(name))?;
    let version = read.version;
    let summary =
        format!("[plugins.{name:?}] in {path} has no effect in version {version} of the format");
    let wanted = match runtime == images {
        true => runtime.to_owned(),
        false => format!("{runtime} and {images}"),
    };
    let fix = format!(
        "move its settings to {wanted}, or set the version that they are for; then: systemctl restart containerd.service"
    );
    Some((Weight::Misleads, Finding::new(summary, fix)))
}

/// Sections that an import takes the place of.
fn replaced_sections(read: &Configuration<'_>) -> Option<(Weight, Finding)> {
    let (_, name) = read
        .sections()
        .find(|(_, name)| read.holders(name).len() > 1)?;
    let holders = read.holders(name);
    let ((first, _), (last, _)) = (holders.first()?, holders.last()?);
    let summary = format!(
        "{last} has [plugins.{name:?}] too, and containerd takes the whole section from there"
    );
    let fix = format!(
        "containerd config dump shows what is left; repeat in {last} what {first} sets there, or move all to one file"
    );
    Some((Weight::Misleads, Finding::new(summary, fix)))
}
