//! Names that must be found before any name server knows them, in `/etc/hosts`.

use crate::builders::Context;
use crate::dns::around;
use quake_model::fault::Fault;
use quake_model::item::{HostRecord, Item};
use std::collections::{BTreeMap, BTreeSet};

/// The marks around the block, which are kops' (`pkg/dns/hosts`), so that either finds what the other wrote.
const BEGIN: &str = "# Begin host entries managed by kops - do not edit";
const END: &str = "# End host entries managed by kops";

const LOOPBACK: &str = "127.0.0.1";

/// The names of a cluster without DNS; and those of etcd on an API server that has none.
pub(super) fn build(context: &Context<'_>) -> Result<Vec<Item>, Fault> {
    let internal = context.api_internal_name();
    let addresses = &context.boot.api_server_ips;
    let mut records = Vec::new();
    if context.is_control_plane() && context.config.has_no_dns() {
        records.push(record(&internal, LOOPBACK));
        let api = context.config.api_server.as_ref();
        let api = api.and_then(|section| section.section("API"));
        let public = api.as_ref().and_then(|api| api.text("publicName"));
        records.extend(public.map(|name| record(name, LOOPBACK)));
    } else {
        let controller = format!("kops-controller.internal.{}", context.config.cluster);
        records.extend(at_each(&internal, addresses));
        records.extend(at_each(&controller, addresses));
    }
    if context.has_api_server() && !context.is_control_plane() {
        for cluster in ["main", "events"] {
            let name = format!("{cluster}.etcd.internal.{}", context.config.cluster);
            records.extend(at_each(&name, &context.boot.etcd_ips));
        }
    }
    Ok(records)
}

fn at_each(name: &str, addresses: &[String]) -> Vec<Item> {
    let records = addresses.iter().map(|address| record(name, address));
    records.collect()
}

fn record(name: &str, address: &str) -> Item {
    Item::HostRecord(HostRecord {
        name: name.to_owned(),
        address: address.to_owned(),
    })
}

/// The text of `/etc/hosts` with these records in the block that is ours, which goes last, and all else as it was found.
///
/// A line for each address, sorted: the order of the records means nothing. Of a block whose end is missing only the mark is
/// taken out, for nobody knows which lines were in it. Made of its own outcome it changes nothing.
pub fn hosts_text(found: &str, records: &[HostRecord]) -> String {
    let (before, after) = around(found, [BEGIN, END]);
    let outside = before + &after;
    let mut kept: Vec<&str> = outside.split('\n').collect();
    while kept.last().is_some_and(|line| line.trim().is_empty()) {
        kept.pop();
    }
    let mut names: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for record in records {
        let names = names.entry(&record.address).or_default();
        names.insert(&record.name);
    }
    let block = names.into_iter().map(|(address, names)| {
        let names: Vec<&str> = names.into_iter().collect();
        format!("{address}\t{}\n", names.join(" "))
    });
    let mut text: String = kept.iter().flat_map(|line| [*line, "\n"]).collect();
    text.push_str(&format!("\n{BEGIN}\n"));
    text.extend(block);
    text.push_str(&format!("{END}\n"));
    text
}

/// Whether a text of `/etc/hosts` has a block that is ours.
pub fn has_block(found: &str) -> bool {
    found.lines().any(|line| line.trim() == BEGIN)
}

/// Whether a line is one of the marks around that block.
pub fn is_kops_block(line: &str) -> bool {
    matches!(line.trim(), BEGIN | END)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::builders::sample::Sample;
    use proptest::prelude::*;
    use quake_model::spec::Role;

    fn lines(sample: &Sample) -> Vec<String> {
        let items = sample.items(build).into_iter();
        let lines = items.map(|item| match item {
            Item::HostRecord(record) => format!("{} {}", record.address, record.name),
            other => panic!("{other:?} is no host record"),
        });
        lines.collect()
    }

    #[test]
    fn a_control_plane_without_dns_is_its_own_api_server() {
        let keys = "usesNoneDNS: true\nAPIServerConfig: {API: {publicName: api.c.example.com}}\n";
        let mut sample = Sample::control_plane(keys);
        // The addresses of the load balancer are for others.
        sample.boot.api_server_ips = vec!["10.0.0.1".to_owned()];
        let wanted = [
            "127.0.0.1 api.internal.c.example.com",
            "127.0.0.1 api.c.example.com",
        ];
        assert_eq!(lines(&sample), wanted);
        assert_eq!(lines(&Sample::control_plane("")), [""; 0], "it has DNS");
    }

    #[test]
    fn a_worker_finds_the_control_plane_at_each_of_the_addresses_it_was_told() {
        let mut sample = Sample::worker("usesNoneDNS: true\n");
        assert_eq!(lines(&sample), [""; 0]);
        sample.boot.api_server_ips = ["10.0.0.1", "10.0.0.2"].map(str::to_owned).into();
        let wanted = [
            "10.0.0.1 api.internal.c.example.com",
            "10.0.0.2 api.internal.c.example.com",
            "10.0.0.1 kops-controller.internal.c.example.com",
            "10.0.0.2 kops-controller.internal.c.example.com",
        ];
        assert_eq!(lines(&sample), wanted);
    }

    #[test]
    fn an_api_server_alone_finds_etcd_on_the_control_plane() {
        let mut sample = Sample::control_plane("");
        sample.boot.role = Role::ApiServer;
        sample.boot.etcd_ips = vec!["10.0.0.9".to_owned()];
        let wanted = [
            "10.0.0.9 main.etcd.internal.c.example.com",
            "10.0.0.9 events.etcd.internal.c.example.com",
        ];
        assert_eq!(lines(&sample), wanted);
    }

    fn at(address: &str, name: &str) -> HostRecord {
        HostRecord {
            name: name.to_owned(),
            address: address.to_owned(),
        }
    }

    #[test]
    fn the_block_of_an_earlier_boot_is_replaced_and_all_else_is_kept() {
        let found = format!("127.0.0.1 localhost\n{BEGIN}\n10.0.0.9\tb a\n{END}\n::1 ip6\n\n\n");
        let wanted =
            format!("127.0.0.1 localhost\n::1 ip6\n\n{BEGIN}\n10.0.0.1\ta b\n10.0.0.2\ta\n{END}\n");
        let records = [
            at("10.0.0.2", "a"),
            at("10.0.0.1", "b"),
            at("10.0.0.1", "a"),
        ];
        assert_eq!(hosts_text(&found, &records), wanted);
    }

    #[test]
    fn lines_after_a_mark_without_an_end_are_not_lost() {
        let found = format!("{BEGIN}\n127.0.0.1 localhost\n");
        let text = hosts_text(&found, &[]);
        assert!(text.starts_with("127.0.0.1 localhost\n\n"), "{text}");
    }

    proptest! {
        #[test]
        fn what_is_made_of_its_own_outcome_is_the_same(
            found in prop::collection::vec(prop_oneof![
                Just(BEGIN), Just(END), Just(""), Just("::1 a"), Just("  # said\t"), Just("10.0.0.1\ta b"),
            ], 0..8),
            names in prop::collection::vec("[a-c]", 0..4),
        ) {
            let records: Vec<HostRecord> = names.iter().map(|name| at("10.0.0.1", name)).collect();
            let once = hosts_text(&found.join("\n"), &records);
            prop_assert_eq!(hosts_text(&once, &records), once.clone());
            let mut other = records;
            other.reverse();
            prop_assert_eq!(hosts_text(&once, &other), once);
        }
    }
}
