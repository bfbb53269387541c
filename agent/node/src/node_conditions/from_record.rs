//! Which status each condition has, from the record of the boot alone.

use super::{ConditionKind, ConditionStatus, NodeCondition};
use quake_model::certificates::first_to_end;
use quake_model::fault::{Code, Fault};
use quake_model::phase::Phase;
use quake_model::record::{BootState, PhaseStatus, Record};
use quake_model::time::Timestamp;

/// The step that brings about, and looks at, the pod network's configuration.
const CNI_STEP: &str = "ready:cni";

/// Where the plugins of pod networks are.
const PLUGINS: &str = "/opt/cni/bin/";

/// What to do about a certificate that expired.
const ISSUE_ANEW: &str = "if the local time is right, issue it anew with the cluster's tool; then replace the instance: kops rolling-update cluster --instance-group <name> --yes";

/// Each condition as it is now, in the order of a boot.
pub fn conditions(record: &Record, now: Timestamp) -> Vec<NodeCondition> {
    let decided = ConditionKind::all().map(|kind| match kind {
        ConditionKind::BootComplete => boot_complete(record),
        ConditionKind::VolumesSafe => volumes_safe(record),
        ConditionKind::NetworkReady => network_ready(record),
        ConditionKind::ImagesPresent => images_present(record),
        ConditionKind::CertificatesValid => certificates_valid(record, now),
        ConditionKind::NoDrift => no_drift(record),
    });
    decided.collect()
}

fn boot_complete(record: &Record) -> NodeCondition {
    let kind = ConditionKind::BootComplete;
    // What another condition says is not said twice.
    let lost = record.losses.iter();
    let mut lost = lost.filter(|(step, loss)| loss.phase != Phase::Storage && *step != CNI_STEP);
    match (record.state, &record.fault, lost.next()) {
        (BootState::Ready, _, Some((_, loss))) => lacks(kind, &loss.fault),
        (BootState::Ready, _, None) => holds(kind, "NodeReady", "the boot ended with a ready node"),
        (BootState::Failed | BootState::Stopped, Some(fault), _) => lacks(kind, fault),
        _ => booting(record, kind, &[]),
    }
}

fn volumes_safe(record: &Record) -> NodeCondition {
    let kind = ConditionKind::VolumesSafe;
    if let Some((_, loss)) = record.losses.for_phase(Phase::Storage) {
        return lacks(kind, &loss.fault);
    }
    let storage = record.phases.get(&Phase::Storage);
    let done = storage.filter(|storage| storage.status == PhaseStatus::Done);
    match done.map(|storage| storage.steps) {
        None => by_failure(record, kind, Phase::Storage),
        Some(0) => holds(kind, "NoVolumes", "the node needs no volume of etcd"),
        Some(_) => holds(kind, "VolumesMounted", "each volume of etcd is mounted"),
    }
}

fn network_ready(record: &Record) -> NodeCondition {
    let kind = ConditionKind::NetworkReady;
    let mut lost = record.losses.iter();
    if let Some((_, loss)) = lost.find(|(step, _)| *step == CNI_STEP) {
        return lacks(kind, &loss.fault);
    }
    if failed(record, Phase::Network).is_some() {
        return by_failure(record, kind, Phase::Network);
    }
    let mut drifted = record.drift.files();
    if let Some((path, what)) = drifted.find(|(path, _)| path.starts_with(PLUGINS)) {
        let what = &what.what;
        let summary = format!("the plugin {path} is not as the boot placed it: {what}");
        let remedy = "systemctl restart quake-agent.service places it again";
        let fault = Fault::new(Code::ReadyCniMissing, summary).remedied_by(remedy);
        return lacks(kind, &fault);
    }
    if let Some(fault) = failed(record, Phase::Ready).filter(|fault| is_cni(fault.code)) {
        return lacks(kind, fault);
    }
    let is_configured = record.steps.iter().any(|step| step.step == CNI_STEP);
    let is_done = is_done(record, Phase::Network);
    if is_done && (is_configured || record.state == BootState::Ready) {
        return holds(kind, "NetworkConfigured", "the pod network is configured");
    }
    let waits = record.phases.get(&Phase::Ready).into_iter();
    let mut waits = waits.flat_map(|phase| phase.unmet.values());
    match waits.find(|unmet| is_cni(unmet.fault.code)) {
        Some(unmet) if !has_ended(record) => {
            NodeCondition::by(kind, ConditionStatus::Unknown, &unmet.fault)
        }
        _ => booting(record, kind, &[Phase::Network]),
    }
}

fn images_present(record: &Record) -> NodeCondition {
    let kind = ConditionKind::ImagesPresent;
    if failed(record, Phase::Assets).is_some() {
        return by_failure(record, kind, Phase::Assets);
    }
    let failed = failed(record, Phase::Services).into_iter();
    let mut found = failed.chain(&record.warnings);
    if let Some(fault) = found.find(|fault| is_of_images(fault.code)) {
        return lacks(kind, fault);
    }
    // Images come into the runtime once it runs.
    if is_done(record, Phase::Assets) && is_done(record, Phase::Services) {
        let message = "every file and image of the boot is there";
        return holds(kind, "ImagesPresent", message);
    }
    booting(record, kind, &[Phase::Assets])
}

fn certificates_valid(record: &Record, now: Timestamp) -> NodeCondition {
    let kind = ConditionKind::CertificatesValid;
    if failed(record, Phase::Credentials).is_some() {
        return by_failure(record, kind, Phase::Credentials);
    }
    let mut warnings = record.warnings.iter();
    let warned = warnings.find(|fault| fault.code == Code::CredentialsNotRenewed);
    if let Some(first) = first_to_end(&record.certificates).filter(|first| first.ends <= now) {
        let summary = format!("the certificate {} expired at {}", first.name, first.ends);
        let expired = Fault::new(Code::CredentialsNotRenewed, summary).remedied_by(ISSUE_ANEW);
        return lacks(kind, warned.unwrap_or(&expired));
    }
    if !is_done(record, Phase::Credentials) {
        return booting(record, kind, &[Phase::Credentials]);
    }
    match warned {
        // They are valid, and somebody has to act before they are not.
        Some(fault) => NodeCondition::by(kind, ConditionStatus::True, fault),
        None => {
            let message = "no certificate of the node has expired";
            holds(kind, "CertificatesValid", message)
        }
    }
}

fn no_drift(record: &Record) -> NodeCondition {
    let kind = ConditionKind::NoDrift;
    if record.state != BootState::Ready {
        return booting(record, kind, &[]);
    }
    let (files, units) = (record.drift.files(), record.drift.units());
    match files.chain(units).next() {
        None => {
            let message = "files, units and settings are as the boot left them";
            holds(kind, "NothingDrifted", message)
        }
        Some((name, drifted)) => {
            let (count, what) = (record.drift.count(), &drifted.what);
            let message = format!(
                "{count} drifted, such as {name} ({what}): quake-agent status --output json lists them; systemctl restart quake-agent.service writes them again, and sysctl --system sets what is below /proc/sys"
            );
            NodeCondition::plain(kind, ConditionStatus::False, "Drifted", &message)
        }
    }
}

fn holds(kind: ConditionKind, reason: &str, message: &str) -> NodeCondition {
    NodeCondition::plain(kind, ConditionStatus::True, reason, message)
}

fn lacks(kind: ConditionKind, fault: &Fault) -> NodeCondition {
    NodeCondition::by(kind, ConditionStatus::False, fault)
}

/// Not known yet: why the boot waits in one of these phases, or that it has not come so far.
fn booting(record: &Record, kind: ConditionKind, phases: &[Phase]) -> NodeCondition {
    let status = ConditionStatus::Unknown;
    if has_ended(record) {
        let message = "the boot ended before this was known";
        return NodeCondition::plain(kind, status, "BootEnded", message);
    }
    let phases = phases.iter().filter_map(|phase| record.phases.get(phase));
    let mut waits = phases.flat_map(|phase| phase.unmet.values());
    match waits.next() {
        Some(unmet) => NodeCondition::by(kind, status, &unmet.fault),
        None => NodeCondition::plain(kind, status, "Booting", "the boot is in progress"),
    }
}

fn has_ended(record: &Record) -> bool {
    matches!(record.state, BootState::Failed | BootState::Stopped)
}

fn is_done(record: &Record, phase: Phase) -> bool {
    let phase = record.phases.get(&phase);
    phase.is_some_and(|phase| phase.status == PhaseStatus::Done)
}

/// Why a phase failed. One that was stopped because another failed has no fault of its own.
fn failed(record: &Record, phase: Phase) -> Option<&Fault> {
    let phase = record.phases.get(&phase)?;
    let is_failed = phase.status == PhaseStatus::Failed;
    phase.fault.as_ref().filter(|_| is_failed)
}

fn by_failure(record: &Record, kind: ConditionKind, phase: Phase) -> NodeCondition {
    match failed(record, phase) {
        Some(fault) if fault.code != Code::BootInterrupted => lacks(kind, fault),
        _ => booting(record, kind, &[phase]),
    }
}

fn is_cni(code: Code) -> bool {
    matches!(code, Code::ReadyCniMissing | Code::ReadyCniForeign)
}

fn is_of_images(code: Code) -> bool {
    matches!(
        code,
        Code::ServicesImageFailed | Code::ServicesImageUnusable | Code::ServicesPullFailed
    )
}

#[cfg(test)]
#[path = "from_record_tests.rs"]
mod tests;
