//! The check of the program that makes the rules of services.

use crate::checks::check::{Check, Finding, Severity, Source, Verdict};
use crate::checks::node::Node;
use quake_model::facts::Unseen;

pub(in crate::checks) const CHECKS: &[Check] = &[Check {
    id: "net.iptables",
    title: "iptables and ip6tables use the same backend",
    severity: Severity::Warning,
    tags: &["network"],
    sources: &[Source::Files],
    because: &[],
    why: "rules of the legacy and the nft backend do not see each other, so some services fail",
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

fn iptables(node: &Node<'_>) -> Result<Verdict, Unseen> {
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
