//! What planted bugs do to what nodes see of each other: groups, notes of peers, and add-ons.

use crate::bugs::Bug;
use quake_apisim::ApiServer;
use quake_model::time::Timestamp;
use quake_testkit::region::GroupState;
use quake_testkit::{Called, Machine};
use serde_json::Value;
use std::collections::BTreeMap;

/// What the name of a note of a node's health ends with.
const NOTE: &str = ".health";

/// What a machine really has, while a call sees something else.
#[derive(Default)]
pub(crate) struct PlantedGroups {
    groups: Option<Vec<GroupState>>,
    objects: Option<BTreeMap<String, Vec<u8>>>,
    server: Option<ApiServer>,
}

impl PlantedGroups {
    /// Shows the call under way other groups.
    pub(crate) fn show_groups(&mut self, machine: &mut Machine<'_>, groups: Vec<GroupState>) {
        let groups = std::mem::replace(&mut machine.region().groups, groups);
        self.groups.get_or_insert(groups);
    }

    pub(crate) fn before(
        &mut self,
        bug: Bug,
        (operation, now): (&str, Timestamp),
        machine: &mut Machine<'_>,
        me: &str,
    ) {
        match (bug, operation) {
            (Bug::NoteAlone, "change_object") => {
                self.server = machine.cluster().map(|server| server.clone());
            }
            (Bug::PeersUnseen, "list_objects") => {
                self.objects = Some(machine.objects().clone());
                let is_of_peer = |key: &str| key.ends_with(NOTE) && !key.contains(me);
                machine.objects().retain(|key, _| !is_of_peer(key));
            }
            (Bug::QuorumBlind, "read_object") => {
                self.objects = Some(machine.objects().clone());
                let notes = machine.objects().iter_mut();
                let is_of_member =
                    |key: &str| key.contains("/control-plane.repair/") && key.ends_with(NOTE);
                for (_, note) in notes.filter(|(key, _)| is_of_member(key)) {
                    says_answers(note, now);
                }
            }
            _ => {}
        }
    }

    /// Puts back what the call was not to see.
    pub(crate) fn restore(&mut self, called: &Called<'_>, machine: &mut Machine<'_>) {
        if let Some(groups) = self.groups.take() {
            machine.region().groups = groups;
        }
        if let Some(objects) = self.objects.take() {
            *machine.objects() = objects;
        }
        if let Some(before) = self.server.take()
            && called.subject.contains("/configmaps")
            && let Some(server) = machine.cluster()
        {
            *server = before;
        }
    }
}

/// Makes a note say that its member of etcd answers, and did so just now.
fn says_answers(note: &mut Vec<u8>, now: Timestamp) {
    let Ok(mut value) = serde_json::from_slice::<Value>(note) else {
        return;
    };
    value["at"] = serde_json::to_value(now).unwrap_or_default();
    value["etcdHealthy"] = true.into();
    *note = value.to_string().into_bytes();
}
