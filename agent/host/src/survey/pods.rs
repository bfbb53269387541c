//! Pods by what kubelet and containerd keep of them in files: no client of the runtime is needed, and none is started.
//!
//! - `/var/log/pods/<namespace>_<pod>_<uid>/<container>/<attempt>.log`: kubelet makes the first directory when it begins a
//!   pod, the second once the container's image is there (k8s.io/kubernetes, `kuberuntime`, as of 1.36).
//! - `/var/log/containers/<pod>_<namespace>_<container>-<id>.log` leads to the log of a container that was started.
//! - `/var/lib/containerd/io.containerd.grpc.v1.cri/containers/<id>/status`: how it stands, as JSON (containerd,
//!   `internal/cri/store/container/status.go`, as of 2.2). Where containerd's root is elsewhere, a state is not known.

use super::log_files::{last_lines, names};
use quake_model::facts::{PodEnd, PodFound, PodSeen, PodsSeen};
use quake_model::ports::PortError;
use serde::Deserialize;
use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::Read;
use std::path::Path;

/// How many lines of a log are shown where the boot waits for a pod, and where a node is diagnosed.
const LINES: usize = 4;
const MANY_LINES: usize = 60;

/// The most pods and containers that are looked at; a node runs some hundred pods at most.
const MOST: usize = 1000;

/// The longest status that is read, in bytes.
const STATUS: u64 = 64 << 10;

/// Namespaces of pods that the node or its network cannot do without, by the beginning of their names.
const OF_THE_CLUSTER: &[&str] = &["kube-", "calico-", "tigera-", "cilium"];

/// Looks at the pods of a node whose names are wanted; `root` is where its tree begins. Blocks.
///
/// # Errors
///
/// `Denied` or `Io` when the directories cannot be listed. That they are not there yet is no error.
pub fn read_pods(root: &Path, is_wanted: &dyn Fn(&str) -> bool) -> Result<PodsSeen, PortError> {
    let (mut seen, _) = read_runs(root, is_wanted)?;
    for container in &mut seen.containers {
        if container.state == "exited" {
            container.log = tail(root, container, container.restarts, LINES);
        }
    }
    Ok(seen)
}

/// Looks at all pods of a node, with the logs of those that ended and of the cluster's own, and with how the run before of
/// each ended. Blocks.
///
/// # Errors
///
/// As [`read_pods`].
pub fn read_pods_with_logs(root: &Path) -> Result<PodsSeen, PortError> {
    let (mut seen, mut ends) = read_runs(root, &|_| true)?;
    for container in &mut seen.containers {
        if !is_of_the_cluster(container) {
            if container.state == "exited" {
                container.log = tail(root, container, container.restarts, LINES);
            }
            continue;
        }
        container.log = tail(root, container, container.restarts, MANY_LINES);
        if let Some(attempt) = container.restarts.checked_sub(1) {
            let key = key_of(container);
            let end = ends.remove(&key).unwrap_or_default();
            let log = tail(root, container, attempt, MANY_LINES);
            container.previous = Some(PodEnd { log, ..end });
        }
    }
    Ok(seen)
}

/// Adds to containers that the runtime listed what kubelet and it keep of them in files: logs, reasons, runs before. Blocks.
pub(super) fn add_logs(root: &Path, containers: &mut [PodSeen]) {
    let Ok(kept) = read_pods_with_logs(root) else {
        return;
    };
    let kept = kept.containers.into_iter().map(|one| (key_of(&one), one));
    let mut kept: BTreeMap<Key, PodSeen> = kept.collect();
    for container in containers {
        let Some(known) = kept.remove(&key_of(container)) else {
            continue;
        };
        if container.log.is_empty() {
            container.log = known.log;
        }
        if container.reason.is_empty() {
            container.reason = known.reason;
        }
        container.exit_code = container.exit_code.or(known.exit_code);
        container.previous = container.previous.take().or(known.previous);
    }
}

fn is_of_the_cluster(container: &PodSeen) -> bool {
    let mut starts = OF_THE_CLUSTER.iter();
    starts.any(|start| container.namespace.starts_with(start))
}

type Key = (String, String, String);

fn key_of(container: &PodSeen) -> Key {
    let PodSeen {
        namespace,
        name,
        container,
        ..
    } = container;
    (namespace.clone(), name.clone(), container.clone())
}

/// The pods and the latest run of each container, and how the run before it ended.
fn read_runs(
    root: &Path,
    is_wanted: &dyn Fn(&str) -> bool,
) -> Result<(PodsSeen, BTreeMap<Key, PodEnd>), PortError> {
    let mut seen = PodsSeen::default();
    for name in names(&root.join("var/log/pods"), MOST)? {
        let mut parts = name.splitn(3, '_');
        let (Some(namespace), Some(pod)) = (parts.next(), parts.next()) else {
            continue;
        };
        if is_wanted(pod) {
            seen.pods.push(PodFound {
                namespace: namespace.to_owned(),
                name: pod.to_owned(),
                created: names(&root.join("var/log/pods").join(&name), MOST)?,
            });
        }
    }
    let mut runs: BTreeMap<Key, Vec<(i64, PodSeen)>> = BTreeMap::new();
    for link in names(&root.join("var/log/containers"), MOST)? {
        let Some((pod, namespace, container, id)) = parts_of(&link) else {
            continue;
        };
        if is_wanted(pod) {
            let key = (namespace.to_owned(), pod.to_owned(), container.to_owned());
            let run = run_of(root, &link, &key, id);
            runs.entry(key).or_default().push(run);
        }
    }
    let mut ends = BTreeMap::new();
    for (key, mut runs) in runs {
        runs.sort_by_key(|(made, run)| (*made, run.restarts));
        let latest = runs.pop();
        let before = runs.pop().map(|(_, run)| PodEnd {
            exit_code: run.exit_code,
            reason: run.reason,
            log: Vec::new(),
        });
        ends.extend(before.map(|end| (key, end)));
        seen.containers.extend(latest.map(|(_, run)| run));
    }
    Ok((seen, ends))
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

/// The last lines that a run of a container logged.
fn tail(root: &Path, container: &PodSeen, attempt: u32, lines: usize) -> Vec<String> {
    let prefix = format!("{}_{}_", container.namespace, container.name);
    let file = format!("{}/{attempt}.log", container.container);
    let folders = names(&root.join("var/log/pods"), MOST).unwrap_or_default();
    let own = folders.iter().filter(|name| name.starts_with(&prefix));
    let mut read = own
        .rev()
        .filter_map(|name| last_lines(root, &format!("/var/log/pods/{name}/{file}"), lines));
    read.next().unwrap_or_default()
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
    fn a_container_of_the_cluster_that_restarts_has_its_run_before() {
        let root = tempfile::tempdir().expect("a scratch root");
        let status = |made: u32, code: u32, reason: &str| {
            format!(
                "{{\"CreatedAt\":{made},\"StartedAt\":{made},\"FinishedAt\":{made},\
                 \"ExitCode\":{code},\"Reason\":\"{reason}\"}}"
            )
        };
        let killed = status(1, 137, "OOMKilled");
        let running = "{\"CreatedAt\":2,\"StartedAt\":2,\"FinishedAt\":0}";
        leave(
            root.path(),
            "calico-node-x",
            "calico-node",
            3,
            Some(&killed),
        );
        leave(
            root.path(),
            "calico-node-x",
            "calico-node",
            4,
            Some(running),
        );
        let seen = read_pods_with_logs(root.path()).expect("it can be read");
        let one = &seen.containers[0];
        assert_eq!((one.state.as_str(), one.restarts), ("running", 4));
        assert_eq!(one.log.len(), 2);
        let before = one.previous.as_ref().expect("a run before");
        assert_eq!(
            (before.exit_code, before.reason.as_str()),
            (Some(137), "OOMKilled")
        );
        assert_eq!(before.log, ["first", "Error: unknown flag: --nope"]);
        let mut listed = vec![PodSeen {
            state: "running".to_owned(),
            log: Vec::new(),
            previous: None,
            ..one.clone()
        }];
        add_logs(root.path(), &mut listed);
        assert_eq!(listed[0], *one);
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
