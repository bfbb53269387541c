//! Why a device is left as it is, in the operator's terms.

use super::filesystem::SafetyGate;
use crate::boot::facts::BootFacts;
use crate::context::Context;
use quake_model::event::Event;
use quake_model::facts::{DeviceFacts, FilesystemCheck};
use quake_model::fault::{Code, Fault};

use quake_model::spec::EtcdProvider;
use quake_volumes::{Expectation, GateRule};

/// The refusal, with what was seen and what to do.
pub(super) fn refusal<H>(
    context: &Context<'_, H>,
    gate: &SafetyGate,
    rule: GateRule,
    device: &DeviceFacts,
) -> Fault {
    let id = &gate.identity.volume_id;
    let slot = &gate.identity.slot;
    let code = rule.code().unwrap_or(Code::BootInternal);
    let seen = gate
        .contents
        .as_ref()
        .map_or_else(|| "it cannot be read".to_owned(), ToString::to_string);
    let mut fault = Fault::new(code, format!("{id} of {slot} is left as it is: {seen}"))
        .seen("rule", rule.name())
        .seen("volume", id)
        .seen(
            "device",
            format!(
                "{} ({})",
                device.path,
                device.serial.as_deref().unwrap_or("-")
            ),
        );
    if let Some(marker) = gate
        .inside
        .marker
        .as_deref()
        .and_then(quake_volumes::Marker::read)
    {
        let was = marker.identity;
        let text = format!(
            "{} of {} for {} (uid {})",
            was.volume_id, was.cluster, was.slot, was.cluster_uid
        );
        fault = fault
            .seen("marker", text)
            .seen("wanted uid", &gate.identity.cluster_uid);
    }
    for (name, list) in [
        ("etcd data", &gate.inside.etcd_data),
        ("other files", &gate.inside.others),
    ] {
        if !list.is_empty() {
            fault = fault.seen(name, list.join(", "));
        }
    }
    if let Some(FilesystemCheck::Damaged { status, output }) = &gate.check {
        fault = fault.seen("e2fsck status", status).seen("e2fsck", output);
    }
    if let Some(error) = &gate.unmountable {
        fault = fault.seen("mount", &error.summary);
        for piece in &error.evidence {
            fault = fault.seen(&piece.name, &piece.value);
        }
        for cause in &error.causes {
            fault = fault.caused_by(cause);
        }
    }
    match &gate.expectation {
        None => fault,
        Some(expectation) => expected(context, fault, expectation, slot, id),
    }
}

/// Says why data is expected, and how to bring it back.
fn expected<H>(
    context: &Context<'_, H>,
    fault: Fault,
    expectation: &Expectation,
    slot: &str,
    id: &str,
) -> Fault {
    let consent = format!(
        "if an empty member is wanted: quake-agent volumes wipe {id} --slot {slot} --i-know-this-is-empty --yes, \
         or boot with --accept-empty {slot}; then start the agent again"
    );
    let etcd = slot.split('/').next().unwrap_or_default();
    let spec = context.know(BootFacts::spec).ok();
    let is_managed = spec.is_some_and(|spec| {
        let mut clusters = spec.etcd.iter();
        clusters.any(|cluster| cluster.name == etcd && cluster.provider == EtcdProvider::Manager)
    });
    match expectation {
        Expectation::WasFormatted => fault
            .seen("expected because", "its tags say that it had a filesystem")
            .remedied_by(format!("restore a snapshot of {id}; {consent}")),
        Expectation::SlotHadData(other) => fault
            .seen("expected because", format!("{other} has this slot's tag and its data"))
            .remedied_by(format!(
                "if {other} has the data, correct its tags and leave this one out: quake-agent volumes ignore {id} --reason <text> --yes; {consent}"
            )),
        Expectation::PeerHoldsData(peer) => fault
            .seen(
                "expected because",
                format!("{peer} of another member was in use before this volume was made"),
            )
            .remedied_by(format!(
                "attach the volume that this member had, or restore its snapshot; {consent} \
                 (and replace the member in etcd: etcdctl member remove, then member add)"
            )),
        Expectation::Backup(location) => {
            let (store, name) = location.rsplit_once('/').unwrap_or((location, ""));
            let restore = match is_managed {
                true => format!(
                    "if no member of {etcd} has its data any more, let it begin empty and restore: \
                     etcd-manager-ctl --backup-store={store} restore-backup {name}"
                ),
                false => format!("restore {location} to it"),
            };
            fault
                .seen(
                    "expected because",
                    format!("there are backups, the newest is {location}"),
                )
                .remedied_by(format!("{restore}; {consent}"))
        }
    }
}

/// Says what the gate let pass although it is unusual.
pub(super) fn warn_of_consent<H>(context: &Context<'_, H>, gate: &SafetyGate) {
    if gate.decision.rule() == GateRule::Adopted {
        let summary = format!(
            "{} is used because an operator adopted it",
            gate.identity.volume_id
        );
        let fault = Fault::new(Code::StorageSurplusVolumes, summary);
        context.emitter.emit(Event::Warning { fault });
    }
}
