//! What no file shows of the host's network, as its own programs print it: rules of the packet filter and of routing, and the
//! counters of the interface's driver. A program that is not installed, or that fails, is left out.

use crate::linux::{Abandon, Program};
use futures_util::future::join_all;
use quake_model::ports::PortError;
use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

/// How many lines of a program are kept. A chain that is longer has the rules that count at its beginning.
const LINES: usize = 200;

/// Of the counters, those by which ENA says that the instance type's limits were reached (amzn-drivers, `ena_ethtool.c`).
const COUNTERS: &str = "allowance_exceeded";

const fn program(name: &'static str, package: &'static str) -> Program {
    Program {
        name,
        package,
        deadline: Duration::from_secs(2),
        abandon: Abandon::Kill,
    }
}

const IPTABLES: Program = program("iptables", "iptables");
const IP: Program = program("ip", "iproute2");
const ETHTOOL: Program = program("ethtool", "ethtool");

/// Asks each program once, all at the same time.
///
/// # Errors
///
/// None so far; the type is that of a look.
pub async fn look_at_programs(root: &Path) -> Result<BTreeMap<String, Vec<String>>, PortError> {
    let routes = std::fs::read_to_string(root.join("proc/net/route")).unwrap_or_default();
    let interface = outer(&routes);
    let counters = interface.map(|name| (ETHTOOL, vec!["-S", name], COUNTERS));
    let requested = [
        (IPTABLES, vec!["-S", "FORWARD"], ""),
        (IP, vec!["rule"], ""),
    ];
    let runs = requested.into_iter().chain(counters).map(async |it| {
        let (program, arguments, wanted) = it;
        let output = program.run(&arguments).await.ok()?;
        let text = String::from_utf8_lossy(&output.stdout);
        let lines = text.lines().map(str::trim);
        let kept = lines.filter(|line| line.contains(wanted)).take(LINES);
        let kept: Vec<String> = kept.map(str::to_owned).collect();
        let command = format!("{} {}", program.name, arguments[0]);
        output.status.success().then_some((command, kept))
    });
    Ok(join_all(runs).await.into_iter().flatten().collect())
}

/// The interface of the default route (proc(5), `/proc/net/route`).
fn outer(table: &str) -> Option<&str> {
    table.lines().find_map(|line| {
        let mut words = line.split_whitespace();
        let name = words.next()?;
        (words.next() == Some("00000000")).then_some(name)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_interface_of_the_default_route_is_the_outer_one() {
        let head = "Iface\tDestination\tGateway\tFlags\n";
        let table =
            format!("{head}eni1\t0A000105\t00000000\t0005\nens5\t00000000\t0100000A\t0003\n");
        assert_eq!(outer(&table), Some("ens5"));
        assert_eq!(outer(head), None);
    }

    #[tokio::test]
    async fn programs_that_are_not_there_are_left_out() {
        let root = tempfile::tempdir().expect("a scratch root");
        let seen = look_at_programs(root.path()).await.expect("it only looks");
        assert!(!seen.contains_key("ethtool -S"), "{seen:?}");
        assert!(seen.values().all(|lines| lines.len() <= LINES));
    }
}
