//! Checks of etcd's volumes. What is decided about them is what a boot decides, by the same rules, from what EC2 and
//! this machine show now; a check here only says it in its place.

mod chosen;
mod contents;
mod device;
mod mounted;

use super::boot_fault::owner_of_code;
use super::check::{Check, Finding, Severity, Source, Verdict};
use super::node::Node;
use chosen::{concerns, world_of};
use quake_model::facts::Unseen;
use quake_model::fault::Fault;
use quake_model::phase::Phase;
use quake_volumes::{
    Action, Decision, World, decision_fault, describe, line, near_misses, select_volumes, warnings,
};

pub(super) const CHECKS: &[Check] = &[
    Check {
        id: "volumes.discovered",
        title: "every etcd member of this node has a volume in its zone",
        severity: Severity::Critical,
        tags: &["etcd", "ebs", "control-plane"],
        sources: &[Source::Volumes, Source::Files],
        because: &["iam.describe-volumes", "identity.tags"],
        why: "without its volume a member has no place for its data, and is not started elsewhere",
        remedy: "create the volume with the cluster's tool (kops update cluster --yes), or correct its tags; quake-agent volumes explain shows every volume and its rule",
        judge: discovered,
    },
    Check {
        id: "volumes.conflict",
        title: "no two volumes claim one etcd member",
        severity: Severity::Critical,
        tags: &["etcd", "ebs", "control-plane"],
        sources: &[Source::Volumes, Source::Files],
        because: &["iam.describe-volumes"],
        why: "choosing between them could start the cluster from old or foreign data",
        remedy: "find out which one has the data, pin it or have the others ignored: quake-agent volumes explain",
        judge: conflict,
    },
    Check {
        id: "volumes.attached",
        title: "the volumes of this node's members are attached to it, and their devices are there",
        severity: Severity::Critical,
        tags: &["etcd", "ebs", "control-plane"],
        sources: &[Source::Volumes, Source::Devices, Source::Files],
        because: &[
            "iam.attach-volume",
            "identity.tags",
            "volumes.discovered",
            "volumes.conflict",
        ],
        why: "one instance at a time has a volume; while another has it, this member cannot run here",
        remedy: "find the instance that has it: aws ec2 describe-volumes --volume-ids <id>; terminate that instance, or wait until it is terminated",
        judge: attached,
    },
    Check {
        id: "volumes.contents",
        title: "the volumes have the data of their members",
        severity: Severity::Critical,
        tags: &["etcd", "data", "control-plane"],
        sources: &[Source::Volumes, Source::Devices, Source::Files],
        because: &["volumes.attached"],
        why: "with an empty or wrong volume the member or the cluster is lost, without an error",
        remedy: "attach the right volume, restore a backup, or accept this volume: quake-agent volumes adopt",
        judge: contents::judge,
    },
    Check {
        id: "volumes.usable",
        title: "the volumes have no other problem",
        severity: Severity::Critical,
        tags: &["etcd", "ebs", "control-plane"],
        sources: &[Source::Volumes, Source::Files],
        because: &[
            "volumes.discovered",
            "volumes.conflict",
            "volumes.attached",
            "volumes.contents",
        ],
        why: "the agent does not use a volume that is wrong for its member, and the member does not start",
        remedy: "quake-agent volumes explain shows every volume, its rule and what to do",
        judge: usable,
    },
    Check {
        id: "volumes.mounted",
        title: "the volumes are mounted where the members expect them, writable and from the right devices",
        severity: Severity::Critical,
        tags: &["etcd", "mounts", "control-plane"],
        sources: &[Source::Files, Source::Devices],
        because: &[
            "volumes.attached",
            "volumes.contents",
            "volumes.usable",
            "host.disk-errors",
        ],
        why: "etcd would write to the root disk below the mount point, or to another member's data",
        remedy: "find out what changed it: journalctl -b -k; restart the agent, which mounts it",
        judge: mounted::judge,
    },
    Check {
        id: "volumes.space",
        title: "the volumes have room",
        severity: Severity::Critical,
        tags: &["etcd", "disk", "control-plane"],
        sources: &[Source::Spaces, Source::Files],
        because: &["volumes.mounted"],
        why: "etcd accepts no writes when its disk is full, and the cluster stops",
        remedy: "grow the volume (aws ec2 modify-volume); the agent grows the filesystem at its next start",
        judge: mounted::space,
    },
];

fn discovered(node: &Node<'_>) -> Result<Verdict, Unseen> {
    decided(node, "volumes.discovered", |_, decision| {
        let slots = decision.slots.iter();
        let lines = slots.map(|(slot, decided)| line(Some(slot), decided));
        Verdict::ok(lines.collect::<Vec<_>>().join(", "))
    })
}

fn conflict(node: &Node<'_>) -> Result<Verdict, Unseen> {
    decided(node, "volumes.conflict", |world, _| {
        Verdict::ok(format!("{} volumes of the cluster", world.volumes.len()))
    })
}

fn usable(node: &Node<'_>) -> Result<Verdict, Unseen> {
    decided(node, "volumes.usable", |_, _| Verdict::ok("nothing does"))
}

fn attached(node: &Node<'_>) -> Result<Verdict, Unseen> {
    decided(node, "volumes.attached", |world, decision| {
        let is_done = node.has_done(Phase::Storage);
        let mut here = Vec::new();
        for (slot, decided) in &decision.slots {
            let Some(volume) = decided.volume.as_deref() else {
                continue;
            };
            match decided.action {
                Action::Adopt => {
                    let device = device::of(node, world, volume)?;
                    let Some(device) = device else {
                        return device::missing(node, volume, &slot.to_string());
                    };
                    here.push(format!("{slot}: {volume} is {}", device.device.path));
                }
                Action::Attach if is_done => {
                    return lost(world, volume, &slot.to_string());
                }
                Action::Attach | Action::Wait | Action::StandBy | Action::Refuse => {}
            }
        }
        match (here.is_empty(), is_done) {
            (true, false) => Verdict::skip("the boot has not come so far as to attach them"),
            _ => Verdict::ok(here.join(", ")),
        }
    })
}

/// A volume that was here and is free now.
fn lost(world: &World, volume: &str, slot: &str) -> Result<Verdict, Unseen> {
    let id = &world.me.instance_id;
    Finding::new(
        format!("{volume} of {slot} is not attached any more, and free"),
        format!("look in CloudTrail who detached it from {id}; then: systemctl restart quake-agent.service attaches it again"),
    )
    .fail()
}

/// Says what stands in the way of the volumes if it belongs to the check `id`, else what `otherwise` says.
fn decided(
    node: &Node<'_>,
    id: &str,
    otherwise: impl Fn(&World, &Decision<'_>) -> Result<Verdict, Unseen>,
) -> Result<Verdict, Unseen> {
    if let Some(skip) = concerns(node)? {
        return Ok(skip);
    }
    let world = world_of(node)?;
    let decision = select_volumes(&world);
    let is_ours = |fault: &Fault| owner_of_code(fault.code) == id;
    if let Some(fault) = decision_fault(&world, &decision).filter(is_ours) {
        let mut finding = finding_of(&fault);
        for near in near_misses(&decision) {
            finding = finding.seen("not counted", describe(near));
        }
        return finding.fail();
    }
    if let Some(fault) = warnings(&decision).iter().find(|fault| is_ours(fault)) {
        return finding_of(fault).warn();
    }
    otherwise(&world, &decision)
}

fn finding_of(fault: &Fault) -> Finding {
    let mut finding = Finding::new(&fault.summary, fault.remedy_text()).coded(fault.code);
    finding.evidence.extend(fault.evidence.iter().cloned());
    finding
}

#[cfg(test)]
mod tests;
