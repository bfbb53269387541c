//! Which volume backs each of this node's etcd members.
//!
//! The choice never depends on the order in which EC2 lists volumes, on their age or on their size: one volume
//! for a member is used, two are an operator's matter. All clusters of a node get the same member, for a node
//! that held `main/a` and `events/b` would take two members down at once.

use super::claims::{Claim, is_of_cluster, is_of_control_plane, member_tag, read_member_tag};
use super::device_names::DeviceNames;
use super::reports;
use super::slots::{WantedSlot, slots};
use quake_model::facts::{
    Attachment, AttachmentState, InstanceFacts, InstanceView, VolumeFacts, VolumeState,
};
use quake_model::fault::{Code, Fault};
use quake_model::spec::NodeSpec;
use quake_model::step::VolumeStep;
use std::collections::BTreeSet;

/// Chooses the volume of each etcd cluster this node runs a member of, in the order of [`slots`].
///
/// A volume is a candidate when its tags say that it is of the cluster, of the control plane and of a member
/// this node may run, and when it is in the instance's zone. One that is already on this instance is chosen
/// whatever else there is: it is in use, and a second one is found out at the next first boot. `instances`
/// are this instance and the holders of volumes, for device names and for the report.
///
/// # Errors
///
/// `storage.tag-malformed`, `storage.multi-attach`, `storage.volume-conflict`, `storage.volume-elsewhere`,
/// `storage.volume-missing`, `storage.volume-held` or `storage.volume-busy`, by the first that applies; and
/// `storage.attach-failed` when no device name is free.
pub fn select_volumes(
    spec: &NodeSpec,
    instance: &InstanceFacts,
    volumes: &[VolumeFacts],
    instances: &[InstanceView],
) -> Result<Vec<VolumeStep>, Fault> {
    let mut sorted: Vec<&VolumeFacts> = volumes.iter().collect();
    sorted.sort_by(|a, b| a.volume_id.cmp(&b.volume_id));
    sorted.dedup_by(|a, b| a.volume_id == b.volume_id);
    let wanted = slots(spec);
    let selection = Selection {
        cluster: &spec.cluster,
        instance,
        instances,
        claims: claims(spec, instance, &wanted, &sorted)?,
        volumes: &sorted,
        wanted: &wanted,
    };
    if wanted.is_empty() {
        return Ok(Vec::new());
    }
    let member = selection.member()?;
    let chosen: Vec<&Claim<'_>> = wanted
        .iter()
        .map(|slot| selection.pick(slot, &member))
        .collect::<Result<_, _>>()?;
    let mut names = DeviceNames::in_use(&instance.instance_id, &sorted, instances);
    chosen
        .into_iter()
        .map(|claim| volume_step(claim, &instance.instance_id, &mut names))
        .collect()
}

/// Every candidate, in the order of volume ids.
fn claims<'a>(
    spec: &NodeSpec,
    instance: &InstanceFacts,
    wanted: &'a [WantedSlot],
    volumes: &[&'a VolumeFacts],
) -> Result<Vec<Claim<'a>>, Fault> {
    let mut claims = Vec::new();
    for volume in volumes.iter().copied() {
        let fits = volume.zone == instance.zone
            && volume.state != VolumeState::Deleted
            && is_of_cluster(volume, &spec.cluster)
            && is_of_control_plane(volume);
        for slot in wanted.iter().filter(|_| fits) {
            let tag = member_tag(&slot.cluster);
            let Some(value) = volume.tags.get(&tag) else {
                continue;
            };
            let read =
                read_member_tag(value).ok_or_else(|| reports::malformed(volume, &tag, value))?;
            if slot.members.is_empty() || slot.members.contains(&read.member) {
                let claim = Claim {
                    cluster: &slot.cluster,
                    member: read.member,
                    volume,
                };
                if volume.multi_attach {
                    return Err(reports::multi_attach(&claim));
                }
                claims.push(claim);
            }
        }
    }
    Ok(claims)
}

struct Selection<'a> {
    cluster: &'a str,
    instance: &'a InstanceFacts,
    instances: &'a [InstanceView],
    claims: Vec<Claim<'a>>,
    volumes: &'a [&'a VolumeFacts],
    wanted: &'a [WantedSlot],
}

impl Selection<'_> {
    /// The member this node runs in every cluster.
    fn member(&self) -> Result<String, Fault> {
        let ours: Vec<&Claim<'_>> = self
            .claims
            .iter()
            .filter(|claim| claim.is_ours(&self.instance.instance_id))
            .collect();
        let held: BTreeSet<&str> = ours.iter().map(|claim| claim.member.as_str()).collect();
        let candidates = match held.len() {
            0 => self.members_everywhere(),
            1 => held,
            _ => {
                return Err(reports::conflict(
                    "this instance holds volumes of several members",
                    &ours,
                ));
            }
        };
        let mut candidates = candidates.into_iter();
        match (candidates.next(), candidates.next()) {
            (Some(only), None) => Ok(only.to_owned()),
            (None, _) => Err(self.no_member()),
            (Some(_), Some(_)) => self.free_member(),
        }
    }

    /// Members that have a volume for every cluster.
    fn members_everywhere(&self) -> BTreeSet<&str> {
        let has = |slot: &WantedSlot, member: &str| !self.group(&slot.cluster, member).is_empty();
        self.claims
            .iter()
            .map(|claim| claim.member.as_str())
            .filter(|member| self.wanted.iter().all(|slot| has(slot, member)))
            .collect()
    }

    /// Of several members with volumes in this zone, the only one whose volumes are all free.
    fn free_member(&self) -> Result<String, Fault> {
        let mut free = Vec::new();
        let mut first_fault = None;
        for member in self.members_everywhere() {
            let picks: Result<Vec<_>, Fault> = self
                .wanted
                .iter()
                .map(|slot| self.pick(slot, member))
                .collect();
            match picks {
                Ok(_) => free.push(member),
                // Two volumes for any member of this zone are refused, whoever would take which.
                Err(fault) if fault.code == Code::StorageVolumeConflict => {
                    return Err(fault);
                }
                Err(fault) => first_fault = first_fault.or(Some(fault)),
            }
        }
        match (free.as_slice(), first_fault) {
            ([only], _) => Ok((*only).to_owned()),
            ([], Some(fault)) => Err(fault),
            (members, _) => {
                let claims: Vec<&Claim<'_>> = self
                    .claims
                    .iter()
                    .filter(|claim| members.contains(&claim.member.as_str()))
                    .collect();
                let what = "the spec does not say which member this instance group runs, and several are free";
                Err(reports::conflict(what, &claims))
            }
        }
    }

    /// Why no member has a volume for every cluster: the first cluster without any, else all of them.
    fn no_member(&self) -> Fault {
        let has_none = |slot: &&WantedSlot| {
            self.claims
                .iter()
                .all(|claim| claim.cluster != slot.cluster)
        };
        if let Some(slot) = self.wanted.iter().find(has_none) {
            return self.absent(slot);
        }
        let claims: Vec<&Claim<'_>> = self.claims.iter().collect();
        reports::conflict("no member has a volume for each of its clusters", &claims)
    }

    fn absent(&self, slot: &WantedSlot) -> Fault {
        reports::absent(self.cluster, &self.instance.zone, slot, self.volumes)
    }

    fn group(&self, cluster: &str, member: &str) -> Vec<&Claim<'_>> {
        self.claims
            .iter()
            .filter(|claim| claim.cluster == cluster && claim.member == member)
            .collect()
    }

    /// The volume of one member of one cluster.
    fn pick(&self, slot: &WantedSlot, member: &str) -> Result<&Claim<'_>, Fault> {
        let group = self.group(&slot.cluster, member);
        let ours: Vec<&Claim<'_>> = group
            .iter()
            .copied()
            .filter(|claim| claim.is_ours(&self.instance.instance_id))
            .collect();
        match (ours.as_slice(), group.as_slice()) {
            ([only], _) | ([], [only]) => self.usable(only),
            ([], []) => {
                let slot = WantedSlot {
                    cluster: slot.cluster.clone(),
                    members: vec![member.to_owned()],
                };
                Err(self.absent(&slot))
            }
            ([], several) => Err(self.surplus(several)),
            (several, _) => Err(reports::conflict(
                "this instance holds several volumes of one member",
                several,
            )),
        }
    }

    /// Several volumes of one member: a conflict, unless one of them is about to go.
    fn surplus(&self, claims: &[&Claim<'_>]) -> Fault {
        let going = |claim: &&&Claim<'_>| claim.volume.state == VolumeState::Deleting;
        match claims.iter().find(going) {
            Some(claim) => reports::busy(claim, "being deleted, and another has its tags"),
            None => reports::conflict("several volumes claim one etcd member", claims),
        }
    }

    /// The claim, if its volume may be attached to this instance now, or is.
    fn usable<'s>(&self, claim: &'s Claim<'s>) -> Result<&'s Claim<'s>, Fault> {
        for attachment in &claim.volume.attachments {
            self.check_attachment(claim, attachment)?;
        }
        let ours = claim.is_ours(&self.instance.instance_id);
        match claim.volume.state {
            VolumeState::Available => Ok(claim),
            VolumeState::InUse if ours => Ok(claim),
            // EC2's lists lag behind each other: the holder shows up in a moment.
            VolumeState::InUse => Err(reports::busy(
                claim,
                "in use by an instance EC2 does not name yet",
            )),
            VolumeState::Creating
            | VolumeState::Deleting
            | VolumeState::Deleted
            | VolumeState::Error
            | VolumeState::Unknown => Err(reports::busy(
                claim,
                reports::volume_state(claim.volume.state),
            )),
        }
    }

    fn check_attachment(&self, claim: &Claim<'_>, attachment: &Attachment) -> Result<(), Fault> {
        let ours = attachment.instance_id == self.instance.instance_id;
        match attachment.state {
            AttachmentState::Detached => Ok(()),
            AttachmentState::Attached if ours => Ok(()),
            AttachmentState::Attaching if ours => {
                Err(reports::busy(claim, "attaching to this instance"))
            }
            AttachmentState::Detaching if ours => {
                Err(reports::busy(claim, "detaching from this instance"))
            }
            AttachmentState::Busy if ours => Err(reports::busy(
                claim,
                "to be detached from this instance while it is mounted",
            )),
            AttachmentState::Unknown if ours => Err(reports::busy(
                claim,
                "attached to this instance in an unknown state",
            )),
            AttachmentState::Attaching
            | AttachmentState::Attached
            | AttachmentState::Detaching
            | AttachmentState::Busy
            | AttachmentState::Unknown => Err(reports::held(claim, attachment, self.instances)),
        }
    }
}

fn volume_step(
    claim: &Claim<'_>,
    instance_id: &str,
    names: &mut DeviceNames,
) -> Result<VolumeStep, Fault> {
    let attached = claim.volume.attachments.iter().find(|attachment| {
        attachment.instance_id == instance_id && attachment.state != AttachmentState::Detached
    });
    let device_name = match attached {
        Some(attachment) => attachment.device_name.clone(),
        None => names.take().ok_or_else(|| reports::no_device_name(claim))?,
    };
    let volume_id = claim.volume.volume_id.clone();
    Ok(VolumeStep {
        slot: claim.slot(),
        device_name,
        mount_point: format!("/mnt/master-{volume_id}"),
        label: label(claim.cluster, &claim.member),
        volume_id,
    })
}

/// A filesystem's label, of which ext4 keeps 16 bytes: it helps people, and nothing is decided by it.
fn label(cluster: &str, member: &str) -> String {
    let ascii: String = format!("qk-{cluster}-{member}")
        .chars()
        .filter(char::is_ascii_graphic)
        .collect();
    ascii.chars().take(16).collect()
}
