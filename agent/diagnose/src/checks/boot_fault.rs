//! What the boot itself said: its fault, what it waits for, what the node lost since, and its warnings. Each belongs to
//! a check, and speaks there for what the check may not be able to see.

use super::check::{Finding, Severity};
use super::node::Node;
use super::report::{CheckReport, Status};
use quake_model::fault::{Class, Code, Fault};
use quake_model::record::{BootState, Record};
use quake_model::time::Timestamp;
use std::collections::BTreeSet;

/// What to do once the cause of a fault that ended the boot is gone.
const START_AGAIN: &str =
    "then: systemctl reset-failed quake-agent.service && systemctl start quake-agent.service";

/// Checks that faults belong to, by the beginning of their code; the longest that fits counts.
const OWNERS: &[(&str, &str)] = &[
    ("assets.", "assets.store"),
    ("assets.archive-unsafe", "assets.digests"),
    ("assets.bundle-damaged", "assets.seed"),
    ("assets.digest-mismatch", "assets.digests"),
    ("assets.forbidden", "assets.sources"),
    ("assets.member-missing", "assets.digests"),
    ("assets.no-space", "host.disk-space"),
    ("assets.not-found", "assets.sources"),
    ("assets.unreachable", "assets.sources"),
    ("boot.", "boot.outcome"),
    ("config.", "config.spec"),
    ("config.bucket-missing", "config.store"),
    ("config.controller-", "config.store"),
    ("config.drift", "config.copies"),
    ("config.node-exists", "config.store"),
    ("config.object-missing", "config.store"),
    ("config.store-denied", "iam.state-store"),
    ("config.store-unreachable", "config.store"),
    ("config.unknown-key", "config.keys"),
    ("config.user-data-unusable", "config.user-data"),
    ("credentials.", "certificates.present"),
    ("credentials.denied", "iam.state-store"),
    ("files.", "files.written"),
    ("files.no-space", "host.disk-space"),
    ("identity.", "identity.metadata"),
    ("identity.clock-skew", "time.sync"),
    ("identity.describe-denied", "iam.describe-instances"),
    ("identity.os-unknown", "host.os"),
    ("identity.role-missing", "identity.profile"),
    ("identity.tags-pending", "identity.tags"),
    ("network.", "net.settings"),
    ("network.module-missing", "host.modules"),
    ("network.unreadable", "net.links"),
    ("ready.", "boot.conditions"),
    ("ready.cni-foreign", "cni.stale"),
    ("ready.cni-missing", "cni.config"),
    ("ready.node-unregistered", "node.registered"),
    ("ready.pod-failing", "staticpods.running"),
    ("ready.runtime-silent", "runtime.alive"),
    ("services.", "services.units"),
    ("services.bus-unreachable", "services.systemd"),
    ("services.image-", "images.imported"),
    ("storage.", "volumes.usable"),
    ("storage.attach-", "volumes.attached"),
    ("storage.attach-denied", "iam.attach-volume"),
    ("storage.blank-from-snapshot", "volumes.contents"),
    ("storage.cloud-unreachable", "volumes.discovered"),
    ("storage.data-", "volumes.contents"),
    ("storage.describe-denied", "iam.describe-volumes"),
    ("storage.device-missing", "volumes.attached"),
    ("storage.device-not-blank", "volumes.contents"),
    ("storage.device-unreadable", "volumes.contents"),
    ("storage.filesystem-", "volumes.contents"),
    ("storage.foreign-", "volumes.contents"),
    ("storage.held-by-foreign", "volumes.attached"),
    ("storage.holder-", "volumes.attached"),
    ("storage.key-denied", "volumes.attached"),
    ("storage.legacy-unproven", "volumes.contents"),
    ("storage.marker-missing", "volumes.contents"),
    ("storage.mount-", "volumes.mounted"),
    ("storage.no-member", "volumes.discovered"),
    ("storage.several-attachments", "volumes.conflict"),
    ("storage.several-pins", "volumes.conflict"),
    ("storage.signature-ambiguous", "volumes.contents"),
    ("storage.surplus-volumes", "volumes.conflict"),
    ("storage.tag-denied", "iam.tag-volume"),
    ("storage.two-members", "volumes.conflict"),
    ("storage.volume-busy", "volumes.attached"),
    ("storage.volume-cloned", "volumes.conflict"),
    ("storage.volume-conflict", "volumes.conflict"),
    ("storage.volume-elsewhere", "volumes.discovered"),
    ("storage.volume-held", "volumes.attached"),
    ("storage.volume-missing", "volumes.discovered"),
];

/// Units whose fault belongs to a check of their own.
const UNITS: &[(&str, &str)] = &[
    ("containerd.service", "runtime.alive"),
    ("docker.service", "runtime.alive"),
    ("docker.socket", "runtime.alive"),
    ("kubelet.service", "kubelet.alive"),
];

/// Components whose fault belongs to a check of their own.
const COMPONENTS: &[(&str, &str)] = &[
    ("etcd", "etcd.alive"),
    ("kube-apiserver", "apiserver.alive"),
    ("kubelet", "kubelet.alive"),
];

/// The check that a fault belongs to.
pub(super) fn owner_of(fault: &Fault) -> &'static str {
    let named = |table: &[(&str, &'static str)], evidence: &str, is: fn(&str, &str) -> bool| {
        let name = fault.evidence_named(evidence)?;
        table.iter().find(|(row, _)| is(name, row)).map(|row| row.1)
    };
    let of_part = match fault.code {
        Code::ServicesUnitFailed | Code::ServicesUnitStarting | Code::ServicesUnitUnknown => {
            named(UNITS, "unit", |name, row| name == row)
        }
        Code::ReadyProbeFailing => {
            named(COMPONENTS, "component", |name, row| name.starts_with(row))
        }
        _ => None,
    };
    of_part.unwrap_or_else(|| owner_of_code(fault.code))
}

pub(super) fn owner_of_code(code: Code) -> &'static str {
    let name = code.entry().code;
    let fitting = OWNERS.iter().filter(|(start, _)| name.starts_with(start));
    fitting
        .max_by_key(|(start, _)| start.len())
        .map_or("boot.outcome", |(_, owner)| owner)
}

/// What the record says, and how it stands.
struct Said<'a> {
    fault: &'a Fault,
    when: Timestamp,
    is_warning: bool,
    /// What kind of saying it is, for the evidence.
    how: &'static str,
}

/// Lets the boot speak in the checks its faults belong to; the places of those that stop it.
pub(super) fn adopt(checks: &mut [CheckReport], node: &Node<'_>) -> BTreeSet<usize> {
    let mut blamed = BTreeSet::new();
    let Ok(record) = node.record() else {
        return blamed;
    };
    for said in sayings(record) {
        let owner = owner_of(said.fault);
        let Some(index) = checks.iter().position(|one| one.check.id == owner) else {
            continue;
        };
        if !said.is_warning {
            blamed.insert(index);
        }
        take_over(&mut checks[index], &said);
    }
    blamed
}

fn sayings(record: &Record) -> Vec<Said<'_>> {
    let mut said = Vec::new();
    let failed = record
        .fault
        .as_ref()
        .filter(|fault| fault.code != Code::BootInterrupted);
    said.extend(failed.map(|fault| Said {
        fault,
        when: record.updated,
        is_warning: false,
        how: "the boot ended with it",
    }));
    if record.state != BootState::Ready {
        for phase in record.phases.values() {
            said.extend(phase.unmet.values().map(|unmet| Said {
                fault: &unmet.fault,
                when: unmet.since,
                is_warning: false,
                how: "the boot waits for it",
            }));
        }
    }
    said.extend(record.losses.iter().map(|(_, loss)| Said {
        fault: &loss.fault,
        when: loss.since,
        is_warning: false,
        how: "the ready node lost it",
    }));
    said.extend(record.warnings.iter().map(|fault| Said {
        fault,
        when: record.updated,
        is_warning: true,
        how: "the boot warned of it",
    }));
    said
}

/// What a check says once the boot has spoken: a failure of its own stands, and learns the code.
fn take_over(one: &mut CheckReport, said: &Said<'_>) {
    let status = match said.is_warning || one.check.severity == Severity::Info {
        true => Status::Warn,
        false => Status::Fail,
    };
    let own = one.finding.take();
    let own_is_as_bad =
        one.status == Status::Fail || (one.status == Status::Warn && status == Status::Warn);
    let mut finding = match own {
        Some(own) if own_is_as_bad => own,
        _ => {
            one.status = status;
            of_fault(said)
        }
    };
    if finding.code.is_none() {
        finding.code = Some(said.fault.code);
        finding = finding.seen("boot", format_args!("{} ({})", said.fault, said.how));
    }
    one.note.clone_from(&finding.summary);
    one.finding = Some(finding);
}

fn of_fault(said: &Said<'_>) -> Finding {
    let fault = said.fault;
    let ends_boot = match fault.class() {
        Class::Denied | Class::Invalid | Class::Refused | Class::Bug => true,
        Class::NotYet | Class::Transient | Class::Conflict => false,
    };
    let fix = match ends_boot && !said.is_warning {
        true => format!("{}; {START_AGAIN}", fault.remedy_text()),
        false => fault.remedy_text().to_owned(),
    };
    let mut finding = Finding::new(&fault.summary, fix).coded(fault.code);
    for cause in &fault.causes {
        finding = finding.seen("cause", cause);
    }
    finding.evidence.extend(fault.evidence.iter().cloned());
    finding.seen("since", format_args!("{}, {}", said.when, said.how))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::checks::find;

    #[test]
    fn every_fault_belongs_to_a_check_that_exists() {
        for code in Code::ALL {
            let owner = owner_of_code(*code);
            assert!(
                find(owner).is_some(),
                "{} belongs to {owner}",
                code.entry().code
            );
        }
        let parts = UNITS.iter().chain(COMPONENTS);
        for (_, owner) in OWNERS.iter().chain(parts) {
            assert!(find(owner).is_some(), "{owner}");
        }
    }

    #[test]
    fn the_longest_beginning_that_fits_counts() {
        assert_eq!(owner_of_code(Code::AssetsNoSpace), "host.disk-space");
        assert_eq!(
            owner_of_code(Code::StorageVolumeConflict),
            "volumes.conflict"
        );
        let fault = Fault::new(Code::ServicesUnitFailed, "x").seen("unit", "kubelet.service");
        assert_eq!(owner_of(&fault), "kubelet.alive");
    }
}
