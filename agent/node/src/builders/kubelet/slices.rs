//! Slices for the control groups that kubelet, the runtime and the system are put into.

use super::kubelet_values::setting_fault;
use crate::builders::Context;
use quake_formats::unit_text::UnitText;
use quake_model::fault::{Code, Fault};
use quake_model::item::{Autostart, Item, Unit, UnitState};
use std::collections::BTreeSet;

/// Settings that name a control group that is to be there. `kubeReservedCgroup` and `systemReservedCgroup` are none of them:
/// kubelet reads those in another way where systemd drives control groups (kubernetes/kubernetes#101189).
const GROUPS: &[&str] = &["kubeletCgroups", "runtimeCgroups", "systemCgroups"];

/// One slice for each control group; what is put into it makes it run.
pub(super) fn build(context: &Context<'_>) -> Result<Vec<Item>, Fault> {
    let mut names = BTreeSet::new();
    for key in GROUPS {
        let Some(group) = context.config.kubelet.text(key) else {
            continue;
        };
        if group.trim_matches('/').contains('/') {
            return Err(nested(context, key, group));
        }
        names.insert(unit_name(group));
    }
    let unit = |name: String| {
        Item::Unit(Unit {
            state: UnitState::Unmanaged,
            autostart: Autostart::Unmanaged,
            inputs: Vec::new(),
            ..context.unit(&name, text())
        })
    };
    Ok(names.into_iter().map(unit).collect())
}

/// The slice of a control group.
pub(super) fn unit_name(group: &str) -> String {
    format!("{}.slice", group.trim_matches('/'))
}

fn text() -> String {
    UnitText::new()
        .section("Unit")
        .set("Documentation", "man:systemd.special(7)")
        .set("DefaultDependencies", "no")
        .set("Before", "slices.target")
        .finish()
}

/// A slice's name says what it is in, by dashes; a path has no slice.
fn nested(context: &Context<'_>, key: &str, group: &str) -> Fault {
    let summary =
        format!("the control group {group} is within another, and so no slice is called by it");
    setting_fault(context, key, Code::ConfigUnsupported, summary)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::builders::sample::Sample;

    fn subjects(keys: &str) -> Vec<String> {
        let items = Sample::worker(&format!("KubeletConfig: {{{keys}}}\n")).items(build);
        items.iter().map(Item::subject).collect()
    }

    #[test]
    fn each_control_group_has_a_slice_and_none_has_two() {
        let keys = "kubeletCgroups: /pods, runtimeCgroups: /pods/, systemCgroups: system2";
        assert_eq!(subjects(keys), ["pods.slice", "system2.slice"]);
        assert_eq!(subjects(""), [""; 0]);
    }

    #[test]
    fn what_is_reserved_for_others_has_no_slice_of_ours() {
        let keys = "kubeReservedCgroup: /a, systemReservedCgroup: /b";
        assert_eq!(subjects(keys), [""; 0]);
    }

    #[test]
    fn a_slice_is_neither_started_nor_enabled() {
        let units = Sample::worker("KubeletConfig: {kubeletCgroups: /a}\n").all(build, Item::unit);
        let unit = &units[0];

        assert_eq!(unit.state, UnitState::Unmanaged);
        assert_eq!(unit.autostart, Autostart::Unmanaged);
    }

    #[test]
    fn a_control_group_within_another_is_refused() {
        let sample = Sample::worker("KubeletConfig: {runtimeCgroups: /a/b}\n");
        sample.assert_refused(
            build,
            Code::ConfigUnsupported,
            ("path", "KubeletConfig.runtimeCgroups"),
        );
    }
}
