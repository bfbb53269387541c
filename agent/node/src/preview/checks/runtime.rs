//! The container runtime and the cgroups below it.

use super::{Hit, Pair, Subject, differing};
use crate::preview::tables::distribution_of_image;
use crate::preview::view::Aspect;
use quake_model::spec::Runtime;

/// A kernel parameter with which systemd starts with cgroup v1.
const KERNEL: &str = "systemd.unified_cgroup_hierarchy=0";

pub(super) fn state(subject: &Subject<'_>) -> Vec<Hit> {
    let mut hits = Vec::new();
    let minor = subject.minor();
    let runtime = subject.node().map(|node| &node.runtime);
    if minor >= 24 && matches!(runtime, Some(Runtime::Docker(_))) {
        hits.push(Hit::new("runtime.docker-removed", "docker"));
    }
    if let Some((text, found)) = subject.containerd() {
        let numbers = (found.major, found.minor);
        if minor >= 36 && numbers < (2, 0) {
            hits.push(Hit::new("runtime.containerd-1", text));
        } else if minor >= 26 && numbers < (1, 6) {
            hits.push(Hit::new("runtime.containerd-without-cri-v1", text));
        }
    }
    hits.extend(cgroup_v1(subject));
    hits.extend(drivers(subject));
    hits
}

fn cgroup_v1(subject: &Subject<'_>) -> Option<Hit> {
    if subject.minor() < 35 {
        return None;
    }
    let fails = [
        "KubeletConfiguration failCgroupV1",
        "KubeletConfiguration failCgroupv1",
    ];
    let fails = fails.map(|name| subject.row(Aspect::Setting, name));
    let accepted =
        fails.contains(&Some("false")) || subject.flag("kubelet --fail-cgroupv1") == Some("false");
    if accepted {
        return Some(Hit::new("runtime.cgroup-v1-accepted", "failCgroupV1"));
    }
    let image = subject.group.settings.get("image").unwrap_or_default();
    let of_image = distribution_of_image(image).filter(|found| found.is_cgroup_v1);
    let what = of_image.map(|found| format!("image {image} ({})", found.name));
    let what = what.or_else(|| kernel_parameter(subject));
    what.map(|what| Hit::new("runtime.cgroup-v1", what))
}

/// Where the kernel is told to start with cgroup v1: a file of the node, or a value of the group's spec such as its user data.
fn kernel_parameter(subject: &Subject<'_>) -> Option<String> {
    let view = subject.view?;
    let mut paths = view.files.keys();
    let in_file = paths.find(|path| view.text(path).is_some_and(|text| text.contains(KERNEL)));
    let found = in_file.cloned().or_else(|| {
        let mut settings = subject.group.settings.iter();
        let setting = settings.find(|(_, value)| value.contains(KERNEL));
        setting.map(|(path, _)| path.to_owned())
    });
    found.map(|place| format!("{place} has {KERNEL}"))
}

/// kubelet's cgroup driver.
fn kubelet_driver<'a>(subject: &Subject<'a>) -> Option<&'a str> {
    subject.kubelet("cgroupDriver", "--cgroup-driver")
}

fn drivers(subject: &Subject<'_>) -> Option<Hit> {
    const CONFIG: &str = "/etc/containerd/config.toml";
    let kubelet = kubelet_driver(subject)?;
    let config = subject.view?.text(CONFIG)?;
    let is_systemd = config.lines().find_map(|line| {
        let (key, value) = line.split_once('=')?;
        (key.trim() == "SystemdCgroup").then(|| value.trim() == "true")
    })?;
    let runtime = match is_systemd {
        true => "systemd",
        false => "cgroupfs",
    };
    let hit = Hit::new("runtime.cgroup-drivers-differ", "cgroups");
    (kubelet != runtime).then(|| hit.between(kubelet, runtime))
}

pub(super) fn step(pair: &Pair<'_>) -> Vec<Hit> {
    let drivers = differing(kubelet_driver(&pair.old), kubelet_driver(&pair.new));
    let changed = Hit::new("runtime.cgroup-driver-changed", "cgroups");
    let driver = drivers.map(|(old, new)| changed.between(old, new));
    let [old, new] = [&pair.old, &pair.new].map(|side| side.containerd().map(|found| found.1));
    let back = old.zip(new).filter(|(old, new)| new < old);
    let hit = Hit::new("runtime.containerd-downgraded", "");
    let back = back.map(|(old, new)| hit.between(old.to_string(), new.to_string()));
    driver.into_iter().chain(back).collect()
}
