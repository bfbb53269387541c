//! `net.drops`: packets that EC2 or the kernel drops, and counts without a line in any log.

use super::super::dns::servers;
use crate::checks::check::{Check, Finding, Severity, Source, Verdict};
use crate::checks::node::Node;
use quake_formats::yaml::shorten;
use quake_model::facts::{PodSeen, Unseen};

pub(in crate::checks) const CHECKS: &[Check] = &[Check {
    id: "net.drops",
    title: "no packets are dropped without a word",
    severity: Severity::Warning,
    tags: &["network"],
    sources: &[Source::Programs, Source::Files, Source::Runtime],
    because: &[],
    why: "names, the metadata service, the clock and connections then fail at random, and no log says why",
    remedy: "choose a larger instance type, or one with more network (kops edit ig: machineType)",
    judge,
}];

/// Counters of IPsec (Linux, Documentation/networking/xfrm_proc.rst).
const OF_IPSEC: &str = "/proc/net/xfrm_stat";

/// A counter, how many of them a node has without harm (a guess), what is dropped and why, and what helps. The counters of the
/// driver are those by which EC2 holds the instance to its type (amzn-drivers, `ena_ethtool.c`). Bursts pass the limits of
/// bandwidth for moments, so few of those say nothing.
struct Row {
    counter: &'static str,
    harmless: u64,
    means: &'static str,
    fix: &'static str,
}

const ROWS: &[Row] = &[
    Row {
        counter: "conntrack_allowance_exceeded",
        harmless: 0,
        means: "new connections, as the security groups track too many",
        fix: "allow all in and out in the security group of the nodes where the subnet's network ACL may filter instead (such connections are not tracked), keep connections alive, or choose a larger instance type",
    },
    Row {
        counter: "linklocal_allowance_exceeded",
        harmless: 100,
        means: "requests for names, metadata and time: an interface may send 1024 of them in a second",
        fix: "run node-local-dns (kubeDNS.nodeLocalDNS.enabled: true in the cluster spec), set ndots: 2 in pods that ask much, and find the pod that asks the metadata service again and again",
    },
    Row {
        counter: "pps_allowance_exceeded",
        harmless: 10_000,
        means: "packets, as there are too many in a second",
        fix: "choose a larger instance type, or spread the pods that send most; smaller packets count as much as large ones",
    },
    Row {
        counter: "bw_in_allowance_exceeded",
        harmless: 100_000,
        means: "what comes in, as the bandwidth is used up",
        fix: "choose an instance type with more bandwidth, or spread the pods that receive most",
    },
    Row {
        counter: "bw_out_allowance_exceeded",
        harmless: 100_000,
        means: "what goes out, as the bandwidth is used up",
        fix: "choose an instance type with more bandwidth, or spread the pods that send most",
    },
    Row {
        counter: "XfrmInNoStates",
        harmless: 100,
        means: "packets of other nodes that are encrypted with a key which this host does not have: a key was rotated, and the agent of the pod network here did not read it",
        fix: "delete the pod of the pod network on this node (cilium): it reads the key at its start; let it watch the key (Cilium: enable-ipsec-key-watcher=true), or restart all agents within the time of a rotation",
    },
];

fn judge(node: &Node<'_>) -> Result<Verdict, Unseen> {
    let of_programs = node.survey().programs.ok();
    let of_driver = of_programs.and_then(|all| all.get("ethtool -S"));
    let of_kernel = node.text(OF_IPSEC).ok().flatten();
    // Agents that measure the node print them, too.
    let of_pods = node.pods().flat_map(|pod| &pod.log);
    let of_pods = of_pods.filter(|line| line.contains("allowance_exceeded"));
    let of_files = of_kernel.into_iter().flat_map(str::lines);
    let own = of_driver.into_iter().flatten().chain(of_pods);
    let lines: Vec<&str> = own.map(String::as_str).chain(of_files).collect();
    if lines.is_empty() {
        return Verdict::skip("nothing shows the counters of the driver");
    }
    let counted = |row: &Row| {
        let count = lines
            .iter()
            .rev()
            .find_map(|line| number(line, row.counter))?;
        (count > row.harmless).then_some(count)
    };
    let mut found = ROWS.iter().filter_map(|row| Some((row, counted(row)?)));
    let Some((row, count)) = found.next() else {
        return Verdict::ok("there are none, or few");
    };
    let finding = Finding::new(
        format!(
            "{count} packets were dropped ({}): {}",
            row.counter, row.means
        ),
        row.fix,
    );
    let finding = found.fold(finding, |finding, (row, count)| {
        finding.seen(row.counter, count)
    });
    let caller = caller(node).filter(|_| row.counter.starts_with("linklocal"));
    match caller {
        Some((pod, line)) => {
            let named = format!(
                "{}; {}/{} asks the VPC's name server itself",
                finding.summary, pod.namespace, pod.name
            );
            let fix = format!(
                "stop or slow {}/{}, or let it ask CoreDNS or a cache of its own; {}",
                pod.namespace, pod.name, finding.fix
            );
            let finding = Finding {
                summary: named,
                fix,
                ..finding
            };
            finding.seen("log", shorten(line, 300)).warn()
        }
        None => finding.warn(),
    }
}

/// The number behind a counter: `name: 5`, `name=5u`, `name 5`.
fn number(line: &str, counter: &str) -> Option<u64> {
    let (_, rest) = line.split_once(counter)?;
    let rest = rest.trim_start_matches([':', '=', ' ', '\t']);
    let end = rest
        .find(|c: char| !c.is_ascii_digit())
        .unwrap_or(rest.len());
    rest[..end].parse().ok()
}

/// A pod of users that names the host's own name server in its log.
fn caller<'a>(node: &Node<'a>) -> Option<(&'a PodSeen, &'a str)> {
    let servers = servers(node);
    let mut pods = node.pods().filter(|pod| pod.namespace != "kube-system");
    pods.find_map(|pod| {
        let names = |line: &&String| {
            let words = ["resolver", "queries", "nameserver"];
            servers.iter().any(|it| line.contains(&format!("{it}:53")))
                && words.iter().any(|word| line.contains(word))
        };
        Some((pod, pod.log.iter().find(names)?.as_str()))
    })
}

#[cfg(test)]
mod tests {
    use crate::checks::Status;
    use crate::checks::node_sample::Sample;
    use quake_model::facts::Seen;

    #[test]
    fn more_drops_than_a_burst_has_are_told() {
        for (line, status, says) in [
            ("conntrack_allowance_exceeded: 0", Status::Ok, "few"),
            ("bw_in_allowance_exceeded: 400", Status::Ok, "few"),
            (
                "conntrack_allowance_exceeded: 12",
                Status::Warn,
                "new connections",
            ),
            (
                "linklocal_allowance_exceeded: 91823",
                Status::Warn,
                "91823 packets",
            ),
        ] {
            let mut node = Sample::worker();
            let counters = [("ethtool -S".to_owned(), vec![line.to_owned()])];
            node.survey.programs = Seen::Yes(counters.into());
            node.assert("net.drops", status, says);
        }
    }

    #[test]
    fn packets_of_a_key_that_is_not_known_are_counted_by_the_kernel() {
        let mut node = Sample::worker();
        for (count, status) in [(3, Status::Ok), (48_112, Status::Warn)] {
            let table = format!("XfrmInError             \t0\nXfrmInNoStates          \t{count}\n");
            node.text(super::OF_IPSEC, &table);
            node.assert("net.drops", status, "");
        }
    }
}
