//! What planted bugs do to what nodes see of each other: names, groups, notes of peers, and add-ons.

use crate::bugs::Bug;
use crate::names_world::ZONE;
use quake_apisim::ApiServer;
use quake_model::dns::AddressRecord;
use quake_model::facts::{InstanceState, InstanceView};
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
    instances: Option<Vec<InstanceView>>,
    records: Option<Vec<AddressRecord>>,
    server: Option<ApiServer>,
    /// The records as they were after the last change of this machine.
    cached: Option<Vec<AddressRecord>>,
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
            (Bug::NamesForeign, "describe_instances") => {
                let region = machine.region();
                self.instances = Some(region.instances.clone());
                let records = region.names.records.values().flatten();
                let found = records.flat_map(|record| record.addresses.iter().cloned());
                let found: Vec<String> = found.collect();
                let Some(example) = region.instances.last().cloned() else {
                    return;
                };
                let views = found.into_iter().map(|private_ip| InstanceView {
                    private_ip,
                    state: InstanceState::Running,
                    instance_id: "i-00000000000000999".to_owned(),
                    tags: with_role(&example),
                    ..example.clone()
                });
                region.instances.extend(views);
            }
            (Bug::NamesCached, "read_records") => {
                if let Some(cached) = self.cached.clone() {
                    let records = &mut machine.region().names.records;
                    self.records = records.insert(ZONE.to_owned(), cached);
                }
            }
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

    pub(crate) fn after(&mut self, bug: Bug, called: &Called<'_>, machine: &mut Machine<'_>) {
        if called.operation != "change_records" || called.ended.is_err() {
            return;
        }
        let names = &mut machine.region().names;
        if bug == Bug::NamesCached {
            self.cached = names.records.get(ZONE).cloned();
        }
        if bug == Bug::NamesOfNext {
            let batch = names.batches.last_mut().into_iter().flatten();
            for record in batch.map(|change| &mut change.record) {
                let next = [("-a.", "-b."), ("-b.", "-c."), ("-c.", "-a.")];
                let next = next.into_iter().find(|(own, _)| record.name.contains(own));
                if let Some((own, other)) = next {
                    record.name = record.name.replacen(own, other, 1);
                }
            }
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
        if let Some(instances) = self.instances.take() {
            machine.region().instances = instances;
        }
        if let Some(records) = self.records.take() {
            machine
                .region()
                .names
                .records
                .insert(ZONE.to_owned(), records);
        }
        if let Some(before) = self.server.take()
            && called.subject.contains("/configmaps")
            && let Some(server) = machine.cluster()
        {
            *server = before;
        }
    }
}

fn with_role(view: &InstanceView) -> BTreeMap<String, String> {
    let mut tags = view.tags.clone();
    tags.insert("k8s.io/role/master".to_owned(), "1".to_owned());
    tags
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
