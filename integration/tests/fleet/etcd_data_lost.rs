//! Three control planes of kops legacy lose the volumes of one, two and three members of `main`. Each is refused or
//! restored by its name, from no snapshot, an old one and a fresh one, with the members in one group and in three. A
//! refusal changes nothing, and no member starts empty: the agent waits on each new volume.

use crate::etcd_quorum_replaced::{ETCDS, MEMBERS, etcdctl, group, of_three_members};
use quake_integration::ec2::Rules;
use quake_integration::machine::{
    Cluster, Container, Facts, Kind, Lab, MachineBackend, OperatorOutput,
};
use quake_integration::waiting::{pause, wait_until};
use std::collections::BTreeMap;
use std::fmt;
use std::ops::{Range, RangeInclusive};

/// The unit has the addresses that stand for AWS.
const AGENT: &str = "env $(systemctl show --value -p Environment quake-agent.service) quake-agent";

/// Stops what runs etcd, as the runbook has it.
const STOP: &str =
    "systemctl stop quake-agent kubelet; pkill -x etcd; while pgrep -x etcd; do :; done";

/// How old a backup is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Age {
    None,
    Old,
    Fresh,
}

impl Age {
    const ALL: [Self; 3] = [Self::None, Self::Old, Self::Fresh];

    /// How many keys the cluster had when the snapshot was taken.
    fn keys(self) -> usize {
        match self {
            Self::None => 0,
            Self::Old => 5,
            Self::Fresh => 12,
        }
    }

    fn file(self) -> &'static str {
        match self {
            Self::None | Self::Old => "/root/old.db",
            Self::Fresh => "/root/fresh.db",
        }
    }

    fn argument(self) -> String {
        match self {
            Self::None => String::new(),
            _ => format!("--snapshot {}", self.file()),
        }
    }
}

/// One cell of the table, for what fails.
struct Cell {
    lost: usize,
    age: Age,
    groups: &'static str,
}

impl fmt::Display for Cell {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} lost, {:?}, {}", self.lost, self.age, self.groups)
    }
}

impl Cell {
    /// The code of the refusal of a plan; `None` for one that can be carried out.
    fn refusal(&self) -> Option<&'static str> {
        match (self.age, self.lost) {
            (Age::None, _) => Some("etcd.backup-missing"),
            (_, 1) => Some("etcd.quorum-healthy"),
            _ => None,
        }
    }
}

struct Node {
    member: &'static str,
    facts: Facts,
    machine: Container,
    /// The volume of `main`.
    main: String,
}

impl Node {
    fn run(&self, line: &str) -> (i32, String) {
        let ran = self
            .machine
            .run(&format!("{line} 2>&1"), self.machine.second() * 120);
        let ran = ran.expect("the machine answers");
        (ran.status, ran.stdout)
    }

    fn restore(&self, age: Age, more: &str) -> (i32, String) {
        self.run(&format!("{AGENT} etcd restore {} {more}", age.argument()))
    }

    fn is_mounted(&self) -> bool {
        self.machine
            .holds(&format!("findmnt /mnt/master-{}", self.main))
    }
}

struct Fleet {
    lab: Lab,
    cluster: Cluster,
    groups: &'static str,
    nodes: Vec<Node>,
}

impl Fleet {
    /// Three control planes whose etcd has the keys of the fresh snapshot, and some that no snapshot has.
    fn open(case: &str, groups: &'static str, group_of: fn(&str) -> String) -> Option<Self> {
        let lab = Lab::with("fleet", case, Kind::Containers, Rules::default())?;
        // The machines run the etcd of their distribution, and a restore goes by the spec's version.
        let mut cluster =
            lab.cluster_with(|spec| of_three_members(&spec, group_of).replace("3.2.24", "3.4.23"));
        for member in MEMBERS {
            if group_of(member) != "control-plane" {
                cluster
                    .add_control_planes(&group_of(member))
                    .expect("it is published");
            }
        }
        let mut fleet = Self {
            lab,
            cluster,
            groups,
            nodes: Vec::new(),
        };
        let volume = |member, etcd| (fleet.cluster.add_volume(etcd, member, &MEMBERS), member);
        let of_main: BTreeMap<_, _> = MEMBERS.map(|member| volume(member, "main")).into();
        let of_events: BTreeMap<_, _> = MEMBERS.map(|member| volume(member, "events")).into();
        for group in MEMBERS.map(group_of) {
            let facts = fleet.cluster.launch(&group);
            let machine = fleet.lab.container(&facts, fleet.lab.baked());
            // A group of three takes any member's volume.
            let main = fleet.published_once_held(&machine, &facts, [&of_main, &of_events]);
            fleet.nodes.push(Node {
                member: of_main[&main],
                facts,
                machine,
                main,
            });
        }
        fleet.nodes.sort_by_key(|node| node.member);
        for Node { machine, .. } in &fleet.nodes {
            machine.becomes_ready(120).expect("each becomes ready");
        }
        // Until all members have met, etcd calls its version 3.0.0.
        let met = "curl -s http://127.0.0.1:4001/version | grep -q 'etcdcluster\":\"3.4'";
        assert!(
            fleet.nodes[0].machine.comes_true(met, 60),
            "all members met"
        );
        fleet.write(1..=Age::Old.keys());
        fleet.save(Age::Old);
        fleet.write(Age::Old.keys() + 1..=Age::Fresh.keys());
        fleet.save(Age::Fresh);
        fleet.write(100..=102);
        Some(fleet)
    }

    /// Names the members where their volumes are, once this instance has two; the one of `main`.
    fn published_once_held(
        &self,
        machine: &Container,
        facts: &Facts,
        made: [&BTreeMap<String, &str>; 2],
    ) -> String {
        let mut own = Vec::new();
        let held = wait_until(machine.second() * 90, || {
            pause(machine.second() / 4);
            let holders = self.lab.vpc().ec2().holders();
            let is_own = |volume: &&String| holders.get(*volume) == Some(&facts.instance);
            let of_each = made.map(|volumes| volumes.keys().find(is_own).cloned());
            own = of_each.into_iter().flatten().collect();
            own.len() == made.len()
        });
        assert!(held, "it has its volumes: {}", machine.said());
        self.cluster
            .publish_members()
            .expect("the names can be told");
        own.swap_remove(0)
    }

    fn write(&self, keys: RangeInclusive<usize>) {
        let put = etcdctl(ETCDS[0], &MEMBERS, "put key-$it value");
        let (from, to) = (keys.start(), keys.end());
        let script = format!("for it in $(seq {from} {to}); do {put} || exit 1; done");
        assert!(
            self.nodes[0].machine.comes_true(&script, 60),
            "etcd takes keys"
        );
    }

    /// Saves a snapshot, and has it on every node.
    fn save(&self, age: Age) {
        let (file, first) = (age.file(), &self.nodes[0]);
        let save = etcdctl(ETCDS[0], &[first.member], &format!("snapshot save {file}"));
        first.machine.output(&save);
        let packed = first
            .machine
            .output(&format!("gzip -c {file} | base64 -w0"));
        let packed = packed.trim();
        for node in &self.nodes[1..] {
            node.machine
                .output(&format!("echo {packed} | base64 -d | gzip -d > {file}"));
        }
    }

    /// These members lose the volume of `main`, and kops makes new ones. The agents of these nodes refuse them, and run
    /// no etcd.
    fn lose(&mut self, lost: Range<usize>) {
        let ec2 = self.lab.vpc().ec2().clone();
        // One after the other, so that each node has its own member's volume to take and no other.
        for at in lost {
            let node = &mut self.nodes[at];
            node.machine.output(STOP);
            node.machine
                .output(&format!("umount /mnt/master-{}", node.main));
            ec2.detach(&node.main);
            ec2.delete_volume(&node.main);
            node.main = self.cluster.add_volume("main", node.member, &MEMBERS);
            node.machine
                .output("systemctl start --no-block quake-agent");
            let node = &self.nodes[at];
            let status = node.machine.agent_fails(90).expect("it refuses");
            assert_eq!(status, 80, "{}", node.machine.said());
            let said = node.machine.said();
            assert!(said.contains("storage.data-expected"), "{said}");
            self.starts_nothing(node);
        }
    }

    fn starts_nothing(&self, node: &Node) {
        assert!(!node.is_mounted(), "{} has no new filesystem", node.member);
        assert!(
            node.machine.holds("! pgrep -x etcd"),
            "{} runs no etcd",
            node.member
        );
    }

    /// What each node did to EC2 beyond looking.
    fn changes(&self) -> Vec<BTreeMap<String, u64>> {
        let of_node = |node: &Node| {
            let mut calls = self.lab.vpc().ec2().calls(&node.facts.instance);
            calls.retain(|action, _| !action.starts_with("Describe"));
            calls
        };
        self.nodes.iter().map(of_node).collect()
    }

    /// Every cell of so many lost volumes; asked on each node, and nothing is changed by it.
    fn is_planned(&self, lost: usize) {
        let before = self.changes();
        for age in Age::ALL {
            let cell = Cell {
                lost,
                age,
                groups: self.groups,
            };
            for node in &self.nodes {
                let (planned, plan) = node.restore(age, "--plan");
                let (executed, said) = node.restore(age, "--execute --consent x");
                match cell.refusal() {
                    Some(code) => {
                        assert_eq!((planned, executed), (80, 80), "{cell}: {plan}{said}");
                        let both = plan.contains(code) && said.contains(code);
                        assert!(both, "{cell}: {plan}{said}");
                    }
                    None => {
                        assert_eq!(planned, 0, "{cell}: {plan}");
                        assert_ne!(executed, 0, "{cell}: other words: {said}");
                    }
                }
            }
        }
        assert_eq!(
            self.changes(),
            before,
            "{lost} lost: a plan changes nothing"
        );
        for node in &self.nodes[..lost] {
            self.starts_nothing(node);
        }
    }

    /// Follows the runbook: the new volumes are allowed, etcd is stopped, each member restored, and etcd started.
    fn is_restored(&self, lost: usize, age: Age) {
        let cell = Cell {
            lost,
            age,
            groups: self.groups,
        };
        let (status, said) = self.nodes[0].restore(age, "--rehearse");
        assert_eq!(status, 0, "{cell}: {said}");
        assert!(
            said.contains(&format!("{} keys", age.keys())),
            "{cell}: {said}"
        );
        for node in &self.nodes[..lost] {
            let (volume, member) = (&node.main, node.member);
            let wipe = format!(
                "{AGENT} volumes wipe {volume} --slot main/{member} --i-know-this-is-empty --yes"
            );
            node.machine.output(&wipe);
            node.machine.output(
                "systemctl reset-failed quake-agent; systemctl start --no-block quake-agent",
            );
            let mounted = wait_until(node.machine.second() * 90, || node.is_mounted());
            assert!(mounted, "{cell}: {}", node.machine.said());
        }
        for node in &self.nodes {
            node.machine.output(STOP);
        }
        for node in &self.nodes {
            let (_, planned) = node.restore(age, "--plan");
            let words = planned
                .split("--consent ")
                .nth(1)
                .and_then(|rest| rest.lines().next());
            let words = words.expect("the words of consent");
            let execute = format!("--execute --consent {words}");
            let (status, said) = node.restore(age, &execute);
            assert_eq!(status, 0, "{cell}: {said}");
            let (status, said) = node.restore(age, &execute);
            assert_eq!(status, 0, "{cell}: {said}");
            assert!(said.contains("restored earlier"), "{cell}: {said}");
        }
        for node in &self.nodes {
            node.machine.output(
                "systemctl reset-failed quake-agent; systemctl start --no-block quake-agent",
            );
        }
        for node in &self.nodes {
            let ready = node.machine.becomes_ready(120);
            assert_eq!(ready, Ok(()), "{cell}");
        }
        self.has_keys(age.keys(), &cell);
    }

    /// Every member has so many keys, each by itself.
    fn has_keys(&self, keys: usize, cell: &Cell) {
        let healthy = etcdctl(ETCDS[0], &MEMBERS, "endpoint health");
        assert!(
            self.nodes[0].machine.comes_true(&healthy, 60),
            "{cell}: all are healthy"
        );
        for node in &self.nodes {
            let get = "get --consistency=s --prefix --keys-only ''";
            let get = etcdctl(ETCDS[0], &[node.member], get);
            let counted = node.machine.output(&format!("{get} | grep -c ."));
            assert_eq!(counted.trim(), keys.to_string(), "{cell}: {}", node.member);
        }
    }
}

/// The whole table; the cells that are restored are carried out for one age of each number of lost volumes.
fn table(case: &str, groups: &'static str, group_of: fn(&str) -> String, ages: [Age; 2]) {
    let Some(mut fleet) = Fleet::open(case, groups, group_of) else {
        return;
    };
    fleet.lose(0..1);
    fleet.is_planned(1);
    let two = etcdctl(ETCDS[0], &["b", "c"], "endpoint health");
    assert!(
        fleet.nodes[2].machine.comes_true(&two, 30),
        "two of three serve on"
    );
    fleet.lose(1..2);
    fleet.is_planned(2);
    fleet.is_restored(2, ages[0]);
    fleet.lose(0..3);
    fleet.is_planned(3);
    fleet.is_restored(3, ages[1]);
}

#[test]
fn etcd_data_lost_in_one_group() {
    let (case, ages) = ("etcd-data-lost-in-one-group", [Age::Old, Age::Fresh]);
    table(case, "one group", |_| "control-plane".to_owned(), ages);
}

#[test]
fn etcd_data_lost_in_three_groups() {
    let (case, ages) = ("etcd-data-lost-in-three-groups", [Age::Fresh, Age::Old]);
    table(case, "three groups", group, ages);
}
