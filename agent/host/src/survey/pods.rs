//! Pods by what kubelet and containerd keep of them in files: no client of the runtime is needed, and none is started.
//!
//! - `/var/log/pods/<namespace>_<pod>_<uid>/<container>/<attempt>.log`: kubelet makes the first directory when it begins a
//!   pod, the second once the container's image is there (k8s.io/kubernetes, `kuberuntime`, as of 1.36).
//! - `/var/log/containers/<pod>_<namespace>_<container>-<id>.log` leads to the log of a container that was started.
//! - `/var/lib/containerd/io.containerd.grpc.v1.cri/containers/<id>/status`: how it stands, as JSON (containerd,
//!   `internal/cri/store/container/status.go`, as of 2.2). Where containerd's root is elsewhere, a state is not known.

use quake_model::facts::{PodFound, PodSeen, PodsSeen};
use quake_model::ports::{Condition, PortError};
use quake_model::redact::scrub;
use serde::Deserialize;
use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{ErrorKind, Read, Seek, SeekFrom};
use std::path::Path;

/// How much of the end of a log is read, in bytes, and how many of its lines are shown.
const TAIL: u64 = 8 << 10;
const LINES: usize = 4;

/// The most pods and containers that are looked at; a node runs some hundred pods at most.
const MOST: usize = 1000;

/// The longest status that is read, in bytes.
const STATUS: u64 = 64 << 10;

/// Looks at the pods of a node whose names are wanted; `root` is where its tree begins. Blocks.
///
/// # Errors
///
/// `Denied` or `Io` when the directories cannot be listed. That they are not there yet is no error.
pub fn read_pods(root: &Path, is_wanted: &dyn Fn(&str) -> bool) -> Result<PodsSeen, PortError> {
    let mut seen = PodsSeen::default();
    for name in names(&root.join("var/log/pods"))? {
        let mut parts = name.splitn(3, '_');
        let (Some(namespace), Some(pod)) = (parts.next(), parts.next()) else {
            continue;
        };
        if is_wanted(pod) {
            seen.pods.push(PodFound {
                namespace: namespace.to_owned(),
                name: pod.to_owned(),
                created: names(&root.join("var/log/pods").join(&name))?,
            });
        }
    }
    let mut latest: BTreeMap<(String, String, String), (i64, PodSeen)> = BTreeMap::new();
    for link in names(&root.join("var/log/containers"))? {
        let Some((pod, namespace, container, id)) = parts_of(&link) else {
            continue;
        };
        if !is_wanted(pod) {
            continue;
        }
        let key = (namespace.to_owned(), pod.to_owned(), container.to_owned());
        let run = run_of(root, &link, &key, id);
        let is_newer = latest.get(&key).is_none_or(|(made, _)| *made <= run.0);
        if is_newer {
            latest.insert(key, run);
        }
    }
    seen.containers = latest
        .into_values()
        .map(|(_, container)| container)
        .collect();
    for container in &mut seen.containers {
        if container.state == "exited" {
            container.log = tail(root, container);
        }
    }
    Ok(seen)
}

/// The pod, its namespace, its container and that one's id, of a name in `/var/log/containers`.
fn parts_of(link: &str) -> Option<(&str, &str, &str, &str)> {
    let (pod, rest) = link.strip_suffix(".log")?.split_once('_')?;
    let (namespace, rest) = rest.split_once('_')?;
    let (container, id) = rest.rsplit_once('-')?;
    let is_id = !id.is_empty() && id.bytes().all(|byte| byte.is_ascii_hexdigit());
    is_id.then_some((pod, namespace, container, id))
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
struct Kept {
    created_at: i64,
    started_at: i64,
    finished_at: i64,
    exit_code: i32,
    reason: String,
}

/// A container, and when it was made.
fn run_of(root: &Path, link: &str, key: &(String, String, String), id: &str) -> (i64, PodSeen) {
    let (namespace, pod, container) = key.clone();
    let target = fs::read_link(root.join("var/log/containers").join(link)).unwrap_or_default();
    let attempt = target
        .file_stem()
        .and_then(|stem| stem.to_str()?.parse().ok());
    let status = root
        .join("var/lib/containerd/io.containerd.grpc.v1.cri/containers")
        .join(id)
        .join("status");
    let kept = read_start(&status).and_then(|bytes| serde_json::from_slice::<Kept>(&bytes).ok());
    let (state, exit_code) = match &kept {
        None => ("unknown", None),
        Some(kept) if kept.finished_at != 0 => ("exited", Some(kept.exit_code)),
        Some(kept) if kept.started_at != 0 => ("running", None),
        Some(_) => ("created", None),
    };
    let kept = kept.unwrap_or_default();
    let seen = PodSeen {
        namespace,
        name: pod,
        container,
        state: state.to_owned(),
        exit_code,
        restarts: attempt.unwrap_or_default(),
        reason: kept.reason,
        ..PodSeen::default()
    };
    (kept.created_at, seen)
}

fn read_start(path: &Path) -> Option<Vec<u8>> {
    let mut bytes = Vec::new();
    let file = File::open(path).ok()?;
    file.take(STATUS).read_to_end(&mut bytes).ok()?;
    Some(bytes)
}

/// The last lines that a container logged. A line is a time, a stream, a tag and what was said (the CRI's form).
fn tail(root: &Path, container: &PodSeen) -> Vec<String> {
    let prefix = format!("{}_{}_", container.namespace, container.name);
    let file = format!("{}/{}.log", container.container, container.restarts);
    let folders = names(&root.join("var/log/pods")).unwrap_or_default();
    let own = folders.iter().filter(|name| name.starts_with(&prefix));
    let text = own
        .filter_map(|name| read_end(&root.join("var/log/pods").join(name).join(&file)))
        .next_back()
        .unwrap_or_default();
    let said = text
        .lines()
        .map(|line| line.splitn(4, ' ').nth(3).unwrap_or(line).trim_end())
        .filter(|line| !line.is_empty());
    let lines: Vec<String> = said.map(scrub).collect();
    lines[lines.len().saturating_sub(LINES)..].to_vec()
}

fn read_end(path: &Path) -> Option<String> {
    let mut file = File::open(path).ok()?;
    let length = file.metadata().ok()?.len();
    file.seek(SeekFrom::Start(length.saturating_sub(TAIL)))
        .ok()?;
    let mut bytes = Vec::new();
    file.take(TAIL).read_to_end(&mut bytes).ok()?;
    let text = String::from_utf8_lossy(&bytes).into_owned();
    // What begins in the middle of a line is left out.
    if length > TAIL {
        text.split_once('\n').map(|(_, rest)| rest.to_owned())
    } else {
        Some(text)
    }
}

/// The names in a directory, sorted; none where it is not there.
fn names(folder: &Path) -> Result<Vec<String>, PortError> {
    let unread = |error: std::io::Error| {
        let condition = match error.kind() {
            ErrorKind::PermissionDenied => Condition::Denied,
            _ => Condition::Io,
        };
        PortError::new(condition, format!("{} cannot be listed", folder.display())).because(&error)
    };
    let entries = match fs::read_dir(folder) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Vec::new()),
        entries => entries.map_err(unread)?,
    };
    let mut names: Vec<String> = entries
        .filter_map(|entry| entry.ok()?.file_name().into_string().ok())
        .take(MOST)
        .collect();
    names.sort();
    Ok(names)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;

    /// A run of a container, as kubelet and containerd leave it.
    fn leave(root: &Path, pod: &str, container: &str, attempt: u32, status: Option<&str>) {
        let folder = format!("var/log/pods/kube-system_{pod}_0123/{container}");
        fs::create_dir_all(root.join(&folder)).expect("the root is ours");
        let Some(status) = status else { return };
        let log = "2026-11-22T09:00:00Z stderr F first\n\
                   2026-11-22T09:00:01Z stderr F Error: unknown flag: --nope\n\n";
        let file = root.join(&folder).join(format!("{attempt}.log"));
        fs::write(&file, log).expect("the root is ours");
        let id = format!("{:064x}", u64::from(attempt) + 17);
        let links = root.join("var/log/containers");
        fs::create_dir_all(&links).expect("the root is ours");
        let link = links.join(format!("{pod}_kube-system_{container}-{id}.log"));
        symlink(file, link).expect("the root is ours");
        let kept = root.join("var/lib/containerd/io.containerd.grpc.v1.cri/containers");
        fs::create_dir_all(kept.join(&id)).expect("the root is ours");
        fs::write(kept.join(&id).join("status"), status).expect("the root is ours");
    }

    #[test]
    fn the_last_run_of_a_container_is_told_with_how_it_ended() {
        let root = tempfile::tempdir().expect("a scratch root");
        let status = |made: u32, code: u32| {
            format!(
                "{{\"Version\":\"v1\",\"Pid\":0,\"CreatedAt\":{made},\"StartedAt\":{made},\
                 \"FinishedAt\":{made},\"ExitCode\":{code},\"Reason\":\"Error\",\"Message\":\"\"}}"
            )
        };
        leave(
            root.path(),
            "kube-apiserver-i-1",
            "kube-apiserver",
            4,
            Some(&status(1, 0)),
        );
        leave(
            root.path(),
            "kube-apiserver-i-1",
            "kube-apiserver",
            5,
            Some(&status(2, 1)),
        );
        let running = "{\"CreatedAt\":1,\"StartedAt\":2,\"FinishedAt\":0}";
        leave(
            root.path(),
            "kube-proxy-i-1",
            "kube-proxy",
            0,
            Some(running),
        );
        leave(root.path(), "calico-node-x", "install-cni", 0, None);
        let seen = read_pods(root.path(), &|_| true).expect("it can be read");
        let reported: Vec<(&str, &str, Option<i32>, u32)> = seen
            .containers
            .iter()
            .map(|one| {
                (
                    one.container.as_str(),
                    one.state.as_str(),
                    one.exit_code,
                    one.restarts,
                )
            })
            .collect();
        let wanted = [
            ("kube-apiserver", "exited", Some(1), 5),
            ("kube-proxy", "running", None, 0),
        ];
        assert_eq!(reported, wanted);
        assert_eq!(
            seen.containers[0].log,
            ["first", "Error: unknown flag: --nope"]
        );
        let created: Vec<&str> = seen.pods[0].created.iter().map(String::as_str).collect();
        assert_eq!((seen.pods.len(), created), (3, vec!["install-cni"]));
        let one = read_pods(root.path(), &|pod| pod == "kube-proxy-i-1").expect("it can be read");
        assert_eq!((one.pods.len(), one.containers.len()), (1, 1));
    }

    #[test]
    fn a_node_without_pods_yet_has_none() {
        let root = tempfile::tempdir().expect("a scratch root");
        let seen = read_pods(root.path(), &|_| true).expect("there is nothing");
        assert_eq!(seen, PodsSeen::default());
    }

    #[test]
    fn what_containerd_keeps_elsewhere_is_not_known() {
        let root = tempfile::tempdir().expect("a scratch root");
        leave(
            root.path(),
            "kube-proxy-i-1",
            "kube-proxy",
            0,
            Some("no json"),
        );
        let seen = read_pods(root.path(), &|_| true).expect("it can be read");
        assert_eq!(seen.containers[0].state, "unknown");
    }
}
