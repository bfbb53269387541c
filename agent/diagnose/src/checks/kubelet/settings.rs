//! `kubelet.settings`: settings of kubelet that are valid, and contradict the node.

use super::flags::flags;
use super::pairs;
use crate::checks::check::{Finding, Verdict};
use crate::checks::host::kernel_version;
use crate::checks::kubelet_config::{
    cluster_dns, kubelet_configuration, kubelet_flag, kubelet_setting, kubelet_texts,
};
use crate::checks::node::Node;
use crate::checks::stage;
use quake_formats::yaml;
use quake_model::facts::Unseen;
use std::net::Ipv4Addr;

pub(super) fn judge(node: &Node<'_>) -> Result<Verdict, Unseen> {
    let expected = stage::kubernetes(node)?;
    flags(node)?;
    let registers = kubelet_setting(node, "register-node", "registerNode");
    if registers.as_deref() == Some("false") {
        return Finding::new(
            "kubelet is told not to register its node (registerNode: false)",
            format!("take --register-node out of /etc/sysconfig/kubelet, and registerNode out of {} and /etc/kubernetes/kubelet.conf.d; systemctl restart kubelet.service", kubelet_configuration(node)),
        )
        .fail();
    }
    let manifests = kubelet_setting(node, "pod-manifest-path", "staticPodPath");
    let wanted = expected.manifest_directory.trim_end_matches('/');
    let other = manifests.filter(|path| path.trim_end_matches('/') != wanted);
    if let Some(path) = other.filter(|_| !expected.static_pods.is_empty() && !wanted.is_empty()) {
        return Finding::new(
            format!("kubelet runs static pods from {path}, and the node's are in {wanted}"),
            format!("set staticPodPath: {wanted} in {}, or take the setting out of /etc/kubernetes/kubelet.conf.d; systemctl restart kubelet.service", kubelet_configuration(node)),
        )
        .fail();
    }
    if let Some(finding) = without_name_server(node) {
        return node.fail_after_boot(finding);
    }
    let contradicting = pairs::contradicting(node);
    if let Some((finding, true)) = contradicting {
        return finding.fail();
    }
    let of_host = throttled_without_end(node)
        .or_else(|| isolated(node))
        .or_else(|| swept(node))
        .or_else(|| without_images(node))
        .or_else(|| contradicting.map(|(finding, _)| finding));
    match of_host {
        Some(finding) => finding.warn(),
        None => Verdict::ok("none contradicts the node"),
    }
}

/// Processors that the kernel keeps from ordinary programs, and that the static policy gives to pods (kubernetes/kubernetes
/// issues 79603 and 124066).
fn isolated(node: &Node<'_>) -> Option<Finding> {
    let policy = kubelet_setting(node, "cpu-manager-policy", "cpuManagerPolicy");
    policy.filter(|policy| policy == "static")?;
    let line = node.text("/proc/cmdline").ok()??;
    let own = line
        .split_whitespace()
        .find_map(|word| word.strip_prefix("isolcpus="));
    let offline = node.text("/sys/devices/system/cpu/offline").ok().flatten();
    let offline = offline.map(str::trim).filter(|list| !list.is_empty());
    let what = match (own, offline) {
        (Some(list), _) => format!("the kernel isolates the processors {list} (isolcpus)"),
        (None, Some(list)) => format!("the processors {list} are offline"),
        (None, None) => return None,
    };
    Some(Finding::new(
        format!(
            "{what}, and cpuManagerPolicy: static counts them among those that it gives to pods"
        ),
        "take isolcpus out of GRUB_CMDLINE_LINUX, update-grub, and reboot; or name only processors that pods may have: reservedSystemCPUs with the others; then: systemctl stop kubelet; rm /var/lib/kubelet/cpu_manager_state; systemctl start kubelet",
    ))
}

/// Flags with a path that systemd-tmpfiles removes after ten days (kubermatic/operating-system-manager issue 515).
fn swept(node: &Node<'_>) -> Option<Finding> {
    const FLAGS: &[&str] = &[
        "lock-file",
        "container-runtime-endpoint",
        "root-dir",
        "cert-dir",
    ];
    let (flag, path) = FLAGS.iter().find_map(|flag| {
        let path = kubelet_flag(node, flag)?;
        let plain = path.trim_start_matches("unix://");
        let is_swept = plain.starts_with("/tmp/") || plain.starts_with("/var/tmp/");
        is_swept.then(|| (*flag, plain.to_owned()))
    })?;
    let tidied = node.survey().texts.iter();
    let mut tidied = tidied.filter(|(file, _)| file.starts_with("/etc/tmpfiles.d/"));
    let keeps = |line: &str| line.starts_with(['x', 'X']) && line.contains(&path);
    if tidied.any(|(_, text)| text.ok().is_some_and(|text| text.lines().any(keeps))) {
        return None;
    }
    Some(Finding::new(
        format!(
            "kubelet has --{flag}={path}, which systemd-tmpfiles removes once it is ten days old: kubelet then restarts every day"
        ),
        format!(
            "set --{flag} to a path below /run in the kubelet section of the cluster spec; at once: echo 'x {path}' >/etc/tmpfiles.d/kubelet.conf; systemd-tmpfiles --cat-config | grep tmp shows the age"
        ),
    ))
}

/// Thresholds of its own without those of the filesystem of images, which is another one: what is not named has no threshold
/// (kubernetes/kubernetes issue 121809).
fn without_images(node: &Node<'_>) -> Option<Finding> {
    const DIRECTORIES: &[&str] = &["/var/lib/containerd", "/var/lib/docker"];
    let mounts = node.mounts().ok()?;
    let is_own = |path: &&&str| mounts.iter().any(|mount| mount.facts.target == ***path);
    let directory = DIRECTORIES.iter().find(is_own)?;
    let flag = kubelet_flag(node, "eviction-hard");
    let (names, place) = match flag {
        Some(flag) => (flag, "--eviction-hard".to_owned()),
        None => kubelet_texts(node).into_iter().find_map(|(path, text)| {
            let document = yaml::parse(&path, text).ok()?;
            let keys = document.get("evictionHard")?.entries().iter();
            let names: Vec<&str> = keys.map(|(key, _)| key.name.as_str()).collect();
            Some((names.join(","), path))
        })?,
    };
    (!names.is_empty() && !names.contains("imagefs.")).then(|| {
        Finding::new(
            format!("{directory} is a filesystem of its own, and evictionHard in {place} names no imagefs: it fills up, and kubelet reports no DiskPressure"),
            "add imagefs.available: 15% and imagefs.inodesFree: 5% to evictionHard (spec.kubelet.evictionHard in kops edit cluster), then roll the group",
        )
    })
}

/// Pods that stand still below their limits: the gate MemoryQoS sets `memory.high`, and a kernel before 5.9 throttles what
/// reaches it without end (Kubernetes KEP-2570).
fn throttled_without_end(node: &Node<'_>) -> Option<Finding> {
    const ENDS_SINCE: (u32, u32) = (5, 9);
    let by_flag = kubelet_flag(node, "feature-gates");
    let is_set = by_flag.is_some_and(|gates| gates.contains("MemoryQoS=true"))
        || kubelet_texts(node)
            .iter()
            .any(|(_, text)| text.lines().any(|line| line.trim() == "MemoryQoS: true"));
    let kernel = node.text("/proc/sys/kernel/osrelease").ok()??;
    let version = kernel_version(kernel.trim())?;
    (is_set && version < ENDS_SINCE).then(|| {
        Finding::new(
            format!("kubelet's gate MemoryQoS is on, and kernel {} throttles a container that reaches memory.high without end: it neither runs nor is killed", kernel.trim()),
            format!("take MemoryQoS out of featureGates in {} (kubelet.featureGates in the cluster spec), or take an image with kernel 5.9 or newer; systemctl restart kubelet.service, and delete the pods: memory.high stays set in theirs", kubelet_configuration(node)),
        )
    })
}

/// Pods that are given a name server of this host on which nothing answers: node-local-dns is turned on, and its pod or its
/// interface is not there.
fn without_name_server(node: &Node<'_>) -> Option<Finding> {
    let address = cluster_dns(node)?;
    let is_local = address
        .parse::<Ipv4Addr>()
        .is_ok_and(|it| it.is_link_local());
    let listeners = node.survey().listeners.ok().filter(|_| is_local)?;
    let network = node.survey().network.ok()?;
    let mut links = network.links.iter().flat_map(|link| &link.addresses);
    let mut answering = listeners.iter().filter(|one| one.port == 53);
    let answers = answering
        .any(|one| matches!(one.address.as_str(), "0.0.0.0" | "::") || one.address == address);
    let has_address = links.any(|one| one.address == address);
    let lacks = match (has_address, answers) {
        (_, true) => return None,
        (true, false) => "nothing listens there",
        (false, false) => "no interface has the address",
    };
    Some(Finding::new(
        format!(
            "pods of this node have the name server {address}, and {lacks}: node-local-dns does not run"
        ),
        match node.pods().any(|pod| pod.name.starts_with("node-local-dns")) {
            true => "look at its pod: /var/log/pods/kube-system_node-local-dns-*/*/*.log; without it set kubeDNS.nodeLocalDNS.enabled: false in the cluster spec, and roll the group; Cilium in place of kube-proxy needs a local redirect policy for it".to_owned(),
            false => without_pod(node, &address),
        },
    ))
}

/// The remedy where no pod of node-local-dns is on the node: the cluster has no such `DaemonSet`, or its pod did not come here.
fn without_pod(node: &Node<'_>, address: &str) -> String {
    const SERVICE: &str = "the address of kubectl -n kube-system get service kube-dns (the tenth of the Services' range)";
    let mut texts = kubelet_texts(node).into_iter();
    let is_edge = |c: char| !(c.is_ascii_alphanumeric() || ".:".contains(c));
    let names = |text: &str| text.split(is_edge).any(|word| word == address);
    let file = match kubelet_flag(node, "cluster-dns") {
        Some(_) => Some("--cluster-dns of kubelet".to_owned()),
        None => texts.find_map(|(path, text)| names(text).then_some(path)),
    };
    let file = file.unwrap_or_else(|| kubelet_configuration(node).to_owned());
    format!(
        "kubectl -n kube-system get daemonset node-local-dns; where there is none, CoreDNS and security groups are not the cause: take clusterDNS out of spec.kubelet in kops edit cluster (with kubeDNS.nodeLocalDNS.enabled: false), or set kubeDNS.nodeLocalDNS.enabled: true; kops update cluster --yes, and roll the group; at once on this node: write {SERVICE} for {address} in {file}, systemctl restart kubelet.service, and delete the pods, whose resolv.conf keeps the address"
    )
}
