//! Containers of the cluster's own pods that end because their user cannot read a file of the host: its mode or owner was changed.

use super::manifest::{Manifest, manifests, words};
use super::named_files::on_host;
use crate::checks::check::Finding;
use crate::checks::node::Node;
use quake_formats::yaml::{Yaml, shorten};
use quake_model::facts::{EntryFacts, EntryKind, PodSeen};

/// What programs print where the kernel refuses a file (`EACCES`).
const REFUSED: &str = "ermission denied";

/// The pods of kops that read files of the host as users of their own, and that no manifest of the host describes: the container,
/// its user, the directory in the container and on the host (kops, `wellknownusers`).
const OF_KOPS: &[(&str, u32, &str, &str)] = &[(
    "kops-controller",
    10011,
    "/etc/kubernetes/kops-controller/pki/",
    "/etc/kubernetes/kops-controller/",
)];

/// A container that ended by a file which its user cannot read.
struct Denied<'a> {
    pod: &'a PodSeen,
    line: &'a str,
    uid: u32,
    /// The file of the host that its log names.
    named: String,
    /// What lets it read this file and the others that are closed to it, as commands.
    open: String,
    /// What does not let it in: the file or a directory above it.
    by: (String, &'a EntryFacts),
    /// The container of the same pod whose health check asks this one.
    asked_for: Option<String>,
}

/// The finding where a container of the cluster's own ended because its user cannot read a file.
pub(super) fn denied(node: &Node<'_>) -> Option<Finding> {
    let manifests = manifests(node).unwrap_or_default();
    let pods = node.pods().filter(|pod| pod.namespace == "kube-system");
    let mut found = pods.filter_map(|pod| of_pod(node, &manifests, pod));
    found.next().map(|denied| finding(node, &denied))
}

fn of_pod<'a>(node: &Node<'a>, manifests: &[Manifest<'_>], pod: &'a PodSeen) -> Option<Denied<'a>> {
    let line = last_refusal(pod)?;
    let path = path_in(line)?;
    let described = manifests
        .iter()
        .find_map(|manifest| container_of(manifest, pod));
    let (uid, files, asked_for) = match described {
        Some((spec, container)) => {
            let uid = user(spec, container)?;
            let named = words(container).filter_map(|word| Some(word.split_once('=')?.1));
            let mut inside = vec![path];
            inside.extend(named.filter(|other| other.starts_with('/') && *other != path));
            let files = inside.iter().map(|path| on_host(spec, container, path));
            (
                uid,
                files.collect::<Vec<_>>(),
                probing_container(spec, container),
            )
        }
        None => {
            let mut known = OF_KOPS.iter();
            let (_, uid, inside, host) = known.find(|(name, ..)| *name == pod.container)?;
            let own = |path: &str| Some(format!("{host}{}", path.strip_prefix(inside)?));
            let named = own(path).unwrap_or_else(|| path.to_owned());
            let beside = node.list(host).into_iter();
            let beside = beside.filter(|(_, it)| it.kind == EntryKind::File);
            let beside = beside.map(|(name, _)| format!("{host}{name}"));
            let beside = beside.filter(|other| *other != named).map(Some);
            let files = std::iter::once(Some(named.clone())).chain(beside);
            (*uid, files.collect(), None)
        }
    };
    let named = files.first()?.clone()?;
    let by = barrier(node, &named, uid)?;
    let others: Vec<String> = files.into_iter().skip(1).flatten().collect();
    Some(Denied {
        pod,
        line,
        uid,
        open: opened(node, &by, &named, &others, uid),
        named,
        by,
        asked_for,
    })
}

/// The refusal among the last lines of a container that ended badly.
fn last_refusal(pod: &PodSeen) -> Option<&str> {
    const LAST: usize = 5;
    let failed = |code: Option<i32>| code.is_some_and(|code| code != 0);
    let log = match &pod.previous {
        _ if pod.state != "running" && failed(pod.exit_code) => &pod.log,
        Some(run) if failed(run.exit_code) => &run.log,
        Some(_) | None => return None,
    };
    let mut last = log.iter().rev().take(LAST);
    last.find(|line| line.contains(REFUSED)).map(String::as_str)
}

/// The path that a refusal names: `open PATH: permission denied`, or `Permission denied: 'PATH'`.
fn path_in(line: &str) -> Option<&str> {
    let (before, after) = line.split_once(REFUSED)?;
    paths(before)
        .pop()
        .or_else(|| paths(after).first().copied())
}

fn paths(text: &str) -> Vec<&str> {
    let is_mark = |c: char| c.is_whitespace() || "\"'`()[],;=\\".contains(c);
    let words = text.split(is_mark).map(|word| word.trim_matches(':'));
    words
        .filter(|word| word.len() > 1 && word.starts_with('/'))
        .collect()
}

/// The pod of a manifest and the container in it, where a container of the runtime is of it.
fn container_of<'a>(manifest: &'a Manifest<'_>, pod: &PodSeen) -> Option<(&'a Yaml, &'a Yaml)> {
    let (namespace, name) = manifest.pod()?;
    let rest = pod.name.strip_prefix(name)?;
    let is_own = namespace == pod.namespace && (rest.is_empty() || rest.starts_with('-'));
    let spec = manifest.spec().filter(|_| is_own)?;
    let containers = ["containers", "initContainers"].into_iter();
    let mut containers = containers.flat_map(|key| spec.items_of(key));
    let container = containers.find(|one| one.text_of("name") == Some(&pod.container))?;
    Some((spec, container))
}

/// The user that a container runs as, where its manifest says so; root may read every file.
fn user(spec: &Yaml, container: &Yaml) -> Option<u32> {
    let of = |yaml: &Yaml| {
        yaml.get("securityContext")?
            .text_of("runAsUser")?
            .parse()
            .ok()
    };
    of(container).or_else(|| of(spec)).filter(|uid| *uid != 0)
}

/// The port that a health check of a container asks.
fn port<'a>(container: &'a Yaml, check: &str) -> Option<&'a str> {
    container.get(check)?.get("httpGet")?.text_of("port")
}

/// The other container of a pod whose health check asks this one: kubelet kills it while this one is away.
fn probing_container(spec: &Yaml, container: &Yaml) -> Option<String> {
    let own = port(container, "livenessProbe")?;
    let name = container.text_of("name");
    let mut others = spec.items_of("containers").iter();
    let asks = |other: &&Yaml| {
        let mut checks = ["startupProbe", "livenessProbe"].into_iter();
        other.text_of("name") != name && checks.any(|check| port(other, check) == Some(own))
    };
    others.find(asks)?.text_of("name").map(str::to_owned)
}

/// Whether the mode of an entry lets a user do what a bit stands for. Groups are not known.
fn may(entry: &EntryFacts, uid: u32, bit: u32) -> bool {
    let shift = if entry.owner.uid == uid { 6 } else { 0 };
    entry.mode >> shift & bit != 0
}

/// A file whose own mode does not let a user read it.
fn closed_file<'a>(node: &Node<'a>, path: &str, uid: u32) -> Option<&'a EntryFacts> {
    let entry = node.entry(path).ok()??;
    (entry.kind == EntryKind::File && !may(entry, uid, 0o4)).then_some(entry)
}

/// The commands that let a user read the file which a log names and the others that are closed to it. What others may need as
/// it is stays so: files of other users, and but for the named one those that a group reads.
fn opened(
    node: &Node<'_>,
    by: &(String, &EntryFacts),
    named: &str,
    others: &[String],
    uid: u32,
) -> String {
    let mut commands = Vec::new();
    if by.1.kind == EntryKind::Directory {
        let who = if by.1.owner.uid == uid { 'u' } else { 'o' };
        commands.push(format!("chmod {who}+x {}", by.0));
    }
    let (mut of_root, mut own) = (Vec::new(), Vec::new());
    for path in std::iter::once(named).chain(others.iter().map(String::as_str)) {
        let Some(entry) = closed_file(node, path, uid) else {
            continue;
        };
        let is_named = path == named;
        match entry.owner.uid {
            owner if owner == uid => own.push(path),
            0 if is_named || entry.mode & 0o040 == 0 => of_root.push(path),
            owner if owner != 0 && is_named => commands.push(format!(
                "{path} is of uid {owner}, which may need it: copy it to a file of uid {uid}, or give it a group that uid {uid} is in, and chmod g+r {path}"
            )),
            _ => {}
        }
    }
    if !of_root.is_empty() {
        let files = of_root.join(" ");
        commands.push(format!("chown {uid} {files} && chmod u+r {files}"));
    }
    if !own.is_empty() {
        commands.push(format!("chmod u+r {}", own.join(" ")));
    }
    commands.join("; ")
}

/// What does not let a user read a file: a directory above that it may not enter, or the file.
fn barrier<'a>(node: &Node<'a>, path: &str, uid: u32) -> Option<(String, &'a EntryFacts)> {
    let above = path.match_indices('/').map(|(at, _)| &path[..at]);
    let mut directories = above.filter(|directory| !directory.is_empty());
    let closed = directories.find_map(|directory| {
        let entry = node.entry(directory).ok()??;
        let is_closed = entry.kind == EntryKind::Directory && !may(entry, uid, 0o1);
        is_closed.then(|| (directory.to_owned(), entry))
    });
    closed.or_else(|| Some((path.to_owned(), closed_file(node, path, uid)?)))
}

fn finding(node: &Node<'_>, denied: &Denied<'_>) -> Finding {
    let (pod, uid) = (denied.pod, denied.uid);
    let (by, entry) = &denied.by;
    let by = match entry.kind {
        EntryKind::Directory => format!(": {by}"),
        _ => ", which".to_owned(),
    };
    let (mode, owner) = (entry.mode & 0o7777, entry.owner.uid);
    let harm = denied.asked_for.as_ref().map_or(String::new(), |other| {
        format!("; the health check of {other} asks it, so kubelet kills a healthy {other}")
    });
    let (named, open) = (&denied.named, &denied.open);
    let directory = named.rsplit_once('/').map_or("/", |it| it.0);
    let changer =
        changer(node, directory).unwrap_or("the hardening script or the baseline that changed it");
    let also = others(node, directory).map_or(String::new(), |other| format!("; {other}"));
    Finding::new(
        format!(
            "the container {} of {} runs as uid {uid} and cannot read {named}{by} has mode {mode:04o} of uid {owner}{harm}",
            pod.container, pod.name
        ),
        format!(
            "{open}; kubelet then starts the container again; make an exception for {directory} in {changer}{also}"
        ),
    )
    .seen("said", shorten(denied.line, 300))
    .seen("started again", pod.restarts)
}

/// A script of the host that sets modes or owners below a directory above this one.
fn changer<'a>(node: &Node<'a>, directory: &str) -> Option<&'a str> {
    let is_above = |word: &str| {
        let word = word.trim_end_matches('/');
        let rest = directory.strip_prefix(word);
        word.matches('/').count() > 1
            && rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    };
    let sets = |line: &str| {
        let is_command = ["chmod", "chown"].iter().any(|it| line.contains(it));
        is_command && line.split_whitespace().any(is_above)
    };
    let texts = node.survey().texts.iter();
    let mut scripts = texts.filter(|(path, _)| path.starts_with("/usr/local/sbin/"));
    let found = scripts.find(|(_, text)| text.ok().is_some_and(|text| text.lines().any(sets)));
    found.map(|(path, _)| path.as_str())
}

/// The files of kops' other pods that their users cannot read any more, and that fail as these start again.
fn others(node: &Node<'_>, directory: &str) -> Option<String> {
    OF_KOPS.iter().find_map(|(name, uid, _, host)| {
        let host = host.trim_end_matches('/');
        let mut files = node.list(host).into_iter();
        let is_closed = |(file, _): &(&str, &EntryFacts)| {
            file.ends_with(".crt") && barrier(node, &format!("{host}/{file}"), *uid).is_some()
        };
        (host != directory && files.any(|file| is_closed(&file))).then(|| {
            format!("do the same for {host}, which {name} reads as uid {uid}, before its pod starts again")
        })
    })
}

#[cfg(test)]
mod tests {
    use super::path_in;
    use crate::checks::Status;
    use crate::checks::node_sample::{Sample, manifest};
    use quake_model::facts::EntryKind;

    #[test]
    fn a_container_that_may_not_read_its_file_is_named_with_its_user() {
        const BESIDE: &str = "  - name: check\n    image: x\n    securityContext:\n      runAsUser: 10012\n    volumeMounts:\n    - name: secrets\n      mountPath: /secrets\n";
        const VOLUME: &str = "  - name: secrets\n    hostPath:\n      path: /etc/x\n";
        let text = manifest("kube-proxy").replace("  volumes:\n", &format!("{BESIDE}  volumes:\n"));
        let mut node = Sample::worker();
        node.text(
            "/etc/kubernetes/manifests/kube-proxy.manifest",
            &format!("{text}{VOLUME}"),
        );
        let mut beside = node.pod("kube-proxy", "running").clone();
        beside.container = "check".to_owned();
        beside.state = "exited".to_owned();
        beside.exit_code = Some(1);
        beside.log = vec!["open /secrets/ca.crt: permission denied".to_owned()];
        node.pods().push(beside);
        for (folder, mode, status, words) in [
            (0o755, 0o600, Status::Fail, "chown 10012 /etc/x/ca.crt"),
            (0o700, 0o644, Status::Fail, "chmod o+x /etc/x; kubelet"),
            (0o755, 0o644, Status::Ok, "kube-proxy"),
        ] {
            node.entry("/etc/x", EntryKind::Directory, folder);
            node.entry("/etc/x/ca.crt", EntryKind::File, mode);
            node.assert("staticpods.running", status, words);
        }
    }

    #[test]
    fn a_refusal_names_its_path_before_or_after() {
        for (line, wanted) in [
            (
                "error reading certificate \"/a/ca.crt\": open /a/ca.crt: permission denied",
                Some("/a/ca.crt"),
            ),
            ("Permission denied: '/a/b.key'", Some("/a/b.key")),
            ("mount: permission denied", None),
        ] {
            assert_eq!(path_in(line), wanted, "{line}");
        }
    }
}
