//! The laws that hold after every port call of every machine. Those of a boot's end are in `endings`.

use crate::lease_law::LeaseSeen;
use crate::plan::{ExtraKind, KopsGeneration, Plan};
use crate::trace::digest_of;
use quake_model::facts::{DeviceContents, VolumeFacts};
use quake_testkit::{Called, Machine};
use quake_volumes::{BLANK_OK, IGNORE, JOURNAL, Journal, PIN, Slot};
use std::collections::{BTreeMap, BTreeSet};

/// A law that was broken.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Violation {
    /// The law's name.
    pub law: &'static str,
    pub at_ms: u64,
    pub node: usize,
    /// What was seen.
    pub seen: String,
}

/// How long a duplicate must have been there before nobody may miss it: longer than EC2's answers lag.
const SEEN_BY_ALL_MS: u64 = 100_000;

/// The tag of kops that names a volume's cluster.
const CLUSTER_TAG: &str = "KubernetesCluster";

/// Where kubelet finds the manifests of its pods.
const MANIFESTS: &str = "/etc/kubernetes/manifests";

/// Files that are changed in place: a line is added for each user.
const GROWING: [&str; 2] = ["/etc/passwd", "/etc/group"];

/// Who called, and when.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Caller<'a> {
    pub(crate) now_ms: u64,
    pub(crate) node: usize,
    pub(crate) instance_id: &'a str,
}

/// Watches over one world.
#[derive(Debug)]
pub(crate) struct Judge {
    broken: Option<Violation>,
    generation: KopsGeneration,
    /// When each second volume of a member appeared, by its id.
    duplicates: BTreeMap<String, (Slot, u64)>,
    has_backup: bool,
    /// What each machine has mounted, by volume.
    mounted: Vec<BTreeMap<String, Slot>>,
    /// Digests of all that each machine was handed for a file.
    written: Vec<BTreeMap<String, BTreeSet<u64>>>,
    /// The file that each machine was handed last.
    last_written: Vec<Option<String>>,
    /// Formats that machines began, by volume.
    begun: BTreeSet<(usize, String)>,
    /// What was on the devices before the call under way.
    contents: BTreeMap<String, DeviceContents>,
    lease: LeaseSeen,
}

impl Judge {
    pub(crate) fn new(plan: &Plan) -> Self {
        let nodes = plan.instances.len();
        let duplicate = |(index, extra): (usize, &crate::plan::Extra)| {
            let is_one = matches!(
                extra.kind,
                ExtraKind::Duplicate | ExtraKind::DuplicateWithData
            );
            let slot = Slot::new(extra.etcd, &extra.member);
            is_one.then(|| (plan.extra_id(index), (slot, extra.at_ms)))
        };
        Self {
            broken: None,
            generation: plan.generation,
            duplicates: plan
                .extras
                .iter()
                .enumerate()
                .filter_map(duplicate)
                .collect(),
            has_backup: plan.has_backup,
            mounted: vec![BTreeMap::new(); nodes],
            written: vec![BTreeMap::new(); nodes],
            last_written: vec![None; nodes],
            begun: BTreeSet::new(),
            contents: BTreeMap::new(),
            lease: LeaseSeen::default(),
        }
    }

    /// Notes that a law is broken; the first one stands.
    pub(crate) fn broke(&mut self, at_ms: u64, node: usize, law: &'static str, seen: String) {
        if self.broken.is_none() {
            self.broken = Some(Violation {
                law,
                at_ms,
                node,
                seen,
            });
        }
    }

    pub(crate) fn is_broken(&self) -> bool {
        self.broken.is_some()
    }

    pub(crate) fn broken(&self) -> Option<&Violation> {
        self.broken.as_ref()
    }

    /// What a machine has mounted.
    pub(crate) fn mounted(&self, node: usize) -> &BTreeMap<String, Slot> {
        &self.mounted[node]
    }

    /// The file that a machine was handed last.
    pub(crate) fn last_written(&self, node: usize) -> Option<&str> {
        self.last_written[node].as_deref()
    }

    /// A machine lost its power or is gone: it has nothing mounted any more.
    pub(crate) fn unmounted(&mut self, node: usize) {
        self.mounted[node].clear();
    }

    /// Notes what is on the devices before a call that may write there.
    pub(crate) fn before(&mut self, operation: &str, machine: &mut Machine<'_>) {
        if operation == "make_filesystem" {
            self.contents.clone_from(&machine.region().contents);
        }
    }

    /// Checks every law that a call of this kind may break.
    pub(crate) fn after(&mut self, by: Caller<'_>, called: &Called<'_>, machine: &mut Machine<'_>) {
        let found = match called.operation {
            "attach_volume" => self.after_attach(by, called, machine),
            "make_filesystem" => self.after_format(by, called, machine),
            "mount_device" => self.after_mount(by, called, machine),
            "write_file" | "place" => self.after_write(by, called, machine),
            "start_unit" if called.subject == "kubelet.service" => {
                let manifests: Vec<String> = machine
                    .files_below(MANIFESTS)
                    .map(|(path, _)| path.to_owned())
                    .collect();
                let mut unmounted = manifests
                    .iter()
                    .filter_map(|path| self.unmounted_of(by, path));
                unmounted.next()
            }
            "change_object" | "delete_object" => self.lease.after_change(by, called, machine),
            _ => None,
        };
        if let Some((law, seen)) = found {
            self.broke(by.now_ms, by.node, law, seen);
        }
    }

    fn after_attach(
        &mut self,
        by: Caller<'_>,
        called: &Called<'_>,
        machine: &mut Machine<'_>,
    ) -> Option<(&'static str, String)> {
        if let Some(found) = intent_before_attach(by, called, machine) {
            return Some(found);
        }
        called.ended.ok()?;
        let volumes = &machine.region().volumes;
        one_member(volumes).or_else(|| self.no_duplicate_attached(by, called.subject, volumes))
    }

    /// Neither of two volumes of one member is attached, unless an operator chose.
    fn no_duplicate_attached(
        &self,
        by: Caller<'_>,
        volume_id: &str,
        volumes: &[VolumeFacts],
    ) -> Option<(&'static str, String)> {
        let attached = volumes.iter().find(|it| it.volume_id == volume_id)?;
        let slot = Slot::of_tags(&attached.tags)?;
        let is_seen = |id: &str| {
            let known = self.duplicates.get(id);
            known.is_none_or(|(_, at)| by.now_ms > at + SEEN_BY_ALL_MS)
        };
        let is_rival = |it: &&VolumeFacts| {
            it.zone == attached.zone
                && it.volume_id != volume_id
                && it.tags.get(CLUSTER_TAG) == attached.tags.get(CLUSTER_TAG)
                && Slot::of_tags(&it.tags).as_ref() == Some(&slot)
                && !it.tags.contains_key(IGNORE)
                && is_seen(&it.volume_id)
        };
        let rival = volumes.iter().find(is_rival)?;
        let is_chosen = attached.tags.contains_key(PIN) && !rival.tags.contains_key(PIN);
        let seen = format!(
            "{volume_id} was attached for {slot} beside {}",
            rival.volume_id
        );
        (!is_chosen).then_some(("no-duplicate-attached", seen))
    }

    fn after_format(
        &mut self,
        by: Caller<'_>,
        called: &Called<'_>,
        machine: &mut Machine<'_>,
    ) -> Option<(&'static str, String)> {
        let id = called.subject;
        if id.is_empty() {
            // The device was gone before anything was asked of it.
            return None;
        }
        // A format that this machine did not begin proves nothing of what is on the device.
        let is_begun = match called.ended {
            Ok(()) => !self.begun.insert((by.node, id.to_owned())),
            Err(_) => self.begun.contains(&(by.node, id.to_owned())),
        };
        let journal = journal(by, machine)?;
        let intent = journal.formatting.get(id);
        let before = self
            .contents
            .get(id)
            .cloned()
            .unwrap_or(DeviceContents::Blank);
        let is_own =
            |uuid: &Option<String>| intent.is_some_and(|it| uuid.as_ref() == Some(&it.uuid));
        let is_proven = match &before {
            DeviceContents::Blank => true,
            DeviceContents::Unsigned { .. } => intent.is_some() && is_begun,
            DeviceContents::Damaged { uuid, .. } => is_own(uuid) && is_begun,
            // An agent that was killed may have ended its format since: then the format refuses.
            DeviceContents::Filesystem { uuid, .. } => is_own(uuid) && called.ended.is_err(),
            DeviceContents::Signature { .. } | DeviceContents::Ambiguous { .. } => false,
        };
        if !is_proven {
            return Some((
                "blank-before-format",
                format!("{id} was to be formatted: {before}"),
            ));
        }
        if intent.is_none() {
            return Some(("intent-before-format", format!("{id} has no record of it")));
        }
        let volume = volume_of(machine, id)?;
        let slot = Slot::of_tags(&volume.tags)?;
        let consents = volume.tags.contains_key(BLANK_OK);
        let is_empty = self.has_backup && slot.etcd == "main" && !consents && called.ended.is_ok();
        let seen = format!("{id} of {slot} was made empty although there is a backup");
        is_empty.then_some(("no-empty-etcd", seen))
    }

    fn after_mount(
        &mut self,
        by: Caller<'_>,
        called: &Called<'_>,
        machine: &mut Machine<'_>,
    ) -> Option<(&'static str, String)> {
        called.ended.ok()?;
        let id = called.subject;
        let others = self.mounted.iter().enumerate();
        let mut others = others.filter(|(node, _)| *node != by.node);
        if let Some((other, _)) = others.find(|(_, mounted)| mounted.contains_key(id)) {
            return Some(("mounted-once", format!("n{other} has {id} mounted, too")));
        }
        let volume = volume_of(machine, id)?;
        let slot = Slot::of_tags(&volume.tags)?;
        self.mounted[by.node].insert(id.to_owned(), slot.clone());
        let running = self.mounted.iter().enumerate();
        let mut running =
            running.flat_map(|(node, mounted)| mounted.iter().map(move |it| (node, it)));
        let twice = running.find(|(_, (other, of))| **of == slot && *other != id);
        if let Some((node, (other, _))) = twice {
            return Some((
                "member-runs-once",
                format!("{slot} runs on {id} and on n{node}'s {other}"),
            ));
        }
        let mut members = self.mounted[by.node].values().map(|slot| &slot.member);
        let first = members.next()?;
        let other = members.find(|member| *member != first)?;
        Some((
            "one-member",
            format!("members {first} and {other} are mounted"),
        ))
    }

    fn after_write(
        &mut self,
        by: Caller<'_>,
        called: &Called<'_>,
        machine: &mut Machine<'_>,
    ) -> Option<(&'static str, String)> {
        called.ended.ok()?;
        if let Some(contents) = machine.file(called.subject) {
            let digests = self.written[by.node].entry(called.subject.to_owned());
            digests.or_default().insert(digest_of(contents));
            self.last_written[by.node] = Some(called.subject.to_owned());
        }
        self.unmounted_of(by, called.subject)
    }

    /// No manifest of etcd is in kubelet's directory before its volume is mounted.
    fn unmounted_of(&self, by: Caller<'_>, path: &str) -> Option<(&'static str, String)> {
        let name = path.strip_prefix(MANIFESTS)?.strip_prefix("/etcd-")?;
        if self.generation == KopsGeneration::Legacy {
            return None;
        }
        let etcd = ["main", "events"];
        let etcd = etcd.into_iter().find(|etcd| name.starts_with(etcd))?;
        let is_mounted = self.mounted[by.node].values().any(|slot| slot.etcd == etcd);
        (!is_mounted).then(|| ("mounted-before-manifest", path.to_owned()))
    }

    /// After a power cut each file is whole: one of those that were ever handed over.
    pub(crate) fn after_power_cut(&mut self, by: Caller<'_>, machine: &mut Machine<'_>) {
        let written = &self.written[by.node];
        let torn = written.iter().find_map(|(path, digests)| {
            let is_growing = GROWING.contains(&path.as_str());
            let contents = machine.file(path)?;
            let is_whole = is_growing || digests.contains(&digest_of(contents));
            (!is_whole).then(|| path.clone())
        });
        if let Some(path) = torn {
            self.broke(by.now_ms, by.node, "files-whole", path);
        }
    }
}

/// What is asked for is on the disk before it is asked for.
fn intent_before_attach(
    by: Caller<'_>,
    called: &Called<'_>,
    machine: &Machine<'_>,
) -> Option<(&'static str, String)> {
    let journal = journal(by, machine);
    let attempt = journal.and_then(|journal| journal.attempt);
    let is_there = attempt.is_some_and(|it| it.volume_id == called.subject);
    let seen = format!("{} was asked for without a record of it", called.subject);
    (!is_there).then_some(("intent-before-attach", seen))
}

fn journal(by: Caller<'_>, machine: &Machine<'_>) -> Option<Journal> {
    Journal::read(machine.file(JOURNAL), by.instance_id)
}

/// No instance holds volumes of two members, and no member's volumes are held by two instances.
fn one_member(volumes: &[VolumeFacts]) -> Option<(&'static str, String)> {
    let mut held: BTreeMap<&str, String> = BTreeMap::new();
    let mut runs: BTreeMap<String, &str> = BTreeMap::new();
    for volume in volumes {
        let (Some(slot), [only]) = (Slot::of_tags(&volume.tags), volume.attachments.as_slice())
        else {
            continue;
        };
        let holder = only.instance_id.as_str();
        let member = held.entry(holder).or_insert_with(|| slot.member.clone());
        if *member != slot.member {
            let seen = format!("{holder} holds volumes of {member} and {}", slot.member);
            return Some(("one-member", seen));
        }
        let first = runs.entry(slot.member.clone()).or_insert(holder);
        if *first != holder {
            let seen = format!("{first} and {holder} hold volumes of {}", slot.member);
            return Some(("one-member", seen));
        }
    }
    None
}

/// A volume of the machine's region.
fn volume_of<'a>(machine: &'a mut Machine<'_>, id: &str) -> Option<&'a VolumeFacts> {
    let mut volumes = machine.region().volumes.iter();
    volumes.find(|volume| volume.volume_id == id)
}
