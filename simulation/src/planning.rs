//! A plan from a seed.

use crate::draw::Draw;
use crate::plan::{Act, Extra, ExtraKind, Fault, Group, Instance, KopsGeneration, Plan, Service};
use quake_model::ports::Condition;
use quake_testkit::{Timing, When};

/// Within this time things go wrong: longer than a boot without trouble, and than the wait for a view that has settled.
const TROUBLE_MS: u64 = 20 * 60 * 1000;

/// So many worlds of a hundred are races for members.
const RACES: u64 = 12;

/// In so many worlds of a hundred agents report conditions.
const REPORTS: u64 = 20;

/// In so many a call is doubled: it is made again after a lost reply, and the second answer is what the agent gets.
const DOUBLED: u64 = 15;

/// Port calls of a boot without trouble, roughly: where an agent is killed.
const CALLS: u64 = 700;

impl Plan {
    /// The plan of this seed.
    pub fn new(seed: u64) -> Self {
        let mut draw = Draw::of(seed, &[1]);
        let generation = match draw.percent(50) {
            true => KopsGeneration::Legacy,
            false => KopsGeneration::Current,
        };
        let groups = groups(&mut draw, generation);
        let instances = instances(&mut draw, &groups);
        let mut plan = Self {
            seed,
            generation,
            groups,
            instances,
            extras: Vec::new(),
            has_backup: draw.percent(8),
            unsigned: None,
            takes_over_addons: draw.percent(70),
            reports_conditions: Draw::of(seed, &[10]).percent(REPORTS),
            publishes_names: false,
            versions_addons: false,
            repair_share: None,
            faults: Vec::new(),
            freeze_ms: draw.between(1000, TROUBLE_MS),
            looks_on_ms: draw.one(&[0, 0, 30_000, 120_000, 600_000]),
        };
        if draw.percent(6) {
            let members = plan.members();
            let member = members[draw.index(members.len())].to_owned();
            plan.unsigned = Some((draw.one(&["main", "events"]), member));
        }
        plan.extras = extras(&mut draw, &plan);
        plan.draw_faults();
        // By a draw of its own, so that the other worlds stay what they are.
        if Draw::of(seed, &[8]).percent(RACES) {
            plan.draw_race();
        }
        let mut draw = Draw::of(seed, &[11]);
        if draw.percent(DOUBLED) {
            plan.faults.push(Fault::Strike {
                node: draw.index(plan.instances.len()),
                operation: draw.one(&["attach_volume", "change_object", "change_object"]),
                nth: draw.between(1, 4),
                times: 1,
                condition: Condition::Conflict,
                when: When::After,
            });
        }
        plan.draw_repairs();
        plan.draw_names();
        plan.draw_addons();
        plan
    }

    /// Makes it a race: instances of one group that may take any of three members, with late answers and crashes while they do.
    fn draw_race(&mut self) {
        let mut draw = Draw::of(self.seed, &[9]);
        self.generation = KopsGeneration::Legacy;
        (self.has_backup, self.unsigned) = (false, None);
        self.extras.clear();
        self.faults.clear();
        self.groups = vec![Group {
            name: "control-plane".to_owned(),
            members: ["a", "b", "c"].map(str::to_owned).to_vec(),
        }];
        self.instances = instances(&mut draw, &self.groups);
        self.freeze_ms = draw.between(60_000, 600_000);
        for node in 0..self.instances.len() {
            if draw.percent(70) {
                self.faults.push(Fault::LateAttach {
                    node,
                    nth: 1,
                    later_ms: draw.between(1000, 60_000),
                });
            }
            for _ in 0..draw.between(0, 2) {
                self.faults.push(Fault::Crash {
                    node,
                    nth: draw.between(150, 500),
                    when: draw.one(&[When::Before, When::After]),
                    power: draw.percent(20),
                });
            }
            self.faults.push(Fault::Stale {
                node,
                from_ms: 0,
                to_ms: draw.between(5_000, self.freeze_ms),
                lag_ms: draw.between(1000, 45_000),
            });
        }
    }

    fn draw_faults(&mut self) {
        let mut draw = Draw::of(self.seed, &[2]);
        let most = draw.one(&[0, 2, 4, 8, 14]);
        for _ in 0..draw.between(0, most) {
            let fault = self.fault(&mut draw);
            if let Fault::Terminate { node, at_ms, .. } = fault {
                if self.is_terminated(node) {
                    continue;
                }
                let replaced = &self.instances[node];
                self.instances.push(Instance {
                    launch_ms: at_ms + draw.between(1000, 300_000),
                    replaces: Some(node),
                    ..replaced.clone()
                });
            }
            self.faults.push(fault);
        }
    }

    fn fault(&self, draw: &mut Draw) -> Fault {
        let node = draw.index(self.instances.len());
        let (from_ms, to_ms) = window(draw, self.freeze_ms);
        match draw.index(16) {
            0..=3 => Fault::Crash {
                node,
                nth: draw.between(1, CALLS),
                when: draw.one(&[When::Before, When::After]),
                power: draw.percent(40),
            },
            4 => Fault::Reboot {
                node,
                at_ms: from_ms,
            },
            5..=7 => strike(draw, node),
            8 => Fault::LateAttach {
                node,
                nth: draw.between(1, 2),
                later_ms: draw.between(100, 60_000),
            },
            9 | 10 => Fault::Stale {
                node,
                from_ms,
                to_ms,
                lag_ms: draw.between(1000, 45_000),
            },
            11 => Fault::Terminate {
                node,
                at_ms: from_ms,
                detach_ms: draw.between(1000, 120_000),
            },
            12 => Fault::Slow {
                node,
                service: draw.one(&SERVICES),
                from_ms,
                to_ms,
                takes_ms: draw.between(500, 60_000),
            },
            13 => self.rare(draw, node, from_ms),
            _ => outage(draw, node, (from_ms, to_ms)),
        }
    }

    fn rare(&self, draw: &mut Draw, node: usize, at_ms: u64) -> Fault {
        match draw.index(5) {
            0 => Fault::Clock {
                node,
                at_ms,
                by_ms: draw.one(&[60_000, 3_600_000, 86_400_000]),
                back: draw.percent(50),
            },
            1 => Fault::Operator {
                at_ms,
                act: draw.one(&[Act::Ignore, Act::Pin]),
            },
            2 => Fault::RemoveFile {
                node,
                at_ms,
                nth: draw.between(0, 200),
            },
            3 => Fault::PlanBeside { node, at_ms },
            _ => Fault::Reboot { node, at_ms },
        }
    }
}

/// Who may be slow or refuse.
const SERVICES: [Service; 8] = [
    Service::Metadata,
    Service::Ec2,
    Service::Ec2,
    Service::Objects,
    Service::Mirrors,
    Service::Controller,
    Service::Cluster,
    Service::Disk,
];

fn window(draw: &mut Draw, freeze_ms: u64) -> (u64, u64) {
    let from = draw.between(0, freeze_ms);
    let longest = draw.one(&[2_000, 20_000, 120_000, TROUBLE_MS]);
    (from, from + draw.between(500, longest))
}

fn outage(draw: &mut Draw, node: usize, (from_ms, to_ms): (u64, u64)) -> Fault {
    let service = draw.one(&SERVICES);
    let condition = match service {
        Service::Disk => draw.one(&[Condition::NoSpace, Condition::Io]),
        Service::Ec2 | Service::Objects => draw.one(&[
            Condition::Throttled,
            Condition::Unreachable,
            Condition::Denied,
            Condition::TimedOut,
        ]),
        Service::Mirrors => draw.one(&[Condition::Unreachable, Condition::DigestMismatch]),
        Service::Controller | Service::Cluster => {
            draw.one(&[Condition::Unreachable, Condition::Denied])
        }
        _ => draw.one(&[Condition::Unreachable, Condition::TimedOut]),
    };
    Fault::Outage {
        node: draw.percent(60).then_some(node),
        service,
        from_ms,
        to_ms,
        condition,
    }
}

fn strike(draw: &mut Draw, node: usize) -> Fault {
    const LOST: [Condition; 2] = [Condition::Unreachable, Condition::TimedOut];
    let (operation, conditions): (_, &[Condition]) = draw.one(&[
        ("attach_volume", &LOST as &[Condition]),
        (
            "attach_volume",
            &[Condition::Throttled, Condition::Conflict],
        ),
        (
            "describe_volumes",
            &[Condition::Throttled, Condition::Unreachable],
        ),
        (
            "describe_instances",
            &[Condition::Throttled, Condition::Unreachable],
        ),
        ("make_filesystem", &[Condition::Io, Condition::TimedOut]),
        ("mount_device", &[Condition::Io, Condition::Conflict]),
        ("write_marker", &[Condition::Io]),
        ("write_file", &[Condition::Io, Condition::NoSpace]),
        ("probe_device", &[Condition::Io]),
        ("look_inside", &[Condition::Io]),
        (
            "change_object",
            &[Condition::Unreachable, Condition::Conflict],
        ),
        ("ask_bootstrap", &LOST),
        (
            "fetch_asset",
            &[Condition::Unreachable, Condition::DigestMismatch],
        ),
        ("read_object", &[Condition::Unreachable, Condition::Denied]),
    ]);
    Fault::Strike {
        node,
        operation,
        nth: draw.between(1, 6),
        times: draw.one(&[1, 1, 2, 5]),
        condition: draw.one(conditions),
        when: draw.one(&[When::Before, When::After]),
    }
}

fn groups(draw: &mut Draw, generation: KopsGeneration) -> Vec<Group> {
    let all = ["a", "b", "c"].map(str::to_owned);
    let members = &all[..draw.one(&[1, 1, 3])];
    let in_one = members.len() == 1 || (generation == KopsGeneration::Legacy && draw.percent(50));
    let mut groups: Vec<Group> = match in_one {
        true => vec![Group {
            name: "control-plane".to_owned(),
            members: members.to_vec(),
        }],
        false => {
            let group = |member: &String| Group {
                name: format!("control-plane-{member}"),
                members: vec![member.clone()],
            };
            members.iter().map(group).collect()
        }
    };
    if draw.percent(40) {
        groups.push(Group {
            name: "workers".to_owned(),
            members: Vec::new(),
        });
    }
    groups
}

pub(crate) fn instances(draw: &mut Draw, groups: &[Group]) -> Vec<Instance> {
    let mut instances = Vec::new();
    for (group, shape) in groups.iter().enumerate() {
        // One more than there are members: a node that stands by.
        let more = u64::from(!shape.members.is_empty() && draw.percent(25));
        for _ in 0..(shape.members.len().max(1) as u64 + more) {
            instances.push(Instance {
                group,
                launch_ms: draw.one(&[0, 0, 100, 5_000, 60_000]) + draw.between(0, 500),
                timing: timing(draw),
                replaces: None,
                is_spare: false,
            });
        }
    }
    instances
}

pub(crate) fn timing(draw: &mut Draw) -> Timing {
    let mut late = |most: u32| match draw.percent(60) {
        true => 0,
        false => u32::try_from(draw.between(0, u64::from(most))).unwrap_or_default(),
    };
    Timing {
        tags_after: late(12),
        role_after: late(4),
        attached_after: late(6),
        device_after: late(6),
        healthy_after: late(20),
    }
}

fn extras(draw: &mut Draw, plan: &Plan) -> Vec<Extra> {
    let members = plan.members();
    let mut extras = Vec::new();
    if members.is_empty() || draw.percent(60) {
        return extras;
    }
    for _ in 0..draw.between(1, 3) {
        extras.push(Extra {
            kind: draw.one(&[
                ExtraKind::Duplicate,
                ExtraKind::DuplicateWithData,
                ExtraKind::OtherZone,
                ExtraKind::OtherCluster,
                ExtraKind::Pod,
            ]),
            etcd: draw.one(&["main", "events"]),
            member: members[draw.index(members.len())].to_owned(),
            at_ms: draw.one(&[0, 0, 0, 5_000, 90_000]),
        });
    }
    extras
}
