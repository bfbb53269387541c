//! What happens in a world beside its agents: volumes that appear, machines that end, clocks that are set, operators; and, once
//! nothing goes wrong any more, the wait until every node is ready or says what an operator must do.

use crate::documents::EPOCH;
use crate::hub::{Death, Hub, Status};
use crate::instance::{Node, pass};
use crate::interfere::lock;
use crate::plan::{Act, ExtraKind, Fault, NEVER, Plan};
use quake_model::facts::{DeviceContents, InstanceState, VolumeFacts, VolumeState};
use quake_model::fault::Code;
use quake_testkit::region::{EtcdSlot, Region};
use quake_volumes::{IGNORE, PIN, Slot};
use std::sync::Mutex;
use std::time::Duration;

/// Within this time of quiet every node is ready or refused: half an hour for a volume, the pause after four failed starts, and a
/// boot again.
const SETTLES_MS: u64 = 3 * 3600 * 1000;

/// How often it is looked.
const LOOK: Duration = Duration::from_secs(15);

/// How long an operator waits before something is done about a node.
const OPERATOR_MS: u64 = 20 * 60 * 1000;

/// Something that happens at a time.
#[derive(Debug, Clone)]
enum Event {
    Appears(usize),
    Befalls(Fault),
    Detaches(usize),
    Heals(Fault),
    Freezes,
}

/// Everything that happens by the clock, in its order.
fn timeline(plan: &Plan) -> Vec<(u64, Event)> {
    let extras = plan.extras.iter().enumerate();
    let mut events: Vec<(u64, Event)> = extras
        .filter(|(_, extra)| extra.at_ms > 0)
        .map(|(index, extra)| (extra.at_ms, Event::Appears(index)))
        .collect();
    for fault in &plan.faults {
        let at_ms = match fault {
            Fault::Reboot { at_ms, .. }
            | Fault::Terminate { at_ms, .. }
            | Fault::Clock { at_ms, .. }
            | Fault::PlanBeside { at_ms, .. }
            | Fault::RemoveFile { at_ms, .. }
            | Fault::Channel { at_ms, .. }
            | Fault::Record { at_ms, .. }
            | Fault::Sick { from_ms: at_ms, .. }
            | Fault::Operator { at_ms, .. } => *at_ms,
            _ => continue,
        };
        events.push((at_ms, Event::Befalls(fault.clone())));
        match fault {
            Fault::Terminate {
                node, detach_ms, ..
            } => events.push((at_ms + detach_ms, Event::Detaches(*node))),
            Fault::Sick { to_ms, .. } => events.push((*to_ms, Event::Heals(fault.clone()))),
            _ => {}
        }
    }
    events.push((plan.freeze_ms, Event::Freezes));
    // The sort is stable: of what happens at once the plan's order decides.
    events.sort_by_key(|(at, _)| *at);
    events
}

/// The world's side of a run.
pub(crate) struct Conductor<'a> {
    pub(crate) hub: &'a Mutex<Hub>,
    pub(crate) nodes: &'a [Node],
}

impl Conductor<'_> {
    /// Conducts the world to its end.
    pub(crate) async fn conduct(&self) {
        let plan = lock(self.hub).plan.clone();
        for (at, event) in timeline(&plan) {
            self.until(at).await;
            if lock(self.hub).judge.is_broken() {
                return;
            }
            match event {
                Event::Appears(index) => self.change(|region| add_extra(region, &plan, index)),
                Event::Detaches(node) => self.detach(node),
                Event::Befalls(fault) => self.befall(&fault),
                Event::Heals(Fault::Sick { node, sickness, .. }) => {
                    self.sicken(node, sickness, false);
                }
                Event::Heals(_) => {}
                Event::Freezes => lock(self.hub)
                    .trace
                    .add(format_args!("nothing goes wrong any more")),
            }
        }
        self.settle(&plan).await;
        pass(Duration::from_millis(plan.looks_on_ms)).await;
        self.conditions_hold(&plan).await;
        self.addons_settle(&plan).await;
        self.names_lead_home(&plan).await;
        self.plans_hold().await;
    }

    async fn until(&self, at_ms: u64) {
        let now = lock(self.hub).now_ms();
        pass(Duration::from_millis(at_ms.saturating_sub(now))).await;
    }

    /// Changes the region, as somebody outside does.
    pub(crate) fn change(&self, change: impl FnOnce(&mut Region)) {
        self.nodes[0].host.machine(|machine| {
            change(machine.region());
            lock(self.hub).see_listing(machine);
        });
    }

    fn befall(&self, fault: &Fault) {
        lock(self.hub).trace.add(format_args!("{fault:?}"));
        match *fault {
            Fault::Reboot { node, .. } => lock(self.hub).kill(node, Death::PowerCut),
            Fault::Terminate { node, .. } => self.terminate(node),
            Fault::Sick { node, sickness, .. } => self.sicken(node, sickness, true),
            Fault::Channel { version, .. } => {
                let plan = lock(self.hub).plan.clone();
                let host = &self.nodes[0].host;
                host.machine(|machine| plan.put_channel(version, machine.objects()));
            }
            Fault::Record { member, edit, .. } => {
                let plan = lock(self.hub).plan.clone();
                self.change(|region| plan.edit_record(&mut region.names, member, edit));
            }
            Fault::Clock {
                node, by_ms, back, ..
            } => {
                let host = &self.nodes[node].host;
                let by = Duration::from_millis(by_ms);
                if back {
                    host.set_back(by);
                    lock(self.hub).nodes[node].was_set_back = true;
                } else {
                    host.pass(by);
                }
            }
            Fault::RemoveFile { node, nth, .. } => self.remove_file(node, nth),
            Fault::Operator { act, .. } => self.act(act),
            _ => {}
        }
    }

    pub(crate) fn show_state(&self, node: usize, state: InstanceState) {
        let id = Plan::instance_id(node);
        self.change(|region| {
            let mut views = region.instances.iter_mut();
            if let Some(view) = views.find(|view| view.instance_id == id) {
                view.state = state;
            }
        });
    }

    /// The volumes of an instance that is gone are free.
    pub(crate) fn detach(&self, node: usize) {
        let id = Plan::instance_id(node);
        self.show_state(node, InstanceState::Terminated);
        self.change(|region| {
            for volume in &mut region.volumes {
                if volume.attachments.iter().any(|it| it.instance_id == id) {
                    volume.attachments.clear();
                    volume.state = VolumeState::Available;
                }
            }
            for group in &mut region.groups {
                group.members.remove(&id);
                group.leaving.remove(&id);
                group.unhealthy.remove(&id);
            }
        });
    }

    /// Somebody removes a file below `/etc` that the agent wrote.
    fn remove_file(&self, node: usize, nth: u64) {
        self.nodes[node].host.machine(|machine| {
            let below = machine.files_below("/etc");
            let paths: Vec<String> = below.map(|(path, _)| path.to_owned()).collect();
            let paths: Vec<&String> = paths
                .iter()
                .filter(|path| !path.contains("/cni/"))
                .collect();
            let at = usize::try_from(nth).unwrap_or_default();
            if !paths.is_empty() {
                let path = paths[at % paths.len()].clone();
                machine.set_file(&path, None);
                lock(self.hub).nodes[node].has_lost_file = true;
            }
        });
    }

    fn act(&self, act: Act) {
        let plan = lock(self.hub).plan.clone();
        match act {
            Act::Ignore => self.ignore_extras(&plan),
            Act::Pin => self.change(|region| {
                for (etcd, member, id) in plan.slots() {
                    tag(region, &id, PIN, Slot::new(etcd, &member).to_string());
                }
            }),
        }
    }

    pub(crate) fn ignore_extras(&self, plan: &Plan) {
        self.change(|region| {
            for (index, extra) in plan.extras.iter().enumerate() {
                if !matches!(extra.kind, ExtraKind::OtherCluster | ExtraKind::Pod) {
                    tag(
                        region,
                        &plan.extra_id(index),
                        IGNORE,
                        "a second one".to_owned(),
                    );
                }
            }
        });
    }

    /// Waits until every node is settled; does for those that are refused what their code names.
    async fn settle(&self, plan: &Plan) {
        let quiet_from = lock(self.hub).now_ms();
        let mut helped_ms = quiet_from;
        loop {
            let now = lock(self.hub).now_ms();
            let waiting = self.unsettled();
            let away = {
                let hub = lock(self.hub);
                hub.late.iter().any(|late| late.due_ms > now) || hub.is_replacing()
            };
            if lock(self.hub).judge.is_broken() || (waiting.is_empty() && !away) {
                return;
            }
            if now > quiet_from + SETTLES_MS {
                let node = waiting.first().copied().unwrap_or_default();
                let mut hub = lock(self.hub);
                let state = &hub.nodes[node];
                let seen = format!("{:?}, waits for {:?}", state.status, state.waits_for);
                hub.judge.broke(now, node, "becomes-ready", seen);
                return;
            }
            if now > helped_ms + OPERATOR_MS {
                helped_ms = now;
                waiting.iter().for_each(|node| self.help(plan, *node));
            }
            pass(LOOK).await;
        }
    }

    /// Nodes that are neither ready nor gone, and that do not stand by for good reason.
    fn unsettled(&self) -> Vec<usize> {
        let hub = lock(self.hub);
        let nodes = hub.nodes.iter().enumerate();
        let open = nodes.filter(|(node, state)| match state.status {
            Status::Ready | Status::Terminated => state.dead.is_some(),
            Status::Away => state.is_launched || hub.plan.instances[*node].launch_ms < NEVER,
            _ => !stands_by(&hub, *node),
        });
        open.map(|(node, _)| node).collect()
    }
}

/// Whether a node has nothing to do because peers have every member of its group.
fn stands_by(hub: &Hub, node: usize) -> bool {
    let state = &hub.nodes[node];
    let group = hub.plan.instances[node].group;
    let members = &hub.plan.groups[group].members;
    let peers = hub.nodes.iter().enumerate().filter(|(peer, state)| {
        hub.plan.instances[*peer].group == group && state.status == Status::Ready
    });
    let code = state
        .status
        .code()
        .map(|(code, _)| code)
        .or(state.waits_for);
    let is_told = matches!(
        code,
        Some(Code::StorageVolumeHeld | Code::StorageViewInconsistent | Code::StorageAttachFailed)
    );
    !members.is_empty() && is_told && peers.count() >= members.len()
}

pub(crate) fn tag(region: &mut Region, volume_id: &str, key: &str, value: String) {
    let mut volumes = region.volumes.iter_mut();
    if let Some(volume) = volumes.find(|volume| volume.volume_id == volume_id) {
        volume.tags.insert(key.to_owned(), value);
    }
}

/// The volumes that kops makes for the members, and those beside them that are there from the start.
pub(crate) fn add_volumes(region: &mut Region, plan: &Plan) {
    let members = plan.members();
    for (etcd, member, id) in plan.slots() {
        let slot = EtcdSlot {
            volume_id: &id,
            etcd,
            member: &member,
            members: &members,
            created: EPOCH,
            encrypted: true,
        };
        region.add_etcd_volume(plan.cluster(), &slot);
    }
    if let Some((etcd, member)) = &plan.unsigned {
        let data = DeviceContents::Unsigned { offset: 4096 };
        region.contents.insert(format!("vol-{etcd}-{member}"), data);
    }
    for (index, extra) in plan.extras.iter().enumerate() {
        if extra.at_ms == 0 {
            add_extra(region, plan, index);
        }
    }
}

fn add_extra(region: &mut Region, plan: &Plan, index: usize) {
    let extra = &plan.extras[index];
    let members = plan.members();
    let id = plan.extra_id(index);
    let slot = EtcdSlot {
        volume_id: &id,
        etcd: extra.etcd,
        member: &extra.member,
        members: &members,
        created: EPOCH,
        encrypted: true,
    };
    let cluster = match extra.kind {
        ExtraKind::OtherCluster => "other.example.org",
        _ => plan.cluster(),
    };
    region.add_etcd_volume(cluster, &slot);
    let mut added = region.volumes.iter_mut();
    let Some(volume) = added.find(|volume| volume.volume_id == id) else {
        return;
    };
    match extra.kind {
        ExtraKind::OtherZone => "us-test-1b".clone_into(&mut volume.zone),
        ExtraKind::Pod => strip(volume),
        ExtraKind::DuplicateWithData => {
            let data = DeviceContents::Unsigned { offset: 4096 };
            region.contents.insert(id, data);
        }
        ExtraKind::Duplicate | ExtraKind::OtherCluster => {}
    }
}

fn strip(volume: &mut VolumeFacts) {
    volume.tags.retain(|key, _| !key.starts_with("k8s.io/"));
}
