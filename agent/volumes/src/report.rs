//! Why a node does not go on, in the operator's terms. Each report names every volume it is about, in the order of
//! their ids, so that the same world gives the same text.

use super::classify::{Verdict, VolumeClass};
use super::decision::{Decision, Detail, SlotDecision};
use super::rule::{Action, Rule};
use super::tags::{ADOPT, IGNORE, PIN, Slot, UID, etcd_tags, member_tag};
use super::world::World;
use quake_model::facts::{InstanceState, VolumeFacts, VolumeState};
use quake_model::fault::{Code, Fault};

/// The gravest reason why the node does not go on; `None` when it does.
pub fn decision_fault(world: &World, decision: &Decision<'_>) -> Option<Fault> {
    if decision.is_go() {
        return None;
    }
    let is_open = |(_, d): &(Option<&Slot>, &SlotDecision)| {
        d.rule.code().is_some() && d.action != Action::Adopt
    };
    let mut open: Vec<_> = decision.all().filter(is_open).collect();
    // A refusal ends the boot, whatever else is waited for; of two the first slot's is named first.
    open.sort_by_key(|(_, decided)| decided.action != Action::Refuse);
    let doubt = || {
        Fault::new(
            Code::StorageViewInconsistent,
            "no decision stands in the way, and none is complete",
        )
    };
    let Some((slot, decided)) = open.first().copied() else {
        return Some(doubt());
    };
    let code = decided.rule.code().unwrap_or(Code::StorageViewInconsistent);
    let mut fault = Fault::new(code, summary(world, slot, decided));
    fault = fault.seen("rule", decided.rule);
    for (slot, decided) in decision.all() {
        fault = fault.seen("slot", line(slot, decided));
    }
    for verdict in decision
        .verdicts
        .iter()
        .filter(|verdict| concerns(verdict, slot))
    {
        fault = fault.seen("volume", describe(verdict));
    }
    Some(match remedy(decision, slot, decided) {
        Some(remedy) => fault.remedied_by(remedy),
        None => fault,
    })
}

/// Warnings about a node that goes on: surplus volumes, and a split that an earlier agent left.
pub fn warnings(decision: &Decision<'_>) -> Vec<Fault> {
    let mut warnings = Vec::new();
    for (slot, decided) in &decision.slots {
        let volume = decided.volume.as_deref().unwrap_or_default();
        match (decided.rule, &decided.detail) {
            (Rule::Surplus, Detail::Volumes(others)) => warnings.push(
                Fault::new(
                    Code::StorageSurplusVolumes,
                    format!(
                        "{slot} runs on {volume}; {} has its tags too",
                        others.join(", ")
                    ),
                )
                .seen("running", volume)
                .seen("surplus", others.join(" ")),
            ),
            (Rule::SplitBundle, _) => warnings.push(
                Fault::new(
                    Code::StorageSplitBundle,
                    format!("{slot} runs here beside another member's"),
                )
                .seen("volume", volume),
            ),
            _ => {}
        }
    }
    warnings
}

/// One decision in one line.
pub fn line(slot: Option<&Slot>, decided: &SlotDecision) -> String {
    let slot = slot.map_or_else(|| "*".to_owned(), Slot::to_string);
    let volume = decided.volume.as_deref().unwrap_or("-");
    let detail = match &decided.detail {
        Detail::None => String::new(),
        Detail::Device(text) | Detail::Holder(text) => format!(" ({text})"),
        Detail::Volumes(ids) | Detail::Members(ids) | Detail::Instances(ids) => {
            format!(" ({})", ids.join(", "))
        }
    };
    let (action, rule) = (decided.action.name(), decided.rule);
    format!("{slot}: {action} {volume} by {rule}{detail}")
}

/// A volume with what an operator needs to tell it from another, and the rule it fell under.
pub fn describe(verdict: &Verdict<'_>) -> String {
    let volume = verdict.volume;
    let slot = verdict
        .slot
        .as_ref()
        .map_or_else(|| "?".to_owned(), Slot::to_string);
    let mut text = format!(
        "{} for {slot}: {} by {} ({}, {}, {} GiB, created {}",
        volume.volume_id,
        verdict.class.name(),
        verdict.rule,
        volume_state(volume.state),
        volume.zone,
        volume.size_gib,
        volume.created,
    );
    for attachment in &volume.attachments {
        text.push_str(&format!(
            ", on {} as {}",
            attachment.instance_id, attachment.device_name
        ));
    }
    for (key, value) in decisive_tags(volume) {
        text.push_str(&format!(", {key}={value}"));
    }
    text.push(')');
    text
}

fn decisive_tags(volume: &VolumeFacts) -> impl Iterator<Item = (String, &str)> {
    let etcd = etcd_tags(&volume.tags).map(|(etcd, value)| (member_tag(etcd), value));
    let own = [PIN, IGNORE, ADOPT, UID].into_iter();
    let own = own.filter_map(|key| Some((key.to_owned(), volume.tags.get(key)?.as_str())));
    etcd.chain(own)
}

/// Whether a volume is part of the story of a slot: it claims it, or nobody knows what it claims.
fn concerns(verdict: &Verdict<'_>, slot: Option<&Slot>) -> bool {
    if verdict.class == VolumeClass::Ignored {
        // A near miss: etcd's by its tag, and nothing else says so.
        let etcd = slot.map(|slot| member_tag(&slot.etcd));
        return etcd.is_some_and(|tag| verdict.volume.tags.contains_key(&tag));
    }
    match (slot, &verdict.slot) {
        (Some(slot), Some(named)) => {
            slot == named || slot.etcd == named.etcd && verdict.rule == Rule::UnknownMember
        }
        _ => true,
    }
}

/// What stands in the way of a slot.
pub(super) fn summary(world: &World, slot: Option<&Slot>, decided: &SlotDecision) -> String {
    let slot = slot.map_or_else(|| world.cluster.clone(), Slot::to_string);
    match decided.action {
        Action::Refuse => refused(world, &slot, decided),
        _ => waiting(world, &slot, decided),
    }
}

/// Why an operator has to decide.
fn refused(world: &World, slot: &str, decided: &SlotDecision) -> String {
    let volume = decided.volume.as_deref().unwrap_or_default();
    let listed = listed(&decided.detail);
    let zone = &world.me.zone;
    match decided.rule {
        Rule::DuplicateVolumes => format!("{slot} is claimed by {listed}; nothing was attached"),
        Rule::MultiplePins => format!("{slot} has several pinned volumes: {listed}"),
        Rule::MultiRole => format!("{volume} has several etcd tags; it may be {slot}'s"),
        Rule::TagMalformed => {
            format!("the etcd tag of {volume} cannot be read; it may be {slot}'s")
        }
        Rule::ZoneMismatch => {
            format!("{volume} of {slot} is in another zone than its member ({zone})")
        }
        Rule::MultiAttachEnabled => format!("{volume} of {slot} has Multi-Attach enabled"),
        Rule::NotEncrypted => format!("{volume} of {slot} is not encrypted"),
        Rule::PredatesCluster => {
            let born = born(world);
            format!("{volume} of {slot} is older than the cluster's CA{born}")
        }
        Rule::MultipleAttachments => format!("{volume} of {slot} is attached to {listed}"),
        Rule::HoldsTwoMembers => format!("this instance holds volumes of the members {listed}"),
        Rule::NoMemberForGroup => {
            let group = world.me.instance_group.as_deref();
            let group = group.unwrap_or("of this instance");
            format!("the instance group {group} has no etcd member in {zone}")
        }
        Rule::NoVolume => format!("no volume in {zone} is tagged for {slot}"),
        _ => {
            let holder = holder(world, &decided.detail);
            format!("{volume} of {slot} is attached to {holder} and of another group")
        }
    }
}

/// What has to happen first.
fn waiting(world: &World, slot: &str, decided: &SlotDecision) -> String {
    let volume = decided.volume.as_deref().unwrap_or_default();
    let listed = listed(&decided.detail);
    let zone = &world.me.zone;
    match decided.rule {
        Rule::NoVolumeYet => format!("no volume in {zone} is tagged for {slot}"),
        Rule::InconsistentView => {
            format!("EC2's answers about {volume} of {slot} contradict each other")
        }
        Rule::VolumeCreating => format!("{volume} of {slot} is being created"),
        Rule::AttachingSelf => {
            format!("{volume} of {slot} is attaching to this instance as {listed}")
        }
        Rule::DetachingSelf => format!("{volume} of {slot} is detaching from this instance"),
        Rule::BusySelf => {
            format!("{volume} of {slot} was to be detached from this instance while mounted")
        }
        Rule::NoFreeMember => format!("no etcd member is free for this instance in {zone}"),
        Rule::BehindConflict => {
            format!(
                "no etcd member is free for this instance in {zone}, and one that may be is refused"
            )
        }
        Rule::DetachingOther => {
            let holder = holder(world, &decided.detail);
            format!("{volume} of {slot} is detaching from {holder}")
        }
        _ => {
            let holder = holder(world, &decided.detail);
            format!("{volume} of {slot} is attached to {holder}")
        }
    }
}

fn listed(detail: &Detail) -> String {
    match detail {
        Detail::Volumes(ids) | Detail::Members(ids) | Detail::Instances(ids) => ids.join(", "),
        Detail::Device(text) | Detail::Holder(text) => text.clone(),
        Detail::None => String::new(),
    }
}

fn holder(world: &World, detail: &Detail) -> String {
    let id = listed(detail);
    let state = world.instance(&id).map(|peer| instance_state(peer.state));
    format!("{id}, which is {}", state.unwrap_or("in an unknown state"))
}

fn born(world: &World) -> String {
    let born = world.cluster_generation.born;
    born.map(|born| format!(", which was made at {born}"))
        .unwrap_or_default()
}

/// The exact remedy, where the case has one; else the catalogue's stands.
fn remedy(decision: &Decision<'_>, slot: Option<&Slot>, decided: &SlotDecision) -> Option<String> {
    let volume = decided.volume.as_deref();
    if decided.rule == Rule::BehindConflict {
        return Some(behind_conflict(decision));
    }
    let slot = slot?;
    match (decided.rule, volume) {
        (Rule::DuplicateVolumes, _) => Some(format!(
            "find out which one has the data, then: quake-agent volumes pin <volume id> --slot {slot} --yes, \
             or for the others: quake-agent volumes ignore <volume id> --reason <text> --yes \
             (this only writes tags; any workstation with ec2:CreateTags can)"
        )),
        (Rule::PredatesCluster, Some(volume)) => Some(format!(
            "if {volume} is wanted: quake-agent volumes adopt {volume} --yes; \
             if it is left over: quake-agent volumes ignore {volume} --reason <text> --yes"
        )),
        (Rule::TagMalformed, Some(volume)) => Some(format!(
            "write it as <member>/<member>,<member>: aws ec2 create-tags --resources {volume} \
             --tags 'Key={},Value=\"a/a,b,c\"'; \
             or leave it out: quake-agent volumes ignore {volume} --reason <text> --yes",
            own_key(decision, volume).unwrap_or_else(|| member_tag(&slot.etcd))
        )),
        (Rule::MultiRole, Some(volume)) => Some(format!(
            "keep one of its etcd tags: aws ec2 delete-tags --resources {volume} --tags Key=k8s.io/etcd/<cluster>; \
             or leave it out: quake-agent volumes ignore {volume} --reason <text> --yes"
        )),
        (Rule::ZoneMismatch, Some(volume)) => Some(format!(
            "EBS volumes stay in their zone: make a copy of {volume} from a snapshot in this one, and leave it out: \
             quake-agent volumes ignore {volume} --reason <text> --yes"
        )),
        _ => None,
    }
}

/// What to do where a member that this instance could run is refused: to wait for another instance would not help.
fn behind_conflict(decision: &Decision<'_>) -> String {
    let verdicts = decision.verdicts.iter();
    let refused = verdicts.filter(|verdict| {
        verdict.class >= VolumeClass::Conflict && verdict.volume.attachments.is_empty()
    });
    let ids: Vec<&str> = refused
        .map(|verdict| verdict.volume.volume_id.as_str())
        .collect();
    format!(
        "see which member is refused, and why: quake-agent volumes explain; of several volumes of one member ({}): \
         quake-agent volumes pin <volume id> --slot <slot> --yes, \
         or for the others: quake-agent volumes ignore <volume id> --reason <text> --yes",
        ids.join(" ")
    )
}

/// The etcd tag that a volume itself has.
fn own_key(decision: &Decision<'_>, volume_id: &str) -> Option<String> {
    let mut verdicts = decision.verdicts.iter();
    let verdict = verdicts.find(|verdict| verdict.volume.volume_id == volume_id)?;
    let (etcd, _) = etcd_tags(&verdict.volume.tags).next()?;
    Some(member_tag(etcd))
}

/// The word EC2 has for a volume's state.
pub fn volume_state(state: VolumeState) -> &'static str {
    match state {
        VolumeState::Creating => "creating",
        VolumeState::Available => "available",
        VolumeState::InUse => "in-use",
        VolumeState::Deleting => "deleting",
        VolumeState::Deleted => "deleted",
        VolumeState::Error => "error",
        VolumeState::Unknown => "unknown",
    }
}

/// The word EC2 has for an instance's state.
pub fn instance_state(state: InstanceState) -> &'static str {
    match state {
        InstanceState::Pending => "pending",
        InstanceState::Running => "running",
        InstanceState::ShuttingDown => "shutting-down",
        InstanceState::Terminated => "terminated",
        InstanceState::Stopping => "stopping",
        InstanceState::Stopped => "stopped",
        InstanceState::Unknown => "unknown",
    }
}

#[cfg(test)]
pub(super) mod tests;
