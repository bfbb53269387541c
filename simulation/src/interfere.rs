//! Stands between each engine and its machine: brings the plan's faults, stale listings and planted bugs about, and lets the laws
//! see every call.

use crate::bugs::Bug;
use crate::hub::{Hub, LateAttach};
use crate::laws::Caller;
use crate::plan::Plan;
use crate::planted::Planted;
use quake_model::facts::{Attachment, AttachmentState, DeviceContents, VolumeState};
use quake_testkit::{Called, Fate, Interference, Machine};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// What stands before one machine.
pub(crate) struct Interferer {
    hub: Arc<Mutex<Hub>>,
    node: usize,
    instance_id: String,
    /// Whether it is somebody who works by hand, whose calls are no agent's.
    is_operator: bool,
    planted: Mutex<Planted>,
}

/// Locks; a poisoned lock still guards the best there is.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Interferer {
    pub(crate) fn new(hub: &Arc<Mutex<Hub>>, node: usize) -> Self {
        let bug = lock(hub).bug;
        Self {
            hub: Arc::clone(hub),
            node,
            instance_id: Plan::instance_id(node),
            is_operator: false,
            planted: Mutex::new(Planted::new(bug)),
        }
    }

    /// What stands before an operator of this machine, who has no bugs.
    pub(crate) fn of_operator(hub: &Arc<Mutex<Hub>>, node: usize) -> Self {
        Self {
            is_operator: true,
            planted: Mutex::new(Planted::new(None)),
            ..Self::new(hub, node)
        }
    }
}

impl Interference for Interferer {
    fn fate(&self, operation: &str) -> Fate {
        lock(&self.hub).fate(self.node, operation)
    }

    fn before(&self, operation: &str, machine: &mut Machine<'_>) {
        let mut hub = lock(&self.hub);
        hub.attach_what_is_due(machine);
        hub.judge.before(operation, machine);
        let is_listing = matches!(operation, "describe_volumes" | "describe_instances");
        let lag = match hub.bug {
            Some(Bug::LongLag) => Some(600_000),
            _ => hub.lag(self.node),
        };
        let stale = lag.filter(|_| is_listing).and_then(|lag| {
            let mut draw = hub.draw(self.node, 4);
            hub.history.stale((hub.now_ms(), lag), &mut draw)
        });
        let mut planted = lock(&self.planted);
        planted.before((operation, hub.world_time()), machine, &self.instance_id);
        if let Some((volumes, instances)) = stale {
            planted.show(machine, volumes, instances);
        }
        if let Some(lag) = lag.filter(|_| operation == "describe_groups") {
            let mut draw = hub.draw(self.node, 17);
            if let Some(groups) = hub.history.stale_groups((hub.now_ms(), lag), &mut draw) {
                planted.of_groups.show_groups(machine, groups);
            }
        }
    }

    fn after(&self, called: &Called<'_>, machine: &mut Machine<'_>) {
        let mut hub = lock(&self.hub);
        let is_hidden = {
            let mut planted = lock(&self.planted);
            planted.after(called, machine);
            planted.hides(called)
        };
        let ended = match called.ended {
            Ok(()) => "ok".to_owned(),
            Err(error) => format!("{:?}", error.condition),
        };
        let who = if self.is_operator { "operator " } else { "" };
        hub.note(
            self.node,
            format_args!("{who}{} {} {ended}", called.operation, called.subject),
        );
        if self.is_operator {
            return;
        }
        let by = Caller {
            now_ms: hub.now_ms(),
            node: self.node,
            instance_id: &self.instance_id,
        };
        if !is_hidden {
            hub.judge.after(by, called, machine);
        }
        hub.see_node(self.node, called, machine);
        hub.see_records(by, called, machine);
        hub.see_unhealthy(self.node, called);
        hub.tear_format(called, machine);
        if called.operation == "attach_volume" {
            hub.delay_attach(self.node, called, machine);
        }
        if matches!(
            called.operation,
            "attach_volume"
                | "tag_volume"
                | "untag_volume"
                | "keep_on_termination"
                | "set_unhealthy"
        ) {
            hub.see_listing(machine);
        }
    }
}

impl Hub {
    /// Takes what EC2 lists now for what it may still show later.
    pub(crate) fn see_listing(&mut self, machine: &mut Machine<'_>) {
        let now = self.now_ms();
        let region = machine.region();
        self.history.see(now, &region.volumes, &region.instances);
        self.history.see_groups(now, &region.groups);
    }

    /// What a format leaves whose program or machine is killed in the middle.
    fn tear_format(&mut self, called: &Called<'_>, machine: &mut Machine<'_>) {
        let Some(mut draw) = self.format_is_cut.take() else {
            return;
        };
        if called.ended.is_err() {
            return;
        }
        let contents = &mut machine.region().contents;
        let made = contents.get(called.subject).cloned();
        let uuid = match &made {
            Some(DeviceContents::Filesystem { uuid, .. }) => uuid.clone(),
            _ => None,
        };
        let left = match draw.index(4) {
            0 => DeviceContents::Blank,
            1 => DeviceContents::Unsigned { offset: 1024 },
            2 => DeviceContents::Damaged {
                name: "ext4".to_owned(),
                uuid,
            },
            _ => return,
        };
        contents.insert(called.subject.to_owned(), left);
    }

    /// Undoes an attach whose reply is lost, for now.
    fn delay_attach(&mut self, node: usize, called: &Called<'_>, machine: &mut Machine<'_>) {
        let Some(later_ms) = self.attach_is_late.take() else {
            return;
        };
        if called.ended.is_err() {
            return;
        }
        let due_ms = self.now_ms() + later_ms;
        let region = machine.region();
        let mut volumes = region.volumes.iter_mut();
        let Some(volume) = volumes.find(|it| it.volume_id == called.subject) else {
            return;
        };
        let Some(attachment) = volume.attachments.pop() else {
            return;
        };
        volume.state = VolumeState::Available;
        for view in &mut region.instances {
            if view.instance_id == attachment.instance_id {
                view.device_names
                    .retain(|name| *name != attachment.device_name);
            }
        }
        self.late.push(LateAttach {
            due_ms,
            node,
            volume: called.subject.to_owned(),
            device_name: attachment.device_name,
        });
    }

    /// Lets attaches have their effect whose time has come, as far as EC2 still lets them.
    pub(crate) fn attach_what_is_due(&mut self, machine: &mut Machine<'_>) {
        let now = self.now_ms();
        let (due, later) = std::mem::take(&mut self.late)
            .into_iter()
            .partition(|late: &LateAttach| late.due_ms <= now);
        self.late = later;
        let due: Vec<LateAttach> = due;
        for late in due {
            let instance_id = Plan::instance_id(late.node);
            let is_gone = self.nodes[late.node].status == crate::hub::Status::Terminated;
            let region = machine.region();
            let mut volumes = region.volumes.iter_mut();
            let Some(volume) = volumes.find(|it| it.volume_id == late.volume) else {
                continue;
            };
            if is_gone || volume.state != VolumeState::Available {
                continue;
            }
            volume.state = VolumeState::InUse;
            volume.attachments = vec![Attachment {
                instance_id: instance_id.clone(),
                device_name: late.device_name.clone(),
                state: AttachmentState::Attached,
                since: None,
                delete_on_termination: false,
            }];
            for view in &mut region.instances {
                if view.instance_id == instance_id {
                    view.device_names.push(late.device_name.clone());
                }
            }
            self.note(late.node, format_args!("late attach of {}", late.volume));
            self.see_listing(machine);
        }
    }
}
