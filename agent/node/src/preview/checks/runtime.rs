//! The container runtime and the cgroups below it.

use super::{Hit, Pair, Subject, differing};
use crate::preview::rule::{Rule, Severity};
use crate::preview::tables::{CGROUPS, distribution_of_image};
use crate::preview::view::Aspect;
use quake_model::spec::Runtime;

const DOCKER: Rule = Rule {
    id: "runtime.docker-removed",
    severity: Severity::Breaks,
    summary: "docker is the runtime, and kubelet cannot use it since Kubernetes 1.24",
    remedy: "set spec.containerRuntime to containerd, and roll that before the version",
    sources: &[
        "https://kubernetes.io/blog/2022/02/17/dockershim-faq/",
        "https://github.com/kubernetes/kops/blob/master/docs/releases/1.24-NOTES.md",
    ],
};

const CONTAINERD_1: Rule = Rule {
    id: "runtime.containerd-1",
    severity: Severity::Risk,
    summary: "containerd {what}: Kubernetes supports containerd 1 no more after 1.35; kubelet still works with it, until 1.38 at the \
              earliest",
    remedy: "set spec.containerd.version to 2.1.0 or newer (or remove it), and roll that before the version",
    sources: &[
        "https://kubernetes.io/blog/2025/12/17/kubernetes-v1-35-release/",
        "https://github.com/kubernetes/kubernetes/pull/136846",
        "https://github.com/kubernetes/kubernetes/pull/139121",
    ],
};

const CONTAINERD_CRI: Rule = Rule {
    id: "runtime.containerd-without-cri-v1",
    severity: Severity::Breaks,
    summary: "containerd {what} has no CRI v1, and kubelet asks for nothing else since Kubernetes 1.26",
    remedy: "set spec.containerd.version to 1.6 or newer before the roll",
    sources: &["https://github.com/kubernetes/kubernetes/pull/110618"],
};

const CGROUP_V1: Rule = Rule {
    id: "runtime.cgroup-v1",
    severity: Severity::Breaks,
    summary: "{what}: the nodes start with cgroup v1, and kubelet refuses that since Kubernetes 1.35 (KEP-5573)",
    remedy: "move the group to an image with cgroup v2, or set kubelet's failCgroupV1 to false for as long as kubelet knows it",
    sources: &[
        "https://github.com/kubernetes/kubernetes/pull/134298",
        "https://kep.k8s.io/5573",
        CGROUPS,
    ],
};

const CGROUP_V1_ACCEPTED: Rule = Rule {
    id: "runtime.cgroup-v1-accepted",
    severity: Severity::Risk,
    summary: "failCgroupV1 is false: kubelet still starts on cgroup v1, which Kubernetes will remove",
    remedy: "move the group to an image with cgroup v2, and remove the setting",
    sources: &["https://kep.k8s.io/5573"],
};

const DRIVERS: Rule = Rule {
    id: "runtime.cgroup-drivers-differ",
    severity: Severity::Breaks,
    summary: "kubelet manages cgroups by {old} and the runtime by {new}: pods do not start",
    remedy: "set kubelet.cgroupDriver and containerd's SystemdCgroup alike; systemd is right on today's distributions",
    sources: &[
        "https://kubernetes.io/docs/setup/production-environment/container-runtimes/#cgroup-drivers",
    ],
};

const DRIVER: Rule = Rule {
    id: "runtime.cgroup-driver-changed",
    severity: Severity::Risk,
    summary: "kubelet's cgroup driver changes from {old} to {new}: pods that run keep the old cgroups, so a restart is not enough",
    remedy: "replace the nodes of the group; never change it on a node that runs",
    sources: &[
        "https://kubernetes.io/docs/tasks/administer-cluster/kubeadm/configure-cgroup-driver/",
    ],
};

const DOWNGRADE: Rule = Rule {
    id: "runtime.containerd-downgraded",
    severity: Severity::Risk,
    summary: "containerd goes back from {old} to {new}, and may not read what the newer one wrote",
    remedy: "replace the nodes of the group; do not apply it to a node that runs",
    sources: &["https://github.com/containerd/containerd/blob/main/RELEASES.md"],
};

pub(super) const RULES: &[Rule] = &[
    DOCKER,
    CONTAINERD_1,
    CONTAINERD_CRI,
    CGROUP_V1,
    CGROUP_V1_ACCEPTED,
    DRIVERS,
    DRIVER,
    DOWNGRADE,
];

/// A kernel parameter with which systemd starts with cgroup v1.
const KERNEL: &str = "systemd.unified_cgroup_hierarchy=0";

pub(super) fn state(subject: &Subject<'_>) -> Vec<Hit> {
    let mut hits = Vec::new();
    let minor = subject.minor();
    let runtime = subject.node().map(|node| &node.runtime);
    if minor >= 24 && matches!(runtime, Some(Runtime::Docker(_))) {
        hits.push(Hit::new(&DOCKER, "docker"));
    }
    if let Some((text, found)) = subject.containerd() {
        let numbers = (found.major, found.minor);
        if minor >= 36 && numbers < (2, 0) {
            hits.push(Hit::new(&CONTAINERD_1, text));
        } else if minor >= 26 && numbers < (1, 6) {
            hits.push(Hit::new(&CONTAINERD_CRI, text));
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
        return Some(Hit::new(&CGROUP_V1_ACCEPTED, "failCgroupV1"));
    }
    let image = subject.group.settings.get("image").unwrap_or_default();
    let of_image = distribution_of_image(image).filter(|found| found.is_cgroup_v1);
    let what = of_image.map(|found| format!("image {image} ({})", found.name));
    let what = what.or_else(|| kernel_parameter(subject));
    what.map(|what| Hit::new(&CGROUP_V1, what))
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
    (kubelet != runtime).then(|| Hit::new(&DRIVERS, "cgroups").between(kubelet, runtime))
}

pub(super) fn step(pair: &Pair<'_>) -> Vec<Hit> {
    let drivers = differing(kubelet_driver(&pair.old), kubelet_driver(&pair.new));
    let driver = drivers.map(|(old, new)| Hit::new(&DRIVER, "cgroups").between(old, new));
    let [old, new] = [&pair.old, &pair.new].map(|side| side.containerd().map(|found| found.1));
    let back = old.zip(new).filter(|(old, new)| new < old);
    let back =
        back.map(|(old, new)| Hit::new(&DOWNGRADE, "").between(old.to_string(), new.to_string()));
    driver.into_iter().chain(back).collect()
}
