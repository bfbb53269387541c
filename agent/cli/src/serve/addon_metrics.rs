//! What `/metrics` says of the cluster's add-ons: how many are in which state, and of each where it is.
//!
//! Every control plane tells the same, for the holder of the lease tells the others: `max by (addon)` is of the cluster. A name
//! comes from the cluster's own channels, so there are few and they stay; a number bounds them all the same.

use super::exposition::{Family, Kind};
use quake_model::addon::{AddonState, AddonStatus, AddonsRecord};

/// How many add-ons have samples of their own: those that are not applied first. kops's own channels have some twenty.
const ADDONS_SHOWN: usize = 40;

const STATES: [AddonState; 5] = [
    AddonState::WaitingForApi,
    AddonState::Waiting,
    AddonState::Applying,
    AddonState::Applied,
    AddonState::Failed,
];

/// The families; without a sample on a node that has nothing to do with add-ons.
pub(super) fn addon_metrics(addons: &AddonsRecord) -> Vec<Family> {
    if addons.is_empty() {
        return Vec::new();
    }
    let mut all = vec![by_state(addons), state(addons)];
    all.extend(counts(addons));
    let warnings = addons.addons.values().map(|addon| addon.warnings.len());
    let warnings: usize = warnings.sum::<usize>() + addons.warnings.len();
    let family = Family::new(
        "quake_agent_addon_warnings",
        Kind::Gauge,
        "What is odd about channels and manifests and stopped nothing",
    );
    all.push(family.with(warnings as f64));
    let family = Family::new(
        "quake_agent_addons_kept",
        Kind::Gauge,
        "Whether channels and API server can be read",
    );
    all.push(family.with(f64::from(u8::from(addons.fault.is_none()))));
    all
}

fn by_state(addons: &AddonsRecord) -> Family {
    let family = Family::new("quake_agent_addons", Kind::Gauge, "Add-ons by state");
    STATES.into_iter().fold(family, |family, state| {
        let of_state = addons.addons.values().filter(|addon| addon.state == state);
        family.with_label("state", state.name(), of_state.count() as f64)
    })
}

/// Only the state that it is in has a sample: five of each would say no more.
fn state(addons: &AddonsRecord) -> Family {
    let family = Family::new(
        "quake_agent_addon_state",
        Kind::Gauge,
        "1 for the state that the add-on is in",
    );
    shown(addons).into_iter().fold(family, |family, addon| {
        let labels = [
            ("addon", addon.name.as_str()),
            ("state", addon.state.name()),
        ];
        let labels = labels.map(|(name, value)| (name, value.to_owned()));
        family.labelled(labels.to_vec(), 1.0)
    })
}

fn counts(addons: &AddonsRecord) -> [Family; 2] {
    type Read = fn(&AddonStatus) -> f64;
    let families: [(&'static str, &'static str, Read); 2] = [
        (
            "quake_agent_addon_objects",
            "Objects of the manifest that was applied last, 0 until this agent read it",
            |addon| addon.objects as f64,
        ),
        (
            "quake_agent_addon_failures",
            "Tries that failed since the add-on last was as wanted",
            |addon| f64::from(addon.failures),
        ),
    ];
    families.map(|(name, help, read)| {
        let family = Family::new(name, Kind::Gauge, help);
        shown(addons).into_iter().fold(family, |family, addon| {
            family.with_label("addon", &addon.name, read(addon))
        })
    })
}

fn shown(addons: &AddonsRecord) -> Vec<&AddonStatus> {
    let mut all: Vec<&AddonStatus> = addons.addons.values().collect();
    all.sort_by_key(|addon| addon.state == AddonState::Applied);
    all.truncate(ADDONS_SHOWN);
    all
}

#[cfg(test)]
mod tests {
    use super::super::exposition::{Format, exposition};
    use super::*;
    use quake_model::addon::ReconcilerRef;
    use quake_model::fault::{Code, Fault};

    fn record(addons: &[(&str, AddonState)]) -> AddonsRecord {
        let mut record = AddonsRecord {
            reconciler: Some(ReconcilerRef::Me),
            ..AddonsRecord::default()
        };
        for (name, state) in addons {
            let status = AddonStatus {
                name: (*name).to_owned(),
                state: *state,
                objects: 9,
                ..AddonStatus::default()
            };
            record.addons.insert((*name).to_owned(), status);
        }
        record
    }

    fn text(record: &AddonsRecord) -> String {
        exposition(&addon_metrics(record), Format::Text)
    }

    #[test]
    fn each_add_on_has_its_state_and_its_counts() {
        let mut record = record(&[
            ("coredns.addons.k8s.io", AddonState::Applied),
            ("b\"", AddonState::Failed),
        ]);
        let broken = record.addons.get_mut("b\"").expect("it is there");
        broken.failures = 3;
        broken.warnings = vec![Fault::new(Code::AddonsManifestMismatch, "another hash")];
        let wanted = "\
# HELP quake_agent_addons Add-ons by state
# TYPE quake_agent_addons gauge
quake_agent_addons{state=\"waiting-for-api\"} 0
quake_agent_addons{state=\"waiting\"} 0
quake_agent_addons{state=\"applying\"} 0
quake_agent_addons{state=\"applied\"} 1
quake_agent_addons{state=\"failed\"} 1
# HELP quake_agent_addon_state 1 for the state that the add-on is in
# TYPE quake_agent_addon_state gauge
quake_agent_addon_state{addon=\"b\\\"\",state=\"failed\"} 1
quake_agent_addon_state{addon=\"coredns.addons.k8s.io\",state=\"applied\"} 1
# HELP quake_agent_addon_objects Objects of the manifest that was applied last, 0 until this agent read it
# TYPE quake_agent_addon_objects gauge
quake_agent_addon_objects{addon=\"b\\\"\"} 9
quake_agent_addon_objects{addon=\"coredns.addons.k8s.io\"} 9
# HELP quake_agent_addon_failures Tries that failed since the add-on last was as wanted
# TYPE quake_agent_addon_failures gauge
quake_agent_addon_failures{addon=\"b\\\"\"} 3
quake_agent_addon_failures{addon=\"coredns.addons.k8s.io\"} 0
# HELP quake_agent_addon_warnings What is odd about channels and manifests and stopped nothing
# TYPE quake_agent_addon_warnings gauge
quake_agent_addon_warnings 1
# HELP quake_agent_addons_kept Whether channels and API server can be read
# TYPE quake_agent_addons_kept gauge
quake_agent_addons_kept 1
";
        assert_eq!(text(&record), wanted);
    }

    #[test]
    fn a_node_that_has_nothing_to_do_with_add_ons_has_no_sample_of_them() {
        assert_eq!(text(&AddonsRecord::default()), "");
    }

    #[test]
    fn however_many_there_are_few_have_samples_of_their_own_and_what_failed_is_among_them() {
        let names: Vec<String> = (0..500).map(|number| format!("a{number:03}")).collect();
        let mut all: Vec<(&str, AddonState)> = Vec::new();
        all.extend(
            names
                .iter()
                .map(|name| (name.as_str(), AddonState::Applied)),
        );
        all.push(("z", AddonState::Failed));
        let text = text(&record(&all));
        assert_eq!(text.matches("addon=").count(), 3 * ADDONS_SHOWN);
        assert!(text.contains("quake_agent_addon_failures{addon=\"z\"} 0\n"));
        assert!(text.contains("quake_agent_addons{state=\"applied\"} 500\n"));
    }

    #[test]
    fn a_look_that_fails_is_seen() {
        let mut record = record(&[]);
        record.fault = Some(Fault::new(Code::AddonsApiUnreachable, "no answer"));
        assert!(text(&record).ends_with("quake_agent_addons_kept 0\n"));
    }
}
