//! The names of control planes in Route 53: which worlds have them, who else changes them, and their laws.

use crate::draw::Draw;
use crate::hub::{Hub, Status};
use crate::laws::Caller;
use crate::plan::{Fault, KopsGeneration, Plan, RecordEdit, Service};
use quake_model::dns::{AddressRecord, ChangeVerb, ZoneFacts, ZoneKind};
use quake_model::facts::InstanceView;
use quake_model::ports::Condition;
use quake_testkit::names::NameService;
use quake_testkit::region::Region;
use quake_testkit::{Called, Machine, When};
use quake_volumes::Slot;
use std::collections::BTreeSet;
use std::time::Duration;

/// The zone of the cluster's names.
pub(crate) const ZONE: &str = "Z1D633PJN98FT9";

/// The address that kops writes before there is one (`cloudmock` and `pkg/dns`, release-1.15).
const PLACEHOLDER: &str = "203.0.113.123";

/// An address that nobody of the cluster has.
const FOREIGN: &str = "10.9.9.9";

/// In so many of a hundred worlds of kops legacy control planes publish names.
const PUBLISH: u64 = 35;

/// Within this time of quiet every name leads home: a resident agent looks twice in two hours.
pub(crate) const LEADS_HOME_WITHIN: Duration = Duration::from_secs(2 * 3600 + 10 * 60);

impl Plan {
    /// Lets some worlds have names, by draws of their own.
    pub(crate) fn draw_names(&mut self) {
        let mut draw = Draw::of(self.seed, &[12]);
        if self.generation != KopsGeneration::Legacy || !draw.percent(PUBLISH) {
            return;
        }
        self.publishes_names = true;
        let members = self.members().len();
        for _ in 0..draw.between(0, 4) {
            let from_ms = draw.between(0, self.freeze_ms);
            let node = draw.index(self.instances.len());
            let longest = draw.one(&[20_000, 600_000]);
            let fault = match draw.index(4) {
                0 | 1 => Fault::Record {
                    at_ms: from_ms,
                    member: draw.index(members),
                    edit: draw.one(&[
                        RecordEdit::Elsewhere,
                        RecordEdit::Removed,
                        RecordEdit::SharedElsewhere,
                        RecordEdit::SharedStale,
                    ]),
                },
                2 => Fault::Strike {
                    node,
                    operation: draw.one(&["change_records", "read_records", "read_zone"]),
                    nth: draw.between(1, 3),
                    times: draw.one(&[1, 1, 4]),
                    condition: draw.one(&[
                        Condition::Unreachable,
                        Condition::TimedOut,
                        Condition::Throttled,
                        Condition::Conflict,
                    ]),
                    when: draw.one(&[When::Before, When::After]),
                },
                _ => Fault::Outage {
                    node: draw.percent(40).then_some(node),
                    service: Service::Names,
                    from_ms,
                    to_ms: from_ms + draw.between(1000, longest),
                    condition: draw.one(&[
                        Condition::Throttled,
                        Condition::Denied,
                        Condition::Unreachable,
                        Condition::TimedOut,
                    ]),
                },
            };
            self.faults.push(fault);
        }
    }

    /// The name of the API server, which all control planes share.
    fn shared_name(&self) -> String {
        format!("api.internal.{}", self.cluster())
    }

    /// The name of a member of an etcd cluster.
    fn member_name(&self, slot: &Slot) -> String {
        let start = match slot.etcd.as_str() {
            "main" => "etcd",
            _ => "etcd-events",
        };
        format!("{start}-{}.internal.{}", slot.member, self.cluster())
    }

    /// The slot whose member has this name.
    fn slot_of_name(&self, name: &str) -> Option<Slot> {
        let slots = self.slots().into_iter();
        let mut slots = slots.map(|(etcd, member, _)| Slot::new(etcd, &member));
        slots.find(|slot| self.member_name(slot) == name)
    }

    /// The zone with the records that kops makes in advance.
    pub(crate) fn add_zone(&self, region: &mut Region) {
        if !self.publishes_names {
            return;
        }
        let (_, domain) = self.cluster().split_once('.').unwrap_or_default();
        region.names.add_zone(ZoneFacts {
            id: ZONE.to_owned(),
            name: domain.to_owned(),
            kind: ZoneKind::Public,
            vpcs: Vec::new(),
        });
        let slots = self.slots().into_iter();
        let names = slots.map(|(etcd, member, _)| self.member_name(&Slot::new(etcd, &member)));
        for name in names.chain([self.shared_name()]) {
            put(&mut region.names, &name, &[PLACEHOLDER]);
        }
        let mut draw = Draw::of(self.seed, &[13]);
        region.names.in_sync_after = draw.one(&[0, 0, 2, 5]);
    }

    /// Somebody changes a record.
    pub(crate) fn edit_record(&self, names: &mut NameService, member: usize, edit: RecordEdit) {
        let members = self.members();
        let name = self.member_name(&Slot::new("main", members[member % members.len()]));
        match edit {
            RecordEdit::Elsewhere => put(names, &name, &[FOREIGN]),
            RecordEdit::SharedElsewhere => put(names, &self.shared_name(), &[FOREIGN]),
            RecordEdit::SharedStale => {
                let shared = self.shared_name();
                let mut addresses = names.addresses(ZONE, &shared);
                addresses.push(FOREIGN.to_owned());
                names.put(ZONE, AddressRecord::plain(&shared, 60, addresses));
            }
            RecordEdit::Removed => {
                let records = names.records.entry(ZONE.to_owned()).or_default();
                records.retain(|record| record.name != name);
            }
        }
    }
}

fn put(names: &mut NameService, name: &str, addresses: &[&str]) {
    let addresses = addresses.iter().map(ToString::to_string);
    names.put(ZONE, AddressRecord::plain(name, 60, addresses));
}

impl Hub {
    /// What an agent wrote names only addresses of the cluster's control planes, and a member's name the address of its holder.
    pub(crate) fn see_records(
        &mut self,
        by: Caller<'_>,
        called: &Called<'_>,
        machine: &mut Machine<'_>,
    ) {
        if called.operation != "change_records" || called.ended.is_err() {
            return;
        }
        let region = machine.region();
        let cluster = self.plan.cluster();
        let is_of_cluster = |view: &&InstanceView| {
            view.tags
                .get("KubernetesCluster")
                .is_some_and(|it| it == cluster)
        };
        let views = region.instances.iter().filter(is_of_cluster);
        let known: BTreeSet<&str> = views.map(|view| view.private_ip.as_str()).collect();
        let own = region.instance.private_ip.as_str();
        let batch = region.names.batches.last().cloned().unwrap_or_default();
        let written = batch.iter().filter(|it| it.verb != ChangeVerb::Delete);
        for record in written.map(|change| &change.record) {
            let foreign = record
                .addresses
                .iter()
                .find(|it| !known.contains(it.as_str()));
            if let Some(foreign) = foreign {
                let seen = format!("{} was given {foreign}", record.name);
                self.judge
                    .broke(by.now_ms, by.node, "names-of-cluster", seen);
            }
            let Some(slot) = self.plan.slot_of_name(&record.name) else {
                continue;
            };
            let holds = self.judge.mounted(by.node).values().any(|it| *it == slot);
            if !holds || record.addresses.iter().any(|it| it != own) {
                let seen = format!("{:?} was written for {slot}", record.addresses);
                self.judge
                    .broke(by.now_ms, by.node, "member-name-of-holder", seen);
            }
        }
    }

    /// The first name that does not lead where it should: that of a member to the ready node which has it mounted, and the shared
    /// name to each ready control plane.
    pub(crate) fn astray(&self, names: &NameService) -> Option<(usize, String)> {
        for (node, state) in self.nodes.iter().enumerate() {
            let is_ready = state.status == Status::Ready && state.dead.is_none();
            let mounted = self.judge.mounted(node);
            if !is_ready || mounted.is_empty() {
                continue;
            }
            let own = format!("10.0.0.{}", node + 10);
            let shared = self.plan.shared_name();
            let found = names.addresses(ZONE, &shared);
            if !found.contains(&own) {
                return Some((node, format!("{shared} leads to {found:?}")));
            }
            for slot in mounted.values() {
                let name = self.plan.member_name(slot);
                let found = names.addresses(ZONE, &name);
                if found != [own.clone()] {
                    return Some((node, format!("{name} leads to {found:?}")));
                }
            }
        }
        None
    }
}
