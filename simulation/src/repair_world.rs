//! Worlds whose unhealthy nodes may have themselves replaced, and what befalls their nodes.

use crate::conduct::Conductor;
use crate::draw::Draw;
use crate::interfere::lock;
use crate::plan::{Fault, Group, Instance, KopsGeneration, NEVER, Plan, Service, Sickness};
use crate::planning::{instances, timing};
use quake_model::facts::{ClockFacts, FilesystemHealth, HostHealth, SpaceFacts};
use quake_model::ports::Condition;
use quake_model::repair::{RepairConfig, RepairShare};
use quake_testkit::{SimHost, When};

/// In so many of a hundred worlds nodes may have themselves replaced.
const REPAIRS: u64 = 10;

const MINUTE: u64 = 60_000;

/// Where kubelet, the members of etcd and the API server that asks them answer.
const KUBELET: &[&str] = &["http://127.0.0.1:10248/healthz"];
const ETCD: &[&str] = &[
    "http://127.0.0.1:4001/health",
    "http://127.0.0.1:4002/health",
    "http://127.0.0.1:3990/livez",
];

impl Plan {
    /// Makes some worlds those of repairs, by draws of their own.
    pub(crate) fn draw_repairs(&mut self) {
        let mut draw = Draw::of(self.seed, &[15]);
        if !draw.percent(REPAIRS) {
            return;
        }
        self.repair_share = Some(draw.one(&[10, 10, 34]));
        (self.has_backup, self.unsigned) = (false, None);
        self.extras.clear();
        self.faults.clear();
        self.reports_conditions = false;
        self.freeze_ms = draw.between(45 * MINUTE, 90 * MINUTE);
        self.groups = groups(&mut draw, self.generation);
        self.instances = instances(&mut draw, &self.groups);
        let workers = self.groups.len() - 1;
        for _ in 1..draw.one(&[2, 4, 6, 6, 6]) {
            self.instances.push(Instance {
                group: workers,
                launch_ms: draw.between(0, 500),
                timing: timing(&mut draw),
                replaces: None,
                is_spare: false,
            });
        }
        self.draw_sickness(&mut draw);
        self.draw_trouble(&mut draw);
        for group in 0..self.groups.len() {
            for _ in 0..2 {
                self.instances.push(Instance {
                    group,
                    launch_ms: NEVER,
                    timing: timing(&mut draw),
                    replaces: None,
                    is_spare: true,
                });
            }
        }
    }

    /// One sick node, several with the same, some with others.
    fn draw_sickness(&mut self, draw: &mut Draw) {
        let population = match draw.percent(60) {
            true => self.workers(),
            false => self.members_of_etcd(),
        };
        let first = draw.index(population.len());
        let most = population.len() as u64;
        let others = match draw.index(10) {
            0..=3 => 0,
            4..=7 => 1,
            8 => draw.between(0, most - 1),
            _ => most - 1,
        };
        let sicknesses = [
            Sickness::Disk,
            Sickness::Disk,
            Sickness::Kubelet,
            Sickness::Clock,
            Sickness::Etcd,
        ];
        let sickness = draw.one(&sicknesses[..4]);
        let from_ms = draw.between(2 * MINUTE, 20 * MINUTE);
        let are_alike = draw.percent(40);
        for step in 0..=others {
            let at = (first + usize::try_from(step).unwrap_or_default()) % population.len();
            let latest = draw.one(&[MINUTE, 15 * MINUTE]);
            let from_ms = match step {
                0 => from_ms,
                _ => from_ms + draw.between(0, latest),
            };
            self.faults.push(Fault::Sick {
                node: population[at],
                from_ms,
                to_ms: self.freeze_ms,
                sickness: match step == 0 || are_alike {
                    true => sickness,
                    false => another(draw, &sicknesses, sickness),
                },
            });
        }
        self.draw_members_down(draw);
    }

    /// All members of etcd but one are down while that one is sick.
    fn draw_members_down(&mut self, draw: &mut Draw) {
        let members = self.members_of_etcd();
        if draw.percent(20) && members.len() > 1 {
            let from_ms = draw.between(MINUTE, 15 * MINUTE);
            let at_ms = from_ms + draw.between(0, 30 * MINUTE);
            self.freeze_ms = self.freeze_ms.max(at_ms + 20 * MINUTE);
            self.faults.push(Fault::Sick {
                node: members[0],
                from_ms: at_ms,
                to_ms: self.freeze_ms,
                sickness: Sickness::Disk,
            });
            for node in members.into_iter().skip(1) {
                self.faults.push(Fault::Sick {
                    node,
                    from_ms,
                    to_ms: self.freeze_ms,
                    sickness: Sickness::Kubelet,
                });
                // One whose kubelet does not answer does not become ready again.
                self.faults.push(Fault::Reboot {
                    node,
                    at_ms: from_ms + draw.between(1000, MINUTE),
                });
            }
        }
    }

    /// What goes wrong beside it, for all nodes or for one.
    fn draw_trouble(&mut self, draw: &mut Draw) {
        let nodes = self.instances.len();
        self.draw_outage(draw);
        for node in 0..nodes {
            let at_ms = draw.between(0, self.freeze_ms);
            let fault = match draw.index(24) {
                0 | 1 => Fault::Crash {
                    node,
                    nth: draw.between(300, 9000),
                    when: draw.one(&[When::Before, When::After]),
                    power: draw.percent(30),
                },
                2 | 3 => Fault::Stale {
                    node,
                    from_ms: 0,
                    to_ms: self.freeze_ms,
                    lag_ms: draw.between(1000, 45_000),
                },
                4 => Fault::Reboot { node, at_ms },
                5 => Fault::Clock {
                    node,
                    at_ms,
                    by_ms: draw.one(&[60_000, 240_000]),
                    back: draw.percent(50),
                },
                6 | 7 => Fault::Strike {
                    node,
                    operation: draw.one(&["set_unhealthy", "describe_groups", "write_object"]),
                    nth: draw.between(1, 3),
                    times: draw.one(&[1, 1, 4]),
                    condition: draw.one(&[Condition::TimedOut, Condition::Unreachable]),
                    when: draw.one(&[When::Before, When::After]),
                },
                8 => Fault::Slow {
                    node,
                    service: draw.one(&[Service::Ec2, Service::Objects]),
                    from_ms: at_ms,
                    to_ms: self.freeze_ms,
                    takes_ms: draw.between(500, 20_000),
                },
                _ => continue,
            };
            self.faults.push(fault);
        }
    }

    /// An outage that all nodes have.
    fn draw_outage(&mut self, draw: &mut Draw) {
        if draw.percent(30) {
            let from_ms = draw.between(5 * MINUTE, 35 * MINUTE);
            let service = draw.one(&[
                Service::Objects,
                Service::Objects,
                Service::Ec2,
                Service::Cluster,
            ]);
            let to_ms = from_ms + draw.between(2 * MINUTE, 50 * MINUTE);
            let condition = draw.one(&[Condition::Unreachable, Condition::TimedOut]);
            self.faults.push(Fault::Outage {
                node: None,
                service,
                from_ms,
                to_ms,
                condition: match service {
                    // So the port says it, however long nothing came.
                    Service::Cluster => Condition::Unreachable,
                    _ => condition,
                },
            });
        }
    }

    fn workers(&self) -> Vec<usize> {
        self.nodes_where(|group| !group.is_control_plane())
    }

    fn members_of_etcd(&self) -> Vec<usize> {
        self.nodes_where(Group::is_control_plane)
    }

    fn nodes_where(&self, is_one: impl Fn(&Group) -> bool) -> Vec<usize> {
        let instances = self.instances.iter().enumerate();
        let those = instances.filter(|(_, it)| is_one(&self.groups[it.group]) && !it.is_spare);
        those.map(|(node, _)| node).collect()
    }

    /// What an operator allows of repairs.
    pub(crate) fn repair(&self) -> Option<RepairConfig> {
        let share: RepairShare = self.repair_share?.to_string().parse().ok()?;
        let store = self.config_base().parse().ok();
        Some(RepairConfig { share, store })
    }
}

/// One of these that is not this one.
fn another(draw: &mut Draw, of: &[Sickness], than: Sickness) -> Sickness {
    let others: Vec<Sickness> = of.iter().copied().filter(|it| *it != than).collect();
    draw.one(&others)
}

fn groups(draw: &mut Draw, generation: KopsGeneration) -> Vec<Group> {
    let all = ["a", "b", "c"].map(str::to_owned);
    let members = &all[..draw.one(&[1, 3, 3])];
    let in_one = members.len() == 1 || (generation == KopsGeneration::Legacy && draw.percent(50));
    let group = |name: String, members: &[String]| Group {
        name,
        members: members.to_vec(),
    };
    let mut groups: Vec<Group> = match in_one {
        true => vec![group("control-plane".to_owned(), members)],
        false => members
            .iter()
            .map(|it| group(format!("control-plane-{it}"), std::slice::from_ref(it)))
            .collect(),
    };
    groups.push(group("workers".to_owned(), &[]));
    groups
}

impl Conductor<'_> {
    /// A node becomes sick, or well again.
    pub(crate) fn sicken(&self, node: usize, sickness: Sickness, is_sick: bool) {
        let mut hub = lock(self.hub);
        let now = hub.now_ms();
        hub.trace
            .add(format_args!("n{node} has {sickness:?}: {is_sick}"));
        let sick = &mut hub.nodes[node].sick;
        sick.retain(|(known, _)| *known != sickness);
        if is_sick {
            sick.push((sickness, now));
        }
        let sick: Vec<Sickness> = sick.iter().map(|(sickness, _)| *sickness).collect();
        drop(hub);
        let host = &self.nodes[node].host;
        host.set_health(health(&sick));
        show_answers(host, KUBELET, !sick.contains(&Sickness::Kubelet));
        show_answers(host, ETCD, !sick.contains(&Sickness::Etcd));
    }
}

fn show_answers(host: &SimHost, urls: &[&str], answers: bool) {
    for url in urls {
        match answers {
            true => host.answer_again(url),
            false => host.silence(url),
        }
    }
}

/// What a host with these finds of itself.
fn health(sick: &[Sickness]) -> HostHealth {
    let filesystem = FilesystemHealth {
        space: SpaceFacts {
            path: "/".to_owned(),
            bytes: 1000,
            bytes_free: 500,
            inodes: 0,
            inodes_free: 0,
            read_only: sick.contains(&Sickness::Disk),
        },
        errors: Some(0),
    };
    let offset_us = sick.contains(&Sickness::Clock).then_some(90_000_000);
    HostHealth {
        filesystems: vec![filesystem],
        clock: Some(ClockFacts {
            synchronized: true,
            offset_us: offset_us.or(Some(0)),
            max_error_us: None,
            ahead_of_server_ms: None,
        }),
    }
}
