//! The check of the program that makes the rules of services.

use crate::checks::check::{Certainty, Check, Finding, Severity, Source, Verdict};
use crate::checks::logs::is_late;
use crate::checks::node::Node;
use crate::checks::quote::quote;
use quake_model::facts::Unseen;

pub(in crate::checks) const CHECKS: &[Check] = &[Check {
    id: "net.iptables",
    title: "iptables can be called, and ip6tables uses the same backend",
    severity: Severity::Warning,
    tags: &["network"],
    sources: &[Source::Files, Source::Journals],
    because: &[],
    why: "without its lock no rule can be written; rules of the legacy and the nft backend do not see each other, so some services fail",
    remedy: "update-alternatives --set iptables and ip6tables to the same backend, -nft or -legacy, then reboot the host",
    judge: iptables,
}];

/// Where the program is on the distributions we know.
const PROGRAMS: &[&str] = &["/usr/sbin/iptables", "/sbin/iptables"];

/// Whether the distribution has iptables 1.8.0 to 1.8.2 (kubernetes/kubernetes issue 82361): Debian 10 has 1.8.2.
fn has_faulty_nft(node: &Node<'_>) -> Result<bool, Unseen> {
    let text = node.text("/etc/os-release")?.unwrap_or_default();
    let has = |wanted: &str| text.lines().any(|line| line.replace('"', "") == wanted);
    Ok(has("ID=debian") && has("VERSION_ID=10"))
}

/// The lock that every call of iptables takes (iptables, `iptables/xshared.c`).
const LOCK: &str = "/run/xtables.lock";

/// What iptables and kubelet say of a lock that is a directory.
const IS_DIRECTORY: &[&str] = &[
    "/run/xtables.lock: Is a directory",
    "/run/xtables.lock is not a file",
];

/// The finding where the lock is a directory, as runtimes make one of a path that a container mounts and that is not there.
fn locked_out(node: &Node<'_>) -> Option<Finding> {
    let says = |line: &&String| IS_DIRECTORY.iter().any(|words| line.contains(words));
    let journals = node.survey().journals.ok().into_iter().flatten();
    let of_pods = node.pods().flat_map(|pod| &pod.log);
    let lines = journals.flat_map(|(_, lines)| lines).chain(of_pods);
    let mut late = lines.filter(says).filter(|line| is_late(line, node));
    let line = late.next_back()?;
    let maker = maker(node);
    let (who, undo) = match &maker {
        Some((path, unit)) => (
            format!(
                "{path} mounts it into a container before it exists, and the runtime makes a directory"
            ),
            format!(
                "systemctl stop {unit}; rmdir {LOCK}; touch {LOCK}; put ExecStartPre=/usr/bin/touch {LOCK} before the command in {path}, systemctl daemon-reload; systemctl start {unit}"
            ),
        ),
        None => (
            "a pod mounted it without type FileOrCreate before it existed".to_owned(),
            format!(
                "rmdir {LOCK}; touch {LOCK}; set hostPath type FileOrCreate in the DaemonSet that made it (grep -rl xtables.lock /etc/systemd/system names a unit that did)"
            ),
        ),
    };
    let finding = Finding::new(
        format!(
            "{LOCK} is a directory: {who}, and no iptables works, so kube-proxy and the pod network do not start"
        ),
        format!("{undo}; kubelet starts kube-proxy and the pods of the pod network by itself"),
    );
    let finding = finding.by(Certainty::Likely);
    Some(finding.seen("log", quote(line, 300)))
}

/// The unit of others that starts a container with the lock mounted into it: its file and its name.
fn maker<'a>(node: &Node<'a>) -> Option<(&'a str, &'a str)> {
    let mut texts = node.survey().texts.iter();
    texts.find_map(|(path, text)| {
        let unit = path.strip_prefix("/etc/systemd/system/")?;
        let unit = unit.split('/').next()?.trim_end_matches(".d");
        let mounts = |line: &str| line.contains(LOCK) && !line.contains("touch ");
        let is_maker = text.ok()?.lines().any(mounts);
        (is_maker && unit.ends_with(".service")).then_some((path.as_str(), unit))
    })
}

fn iptables(node: &Node<'_>) -> Result<Verdict, Unseen> {
    if let Some(finding) = locked_out(node) {
        return finding.fail();
    }
    let kind = |name: &str| -> Result<Option<&'static str>, Unseen> {
        let entry = node.entry(&format!("/etc/alternatives/{name}"))?;
        let target = entry
            .and_then(|entry| entry.target.as_deref())
            .unwrap_or_default();
        Ok(["nft", "legacy"]
            .into_iter()
            .find(|kind| target.ends_with(kind)))
    };
    if let (Some(four), Some(six)) = (kind("iptables")?, kind("ip6tables")?) {
        if four == "nft" && has_faulty_nft(node)? {
            return Finding::new(
                "iptables 1.8.2 of Debian 10 uses nft, and its test of a rule does not find the rule: kubelet and the pod network add the same rules without end",
                "update-alternatives --set iptables /usr/sbin/iptables-legacy; update-alternatives --set ip6tables /usr/sbin/ip6tables-legacy; reboot; iptables-save | grep -c KUBE-FIREWALL counts the rules; better: an image with Debian 11 or newer",
            )
            .warn();
        }
        return match four == six {
            true => Verdict::ok(format!("both are {four}")),
            false => Finding::new(
                format!("iptables is {four} and ip6tables is {six}"),
                format!("update-alternatives --set ip6tables /usr/sbin/ip6tables-{four}, then restart the machine"),
            )
            .warn(),
        };
    }
    for path in PROGRAMS {
        if node.entry(path)?.is_some() {
            return Verdict::ok("there is one of each");
        }
    }
    node.was_surveyed("/usr/sbin/iptables")?;
    let expected = node.expected()?;
    let user = match (expected.runtime.as_str(), expected.network.name.as_str()) {
        ("docker", _) => "dockerd",
        (_, "kubenet") => "the bridge plugin of kubenet",
        _ => return Verdict::ok("there is none, and nothing on the host itself uses it"),
    };
    Finding::new(
        format!("there is no iptables, which {user} needs"),
        "apt-get install iptables, or dnf install iptables-nft; better in the image",
    )
    .fail()
}
