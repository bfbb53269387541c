//! Checks of what guards the machine and may stand in the node's way.

use super::{kernel_log, rules};
use crate::checks::check::{Certainty, Check, Finding, Severity, Source, Verdict};
use crate::checks::node::Node;
use quake_model::facts::{ActiveState, Unseen};

pub(in crate::checks) const CHECKS: &[Check] = &[
    Check {
        id: "host.selinux",
        title: "SELinux does not deny the node's programs",
        severity: Severity::Warning,
        tags: &["hardening"],
        sources: &[Source::Files, Source::KernelLog],
        because: &[],
        why: "a program fails with permission denied if a file has a wrong label",
        remedy: "run restorecon -Rv on this directory; if that does not help, write a module with audit2allow, or run permissive",
        judge: selinux,
    },
    Check {
        id: "host.apparmor",
        title: "AppArmor does not deny the node's programs",
        severity: Severity::Warning,
        tags: &["hardening"],
        sources: &[Source::KernelLog],
        because: &[],
        why: "a program fails with permission denied if its profile does not allow what it does",
        remedy: "aa-status shows the profiles; put the one that the denial names in complain mode, or remove it from the image",
        judge: apparmor,
    },
    Check {
        id: "host.firewall",
        title: "no host firewall blocks pods",
        severity: Severity::Warning,
        tags: &["hardening", "network"],
        sources: &[Source::Files, Source::Units, Source::Programs],
        because: &[],
        why: "firewalld and ufw drop traffic that they do not know: between pods, to kubelet's port, to node ports",
        remedy: "run systemctl disable --now for the firewall, and use security groups",
        judge: firewall,
    },
    Check {
        id: "host.fips",
        title: "FIPS mode of the kernel is known",
        severity: Severity::Info,
        tags: &["hardening"],
        sources: &[Source::Files],
        because: &[],
        why: "in FIPS mode the kernel and many libraries refuse MD5, some key sizes and some ciphers",
        remedy: "no action; use another image if the mode is not what you want",
        judge: fips,
    },
];

/// Programs and directories of the node, as they stand in a denial.
const OURS: &[&str] = &[
    "quake-agent",
    "kubelet",
    "containerd",
    "dockerd",
    "runc",
    "etcd",
    "/opt/cni",
    "cni.conf",
];

fn selinux(node: &Node<'_>) -> Result<Verdict, Unseen> {
    let Some(enforcing) = node.text("/sys/fs/selinux/enforce")? else {
        let known = node.need_text("/proc/filesystems")?;
        return match known.contains("selinuxfs") {
            true => Verdict::ok("it is built in, and off"),
            false => Verdict::ok("the kernel has none"),
        };
    };
    if enforcing.trim() != "1" {
        return Verdict::ok("permissive");
    }
    let denied = kernel_log::lines(node, &["avc:  denied", "avc: denied"])?;
    let ours = |line: &&&str| {
        OURS.iter().any(|name| line.contains(name)) && !line.contains("permissive=1")
    };
    let ours: Vec<&str> = denied.iter().filter(ours).copied().collect();
    let of_images = unlabeled_images(node, &denied);
    let of_images = of_images.or_else(|| moved_root(node, &denied).filter(|_| ours.is_empty()));
    if let Some(finding) = of_images {
        return finding.fail();
    }
    let Some(line) = ours.last() else {
        return Verdict::ok(
            "enforcing; it denied the node's programs nothing that the kernel's log has",
        );
    };
    let value = |key: &str| {
        let after = line.split_once(key).map_or("", |(_, after)| after);
        after
            .split([' ', ','])
            .next()
            .unwrap_or_default()
            .trim_matches('"')
            .to_owned()
    };
    let (program, object) = (value(" comm="), value(" name="));
    let object = if object.is_empty() {
        value(" path=")
    } else {
        object
    };
    Finding::new(
        format!("SELinux denied {program} the use of {object}"),
        "restorecon -Rv /usr/local/bin /opt/cni /var/lib/quake-agent /var/lib/kubelet /etc/kubernetes; if it stays: ausearch -m avc -ts boot | audit2allow -M node && semodule -i node.pp",
    )
    .seen("kernel log", kernel_log::last(&ours))
    .fail()
}

/// What files have that nobody gave a label, or one that containers may not read.
const UNLABELED: &[&str] = &[":unlabeled_t:", ":default_t:", ":root_t:", ":var_t:"];

/// Where the files are by which every program starts.
const LIBRARIES: &[&str] = &[
    "path=\"/lib",
    "path=\"/usr/lib",
    "path=\"/bin/",
    "path=\"/usr/bin/",
];

/// Containers that may not read their own images: the directory of containerd was moved, and the files there have no labels.
fn moved_root(node: &Node<'_>, denied: &[&str]) -> Option<Finding> {
    const USUAL: &str = "/var/lib/containerd";
    // The loader and the libraries of a program come from its image, and not from a volume of its pod.
    let is_of_image = |line: &&&str| {
        let is_unlabeled = UNLABELED.iter().any(|label| line.contains(label));
        let is_library = LIBRARIES.iter().any(|path| line.contains(path));
        let is_container = line.contains(":container_t:") && !line.contains("permissive=1");
        is_container && is_unlabeled && is_library
    };
    let line = denied.iter().rfind(is_of_image)?;
    let text = node.text("/etc/containerd/config.toml").ok()??;
    let root = text
        .lines()
        .take_while(|line| !line.trim_start().starts_with('['))
        .find_map(|line| {
            line.trim()
                .strip_prefix("root")?
                .trim_start()
                .strip_prefix('=')
        })?;
    let root = root.trim().trim_start_matches(['"', '\'']);
    let root = root.split(['"', '\'']).next().unwrap_or_default();
    (root.trim_end_matches('/') != USUAL).then(|| {
        Finding::new(
            format!("SELinux keeps containers from the files of their own images: containerd's root was moved to {root}, and its files have not the labels of {USUAL}"),
            format!("ls -dZ {root} {USUAL} shows both labels; drain the node, then: semanage fcontext -a -e {USUAL} {root}; restorecon -RF {root}; systemctl restart containerd (container-selinux must be installed); or move the root back to {USUAL}"),
        )
        .by(Certainty::Likely)
        .seen("file", "/etc/containerd/config.toml")
        .seen("kernel log", *line)
    })
}

/// Containers that may not start their own programs: the files of images have no labels, for somebody copied them to a volume or
/// filled it without SELinux.
fn unlabeled_images(node: &Node<'_>, denied: &[&str]) -> Option<Finding> {
    const ROOT: &str = "/var/lib/containerd";
    let is_start = |line: &&&str| {
        let is_unlabeled = UNLABELED.iter().any(|label| line.contains(label));
        let is_container = line.contains(":container_t:") && !line.contains("permissive=1");
        is_container && is_unlabeled && line.contains("{ entrypoint }")
    };
    let lines: Vec<&str> = denied.iter().filter(is_start).copied().collect();
    let line = lines.last()?;
    let mount = node.mount_of(ROOT).ok().flatten();
    let whose = match mount.filter(|mount| mount.facts.target == ROOT) {
        Some(mount) => format!(
            "{ROOT} is a volume of its own, {}, whose files have no labels",
            mount.facts.source
        ),
        None => format!("the files in {ROOT} have no labels"),
    };
    Some(
        Finding::new(
            format!("SELinux keeps containers from the programs of their own images: {whose}"),
            format!("drain the node; systemctl stop kubelet containerd; restorecon -RF {ROOT}; systemctl start containerd kubelet (container-selinux must be installed; ls -dZ {ROOT} shows container_var_lib_t then)"),
        )
        .by(Certainty::Likely)
        .seen("kernel log", kernel_log::last(&lines))
        .seen("denied", *line),
    )
}

/// Profiles for containers' own programs: what they deny concerns one pod.
const OF_PODS: &[&str] = &[
    "cri-containerd.apparmor.d",
    "docker-default",
    "crio-default",
];

fn apparmor(node: &Node<'_>) -> Result<Verdict, Unseen> {
    let denied = kernel_log::lines(node, &["apparmor=\"DENIED\""])?;
    let ours = |line: &&&str| {
        let profile = quoted(line, "profile=");
        OURS.iter().any(|name| line.contains(name)) && !OF_PODS.contains(&profile)
    };
    let ours: Vec<&str> = denied.iter().filter(ours).copied().collect();
    let Some(line) = ours.last() else {
        return Verdict::ok(match denied.is_empty() {
            true => "it denied nothing that the kernel's log has".to_owned(),
            false => format!("it denied pods something, {} times", denied.len()),
        });
    };
    let (profile, operation) = (quoted(line, "profile="), quoted(line, "operation="));
    let object = match (quoted(line, "name="), quoted(line, "capname=")) {
        ("", "") => quoted(line, "info="),
        ("", capability) => capability,
        (name, _) => name,
    };
    let program = quoted(line, "comm=");
    Finding::new(
        format!("AppArmor denied {program} {operation} of {object}, by the profile {profile}"),
        format!("aa-complain {profile} (at once), then allow it in the profile: grep -rl {profile} /etc/apparmor.d; or remove that profile from the image: apparmor_parser -R"),
    )
    .seen("kernel log", kernel_log::last(&ours))
    .fail()
}

/// The value after a key of an audit record: `profile="x"`.
fn quoted<'a>(line: &'a str, key: &str) -> &'a str {
    let key = format!(" {key}\"");
    let after = line.split_once(&key).map_or("", |(_, after)| after);
    after.split('"').next().unwrap_or_default()
}

fn firewall(node: &Node<'_>) -> Result<Verdict, Unseen> {
    if let Some(finding) = rules::forwarding(node) {
        return finding.fail();
    }
    let ufw = node.text("/etc/ufw/ufw.conf")?.unwrap_or_default();
    // Its unit is active on every Ubuntu, whether it filters or not; this line decides.
    if ufw
        .lines()
        .any(|line| line.trim().eq_ignore_ascii_case("ENABLED=yes"))
    {
        return Finding::new(
            "ufw filters the host's traffic, and pods' with it",
            "ufw disable (or ufw default allow routed, and allow 10250/tcp and the node ports)",
        )
        .warn();
    }
    let active = match node.unit("firewalld.service") {
        Ok(unit) => unit.is_some_and(|unit| unit.active == ActiveState::Active),
        Err(why) => {
            match node.entry("/etc/systemd/system/multi-user.target.wants/firewalld.service")? {
                Some(_) => true,
                None => return Err(why),
            }
        }
    };
    if let Some(finding) = rules::blocking(node) {
        return finding.warn();
    }
    match active {
        false => Verdict::ok("neither firewalld nor ufw filters"),
        true => Finding::new(
            "firewalld filters the host's traffic, and pods' with it",
            "systemctl disable --now firewalld; systemctl restart kubelet, so that its rules are made anew",
        )
        .warn(),
    }
}

fn fips(node: &Node<'_>) -> Result<Verdict, Unseen> {
    match node.sysctl("crypto.fips_enabled")? {
        Some("1") => Verdict::ok("FIPS mode is on"),
        Some(_) | None => Verdict::ok("FIPS mode is off"),
    }
}
