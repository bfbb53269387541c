//! What an image's own firewall drops, pods need.

use crate::builders::Context;
use quake_formats::unit_text::UnitText;
use quake_model::fault::Fault;
use quake_model::item::{File, Item, Reaction};

const SCRIPT: &str = "/opt/kops/bin/iptables-setup";

/// Says that firewalld was turned off; where nodeup has it.
const MARKER: &str = "/etc/kops/firewalld-disabled";

/// To the same effect as nodeup's, and to the same when it is run again: nodeup's adds its rules each time.
const TEXT: &str = "\
#!/bin/sh
# Written by quake-agent; changes are lost at the next boot.
# Some images drop what no rule accepts. Pods are reached by packets that are forwarded, and by ports that nobody knows yet.
set -eu
for chain in INPUT FORWARD; do
  rules=$(iptables -w -S \"$chain\")
  case \"$rules\" in \"-P $chain DROP\"*) ;; *) continue ;; esac
  for protocol in tcp udp icmp; do
    iptables -w -C \"$chain\" -p \"$protocol\" -j ACCEPT 2>/dev/null ||
      iptables -w -A \"$chain\" -p \"$protocol\" -j ACCEPT
  done
done
";

/// The script, its unit, and the end of firewalld where it would undo what the pod network sets up.
pub(super) fn build(context: &Context<'_>) -> Result<Vec<Item>, Fault> {
    let script = File::plain(SCRIPT, TEXT).mode(0o755);
    // Most images accept everything, and a node on one needs no script to work.
    let text = script_unit("Firewall that lets pods through", SCRIPT);
    let unit = context.unit("kubernetes-iptables-setup.service", text);
    let unit = unit.reading([SCRIPT]).optional();
    let mut items = vec![Item::File(script), Item::Unit(unit)];
    if context.distribution.forces_nftables() {
        items.push(Item::File(marker()));
    }
    Ok(items)
}

/// A unit that runs a script once, before the network is there.
pub(in crate::builders) fn script_unit(description: &str, script: &str) -> String {
    UnitText::new()
        .section("Unit")
        .set("Description", description)
        .set("Before", "network.target")
        .section("Service")
        .set("Type", "oneshot")
        .set("RemainAfterExit", "yes")
        .set("ExecStart", script)
        .section("Install")
        .set("WantedBy", "basic.target")
        .finish()
}

/// firewalld rejects by default, and takes out the rules of others when it reloads. It may not be installed, so only that it
/// is masked must succeed.
fn marker() -> File {
    let text = "# firewalld is off: it and the pod network undo each other's rules.\n";
    let command =
        "systemctl disable --now firewalld.service 2>/dev/null; systemctl mask firewalld.service";
    let words = ["/bin/sh", "-c", command].map(str::to_owned);
    File::plain(MARKER, text).then(Reaction::Run(words.into()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::builders::sample::Sample;
    use crate::distribution::Project;

    #[test]
    fn a_chain_that_accepts_is_left_alone_and_no_rule_is_added_twice() {
        let policy = TEXT.find("\"-P $chain DROP\"*) ;; *) continue");
        let (check, add) = (TEXT.find("-C \"$chain\""), TEXT.find("-A \"$chain\""));
        assert!(policy.is_some() && policy < check && check < add, "{TEXT}");
    }

    #[test]
    fn firewalld_is_turned_off_where_it_would_be_in_the_way() {
        let mut sample = Sample::worker("");
        assert_eq!(sample.find(build, MARKER), None);
        sample = sample.on(Project::Rocky, (10, 0));
        let file = sample.file_at(build, MARKER);
        assert_eq!(file.map(|file| file.on_change.len()), Some(1));
    }
}
