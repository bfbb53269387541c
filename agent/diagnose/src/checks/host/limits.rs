//! `host.limits`: how many processes, threads, open files and watches the kernel and control groups allow.

use super::{kernel_log, open_files};
use crate::checks::check::{Certainty, Finding, Verdict};
use crate::checks::kubelet_config::kubelet_key;
use crate::checks::node::Node;
use quake_formats::yaml::shorten;
use quake_model::facts::Unseen;
use quake_model::phase::Phase;

/// A share of a limit beyond which it is as good as reached.
const NEAR: f64 = 0.8;

pub(super) fn judge(node: &Node<'_>) -> Result<Verdict, Unseen> {
    let number = |key: &str| -> Result<Option<u64>, Unseen> {
        Ok(node.sysctl(key)?.and_then(|text| text.parse().ok()))
    };
    if let Some(finding) = near_limit(node)? {
        return finding.fail();
    }
    let reached = no_watches(node)
        .or_else(|| no_processes(node))
        .or_else(|| no_threads(node))
        .or_else(|| open_files::none_left(node));
    if let Some(finding) = reached {
        return finding.fail();
    }
    if let Some(finding) = open_files::without_bound(node) {
        return finding.warn();
    }
    let set_by_agent = node.has_done(Phase::Network);
    let least: &[(&str, u64, bool)] = &[
        ("kernel.pid_max", 32_768, true),
        ("fs.file-max", 100_000, true),
        // The agent raises these in its network phase.
        ("fs.inotify.max_user_instances", 512, set_by_agent),
        ("fs.inotify.max_user_watches", 65_536, set_by_agent),
    ];
    let mut low = Vec::new();
    for (key, least, judged) in least {
        if let Some(found) = number(key)?.filter(|found| *judged && found < least) {
            low.push((*key, found, *least));
        }
    }
    let Some((key, found, least)) = low.first() else {
        return Verdict::ok("there is room");
    };
    let all: Vec<String> = low
        .iter()
        .map(|(key, found, _)| format!("{key} = {found}"))
        .collect();
    Finding::new(
        format!("{key} is {found}, and a node of many pods wants {least} or more"),
        format!("echo '{key} = {least}' >/etc/sysctl.d/99-zz-limits.conf; sysctl --system"),
    )
    .seen("too low", all.join(", "))
    .warn()
}

/// What the node's services could not watch any more. `inotify_add_watch` says that there is no space when the watches
/// are used up, and `inotify_init` that too many files are open when the instances are (inotify(7)).
fn no_watches(node: &Node<'_>) -> Option<Finding> {
    let units = ["kubelet.service", "containerd.service", "docker.service"];
    let mut lines = units.iter().flat_map(|unit| node.journal(unit)).rev();
    let line = lines.find(|line| {
        (line.contains("inotify") || line.contains("fsnotify"))
            && (line.contains("too many open files") || line.contains("no space left on device"))
    })?;
    let key = match line.contains("too many open files") {
        true => "fs.inotify.max_user_instances",
        false => "fs.inotify.max_user_watches",
    };
    let found = node.sysctl(key).ok().flatten();
    let most = found.and_then(|text| text.parse::<u64>().ok());
    let summary = match most {
        Some(most) => format!("{key} is {most}, and all of it is used"),
        None => format!("all that {key} allows is used"),
    };
    let more = most.unwrap_or(8_192).saturating_mul(8);
    let fix = format!(
        "echo '{key} = {more}' >/etc/sysctl.d/99-zz-limits.conf; sysctl --system; then restart the unit that says so"
    );
    let finding = Finding::new(summary, fix).seen("journal", shorten(line, 300));
    Some(match watcher(node) {
        Some((unit, line)) => {
            let named = format!("{}: {unit} watches more than it gets", finding.summary);
            let fix = format!(
                "take /var/lib/containerd, /var/lib/docker and /var/lib/kubelet out of what {unit} watches, and restart it; until then: {}",
                finding.fix
            );
            let found = Finding {
                summary: named,
                fix,
                ..finding
            };
            found.seen(unit, shorten(line, 300))
        }
        None => finding,
    })
}

/// A unit of others that could not watch any more itself, and its line: it has the most.
fn watcher<'a>(node: &Node<'a>) -> Option<(&'a str, &'a str)> {
    let journals = node.survey().journals.ok()?;
    let others = journals
        .iter()
        .filter(|(unit, _)| !UNITS.contains(&unit.as_str()));
    let mut found = others.filter_map(|(unit, lines)| {
        let line = lines.iter().rev().find(|line| {
            let fails = ["ould not", "ailed", "annot", "no space left"];
            line.contains("inotify") && fails.iter().any(|words| line.contains(words))
        })?;
        Some((unit.as_str(), line.as_str()))
    });
    found.next()
}

/// A limit that is as good as reached.
fn near_limit(node: &Node<'_>) -> Result<Option<Finding>, Unseen> {
    // The fourth word is the running threads and all of them (proc(5)).
    let load = node.text("/proc/loadavg")?.unwrap_or_default();
    let threads = load.split_whitespace().nth(3);
    let threads = threads.and_then(|pair| pair.split_once('/')?.1.parse::<u64>().ok());
    let open = node
        .sysctl("fs.file-nr")?
        .and_then(|text| text.split_whitespace().next());
    let open = open.and_then(|number| number.parse::<u64>().ok());
    let requests = node.sysctl("fs.aio-nr")?.and_then(|text| text.parse().ok());
    let used = [
        ("kernel.pid_max", threads, "threads run"),
        ("kernel.threads-max", threads, "threads run"),
        ("fs.file-max", open, "files are open"),
        // io_setup(2) answers EAGAIN at the limit: databases of MySQL and Scylla do not start.
        (
            "fs.aio-max-nr",
            requests,
            "requests of asynchronous I/O are set up by databases",
        ),
    ];
    for (key, used, what) in used {
        let most = node.sysctl(key)?.and_then(|text| text.parse::<u64>().ok());
        if let (Some(used), Some(most)) = (used, most)
            && used as f64 > most as f64 * NEAR
        {
            let pod = pod_without_threads(node).filter(|_| what == "threads run");
            let summary = match &pod {
                Some(pod) => format!(
                    "{used} {what}, and {key} allows {most}: the pod {pod} makes more and more"
                ),
                None => format!("{used} {what}, and {key} allows {most}"),
            };
            let more = most.saturating_mul(4);
            let raise = format!(
                "raise the limit: echo '{key} = {more}' >/etc/sysctl.d/99-zz-limits.conf; sysctl --system"
            );
            let fix = match (&pod, key.starts_with("fs.aio")) {
                (Some(pod), _) => format!(
                    "kubectl -n {} ends them; mend what makes so many there, and set podPidsLimit: 4096 in spec.kubelet, so that one pod cannot have them all; ps -eLo comm --no-headers | sort | uniq -c | sort -n | tail counts them; at need {raise}",
                    pod.replacen('/', " delete pod ", 1)
                ),
                (None, true) => format!("{raise}; or move one of the databases to another node"),
                (None, false) => format!(
                    "find who has them: ps -eLo comm --no-headers | sort | uniq -c | sort -n | tail; {raise}"
                ),
            };
            return Ok(Some(Finding::new(summary, fix)));
        }
    }
    Ok(None)
}

/// Units whose journals say what they could not do.
pub(super) const UNITS: &[&str] = &["kubelet.service", "containerd.service", "docker.service"];

/// A control group that may have no more processes: `cgroup: fork rejected by pids controller in /system.slice/x.service`
/// (Linux, kernel/cgroup/pids.c).
fn no_processes(node: &Node<'_>) -> Option<Finding> {
    let rejected = kernel_log::lines(node, &["fork rejected by pids controller in "]).ok()?;
    let is_needed = |line: &&&str| !group_of(line).contains("kubepods");
    // A pod at its own limit is that pod's trouble; a unit at its limit is the node's.
    let line = rejected.iter().rev().find(is_needed).or(rejected.last())?;
    let group = group_of(line);
    let finding = match unit_of(group) {
        Some(unit) => {
            let set = setting(node, unit, "TasksMax").or_else(|| default_tasks(node));
            let what = match &set {
                Some((value, _)) => format!(
                    "{unit} may have {value} processes and threads (TasksMax), and has them all"
                ),
                None => format!("{unit} has as many processes and threads as its TasksMax allows"),
            };
            let fix = format!(
                "systemctl set-property {unit} TasksMax=infinity, which holds for containers too; take TasksMax out of its drop-ins, or DefaultTasksMax out of /etc/systemd/system.conf and system.conf.d; systemctl status {unit} shows Tasks and the limit"
            );
            match set {
                Some((_, path)) => Finding::new(what, fix).seen("file", path),
                None => Finding::new(what, fix),
            }
        }
        None if group.contains("kubepods") => of_pod(node, group),
        None => Finding::new(
            format!("the control group {group} has as many processes as it may have"),
            format!(
                "cat /sys/fs/cgroup{group}/pids.max; raise it with TasksMax= of the slice or unit that it is of"
            ),
        ),
    };
    Some(finding.seen("kernel log", line))
}

/// The finding where a pod has as many processes and threads as kubelet lets each have.
fn of_pod(node: &Node<'_>, group: &str) -> Finding {
    /// A program with threads needs hundreds.
    const FEW: u32 = 1_024;
    let pod = pod_of(node, group);
    let who = match &pod {
        Some(pod) => format!("the pod {pod}"),
        None => format!("the pods cgroup {group}"),
    };
    // None, or a negative number, is no limit of kubelet's own.
    let limit = kubelet_key(node, "podPidsLimit").filter(|limit| !limit.starts_with(['-', '0']));
    let is_few = limit
        .as_ref()
        .is_some_and(|limit| limit.parse().is_ok_and(|it: u32| it < FEW));
    let finding = match limit {
        Some(limit) if is_few => Finding::new(
            format!(
                "{who} has as many processes and threads as it may have: podPidsLimit of kubelet is {limit}, which is too few for programs with many threads"
            ),
            "set spec.kubelet.podPidsLimit: 4096 (or -1, no limit) in kops edit cluster, or in the instance group; kops update cluster --yes and kops rolling-update cluster --yes: the file on the node is written anew at each boot; a pod has its new limit once it is made anew",
        ),
        limit => Finding::new(
            format!(
                "{who} has as many processes as it may have{}",
                limit.map_or(String::new(), |limit| format!(
                    " (podPidsLimit of kubelet: {limit})"
                ))
            ),
            "raise podPidsLimit of kubelet (spec.kubelet.podPidsLimit), or find the pod that starts so many: systemd-cgtop -P --order=tasks",
        ),
    };
    match pod {
        Some(_) => finding.seen("cgroup", group),
        None => finding,
    }
}

/// The pod of a control group, as kubelet's lines name its UID: `pod="default/orders" podUID="f81d…"`.
fn pod_of(node: &Node<'_>, group: &str) -> Option<String> {
    let (_, rest) = group
        .rsplit_once("-pod")
        .or_else(|| group.rsplit_once("/pod"))?;
    let uid = rest.split(['.', '/']).next()?.replace('_', "-");
    let lines = node.journal("kubelet.service").iter().rev();
    let names = lines.filter(|line| !uid.is_empty() && line.contains(&uid));
    let mut names = names.filter_map(|line| {
        let (_, rest) = line.split_once(" pod=\"")?;
        Some(rest.split_once('"')?.0.to_owned())
    });
    names.next()
}

/// The control group that a line of the pids controller names.
fn group_of(line: &str) -> &str {
    let (_, after) = line.split_once("pids controller in ").unwrap_or_default();
    after.split_whitespace().next().unwrap_or_default()
}

/// The unit that a control group is of.
fn unit_of(group: &str) -> Option<&str> {
    let mut parts = group.rsplit('/');
    parts.find(|part| part.ends_with(".service"))
}

/// What Go's runtime and libc print when no thread can be made (errno EAGAIN).
const NO_THREAD: &[&str] = &[
    "failed to create new OS thread",
    "pthread_create failed",
    "fork/exec",
];

/// A pod that logs that it can make no more threads: where the whole machine has none left, it is the one that made them.
fn pod_without_threads(node: &Node<'_>) -> Option<String> {
    let says = |line: &String| {
        line.contains("pthread_create failed") || line.contains("unable to create native thread")
    };
    let mut pods = node.pods().filter(|pod| pod.namespace != "kube-system");
    let pod = pods.find(|pod| pod.log.iter().any(says))?;
    Some(format!("{}/{}", pod.namespace, pod.name))
}

/// A program that could not start a process or a thread, where the kernel named no control group.
fn no_threads(node: &Node<'_>) -> Option<Finding> {
    let says = |line: &&String| {
        let is_again =
            line.contains("esource temporarily unavailable") || line.contains("errno=11");
        NO_THREAD.iter().any(|words| line.contains(words)) && is_again
    };
    let (unit, line) = UNITS.iter().find_map(|unit| {
        let line = node.journal(unit).iter().rev().find(says)?;
        Some((*unit, line))
    })?;
    if let Some(finding) = low_tasks(node) {
        return Some(finding.seen("journal", shorten(line, 300)));
    }
    let found = Finding::new(
        format!("{unit} can start no more processes or threads"),
        format!(
            "systemctl show -p TasksCurrent,TasksMax {unit}; raise TasksMax of the unit where both are the same, else kernel.pid_max and kernel.threads-max: sysctl -w kernel.pid_max=4194304; ps -eLo comm --no-headers | sort | uniq -c | sort -n | tail shows who has them"
        ),
    );
    Some(
        found
            .by(Certainty::Likely)
            .or_else("LimitNPROC of the unit, or a pids limit of the slice above it")
            .seen("journal", shorten(line, 300)),
    )
}

/// A unit of the runtime or kubelet with a TasksMax so low that the shims of its containers reach it.
fn low_tasks(node: &Node<'_>) -> Option<Finding> {
    const LOW: u64 = 8_192;
    let set = ["containerd.service", "docker.service", "kubelet.service"]
        .iter()
        .find_map(|unit| {
            let (value, path) = setting(node, unit, "TasksMax=")?;
            (value.parse::<u64>().ok()? < LOW).then_some((*unit, value, path))
        });
    let (unit, value, path) = set?;
    let finding = Finding::new(
        format!(
            "{unit} and all that it started may have {value} processes and threads (TasksMax in {path}), and no more can be made"
        ),
        format!(
            "take TasksMax out of {path}, then: systemctl daemon-reload; systemctl set-property {unit} TasksMax=infinity (at once); systemctl show -p TasksCurrent,TasksMax {unit} shows both"
        ),
    );
    Some(finding.by(Certainty::Likely).seen("file", path))
}

/// What the manager's own files set for units that set nothing (systemd-system.conf(5), `DefaultTasksMax=`), and which.
fn default_tasks(node: &Node<'_>) -> Option<(String, String)> {
    const KEY: &str = "DefaultTasksMax=";
    let texts = node.survey().texts.iter().rev();
    let mut own = texts.filter(|(path, _)| path.starts_with("/etc/systemd/system.conf"));
    own.find_map(|(path, text)| {
        let mut lines = text.ok()?.lines().rev().map(str::trim);
        let value = lines.find_map(|line| line.strip_prefix(KEY))?;
        Some((value.to_owned(), path.clone()))
    })
}

/// What a unit or its drop-ins set last, and in which file.
pub(super) fn setting(node: &Node<'_>, unit: &str, name: &str) -> Option<(String, String)> {
    let texts = node.survey().texts.iter();
    let is_of =
        |path: &str| path.contains("/systemd/system/") && path.contains(&format!("/{unit}"));
    let set = texts
        .filter(|(path, _)| is_of(path))
        .filter_map(|(path, text)| {
            let mut lines = text.ok()?.lines().map(str::trim);
            let value = lines
                .rfind(|line| line.starts_with(name))?
                .split_once('=')?
                .1
                .trim();
            (!value.is_empty()).then(|| (value.to_owned(), path.clone()))
        });
    // A drop-in counts after the unit itself, wherever that stands.
    set.max_by_key(|(_, path)| (path.contains(".service.d/"), path.clone()))
}
