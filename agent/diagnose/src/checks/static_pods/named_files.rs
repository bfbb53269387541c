//! Files that flags of static pods name: each has to be mounted into its container, and to stand on the host.

use super::manifest::{Manifest, words};
use super::running::runs;
use crate::checks::check::Finding;
use crate::checks::logs::is_fatal;
use crate::checks::named::place;
use crate::checks::node::Node;
use quake_formats::yaml::Yaml;
use quake_model::facts::{EntryKind, PodSeen, Unseen};

/// How the names of flags end that name a file which has to be there as the program starts.
const ENDS: &[&str] = &[
    "cafile",
    "certfile",
    "-config",
    "-file",
    "keyfile",
    "kubeconfig",
];

/// Of those, flags whose file the program makes itself.
const OF_OUTPUT: &[&str] = &["lock-file", "log-file", "pid-file"];

/// A mount of a container.
struct Mount<'a> {
    /// The path in the container.
    inside: &'a str,
    /// The host's path; `None` where the volume is none of the host.
    host: Option<&'a str>,
}

/// A flag that names a file which its container does not have; `None` where each has all, and of a pod that runs.
///
/// # Errors
///
/// As the host's paths when they cannot be looked at.
pub(super) fn missing(node: &Node<'_>, manifest: &Manifest<'_>) -> Result<Option<Finding>, Unseen> {
    let Some(spec) = manifest.spec() else {
        return Ok(None);
    };
    let pod = manifest.pod().map_or("", |(_, name)| name);
    for container in spec.items_of("containers") {
        let name = container.text_of("name").unwrap_or(pod);
        // What runs found its files.
        if runs(node, pod, name) {
            continue;
        }
        let mounts = match mounts(spec, container) {
            Ok(mounts) => mounts,
            Err(volume) => return Ok(Some(without_volume(manifest, name, volume))),
        };
        for (flag, path) in flags(container) {
            let found = judge(node, manifest, name, (flag, path), &mounts)?;
            if found.is_some() {
                return Ok(found);
            }
        }
    }
    Ok(None)
}

/// The flags of a container that name a file, with the path of each.
fn flags(container: &Yaml) -> impl Iterator<Item = (&str, &str)> {
    words(container).filter_map(|word| {
        let (flag, path) = word.strip_prefix("--")?.split_once('=')?;
        let is_of_file = ENDS.iter().any(|end| flag.ends_with(end)) && !OF_OUTPUT.contains(&flag);
        let is_path = path.starts_with('/') && !path.contains([',', '$', '*']);
        (is_of_file && is_path).then_some((flag, path))
    })
}

/// The mounts of a container, the longest path first; else the name of a volume that the pod does not have.
fn mounts<'a>(spec: &'a Yaml, container: &'a Yaml) -> Result<Vec<Mount<'a>>, &'a str> {
    let mut found = Vec::new();
    for mount in container.items_of("volumeMounts") {
        let (Some(name), Some(inside)) = (mount.text_of("name"), mount.text_of("mountPath")) else {
            continue;
        };
        let mut volumes = spec.items_of("volumes").iter();
        let volume = volumes.find(|volume| volume.text_of("name") == Some(name));
        let host = volume.ok_or(name)?.get("hostPath");
        // What is below a part of the volume alone has another path on the host.
        let host = host.filter(|_| !mount.has("subPath"));
        found.push(Mount {
            inside: inside.trim_end_matches('/'),
            host: host.and_then(|host| host.text_of("path")),
        });
    }
    found.sort_by_key(|mount| std::cmp::Reverse(mount.inside.len()));
    Ok(found)
}

/// A mount of a volume that the pod does not have: kubelet takes such a pod for none at all.
fn without_volume(manifest: &Manifest<'_>, container: &str, volume: &str) -> Finding {
    let path = manifest.path();
    Finding::new(
        format!("{path}: {container} mounts the volume {volume}, and the pod has no such volume"),
        format!(
            "add {volume} to the volumes of {path} with its hostPath, or take the mount out; kubelet refuses the whole pod"
        ),
    )
}

impl Mount<'_> {
    /// What a path in the container is below the mount; `None` where it is not below it.
    fn rest<'p>(&self, path: &'p str) -> Option<&'p str> {
        let rest = path.strip_prefix(self.inside)?;
        (rest.is_empty() || rest.starts_with('/')).then_some(rest)
    }
}

/// The path on the host of a path in a container; `None` where it is no file of the host.
pub(super) fn on_host(spec: &Yaml, container: &Yaml, path: &str) -> Option<String> {
    let mounts = mounts(spec, container).ok()?;
    let mut mounts = mounts.iter();
    let (mount, rest) = mounts.find_map(|mount| Some((mount, mount.rest(path)?)))?;
    Some(format!("{}{rest}", mount.host?.trim_end_matches('/')))
}

fn judge(
    node: &Node<'_>,
    manifest: &Manifest<'_>,
    container: &str,
    (flag, path): (&str, &str),
    mounts: &[Mount<'_>],
) -> Result<Option<Finding>, Unseen> {
    let set = place(container, flag);
    let mut covering = mounts.iter();
    let covering = covering.find_map(|mount| Some((mount, mount.rest(path)?)));
    let Some((mount, rest)) = covering else {
        let is_why = !ended_by_other(node, manifest, container, path);
        let instead = instead(node, mounts);
        return Ok(is_why.then(|| unmounted(manifest, container, (&set, path), &instead)));
    };
    let Some(host) = mount.host else {
        return Ok(None);
    };
    let on_host = format!("{}{rest}", host.trim_end_matches('/'));
    let is_there = node.entry(&on_host)?.is_some() || node.was_surveyed(&on_host).is_err();
    Ok((!is_there).then(|| {
        Finding::new(
            format!("--{flag} of {container} names {path}, and {on_host} is not there"),
            format!(
                "bring {on_host} to the host: a fileAsset of the cluster spec with that path, then roll the group; or correct {set}"
            ),
        )
        .seen("file", manifest.path())
    }))
}

/// Whether the program's own last error names another cause than a file: an image may have what its pod does not mount.
fn ended_by_other(node: &Node<'_>, manifest: &Manifest<'_>, container: &str, path: &str) -> bool {
    let pod = manifest.pod().map_or("", |(_, name)| name);
    let is_own = |one: &&PodSeen| one.name.starts_with(pod) && one.container == container;
    let mut log = node.pods().filter(is_own).flat_map(|one| &one.log);
    let last = log.rfind(|line| is_fatal(line) || line.contains("command failed"));
    last.is_some_and(|line| !line.contains(path) && !line.contains("no such file"))
}

/// A directory of the host that the container sees already: of Kubernetes' own first.
fn instead(node: &Node<'_>, mounts: &[Mount<'_>]) -> String {
    const OWN: &[&str] = &["/srv/kubernetes/", "/etc/kubernetes/", "/srv/"];
    let is_directory = |host: &str| match node.entry(host).ok().flatten() {
        Some(entry) => entry.kind == EntryKind::Directory,
        None => !node.list(host).is_empty(),
    };
    let mut directories = OWN.iter().filter_map(|start| {
        let mut mounts = mounts.iter().filter(|it| it.inside.starts_with(start));
        mounts.find(|mount| mount.host.is_some_and(is_directory))
    });
    directories.next().map_or(String::new(), |mount| {
        format!("; {} is mounted: a file below it is seen", mount.inside)
    })
}

fn unmounted(
    manifest: &Manifest<'_>,
    container: &str,
    (set, path): (&str, &str),
    instead: &str,
) -> Finding {
    Finding::new(
        format!("{container} is told to read {path}, which is not mounted into its container"),
        format!(
            "mount it: a hostPath volume with its directory, and a volumeMount in {}; or move the file to a directory that is mounted, and correct {set}{instead}",
            manifest.path()
        ),
    )
    .seen("file", manifest.path())
}
