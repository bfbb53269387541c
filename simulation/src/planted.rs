//! What each planted bug does to the calls of one machine.

use crate::bugs::Bug;
use crate::node_objects::TAINT;
use crate::planted_groups::PlantedGroups;
use quake_apisim::ApiServer;
use quake_model::facts::{
    ActiveState, Attachment, AttachmentState, DeviceContents, InstanceView, VolumeFacts,
    VolumeState,
};
use quake_model::time::Timestamp;
use quake_node::managed_files::PATH;
use quake_testkit::{Called, Machine};
use quake_volumes::{IGNORE, JOURNAL, PIN, Slot};
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};

/// The members of the largest cluster, in the order in which a wrong reader goes on.
const MEMBERS: [&str; 3] = ["a", "b", "c"];

/// What a machine really has, while a call sees something else.
#[derive(Default)]
struct Hidden {
    listing: Option<(Vec<VolumeFacts>, Vec<InstanceView>)>,
    contents: Option<BTreeMap<String, DeviceContents>>,
    objects: Option<BTreeMap<String, Vec<u8>>>,
    journal: Option<Vec<u8>>,
    /// The journal as it was before a write.
    written_over: Option<Vec<u8>>,
    manifests: BTreeMap<String, Vec<u8>>,
    server: Option<ApiServer>,
    /// Who really holds the lease.
    holder: Option<Value>,
    /// What others have attached.
    attached: Vec<(String, Vec<Attachment>)>,
}

/// The planted bug of one machine, and what is behind its back.
pub(crate) struct Planted {
    bug: Option<Bug>,
    hidden: Hidden,
    pub(crate) of_groups: PlantedGroups,
    writes: u64,
    /// Requests that are not counted yet.
    uncounted: u64,
}

impl Planted {
    pub(crate) fn new(bug: Option<Bug>) -> Self {
        Self {
            bug,
            hidden: Hidden::default(),
            of_groups: PlantedGroups::default(),
            writes: 0,
            uncounted: 0,
        }
    }

    fn has(&self, bug: Bug) -> bool {
        self.bug == Some(bug)
    }

    /// Shows the call under way another listing.
    pub(crate) fn show(
        &mut self,
        machine: &mut Machine<'_>,
        volumes: Vec<VolumeFacts>,
        instances: Vec<InstanceView>,
    ) {
        let region = machine.region();
        let volumes = std::mem::replace(&mut region.volumes, volumes);
        let instances = std::mem::replace(&mut region.instances, instances);
        // What a bug hid before is what is really so.
        self.hidden.listing.get_or_insert((volumes, instances));
    }

    pub(crate) fn before(
        &mut self,
        (operation, now): (&str, Timestamp),
        machine: &mut Machine<'_>,
        me: &str,
    ) {
        let Some(bug) = self.bug else { return };
        self.of_groups.before(bug, (operation, now), machine, me);
        match (bug, operation) {
            (_, "describe_volumes") => {
                let mut shown = machine.region().volumes.clone();
                let instances = machine.region().instances.clone();
                relist(bug, &mut shown, me);
                if bug == Bug::OtherMember {
                    hide_own(machine, &mut shown, me);
                }
                self.show(machine, shown, instances);
            }
            (Bug::DeviceNever, "list_devices") => self.show(machine, Vec::new(), Vec::new()),
            (Bug::LooksBlank | Bug::UnsignedIsBlank, "probe_device" | "make_filesystem") => {
                let region = machine.region();
                self.hidden.contents = Some(region.contents.clone());
                for contents in region.contents.values_mut() {
                    let is_unsigned = matches!(contents, DeviceContents::Unsigned { .. });
                    if bug == Bug::LooksBlank || is_unsigned {
                        *contents = DeviceContents::Blank;
                    }
                }
            }
            (Bug::NoBackups, "list_objects") => {
                self.hidden.objects = Some(machine.objects().clone());
                machine
                    .objects()
                    .retain(|key, _| !key.contains("/backups/"));
            }
            (Bug::JournalNotRead, "look_file") => {
                self.hidden.journal = machine.file(JOURNAL).map(<[u8]>::to_vec);
                machine.set_file(JOURNAL, None);
            }
            (Bug::NoIntent | Bug::LostFile, "write_file") => {
                self.hidden.written_over = machine.file(JOURNAL).map(<[u8]>::to_vec);
            }
            (Bug::KeepsManifests, "remove_file") => {
                let kept = machine.files_below("/etc/kubernetes/manifests");
                self.hidden.manifests = kept
                    .map(|(path, contents)| (path.to_owned(), contents.to_vec()))
                    .collect();
            }
            (_, "attach_volume") => self.before_attach(bug, machine, me),
            _ => self.before_request(bug, operation, machine),
        }
    }

    /// What is done to the lease while a request is under way.
    fn before_request(&mut self, bug: Bug, operation: &str, machine: &mut Machine<'_>) {
        match (bug, operation) {
            (Bug::LeaseNotWritten, "change_object") => {
                self.hidden.server = machine.cluster().map(|server| server.clone());
            }
            (Bug::StealsLease, "get_object") => {
                edit_holder(machine, |holder| {
                    self.hidden.holder = Some(std::mem::replace(holder, "".into()));
                });
            }
            _ => {}
        }
    }

    /// What is done to the volumes of others before one is attached.
    fn before_attach(&mut self, bug: Bug, machine: &mut Machine<'_>, me: &str) {
        if !matches!(bug, Bug::MultiAttach | Bug::SharedAttach) {
            return;
        }
        for volume in &mut machine.region().volumes {
            if volume.attachments.iter().any(|it| it.instance_id == me) {
                continue;
            }
            let others = std::mem::take(&mut volume.attachments);
            volume.state = VolumeState::Available;
            if bug == Bug::MultiAttach {
                let id = volume.volume_id.clone();
                self.hidden.attached.push((id, others));
            }
        }
    }

    pub(crate) fn after(&mut self, called: &Called<'_>, machine: &mut Machine<'_>) {
        self.restore(called, machine);
        self.of_groups.restore(called, machine);
        let Some(bug) = self.bug.filter(|_| called.ended.is_ok()) else {
            return;
        };
        self.of_groups.after(bug, called, machine);
        match (bug, called.operation) {
            (Bug::NoIntent, "write_file") if called.subject == JOURNAL => {
                let before = self.hidden.written_over.take();
                machine.set_file(JOURNAL, before);
            }
            (Bug::NoFormatIntent, "write_file") if called.subject == JOURNAL => {
                edit_journal(machine, |journal| {
                    journal["formatting"] = json!({});
                });
            }
            (Bug::OtherMember, "write_file") if called.subject == JOURNAL => {
                edit_journal(machine, name_next_member);
            }
            (Bug::LostFile, "write_file") => {
                self.writes += 1;
                if self.writes.is_multiple_of(20) {
                    machine.set_file(called.subject, None);
                }
            }
            (Bug::TaintEarly, "change_object") if called.subject.contains(NODES) => {
                edit_node(machine, called.subject, |node| {
                    node["spec"]["taints"] = json!([]);
                });
            }
            (Bug::TaintStays, "change_object") if called.subject.contains(NODES) => {
                edit_node(machine, called.subject, |node| {
                    node["spec"]["taints"] = json!([{"key": TAINT, "effect": "NoSchedule"}]);
                });
            }
            (Bug::NoMarker, "write_marker") => {
                let inside = machine.region().inside.get_mut(called.subject);
                inside.into_iter().for_each(|inside| inside.marker = None);
            }
            (Bug::NoModules, "load_module") => {
                // Those of the first boot are all that are ever loaded.
                let region = machine.region();
                let modules = std::mem::take(&mut region.modules);
                region.modules = modules.into_iter().take(3).collect();
            }
            (Bug::UnitFalls, "start_unit") if called.subject == "kubelet.service" => {
                let unit = machine.region().units.get_mut(called.subject);
                unit.into_iter()
                    .for_each(|unit| unit.active = ActiveState::Inactive);
            }
            (Bug::CountTwice, "describe_volumes" | "describe_instances") => {
                machine.count("ec2:DescribeVolumes", 40);
            }
            (Bug::CountLate, "describe_volumes" | "describe_instances") => self.uncounted += 100,
            (Bug::CountLate, "write_file") if called.subject == PATH => {
                machine.count("ec2:DescribeVolumes", std::mem::take(&mut self.uncounted));
            }
            _ => {}
        }
    }

    /// Whether the laws are not told of a call: it never came about.
    pub(crate) fn hides(&self, called: &Called<'_>) -> bool {
        self.has(Bug::SaysMounted) && called.operation == "mount_device"
    }

    /// Puts back what the call was not to see.
    fn restore(&mut self, called: &Called<'_>, machine: &mut Machine<'_>) {
        if let Some((volumes, instances)) = self.hidden.listing.take() {
            machine.region().volumes = volumes;
            machine.region().instances = instances;
        }
        if let Some(mut contents) = self.hidden.contents.take() {
            let made = machine.region().contents.get(called.subject).cloned();
            if called.operation == "make_filesystem" && called.ended.is_ok() {
                contents.extend(made.map(|made| (called.subject.to_owned(), made)));
            }
            machine.region().contents = contents;
        }
        if let Some(objects) = self.hidden.objects.take() {
            *machine.objects() = objects;
        }
        if let Some(journal) = self.hidden.journal.take() {
            machine.set_file(JOURNAL, Some(journal));
        }
        for (path, contents) in std::mem::take(&mut self.hidden.manifests) {
            machine.set_file(&path, Some(contents));
        }
        if let Some(before) = self.hidden.holder.take() {
            edit_holder(machine, |holder| *holder = before);
        }
        for (id, others) in std::mem::take(&mut self.hidden.attached) {
            let mut volumes = machine.region().volumes.iter_mut();
            if let Some(volume) = volumes.find(|volume| volume.volume_id == id) {
                volume.attachments.extend(others);
                if !volume.attachments.is_empty() {
                    volume.state = VolumeState::InUse;
                }
            }
        }
        if let Some(before) = self.hidden.server.take()
            && called.subject.contains("/leases/")
            && let Some(server) = machine.cluster()
        {
            *server = before;
        }
    }
}

/// Where the nodes are in the paths of requests.
const NODES: &str = "/api/v1/nodes/";

/// Changes the Node object that a request was about.
fn edit_node(machine: &mut Machine<'_>, subject: &str, edit: impl FnOnce(&mut Value)) {
    let rest = subject.split_once(NODES).map_or("", |(_, rest)| rest);
    let name = rest.split(['/', ' ']).next().unwrap_or_default();
    if let Some(server) = machine.cluster() {
        server.edit("Node", "", name, edit);
    }
}

/// Changes who holds the lease, which nobody sees happen.
fn edit_holder(machine: &mut Machine<'_>, edit: impl FnOnce(&mut Value)) {
    if let Some(server) = machine.cluster() {
        server.edit("Lease", "kube-system", "quake-agent", |lease| {
            edit(&mut lease["spec"]["holderIdentity"]);
        });
    }
}

/// What the bug makes of a listing of volumes.
fn relist(bug: Bug, volumes: &mut Vec<VolumeFacts>, me: &str) {
    match bug {
        Bug::ShortListing => volumes.truncate(1),
        Bug::TrustLast => {
            let mut seen = BTreeSet::new();
            volumes.reverse();
            volumes.retain(|volume| {
                let slot = Slot::of_tags(&volume.tags);
                slot.is_none_or(|slot| seen.insert((slot, volume.zone.clone())))
            });
        }
        Bug::WrongTags => volumes.iter_mut().for_each(rename_member),
        Bug::MultiAttach => {
            for volume in volumes {
                volume.attachments.retain(|it| it.instance_id == me);
                if volume.attachments.is_empty() {
                    volume.state = VolumeState::Available;
                }
            }
        }
        Bug::SharedAttach => {
            let others = volumes.iter_mut();
            for volume in others.filter(|it| it.attachments.iter().all(|it| it.instance_id != me)) {
                volume.attachments.clear();
                volume.state = VolumeState::Available;
            }
        }
        Bug::NeverShown => {
            let attachments = volumes
                .iter_mut()
                .flat_map(|volume| &mut volume.attachments);
            attachments.for_each(|it| it.state = AttachmentState::Attaching);
        }
        Bug::PinBlind => {
            let tags = volumes.iter_mut().map(|volume| &mut volume.tags);
            tags.for_each(|tags| tags.retain(|key, _| key != PIN && key != IGNORE));
        }
        _ => {}
    }
}

fn name_next_member(journal: &mut Value) {
    let own = journal["member"].as_str();
    let index = MEMBERS.iter().position(|member| Some(*member) == own);
    if let Some(index) = index {
        journal["member"] = MEMBERS[(index + 1) % MEMBERS.len()].into();
    }
}

/// Takes the volumes of other members than the recorded one, which this instance holds, off a listing.
fn hide_own(machine: &Machine<'_>, volumes: &mut Vec<VolumeFacts>, me: &str) {
    let journal = machine.file(JOURNAL).map(serde_json::from_slice::<Value>);
    let Some(Ok(journal)) = journal else { return };
    let Some(member) = journal["member"].as_str() else {
        return;
    };
    volumes.retain(|volume| {
        let is_own = volume.attachments.iter().any(|it| it.instance_id == me);
        !is_own || Slot::of_tags(&volume.tags).is_none_or(|slot| slot.member == member)
    });
}

fn rename_member(volume: &mut VolumeFacts) {
    for (key, value) in &mut volume.tags {
        if !key.starts_with("k8s.io/etcd/") {
            continue;
        }
        if let Some((member, all)) = value.split_once('/') {
            let members: Vec<&str> = MEMBERS.into_iter().filter(|it| all.contains(it)).collect();
            let at = members
                .iter()
                .position(|it| *it == member)
                .unwrap_or_default();
            *value = format!("{}/{all}", members[(at + 1) % members.len().max(1)]);
        }
    }
}

fn edit_journal(machine: &mut Machine<'_>, edit: impl FnOnce(&mut Value)) {
    let journal = machine.file(JOURNAL).map(serde_json::from_slice::<Value>);
    if let Some(Ok(mut journal)) = journal {
        edit(&mut journal);
        machine.set_file(JOURNAL, Some(journal.to_string().into_bytes()));
    }
}

/// What a power cut leaves of the file that was written last, where files are renamed before they are flushed.
pub(crate) fn tear(machine: &mut Machine<'_>, path: &str) {
    let torn = machine
        .file(path)
        .map(|contents| contents[..contents.len() / 2].to_vec());
    machine.set_file(path, torn);
}
