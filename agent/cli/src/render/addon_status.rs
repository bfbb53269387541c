//! How the cluster's add-ons stand, beside the boot's own state.

use super::fault::fault_json;
use quake_model::addon::{AddonState, AddonsRecord};
use quake_model::record::Record;
use serde_json::{Value, json};
use std::fmt::Write;

/// The add-ons for programs; null on a node that has nothing to do with them.
pub(crate) fn addons_json(record: &Record) -> Value {
    let addons = &record.addons;
    if addons.is_empty() {
        return Value::Null;
    }
    json!({
        "reconciler": addons.reconciler,
        "channels": addons.channels,
        "allApplied": addons.is_applied(),
        "addons": addons.addons.values().collect::<Vec<_>>(),
        "fault": addons.fault.as_ref().map(fault_json),
        "warnings": addons.warnings.iter().map(fault_json).collect::<Vec<_>>(),
    })
}

/// How many there are, who applies them, and each that is not applied; nothing on a node that has nothing to do with them.
pub(crate) fn addons_text(record: &Record) -> String {
    if record.addons.is_empty() {
        return String::new();
    }
    let reconciler = record.addons.reconciler.as_ref();
    let reconciler = reconciler.map(ToString::to_string).unwrap_or_default();
    let mut text = format!(
        "{:<9} {}; {reconciler}\n",
        "add-ons",
        counted(&record.addons)
    );
    for line in amiss(&record.addons).chain(odd(&record.addons)) {
        let _ = writeln!(text, "          {line}");
    }
    text
}

/// What `/readyz` tells of them, in one line; it decides nothing there.
pub(crate) fn addons_note(record: &Record) -> Option<String> {
    if record.addons.is_empty() {
        return None;
    }
    let amiss: Vec<String> = amiss(&record.addons).collect();
    let counted = counted(&record.addons);
    Some(if amiss.is_empty() {
        counted
    } else {
        format!("{counted}; {}", amiss.join("; "))
    })
}

fn counted(addons: &AddonsRecord) -> String {
    let all = addons.addons.len();
    let states = addons.addons.values().map(|addon| addon.state);
    let applied = states.filter(|state| *state == AddonState::Applied).count();
    format!("{applied} of {all} applied")
}

/// What is not as it should be in channels and manifests, and stopped nothing.
fn odd(addons: &AddonsRecord) -> impl Iterator<Item = String> {
    let of_channels = addons.warnings.iter().map(ToString::to_string);
    let applied = addons.addons.values();
    let applied = applied.filter(|addon| addon.state == AddonState::Applied);
    // One that is not applied has said more by then.
    let of_manifests = applied.flat_map(|addon| {
        let odd = addon.warnings.iter();
        odd.map(|fault| format!("{}: {fault}", addon.name))
    });
    let all = of_channels.chain(of_manifests);
    all.map(|line| format!("warning: {line}"))
}

/// What keeps them from being looked after, and each that is not as it should be.
fn amiss(addons: &AddonsRecord) -> impl Iterator<Item = String> {
    let warnings = addons.fault.iter().map(ToString::to_string);
    let open = addons.addons.values();
    let open = open.filter(|addon| addon.state != AddonState::Applied);
    warnings.chain(open.map(ToString::to_string))
}

#[cfg(test)]
mod tests {
    use super::*;
    use quake_model::addon::{AddonStatus, ReconcilerRef};
    use quake_model::fault::{Code, Fault};

    fn record() -> Record {
        let mut record = Record::default();
        let addon = |name: &str, state: AddonState| AddonStatus {
            name: name.to_owned(),
            state,
            ..AddonStatus::default()
        };
        let mut broken = addon("b", AddonState::Failed);
        broken.fault = Some(Fault::new(
            Code::AddonsObjectRefused,
            "Deployment/b: denied",
        ));
        record.addons.reconciler = Some(ReconcilerRef::Me);
        for addon in [addon("a", AddonState::Applied), broken] {
            record.addons.addons.insert(addon.name.clone(), addon);
        }
        record
    }

    #[test]
    fn a_node_that_has_nothing_to_do_with_add_ons_tells_nothing() {
        let record = Record::default();
        assert_eq!(addons_json(&record), Value::Null);
        assert_eq!(
            (addons_text(&record), addons_note(&record)),
            (String::new(), None)
        );
    }

    #[test]
    fn one_that_failed_is_named_with_its_object() {
        let line = "b is failed: addons.object-refused: Deployment/b: denied";
        assert_eq!(
            addons_text(&record()),
            format!(
                "add-ons   1 of 2 applied; this agent applies the cluster's add-ons\n          {line}\n"
            )
        );
        assert_eq!(
            addons_note(&record()),
            Some(format!("1 of 2 applied; {line}"))
        );
        let json = addons_json(&record());
        assert_eq!(json["allApplied"], false);
        assert_eq!(json["addons"][1]["state"], "failed");
        assert_eq!(json["reconciler"]["who"], "me");
    }

    #[test]
    fn what_is_odd_is_told_and_makes_no_add_on_less_applied() {
        let mut record = record();
        record.addons.addons.remove("b");
        let odd = Fault::new(Code::ConfigUnknownKey, "spec.x is no key");
        record.addons.warnings.push(odd);
        let hash = Fault::new(Code::AddonsManifestMismatch, "another hash");
        let applied = record.addons.addons.get_mut("a").expect("it is there");
        applied.warnings.push(hash);
        let text = addons_text(&record);
        for line in [
            "add-ons   1 of 1 applied; this agent applies the cluster's add-ons\n",
            "          warning: config.unknown-key: spec.x is no key\n",
            "          warning: a: addons.manifest-mismatch: another hash\n",
        ] {
            assert!(text.contains(line), "{line} in {text}");
        }
        assert_eq!(addons_note(&record).as_deref(), Some("1 of 1 applied"));
        let json = addons_json(&record);
        assert_eq!(
            (
                &json["allApplied"],
                json["warnings"].as_array().map(Vec::len)
            ),
            (&true.into(), Some(1))
        );
    }
}
