//! Files of a node's configuration that somebody changed after its boot, and packages that came since: what did not fail before
//! and fails now has its cause there.

use super::check::{Certainty, Finding};
use super::node::Node;
use super::report::CheckReport;
use quake_model::facts::EntryKind;
use quake_model::record::BootState;
use quake_model::time::Timestamp;

/// Where configuration is.
const PLACES: &[&str] = &[
    "/etc/",
    "/run/systemd/system/",
    "/run/systemd/network/",
    "/usr/lib/systemd/",
    "/srv/kubernetes/",
    "/var/lib/kubelet/config.yaml",
    "/var/lib/kubelet/kubelet.conf",
    "/var/lib/kubelet/kubeconfig",
];

/// Below them, what programs write again and again, or the pod network once it runs.
const OF_PROGRAMS: &[&str] = &[
    "/etc/cni/net.d/",
    "/etc/hosts",
    "/etc/kubernetes/kops-controller/",
    "/etc/machine-id",
    "/etc/resolv.conf",
    "/etc/systemd/system/multi-user.target.wants/",
];

/// A boot writes its last files as it ends; what comes later than this is of somebody else.
const AFTER_MS: u64 = 120_000;

/// So many files that changed are a copy of a tree, whose times say nothing.
const OF_A_COPY: usize = 16;

/// When the boot ended, where it did.
fn booted(node: &Node<'_>) -> Option<Timestamp> {
    let record = node.record().ok()?;
    let is_over = record.state == BootState::Ready;
    is_over.then_some(Timestamp(record.started.0 + record.elapsed_ms + AFTER_MS))
}

/// The files of the configuration that changed since the boot, the latest first.
pub(super) fn files<'a>(node: &Node<'a>) -> Vec<(&'a str, Timestamp)> {
    let Some(booted) = booted(node) else {
        return Vec::new();
    };
    let begins = |places: &[&str], path: &str| places.iter().any(|place| path.starts_with(place));
    let entries = node.survey().entries.iter();
    let mut found: Vec<(&str, Timestamp)> = entries
        .filter(|(_, entry)| entry.kind == EntryKind::File)
        .filter(|(path, _)| begins(PLACES, path) && !begins(OF_PROGRAMS, path))
        .map(|(path, entry)| (path.as_str(), entry.modified))
        // A file of the time to come is of a copy.
        .filter(|(_, at)| *at > booted && *at <= node.taken())
        .collect();
    found.sort_by_key(|(_, at)| std::cmp::Reverse(*at));
    match found.len() > OF_A_COPY {
        true => Vec::new(),
        false => found,
    }
}

/// The changed file that a finding speaks of.
pub(super) fn named<'a>(
    finding: &Finding,
    files: &[(&'a str, Timestamp)],
) -> Option<(&'a str, Timestamp)> {
    let says = |text: &str, path: &str| {
        let mut found = text.match_indices(path);
        found.any(|(at, _)| {
            let after = text[at + path.len()..].chars().next();
            after.is_none_or(|c| !(c.is_ascii_alphanumeric() || c == '/' || c == '-'))
        })
    };
    let is_named = |path: &str| {
        let evidence = finding.evidence.iter();
        says(&finding.summary, path)
            || evidence
                .clone()
                .any(|piece| says(&piece.value, path) || piece.name == path)
    };
    files.iter().find(|(path, _)| is_named(path)).copied()
}

/// The changed manifest of the static pod that a finding is about.
fn manifest<'a>(finding: &Finding, files: &[(&'a str, Timestamp)]) -> Option<(&'a str, Timestamp)> {
    let is_about = |path: &str| {
        let name = path.strip_prefix("/etc/kubernetes/manifests/");
        let pod = name.and_then(|name| name.split('.').next());
        pod.is_some_and(|pod| !pod.is_empty() && finding.summary.contains(pod))
    };
    files.iter().find(|(path, _)| is_about(path)).copied()
}

/// So few files that changed are told in the remedy of a finding that names no cause, whatever it speaks of.
const FEW: usize = 2;

/// How many are shown.
const SHOWN: usize = 4;

/// Adds to each finding whether the file that it speaks of changed after the boot, and to the first what changed at all where
/// it is not certain of its cause.
pub(super) fn report(checks: &mut [CheckReport], first: Option<usize>, node: &Node<'_>) {
    let files = files(node);
    for one in checks.iter_mut() {
        let Some(finding) = &mut one.finding else {
            continue;
        };
        if let Some((path, at)) = named(finding, &files) {
            *finding = finding
                .clone()
                .seen("changed after the boot", format_args!("{path} at {at}"));
        }
    }
    let Some(finding) = first.and_then(|index| checks[index].finding.as_mut()) else {
        return;
    };
    let is_symptom = finding.certainty == Certainty::Possible;
    let of_pod = manifest(finding, &files).filter(|(path, _)| {
        // One that is certain of another cause has nothing to do with the rest of its pod's manifest.
        finding.certainty != Certainty::Certain || finding.fix.contains(path)
    });
    let one = of_pod.or_else(|| named(finding, &files));
    let shown = match &one {
        Some(one) => std::slice::from_ref(one),
        None if is_symptom && files.len() <= FEW => files.as_slice(),
        None => {
            let in_fix = files
                .iter()
                .position(|(path, _)| finding.fix.contains(path));
            in_fix.map_or(&[][..], |at| std::slice::from_ref(&files[at]))
        }
    };
    for (path, at) in shown {
        let is_told = finding.certainty == Certainty::Certain && finding.fix.contains(*path);
        let undo = if is_told {
            ""
        } else {
            ": undo that if it is the cause"
        };
        let changed = format!("; {path} was changed at {at}, after the boot{undo}");
        finding.fix.push_str(&changed);
    }
    if finding.certainty == Certainty::Certain {
        return;
    }
    if named(finding, &files).is_none() && !files.is_empty() {
        let shown = files.iter().take(SHOWN);
        let shown: Vec<String> = shown.map(|(path, at)| format!("{path} at {at}")).collect();
        *finding = finding
            .clone()
            .seen("changed after the boot", shown.join(", "));
    }
    let packages = packages(node);
    if !packages.is_empty() {
        *finding = finding
            .clone()
            .seen("installed after the boot", packages.join(", "));
    }
}

/// Packages whose change a node feels, by how their names begin.
const OF_INTEREST: &[&str] = &[
    "amazon-ec2-net-utils",
    "apparmor",
    "ca-certificates",
    "chrony",
    "cloud-init",
    "container",
    "dbus",
    "docker",
    "e2fsprogs",
    "ec2-net-utils",
    "iptables",
    "kernel",
    "kube",
    "libc6",
    "glibc",
    "libseccomp",
    "linux-image",
    "linux-modules",
    "netplan",
    "network-manager",
    "NetworkManager",
    "nfs-common",
    "nfs-utils",
    "nftables",
    "nvidia",
    "openssl",
    "runc",
    "selinux-policy",
    "systemd",
    "udev",
    "xfsprogs",
];

/// Logs of package managers, and what stands before the name of a package that was installed.
const LOGS: &[(&str, &[&str])] = &[
    ("/var/log/dpkg.log", &[" status installed "]),
    (
        "/var/log/dnf.rpm.log",
        &["Upgraded: ", "Upgrade: ", "Installed: "],
    ),
    ("/var/log/yum.log", &["Updated: ", "Installed: "]),
];

/// The packages of interest that were installed since the boot, each with its version. The times of these logs are of the
/// host's zone, which is UTC on instances of EC2 unless somebody set another.
fn packages(node: &Node<'_>) -> Vec<String> {
    let (Some(booted), Some(logs)) = (booted(node), node.survey().logs.ok()) else {
        return Vec::new();
    };
    let booted = booted.to_string();
    let mut found: Vec<String> = Vec::new();
    for (path, marks) in LOGS {
        for line in logs.get(*path).into_iter().flatten() {
            let is_later = line.get(..19).is_some_and(|time| {
                let time = time.replace(' ', "T");
                booted.get(..19).is_some_and(|booted| *time > *booted)
            });
            let package = marks.iter().find_map(|mark| line.split_once(mark));
            let Some((_, package)) = package.filter(|_| is_later) else {
                continue;
            };
            let is_of_interest = OF_INTEREST.iter().any(|start| package.starts_with(start));
            let package = package.trim().replace(':', " ");
            if is_of_interest && !found.contains(&package) && found.len() < SHOWN {
                found.push(package);
            }
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::checks::node_sample::Sample;
    use crate::checks::surveyed::entry;

    #[test]
    fn a_pod_s_manifest_that_changed_is_named_for_findings_about_the_pod() {
        let at = Timestamp(1);
        let files = [
            ("/etc/kubernetes/manifests/kube-apiserver.manifest", at),
            ("/etc/sysconfig/kubelet", at),
        ];
        for (summary, wanted) in [
            ("kube-apiserver ended with 1", true),
            ("kube-scheduler ended with 1", false),
            ("kubelet does not run", false),
        ] {
            let found = manifest(&Finding::new(summary, "do"), &files);
            assert_eq!(found.is_some(), wanted, "{summary}");
        }
    }

    #[test]
    fn a_finding_is_told_which_of_its_files_changed_after_the_boot() {
        let mut node = Sample::worker();
        let taken = node.survey.taken.0;
        let mut file = entry(EntryKind::File, 0o644);
        for (path, minutes) in [("/etc/containerd/config.toml", 9), ("/etc/x/unit.conf", 3)] {
            file.modified = Timestamp(taken - minutes * 60_000);
            node.survey.entries.insert(path.to_owned(), file.clone());
        }
        let node = Node::new(&node.survey);
        let files = files(&node);
        let paths: Vec<&str> = files.iter().map(|(path, _)| *path).collect();
        let place = |path| paths.iter().position(|one| *one == path);
        let (late, early) = ("/etc/x/unit.conf", "/etc/containerd/config.toml");
        assert!(
            place(late).is_some() && place(late) < place(early),
            "{paths:?}"
        );
        for (summary, wanted) in [
            ("/etc/containerd/config.toml: bad", Some(early)),
            ("/etc/containerd/config.toml-old: bad", None),
            ("nothing", None),
        ] {
            let found = named(&Finding::new(summary, "do"), &files);
            assert_eq!(found.map(|(path, _)| path), wanted, "{summary}");
        }
    }
}
