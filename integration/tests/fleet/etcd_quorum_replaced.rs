//! Three control planes, each with a volume of both etcd clusters, form their quorums; the one that leads is lost. Two
//! serve on, and the instance that replaces it waits for its volumes, takes them, and is the member that it was.

use crate::volume_held::names;
use quake_integration::ec2::Rules;
use quake_integration::machine::{
    Cluster, Container, Facts, Kind, Lab, MachineBackend, OperatorOutput,
};
use quake_integration::node::CLUSTER;
use quake_integration::waiting::{pause, wait_until};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};

pub(crate) const MEMBERS: [&str; 3] = ["a", "b", "c"];

/// Each etcd cluster: its name in tags, in its members' names, and the port of its clients.
pub(crate) const ETCDS: [(&str, &str, u16); 2] =
    [("main", "etcd", 4001), ("events", "etcd-events", 4002)];

/// The volumes of each member, by etcd cluster.
type Volumes = BTreeMap<&'static str, BTreeMap<&'static str, String>>;

/// A control plane, and the member that it runs.
struct Node {
    member: &'static str,
    facts: Facts,
    machine: Container,
}

/// What the control planes share.
struct Fleet {
    lab: Lab,
    cluster: Cluster,
    volumes: Volumes,
}

impl Fleet {
    /// The cluster with its volumes, and a group for each member, as kops makes them.
    fn of_three(lab: Lab) -> Self {
        let mut cluster = lab.cluster_with(|spec| of_three_members(&spec, group));
        let volume = |member, etcd| (etcd, cluster.add_volume(etcd, member, &MEMBERS));
        let of_member = |member| (member, ETCDS.map(|(etcd, ..)| volume(member, etcd)).into());
        let volumes = MEMBERS.map(of_member).into();
        for member in MEMBERS {
            let added = cluster.add_control_planes(&group(member));
            added.expect("it is published");
        }
        Self {
            lab,
            cluster,
            volumes,
        }
    }

    fn launch(&self, member: &'static str) -> Node {
        let facts = self.cluster.launch(&group(member));
        let machine = self.lab.container(&facts, self.lab.baked());
        Node {
            member,
            facts,
            machine,
        }
    }

    /// Names the members where their volumes are, once this instance has its own.
    fn publish_once_held(&self, node: &Node) {
        let own = &self.volumes[node.member];
        let held = wait_until(node.machine.second() * 90, || {
            pause(node.machine.second() / 4);
            let holders = self.lab.vpc().ec2().holders();
            own.values()
                .all(|volume| holders.get(volume) == Some(&node.facts.instance))
        });
        let said = || node.machine.said();
        assert!(held, "{} has its volumes: {}", node.member, said());
        let published = self.cluster.publish_members();
        published.expect("the names can be told");
    }

    /// What tells a member's data from a copy of it: the filesystem, and the inode of the first file of its log.
    fn identity_of_data(&self, node: &Node) -> Vec<String> {
        let of_volume = |volume: &String| {
            let place = format!("/mnt/master-{volume}");
            let log = format!("{place}/var/etcd/data*/member/wal/0000000000000000-*.wal");
            let script = format!("findmnt -n -o FSTYPE,UUID {place} && ls -i {log}");
            node.machine.output(&script)
        };
        self.volumes[node.member].values().map(of_volume).collect()
    }

    /// An instance in the place of this one, which is dead before EC2 knows: it waits, says for whom, and takes over.
    fn replace(&self, lost: &Node) -> Node {
        let ec2 = self.lab.vpc().ec2();
        let replacement = self.launch(lost.member);
        names(&replacement.machine, "storage.volume-held", &lost.facts);
        let asks = ec2.asks(&replacement.facts.instance);
        assert!(asks.is_empty(), "it asks for nothing that is held");
        ec2.terminate(&lost.facts.instance);
        self.publish_once_held(&replacement);
        let ready = replacement.machine.becomes_ready(120);
        ready.expect("the replacement becomes ready");
        replacement
    }
}

pub(crate) fn group(member: &str) -> String {
    format!("control-plane-{member}")
}

/// The spec with three members of each etcd cluster, each in the group that is said of it.
pub(crate) fn of_three_members(spec: &str, group: fn(&str) -> String) -> String {
    let member =
        |group: &str, name: &str| format!("    - instanceGroup: {group}\n      name: {name}\n");
    let three: String = MEMBERS.map(|name| member(&group(name), name)).concat();
    let changed = spec.replace(&member("control-plane", "a"), &three);
    assert_eq!(changed.matches(&three).count(), ETCDS.len(), "{changed}");
    changed
}

/// Runs etcdctl for one cluster against these members, each by the name that its manifest gives it.
pub(crate) fn etcdctl(etcd: (&str, &str, u16), members: &[&str], command: &str) -> String {
    let (_, name, port) = etcd;
    let of_member = |member: &&str| format!("http://{name}-{member}.internal.{CLUSTER}:{port}");
    let endpoints: Vec<String> = members.iter().map(of_member).collect();
    let endpoints = endpoints.join(",");
    format!("ETCDCTL_API=3 etcdctl --command-timeout=5s --endpoints={endpoints} {command}")
}

/// Every member of both clusters answers for itself that it is healthy; the ids of the members, which are those it began with.
fn all_are_healthy(node: &Node) -> BTreeSet<String> {
    let mut ids = BTreeSet::new();
    for etcd in ETCDS {
        let healthy = etcdctl(etcd, &MEMBERS, "endpoint health");
        let are_healthy = node.machine.comes_true(&healthy, 60);
        let list = node.machine.output(&etcdctl(
            etcd,
            &[node.member],
            "member list --write-out=json",
        ));
        assert!(are_healthy, "all of {} are healthy: {list}", etcd.0);
        let list: Value = serde_json::from_str(&list).expect("a list in JSON");
        let members = list["members"].as_array().cloned().unwrap_or_default();
        assert_eq!(members.len(), MEMBERS.len(), "{list}");
        // The ids are numbers of 64 bits, which are compared as they are written.
        ids.extend(
            members
                .iter()
                .map(|member| format!("{} {}", etcd.0, member["ID"])),
        );
    }
    ids
}

fn leads(node: &Node) -> bool {
    let status = etcdctl(ETCDS[0], &[node.member], "endpoint status --write-out=json");
    let status: Value =
        serde_json::from_str(&node.machine.output(&status)).expect("a status in JSON");
    let status = &status[0]["Status"];
    status["leader"] == status["header"]["member_id"]
}

fn has(node: &Node, key: &str) {
    for etcd in ETCDS {
        // Answered by this member alone, from what it has.
        let get = etcdctl(etcd, &[node.member], &format!("get --consistency=s {key}"));
        let found = format!("{get} | grep -qx {key}");
        assert!(
            node.machine.comes_true(&found, 30),
            "{key} in {} of {}",
            etcd.0,
            node.member
        );
    }
}

/// Both clusters take a write while one member of three is gone.
fn two_serve(nodes: &[Node]) {
    let members: Vec<&str> = nodes.iter().map(|node| node.member).collect();
    for etcd in ETCDS {
        let put = etcdctl(etcd, &members, "put of-two of-two");
        assert!(
            nodes[0].machine.comes_true(&put, 60),
            "two of {} serve",
            etcd.0
        );
        let all = etcdctl(etcd, &MEMBERS, "endpoint health");
        assert!(
            !nodes[0].machine.holds(&all),
            "the third of {} is gone",
            etcd.0
        );
    }
}

#[test]
fn etcd_quorum_replaced() {
    let case = "etcd-quorum-replaced";
    let Some(lab) = Lab::with("fleet", case, Kind::Containers, Rules::default()) else {
        return;
    };
    let fleet = Fleet::of_three(lab);
    let mut nodes: Vec<Node> = MEMBERS.map(|member| fleet.launch(member)).into();
    for node in &nodes {
        fleet.publish_once_held(node);
    }
    for Node { machine, .. } in &nodes {
        machine.becomes_ready(120).expect("each becomes ready");
    }
    let members = all_are_healthy(&nodes[0]);
    for etcd in ETCDS {
        let put = etcdctl(etcd, &MEMBERS, "put of-three of-three");
        nodes[0].machine.output(&put);
    }

    let leader = nodes.iter().position(leads).expect("one member leads");
    let mut lost = nodes.remove(leader);
    let data = fleet.identity_of_data(&lost);
    lost.machine.cut_power();
    two_serve(&nodes);
    let replacement = fleet.replace(&lost);

    let found = fleet.identity_of_data(&replacement);
    assert_eq!(found, data, "the data is that of the lost one");
    let found = all_are_healthy(&replacement);
    assert_eq!(found, members, "the members are those that there were");
    has(&replacement, "of-three");
    has(&replacement, "of-two");
    let said = replacement.machine.console_of_agent();
    let verdict = said.last().cloned().unwrap_or_default();
    assert!(verdict.starts_with("READY "), "{said:?}");
    for Node {
        machine, member, ..
    } in &nodes
    {
        let status = machine.ask_agent("/v1/status");
        assert_eq!(status["ready"], true, "{member} was not disturbed");
    }
}
