//! What an operator does about a node that is not ready.

use crate::conduct::{Conductor, tag};
use crate::hub::Status;
use crate::interfere::lock;
use crate::plan::Plan;
use quake_model::facts::DeviceContents;
use quake_model::fault::{Class, Code};
use quake_model::ports::Clock;
use quake_volumes::{BLANK_OK, Slot, consent};

impl Conductor<'_> {
    /// Whether an instance was terminated: what it knew of its formats is lost.
    fn has_lost_an_instance(&self) -> bool {
        let hub = lock(self.hub);
        let mut nodes = hub.nodes.iter();
        nodes.any(|state| state.status == Status::Terminated)
    }

    /// Does what an operator does who reads the code of a node that is not ready.
    pub(crate) fn help(&self, plan: &Plan, node: usize) {
        let (status, waits_for, remedy) = {
            let hub = lock(self.hub);
            let state = &hub.nodes[node];
            (state.status, state.waits_for, state.remedy.clone())
        };
        let code = status.code().map(|(code, _)| code).or(waits_for);
        lock(self.hub)
            .trace
            .add(format_args!("an operator sees {code:?} on n{node}"));
        match code {
            // The volume is zeroed on another instance, as the remedy says.
            Some(Code::StorageDataUnsigned) => self.change(|region| {
                if let Some((etcd, member)) = &plan.unsigned {
                    let id = format!("vol-{etcd}-{member}");
                    region.contents.insert(id, DeviceContents::Blank);
                }
            }),
            // What a format that was cut off has left cannot be repaired. Nothing was on it, and it is wiped where an
            // instance was terminated; else the one that began it has to go on with it.
            Some(Code::StorageFilesystemUnusable) if self.has_lost_an_instance() => {
                self.change(|region| {
                    let damaged = |contents: &&mut DeviceContents| {
                        matches!(contents, DeviceContents::Damaged { .. })
                    };
                    let volumes = region.contents.values_mut().filter(damaged);
                    volumes.for_each(|contents| *contents = DeviceContents::Blank);
                });
            }
            _ if remedy.contains("volumes ignore") => self.ignore_extras(plan),
            Some(Code::StorageDataExpected) => {
                let at = self.nodes[node].host.now();
                self.change(|region| {
                    for (etcd, member, id) in plan.slots() {
                        let slot = Slot::new(etcd, &member);
                        tag(region, &id, BLANK_OK, consent(&slot, at));
                    }
                });
            }
            _ => {}
        }
        if matches!(status, Status::Refused(_, class) if class != Class::Bug) {
            lock(self.hub).nodes[node].wake.notify_one();
        }
    }
}
