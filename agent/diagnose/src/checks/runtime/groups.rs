//! `runtime.cgroup-driver`: whether kubelet and the runtime use the same cgroup driver.

use super::configuration::{Reading, read};
use super::is_containerd;
use crate::checks::check::{Finding, Verdict};
use crate::checks::command_flags::Flags;
use crate::checks::kubelet;
use crate::checks::node::Node;
use crate::checks::stage;
use quake_model::facts::Unseen;

pub(super) fn judge(node: &Node<'_>) -> Result<Verdict, Unseen> {
    stage::kubernetes(node)?;
    let is_containerd = is_containerd(node) == Some(true);
    if let Some(line) = refusal(node) {
        // `kubelet cgroup driver: "cgroupfs" is different from docker cgroup driver: "systemd"`
        let drivers: Vec<&str> = line.split("driver: ").skip(1).collect();
        let driver = |place: usize| {
            let said = drivers
                .get(place)
                .map(|it| it.trim_start_matches(['"', '\\']));
            said.and_then(|it| it.split(['"', '\\', ' ']).next())
                .unwrap_or("another")
        };
        let (own, other) = (driver(0), driver(1));
        let fix = format!(
            "give docker the driver of kubelet: take native.cgroupdriver={other} out of exec-opts in /etc/docker/daemon.json or of ExecStart in a drop-in of docker.service (or write {own} there), then: systemctl restart docker.service; change kubelet's (kubelet.cgroupDriver: {other} in the cluster spec) only for new nodes, not where pods run"
        );
        let summary =
            format!("kubelet does not start: its cgroup driver is {own}, and docker's is {other}");
        return Finding::new(summary, fix).seen("journal", line).fail();
    }
    let of_kubelet = kubelet::cgroup_driver(node)?;
    if is_containerd && told_by_runtime(node) {
        return Verdict::ok("kubelet asks containerd for its driver");
    }
    let of_runtime = match is_containerd {
        true => containerd(node)?,
        false => docker(node)?,
    };
    if of_kubelet == of_runtime {
        return Verdict::ok(format!("both use {of_kubelet}"));
    }
    let runtime = if is_containerd {
        "containerd"
    } else {
        "docker"
    };
    Finding::new(
        format!("kubelet manages control groups by {of_kubelet}, and {runtime} by {of_runtime}"),
        match is_containerd {
            true => "set kubelet's cgroupDriver (kubelet.cgroupDriver in the cluster spec) to systemd, and SystemdCgroup = true in /etc/containerd/config.toml; restart both",
            false => "set the same for both: kubelet.cgroupDriver and docker.execOpt: native.cgroupdriver=... in the cluster spec; restart both",
        },
    )
    .seen("kubelet", of_kubelet)
    .seen(runtime, of_runtime)
    .fail()
}

/// kubelet's own word for it, with which it ends: kubelets of dockershim ask docker.
fn refusal<'a>(node: &Node<'a>) -> Option<&'a str> {
    let said = |line: &&'a String| {
        line.contains("cgroup driver") && line.contains("is different from docker cgroup driver")
    };
    let tail = node.journal("kubelet.service");
    tail.iter().rev().find(said).map(String::as_str)
}

/// Kubelets since 1.31 ask, and containerd since 2.0 answers.
fn told_by_runtime(node: &Node<'_>) -> bool {
    let asks = stage::version(node).is_some_and(|version| version.at_least(1, 31));
    let runtime = node.survey().runtime.ok();
    let version = runtime.and_then(|runtime| runtime.version.as_deref());
    let major = version.and_then(|version| version.trim_start_matches('v').split('.').next());
    asks && major
        .and_then(|major| major.parse::<u32>().ok())
        .is_some_and(|major| major >= 2)
}

fn containerd(node: &Node<'_>) -> Result<&'static str, Unseen> {
    match read(node)? {
        Reading::Read(configuration) if configuration.systemd_groups() => Ok("systemd"),
        Reading::Read(_) => Ok("cgroupfs"),
        Reading::Absent => Err(Unseen::NotTaken(
            "containerd's configuration is not there".to_owned(),
        )),
        Reading::Broken(..) => Err(Unseen::NotTaken(
            "containerd's configuration cannot be read".to_owned(),
        )),
    }
}

/// docker's driver: what its flags say; else with the first version of control groups it is `cgroupfs`. With the second
/// it depends on docker's version, and with a file of its own on that.
fn docker(node: &Node<'_>) -> Result<&'static str, Unseen> {
    let text = node.text("/etc/sysconfig/docker")?.unwrap_or_default();
    let flags = Flags::of_variable(text, "DOCKER_OPTS");
    let set = flags
        .all("exec-opt")
        .find_map(|option| option.strip_prefix("native.cgroupdriver="));
    match set {
        Some("systemd") => return Ok("systemd"),
        Some("cgroupfs") => return Ok("cgroupfs"),
        Some(_) | None => {}
    }
    let has_own_file = node.entry("/etc/docker/daemon.json")?.is_some();
    let is_first_version = node.entry("/sys/fs/cgroup/memory")?.is_some();
    match is_first_version && !has_own_file {
        true => Ok("cgroupfs"),
        false => Err(Unseen::NotTaken(
            "docker's cgroup driver is not written down".to_owned(),
        )),
    }
}
