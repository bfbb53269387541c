//! Which nodes must be replaced when an add-on has changed, and how they are marked.

use super::channel::{Addon, RollingUpdate};
use quake_model::addon::AddonVersion;
use serde_json::{Value, json};

/// The annotation of a node that `kops rolling-update cluster` replaces.
pub const NEEDS_UPDATE: &str = "kops.k8s.io/needs-update";

/// The label selectors of the nodes to mark once an add-on was applied over `existing`; a node may be found by several.
/// None for an add-on that was not there before: the nodes came up with it.
///
/// kops selects the control plane by the label that it had before 1.24, `master`, and so finds none of a newer cluster;
/// both are asked for here. An empty selector is all nodes.
pub fn needs_update_nodes(
    addon: &Addon,
    existing: Option<&AddonVersion>,
) -> &'static [&'static str] {
    match (existing, addon.needs_rolling_update) {
        (None, _) | (_, None) => &[],
        (Some(_), Some(RollingUpdate::ControlPlane)) => &[
            "node-role.kubernetes.io/control-plane",
            "node-role.kubernetes.io/master",
        ],
        (Some(_), Some(RollingUpdate::Workers)) => &["node-role.kubernetes.io/node"],
        (Some(_), Some(RollingUpdate::All)) => &[""],
    }
}

/// The merge patch of a node that marks it.
pub fn needs_update_patch() -> Value {
    json!({"metadata": {"annotations": {NEEDS_UPDATE: ""}}})
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::channel::sample;

    #[test]
    fn nodes_are_marked_only_by_an_add_on_that_was_there_before_and_says_so() {
        let existing = AddonVersion::default();
        let of = |update| Addon {
            needs_rolling_update: update,
            ..sample("kops-controller.addons.k8s.io")
        };
        let control_plane = of(Some(RollingUpdate::ControlPlane));
        assert!(needs_update_nodes(&control_plane, None).is_empty());
        assert!(needs_update_nodes(&of(None), Some(&existing)).is_empty());
        assert_eq!(needs_update_nodes(&control_plane, Some(&existing)).len(), 2);
        assert_eq!(
            needs_update_nodes(&of(Some(RollingUpdate::All)), Some(&existing)),
            [""]
        );
    }
}
