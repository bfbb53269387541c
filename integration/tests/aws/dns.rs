//! The names of a control plane at Route 53 as moto has it, refusing what Route 53 refuses: docs/dns.md.

use crate::members::{Cluster, Group, Instance};
use quake_integration::agent::Running;
use quake_integration::ec2::Rules;
use quake_integration::moto::Moto;
use quake_integration::random::Random;
use quake_integration::skip::unless_missing;
use serde_json::Value;
use std::collections::BTreeSet;

const ONE: &[Group] = &[("control-plane", &["a"])];

const API: &str = "api.internal.demo.quake.example";
const MAIN: &str = "etcd-a.internal.demo.quake.example";
const EVENTS: &str = "etcd-events-a.internal.demo.quake.example";

const PLACEHOLDER: &str = "203.0.113.123";

/// A cluster that names a zone, and the zone's id; the names that kops makes in advance are there.
fn zoned(
    groups: &[Group],
    rules: Rules,
    name: impl Fn(&str) -> String,
) -> Option<(Cluster, String)> {
    let mut made = String::new();
    let cluster = Cluster::start_saying(groups, rules, Random::from_environment(), |moto| {
        made = moto.create_zone("quake.example").expect("moto makes it");
        for name in [API, MAIN, EVENTS] {
            let put = moto.put_addresses(&made, name, &[PLACEHOLDER]);
            put.expect("moto has the zone");
        }
        format!("  dnsZone: {}\n", name(&made))
    });
    Some((unless_missing(cluster)?, made))
}

/// A control plane whose cluster has a zone, with the names that kops makes in advance.
struct Named {
    cluster: Cluster,
    instance: Instance,
    zone: String,
}

impl Named {
    fn start(rules: Rules) -> Option<Self> {
        Self::start_naming(rules, str::to_owned)
    }

    /// The same with a cluster that names its zone in another way than by its id.
    fn start_naming(rules: Rules, name: impl Fn(&str) -> String) -> Option<Self> {
        let (cluster, zone) = zoned(ONE, rules, name)?;
        cluster.add_volumes();
        let instance = cluster.launch("control-plane");
        Some(Self {
            cluster,
            instance,
            zone,
        })
    }

    fn moto(&self) -> &Moto {
        self.cluster.ec2.moto()
    }

    fn boot(&self) -> Value {
        self.instance.ready(self.instance.boot(&[]))
    }

    fn ours(&self) -> [&str; 1] {
        [&self.instance.address]
    }

    fn leads(&self, name: &str) -> Vec<String> {
        let found = self.moto().addresses(&self.zone, name);
        found.expect("moto has the zone")
    }
}

fn requested(summary: &Value, action: &str) -> u64 {
    summary["calls"][format!("route53:{action}")]
        .as_u64()
        .unwrap_or(0)
}

#[test]
fn names_are_published_and_a_second_boot_only_looks() {
    let Some(node) = Named::start(Rules::default()) else {
        return;
    };
    let first = node.boot();
    for name in [API, MAIN, EVENTS] {
        assert_eq!(node.leads(name), node.ours(), "{name}");
    }
    let calls = &first["calls"];
    assert_eq!(requested(&first, "ChangeResourceRecordSets"), 1, "{calls}");
    let second = node.boot();
    let calls = &second["calls"];
    assert_eq!(second["writes"], 0, "{second}");
    assert_eq!(requested(&second, "ListResourceRecordSets"), 1, "{calls}");
    for action in ["ChangeResourceRecordSets", "GetHostedZone", "GetChange"] {
        assert_eq!(requested(&second, action), 0, "{action}: {calls}");
    }
}

#[test]
fn an_address_that_changed_is_published_and_a_living_peers_stays() {
    let Some(node) = Named::start(Rules::default()) else {
        return;
    };
    // It has its volumes before there is another that may want them.
    node.boot();
    let peer = node.cluster.launch("control-plane");
    let peer = peer.address.clone();
    for (name, addresses) in [
        (API, vec![peer.as_str(), "10.9.9.9", PLACEHOLDER]),
        (MAIN, vec!["10.9.9.9"]),
    ] {
        let put = node.moto().put_addresses(&node.zone, name, &addresses);
        put.expect("moto has the zone");
    }
    node.boot();
    let mut both = vec![node.instance.address.clone(), peer];
    both.sort();
    assert_eq!(node.leads(API), both);
    assert_eq!(node.leads(MAIN), node.ours());
}

#[test]
fn three_control_planes_that_write_at_once_agree() {
    let groups: &[Group] = &[
        ("control-plane-a", &["a"]),
        ("control-plane-b", &["b"]),
        ("control-plane-c", &["c"]),
    ];
    let Some((cluster, zone)) = zoned(groups, Rules::default(), str::to_owned) else {
        return;
    };
    cluster.add_volumes();
    let instances: Vec<Instance> = groups.iter().map(|it| cluster.launch(it.0)).collect();
    let boots: Vec<Running> = instances.iter().map(|it| it.boot(&[])).collect();
    for (instance, boot) in instances.iter().zip(boots) {
        instance.ready(boot);
    }
    let leads = |name: &str| {
        let found = cluster.ec2.moto().addresses(&zone, name);
        found.expect("moto has the zone")
    };
    let all: BTreeSet<String> = instances.iter().map(|it| it.address.clone()).collect();
    assert_eq!(all.len(), 3, "each has an address of its own");
    assert_eq!(leads(API).into_iter().collect::<BTreeSet<_>>(), all);
    for (instance, member) in instances.iter().zip(["a", "b", "c"]) {
        for name in ["etcd", "etcd-events"] {
            let name = format!("{name}-{member}.internal.demo.quake.example");
            assert_eq!(leads(&name), [instance.address.as_str()], "{name}");
        }
    }
}

#[test]
fn a_zone_is_found_by_its_name() {
    let Some(node) = Named::start_naming(Rules::default(), |_| "quake.example".to_owned()) else {
        return;
    };
    node.boot();
    assert_eq!(node.leads(API), node.ours());
}

#[test]
fn throttles_of_route_53_are_waited_out() {
    let rules = Rules {
        names_throttled: 4,
        ..Rules::default()
    };
    let Some(node) = Named::start(rules) else {
        return;
    };
    let summary = node.boot();
    assert_eq!(node.leads(API), node.ours());
    assert_eq!(
        requested(&summary, "ListResourceRecordSets"),
        6,
        "{summary}"
    );
}

#[test]
fn a_node_that_may_not_publish_its_names_says_which_statement_it_lacks() {
    let rules = Rules {
        names_denied: true,
        ..Rules::default()
    };
    let Some(node) = Named::start(rules) else {
        return;
    };
    let boot = node.instance.boot(&["--denied-grace", "1s"]);
    let (ended, fault) = node.instance.refused(boot);
    assert_eq!(
        (ended.status, &fault["code"]),
        (77, &"dns.denied".into()),
        "{fault}"
    );
    let zone = format!("arn:aws:route53:::hostedzone/{}", node.zone);
    let reported = fault.to_string();
    for part in [
        "route53:ChangeResourceRecordSets",
        "QuakePublishNames",
        &zone,
    ] {
        assert!(reported.contains(part), "{part} in {reported}");
    }
    assert_eq!(node.leads(API), [PLACEHOLDER]);
}

#[test]
fn a_zone_that_is_gone_is_named() {
    let Some(node) = Named::start_naming(Rules::default(), |_| "ZGONE".to_owned()) else {
        return;
    };
    let (ended, fault) = node.instance.refused(node.instance.boot(&[]));
    assert_eq!(
        (ended.status, &fault["code"]),
        (78, &"dns.zone-missing".into()),
        "{fault}"
    );
}
