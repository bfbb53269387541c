//! Settings of kubelet that each are valid, and that contradict one another or the host.

use crate::checks::check::Finding;
use crate::checks::kubelet_config::{
    kubelet_configuration, kubelet_flag, kubelet_setting, kubelet_texts,
};
use crate::checks::meminfo;
use crate::checks::node::Node;
use quake_formats::yaml;

/// The finding of the first that does harm, and whether pods were seen to suffer from it.
pub(super) fn contradicting(node: &Node<'_>) -> Option<(Finding, bool)> {
    let rows = [
        reserved(node, &MEMORY),
        reserved(node, &CPU),
        elsewhere(node),
    ];
    let with_harm = rows.into_iter().flatten().next();
    with_harm.or_else(|| Some((out_of_bounds(node)?, false)))
}

/// A directory of its own, and drivers of volumes that register in the default one: their DaemonSets name it as a hostPath
/// (kubernetes-sigs/aws-ebs-csi-driver, `node.kubeletPath`).
fn elsewhere(node: &Node<'_>) -> Option<(Finding, bool)> {
    const DEFAULT: &str = "/var/lib/kubelet";
    let root = kubelet_flag(node, "root-dir")?;
    let root = root.trim_end_matches('/');
    let linked = node.entry(DEFAULT).ok().flatten();
    let is_linked = linked.is_some_and(|entry| entry.target.as_deref() == Some(root));
    let mut mounts = node.mounts().unwrap_or_default().into_iter();
    let is_mounted = mounts.any(|mount| mount.facts.target == DEFAULT);
    if root == DEFAULT || is_linked || is_mounted {
        return None;
    }
    let finding = Finding::new(
        format!(
            "kubelet has --root-dir={root}, and the DaemonSets of CSI drivers register at {DEFAULT}/plugins_registry: kubelet does not see the drivers, and no volume is mounted"
        ),
        format!(
            "take --root-dir out of kubelet's flags and mount the disk at {DEFAULT} (mount --bind {root} {DEFAULT}, and in /etc/fstab), or change all hostPaths of the drivers' DaemonSets to {root} (node.kubeletPath of their charts); then: systemctl restart kubelet.service"
        ),
    );
    let journal = node.journal("kubelet.service").iter().rev();
    let mut lost =
        journal.filter(|line| line.contains("not found in the list of registered CSI drivers"));
    Some(match lost.next() {
        Some(line) => (finding.seen("journal", yaml::shorten(line, 300)), true),
        None => (finding, false),
    })
}

/// A resource that kubelet keeps from pods.
struct Resource {
    name: &'static str,
    unit: &'static str,
    /// How much the host has.
    total: fn(&Node<'_>) -> Option<f64>,
    /// What kubelet says of pods that do not fit (`pkg/kubelet/lifecycle/predicate.go`).
    refusal: &'static str,
    scale: f64,
}

const MEMORY: Resource = Resource {
    name: "memory",
    unit: "MiB",
    total: |node| Some(meminfo::total_kib(node)? as f64 * 1024.0),
    refusal: "OutOfmemory",
    scale: 1_048_576.0,
};

const CPU: Resource = Resource {
    name: "cpu",
    unit: "processors",
    total: |node| {
        let text = node.text("/proc/cpuinfo").ok()??;
        let count = text
            .lines()
            .filter(|line| line.starts_with("processor"))
            .count();
        (count > 0).then_some(count as f64)
    },
    refusal: "OutOfcpu",
    scale: 1.0,
};

/// More of the host is kept from pods than they get (Kubernetes, Reserve Compute Resources for System Daemons).
fn reserved(node: &Node<'_>, resource: &Resource) -> Option<(Finding, bool)> {
    let total = (resource.total)(node)?;
    let kept: Vec<(&str, String, f64)> = [
        ("systemReserved", "system-reserved", resource.name),
        ("kubeReserved", "kube-reserved", resource.name),
        ("evictionHard", "eviction-hard", "memory.available"),
    ]
    .into_iter()
    .filter(|(key, ..)| *key != "evictionHard" || resource.name == "memory")
    .filter_map(|(key, flag, name)| {
        let text = entry(node, key, flag, name)?;
        let amount = quantity(&text, total)?;
        Some((key, text, amount))
    })
    .collect();
    let sum: f64 = kept.iter().map(|(.., amount)| amount).sum();
    if sum * 2.0 <= total {
        return None;
    }
    let (key, text, _) = kept.iter().max_by(|one, other| one.2.total_cmp(&other.2))?;
    let shown = |amount: f64| format!("{:.0}", amount / resource.scale);
    let name = resource.name;
    let finding = Finding::new(
        format!("kubelet keeps {} of the {} {} of {name} that the host has from pods, most of it by {key} ({text}): pods that fit the host are refused or ended", shown(sum), shown(total), resource.unit),
        format!("lower {key} in {} (spec.kubelet.{key} in kops edit cluster), then: systemctl restart kubelet.service; pods that were refused are made anew by their controllers; the host itself has enough", kubelet_configuration(node)),
    )
    .seen(key, text);
    let journal = node.journal("kubelet.service");
    let refused = journal
        .iter()
        .rev()
        .find(|line| line.contains(resource.refusal));
    Some(match refused {
        Some(line) => (finding.seen("journal", yaml::shorten(line, 300)), true),
        None => (finding, false),
    })
}

/// The value of a name in a map of kubelet's configuration, by its flag (`memory=1Gi,cpu=1`, `memory.available<5%`) or its key.
pub(in crate::checks) fn entry(
    node: &Node<'_>,
    key: &str,
    flag: &str,
    name: &str,
) -> Option<String> {
    if let Some(list) = kubelet_flag(node, flag) {
        let pairs = list
            .split(',')
            .filter_map(|pair| pair.split_once(['=', '<']));
        let mut own = pairs.filter(|(found, _)| found.trim() == name);
        return own.next().map(|(_, value)| value.trim().to_owned());
    }
    kubelet_texts(node).into_iter().find_map(|(path, text)| {
        let document = yaml::parse(&path, text).ok()?;
        document.get(key)?.text_of(name).map(str::to_owned)
    })
}

/// A quantity of Kubernetes, or a share of the whole.
pub(in crate::checks) fn quantity(text: &str, total: f64) -> Option<f64> {
    const UNITS: &[(&str, f64)] = &[
        ("Ki", 1024.0),
        ("Mi", 1_048_576.0),
        ("Gi", 1_073_741_824.0),
        ("k", 1e3),
        ("M", 1e6),
        ("G", 1e9),
        ("m", 1e-3),
        ("", 1.0),
    ];
    if let Some(share) = text.strip_suffix('%') {
        return Some(share.trim().parse::<f64>().ok()? / 100.0 * total);
    }
    UNITS.iter().find_map(|(unit, factor)| {
        let number: f64 = text.strip_suffix(unit)?.parse().ok()?;
        Some(number * factor)
    })
}

/// A number, the bounds within which a node works, what goes wrong beyond them, and a value that is right.
struct Bounds {
    flag: &'static str,
    key: &'static str,
    least: f64,
    most: f64,
    what: &'static str,
    better: &'static str,
}

const BOUNDS: &[Bounds] = &[
    // k8s.io/component-helpers apimachinery/lease: it is renewed after a quarter of this, and the controller manager waits 40
    // seconds (50 since 1.32) for it (`--node-monitor-grace-period`).
    Bounds {
        flag: "",
        key: "nodeLeaseDurationSeconds",
        least: 8.0,
        most: 150.0,
        what: "kubelet renews the lease of its node after a quarter of it, which is later than the controller manager waits, or all the time: the node is NotReady again and again, or the API server is kept busy",
        better: "40",
    },
    Bounds {
        flag: "pod-max-pids",
        key: "podPidsLimit",
        least: 128.0,
        most: f64::MAX,
        what: "a pod may have so few processes and threads that programs cannot make one more (fork: resource temporarily unavailable)",
        better: "-1, or 4096",
    },
    Bounds {
        flag: "max-pods",
        key: "maxPods",
        least: 8.0,
        most: 1_000.0,
        what: "a node may run so few pods that those of DaemonSets alone fill it, or more than kubelet can look after",
        better: "110",
    },
    Bounds {
        flag: "image-gc-high-threshold",
        key: "imageGCHighThresholdPercent",
        least: 30.0,
        most: 99.0,
        what: "kubelet removes images while there is room, and pulls them again; or never before the disk is full",
        better: "85",
    },
    Bounds {
        flag: "kube-api-qps",
        key: "kubeAPIQPS",
        least: 2.0,
        most: f64::MAX,
        what: "kubelet asks the API server so seldom that pods start late and the state of the node is old",
        better: "50",
    },
];

fn out_of_bounds(node: &Node<'_>) -> Option<Finding> {
    BOUNDS.iter().find_map(|row| {
        let value = kubelet_setting(node, row.flag, row.key)?;
        let number: f64 = value.parse().ok()?;
        // Zero and less turn a limit off.
        let is_bad = number > 0.0 && !(row.least..=row.most).contains(&number);
        is_bad.then(|| {
            let (key, what, better) = (row.key, row.what, row.better);
            Finding::new(
                format!("kubelet has {key}: {value}: {what}"),
                format!("set {key}: {better} in {} (spec.kubelet.{key} in kops edit cluster), or take it out; systemctl restart kubelet.service", kubelet_configuration(node)),
            )
        })
    })
}

#[cfg(test)]
mod tests {
    use super::quantity;
    use crate::checks::Status;
    use crate::checks::node_sample::Sample;

    const ID: &str = "kubelet.settings";
    const PATH: &str = "/var/lib/kubelet/config.yaml";

    fn with(lines: &str) -> Sample {
        let mut node = Sample::worker();
        let head = "apiVersion: kubelet.config.k8s.io/v1beta1\nkind: KubeletConfiguration\n";
        node.text(PATH, &format!("{head}{lines}"));
        node.text("/proc/meminfo", "MemTotal: 8000000 kB\n");
        node.text("/proc/cpuinfo", "processor : 0\nprocessor : 1\n");
        node
    }

    #[test]
    fn what_is_kept_from_pods_is_compared_with_what_the_host_has() {
        for (lines, status, says) in [
            (
                "systemReserved:\n  memory: 640Mi\nkubeReserved:\n  memory: 256Mi\n",
                Status::Ok,
                "none",
            ),
            (
                "systemReserved:\n  memory: 6400Mi\n",
                Status::Warn,
                "6400 of the 7812 MiB",
            ),
            (
                "evictionHard:\n  memory.available: 60%\n",
                Status::Warn,
                "evictionHard",
            ),
            (
                "kubeReserved:\n  cpu: 1800m\n",
                Status::Warn,
                "of the 2 processors",
            ),
        ] {
            with(lines).assert(ID, status, says);
        }
        let mut node = with("systemReserved:\n  memory: 6400Mi\n");
        node.journal(
            "kubelet.service",
            &["Pod admission denied reason=\"OutOfmemory\""],
        );
        node.assert(ID, Status::Fail, "kubelet keeps");
    }

    #[test]
    fn a_number_beyond_its_bounds_is_told() {
        for (lines, status, says) in [
            (
                "nodeLeaseDurationSeconds: 40\npodPidsLimit: -1\n",
                Status::Ok,
                "none",
            ),
            (
                "nodeLeaseDurationSeconds: 300\n",
                Status::Warn,
                "nodeLeaseDurationSeconds: 300",
            ),
            ("podPidsLimit: 32\n", Status::Warn, "podPidsLimit: 32"),
            ("maxPods: 3\n", Status::Warn, "maxPods: 3"),
        ] {
            with(lines).assert(ID, status, says);
        }
    }

    #[test]
    fn quantities_have_units() {
        for (text, wanted) in [
            ("100m", Some(0.1)),
            ("1Gi", Some(1_073_741_824.0)),
            ("5%", Some(10.0)),
            ("many", None),
        ] {
            assert_eq!(quantity(text, 200.0), wanted, "{text}");
        }
    }
}
