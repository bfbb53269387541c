//! Addresses of API servers in the Service `kubernetes` that no control plane has: a restore of etcd brings back those of its
//! time, and they stay (kops, docs/operations/etcd_backup_restore_encryption.md).

use crate::checks::check::{Certainty, Finding};
use crate::checks::node::Node;
use quake_formats::yaml::shorten;
use std::collections::BTreeSet;

/// How kube-apiserver says which addresses it writes (`pkg/controlplane/reconcilers/lease.go`).
const WRITTEN: &str = "Resetting endpoints for master service \"kubernetes\" to [";

/// What names the members of etcd, each of which has an API server beside it: the hosts that etcd-manager writes.
const HOSTS: &str = "/etc/hosts";
const MEMBERS: &str = "entries managed by etcd-manager";

/// The finding of stale addresses in the Service `kubernetes`.
pub(super) fn stale(node: &Node<'_>) -> Option<Finding> {
    let logs = node
        .pods()
        .filter(|pod| pod.name.starts_with("kube-apiserver"));
    let line = logs
        .flat_map(|pod| &pod.log)
        .rfind(|line| line.contains(WRITTEN))?;
    let (_, rest) = line.split_once(WRITTEN)?;
    let written: Vec<&str> = rest.split(']').next()?.split_whitespace().collect();
    let members = members(node.text(HOSTS).ok()??);
    let dead: Vec<&str> = written
        .iter()
        .copied()
        .filter(|address| !members.contains(address))
        .collect();
    // Where no address is a member's, the control planes are not those that run etcd.
    let is_known = written.iter().any(|address| members.contains(address));
    // Only the API server that finds them wrong says so: its line may be older than the endpoints. What times out speaks for it.
    let late = timed_out(node)?;
    (is_known && !dead.is_empty()).then(|| {
        let deletes: Vec<String> = dead
            .iter()
            .map(|address| format!("etcdctl del /registry/masterleases/{address}"))
            .collect();
        Finding::new(
            format!(
                "the Service kubernetes has {0} of {1} addresses without a member of etcd ({2}), and some connections to it time out: leases that a restore of etcd brought back, or that a dead API server left",
                dead.len(),
                written.len(),
                dead.join(", ")
            ),
            format!(
                "kubectl get nodes -o wide shows which addresses no node has (a group of role APIServer has no etcd); for those, in the container of etcd main: {}; the API servers write the endpoints anew within seconds: kubectl get endpointslices -l kubernetes.io/service-name=kubernetes",
                deletes.join("; ")
            ),
        )
        .by(Certainty::Likely)
        .seen("kube-apiserver", shorten(line, 300))
        .seen("log", shorten(late, 300))
    })
}

/// A line of kubelet or of a pod whose connection to an address of Services timed out.
fn timed_out<'a>(node: &Node<'a>) -> Option<&'a str> {
    let pods = node.pods().flat_map(|pod| &pod.log);
    let mut lines = node.journal("kubelet.service").iter().chain(pods);
    let is_late = |line: &&String| {
        let target = line
            .split_once("://")
            .and_then(|(_, rest)| rest.split(':').next());
        let is_address = target.is_some_and(|it| it.parse::<std::net::Ipv4Addr>().is_ok());
        is_address && line.contains(":443: i/o timeout")
    };
    lines.find(is_late).map(String::as_str)
}

/// The addresses of the members in a hosts file.
fn members(text: &str) -> BTreeSet<&str> {
    let mut is_within = false;
    let mut found = BTreeSet::new();
    for line in text.lines() {
        if line.contains(MEMBERS) {
            is_within = line.contains("Begin");
        } else if is_within {
            found.extend(line.split_whitespace().next());
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::members;

    #[test]
    fn members_are_what_etcd_manager_wrote() {
        let text = "127.0.0.1 localhost\n# Begin host entries managed by etcd-manager[etcd] - do not edit\n10.0.0.10\tetcd-a.internal.x\n10.0.1.10\tetcd-b.internal.x\n# End host entries managed by etcd-manager[etcd]\n10.9.9.9 other\n";
        let found: Vec<&str> = members(text).into_iter().collect();
        assert_eq!(found, ["10.0.0.10", "10.0.1.10"]);
    }
}
