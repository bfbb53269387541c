//! `cni.addresses`: why ipamd of the Amazon VPC CNI has no address, by what its own log says before.

use crate::checks::check::{Certainty, Finding};
use crate::checks::innermost::{innermost, is_in_line};
use crate::checks::logs::{is_error, is_late};
use crate::checks::node::Node;
use crate::log_lines::{self, is_plain_name, unescaped};
use quake_formats::yaml::shorten;

/// What ipamd says when its pool is empty (amazon-vpc-cni-k8s, `pkg/ipamd/datastore/data_store.go`).
pub(super) const NONE_LEFT: &str = "no available IP/Prefix addresses";

/// What only says that a pod got none.
const RESULTS: &[&str] = &[
    NONE_LEFT,
    "Failed to assign an IP address",
    "AddNetworkReply",
];

/// How an error begins that says that there is no such `ENIConfig` (`pkg/eniconfig/eniconfig.go`).
const ABSENT: &str = "ENIConfig.crd.k8s.amazonaws.com \"";

/// The logs of ipamd: of its pod, and its own file.
fn logs<'a>(node: &Node<'a>) -> Vec<&'a [String]> {
    let pods = node.pods().filter(|pod| pod.name.starts_with("aws-node"));
    let of_pods = pods.map(|pod| pod.log.as_slice());
    let files = node.survey().logs.ok().into_iter().flatten();
    let own = files.filter(|(path, _)| path.contains("ipamd"));
    of_pods
        .chain(own.map(|(_, lines)| lines.as_slice()))
        .collect()
}

/// The zone of this node.
fn zone<'a>(node: &Node<'a>) -> Option<&'a str> {
    let seen = node.survey().metadata.ok()?;
    Some(seen.instance.zone.as_str()).filter(|zone| !zone.is_empty())
}

/// The finding of custom networking without the `ENIConfig` of this node: then ipamd attaches no interface for pods, and has
/// no address at all.
pub(super) fn without_config(node: &Node<'_>) -> Option<Finding> {
    let logs = logs(node);
    let lines = logs.iter().flat_map(|log| log.iter().rev());
    let named = |line: &str| {
        let line = unescaped(line);
        let (_, rest) = line.split_once(ABSENT)?;
        let (name, rest) = rest.split_once('"')?;
        let is_absent = rest.trim_start().starts_with("not found");
        (is_absent && is_plain_name(name)).then(|| name.to_owned())
    };
    let mut late = lines.filter(|line| is_late(line, node));
    let (line, name) = late.find_map(|line| Some((line, named(line)?)))?;
    let zone = zone(node);
    let (of_zone, subnet) = match zone {
        Some(zone) if zone == name => (
            ", the zone of this node".to_owned(),
            format!("a subnet of {zone}"),
        ),
        Some(zone) => (
            format!(" (this node is in {zone})"),
            format!("a subnet of {zone}"),
        ),
        None => (String::new(), "a subnet of the node's zone".to_owned()),
    };
    let mut pods = node.pods().filter(|pod| pod.name.starts_with("aws-node"));
    let again = pods
        .next()
        .map_or("delete the pod aws-node of this node".to_owned(), |pod| {
            format!("kubectl -n kube-system delete pod {}", pod.name)
        });
    let finding = Finding::new(
        format!(
            "pods get no addresses: custom networking of the VPC CNI is on, and there is no ENIConfig {name}{of_zone}"
        ),
        format!(
            "kubectl get eniconfig -o yaml shows those of other zones; create one with metadata.name {name} (crd.k8s.amazonaws.com/v1alpha1) with spec.subnet, {subnet}, and spec.securityGroups as theirs; ipamd takes it at its next round, else: {again}; ENI_CONFIG_LABEL_DEF of aws-node says which label of the node gives the name (k8s.amazonaws.com/eniConfig)"
        ),
    );
    Some(
        finding
            .by(Certainty::Certain)
            .seen("log", shorten(line, 400)),
    )
}

/// Whether ipamd has no address at all: `Total IPs/Prefixes = 0/0`.
fn is_empty(line: &str) -> Option<bool> {
    let (_, rest) = line
        .split_once("Total IPs/Prefixes = ")
        .or_else(|| line.split_once("otal IPs: "))?;
    let end = rest
        .find(|c: char| !c.is_ascii_digit())
        .unwrap_or(rest.len());
    Some(rest[..end].parse() == Ok(0_u32))
}

/// The finding of an empty pool by the last error before it; where the pool never had an address no subnet and no limit of the
/// type used it up. `None` where the log says neither.
pub(super) fn cause(node: &Node<'_>) -> Option<Finding> {
    logs(node).into_iter().find_map(|log| of_log(node, log))
}

fn of_log(node: &Node<'_>, log: &[String]) -> Option<Finding> {
    /// What is further before belongs to another round.
    const ROUND: usize = 40;
    let at = log.iter().rposition(|line| line.contains(NONE_LEFT))?;
    let is_result = |line: &str| RESULTS.iter().any(|words| line.contains(words));
    let round = &log[at.saturating_sub(ROUND)..at];
    let mut before = round.iter().rev();
    let error = before.find(|line| is_error(line) && !is_result(line) && is_late(line, node));
    let was_empty = log
        .iter()
        .rev()
        .find_map(|line| is_empty(line))
        .unwrap_or_default();
    if error.is_none() && !was_empty {
        return None;
    }
    let has = match was_empty {
        true => "ipamd never got an address for this node",
        false => "ipamd has no address left for this node",
    };
    let known = error.and_then(|line| log_lines::most_exact(line));
    let why = error.map_or(String::new(), |line| format!(": {}", innermost(line)));
    let means = known.map_or(String::new(), |row| format!(" ({})", row.means));
    let fix = match (known, was_empty) {
        (Some(row), _) if !is_in_line(row.fix) => format!("{}; ", row.fix),
        (_, true) => {
            "its total is 0, so neither the subnet nor the type's limit is used up by this node: "
                .to_owned()
        }
        (_, false) => "the error before says why: ".to_owned(),
    };
    let finding = Finding::new(
        format!("pods get no addresses: {has}{why}{means}"),
        format!(
            "{fix}grep '\"error\"' /var/log/aws-routed-eni/ipamd.log shows what ipamd does not get: an interface, the ENIConfig of the zone, a right of its role, or the API of EC2"
        ),
    );
    let finding = finding.by(Certainty::Likely);
    Some(match error {
        Some(line) => finding.seen("log", shorten(line, 400)),
        None => finding,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::checks::Status;
    use crate::checks::node_sample::Sample;

    const LEFT: &str =
        r#"{"level":"error","msg":"DataStore has no available IP/Prefix addresses"}"#;

    #[test]
    fn an_empty_pool_is_told_by_the_error_before_it() {
        let mut node = Sample::worker();
        let lines = |lines: &[&str]| {
            lines
                .iter()
                .map(|line| (*line).to_owned())
                .collect::<Vec<_>>()
        };
        node.pod("aws-node", "running").log = lines(&[LEFT]);
        node.assert("cni.addresses", Status::Fail, "ipamd has no address left");
        let total =
            r#"{"level":"debug","msg":"IP pool stats: Total IPs/Prefixes = 0/0, AssignedIPs: 0"}"#;
        let error = r#"{"level":"error","msg":"the fruit is not ripe: come back later"}"#;
        node.pod("aws-node", "running").log = lines(&[total, error, LEFT]);
        node.assert(
            "cni.addresses",
            Status::Fail,
            "ipamd never got an address for this node: the fruit",
        );
    }

    #[test]
    fn an_eniconfig_that_is_not_there_is_named() {
        let mut node = Sample::worker();
        let absent = r#"{"level":"error","msg":"error while retrieving eniconfig: ENIConfig.crd.k8s.amazonaws.com \"us-1c\" not found"}"#;
        node.pod("aws-node", "running").log = vec![absent.to_owned(), LEFT.to_owned()];
        node.assert("cni.addresses", Status::Fail, "there is no ENIConfig us-1c");
    }

    #[test]
    fn totals_are_read() {
        assert_eq!(is_empty("Total IPs/Prefixes = 0/0, x"), Some(true));
        assert_eq!(
            is_empty("IP stats - total IPs: 18, assigned IPs: 18"),
            Some(false)
        );
        assert_eq!(is_empty("nothing"), None);
    }
}
