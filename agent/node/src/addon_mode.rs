//! What a node has to do with its cluster's add-ons: apply them, watch the pod that does, or nothing.

use quake_model::location::Location;
use quake_model::spec::{AddonsPod, KubernetesVersion, NodeSpec};

/// The kubeconfig of whoever applies add-ons, where nodeup has it too.
pub const KUBECONFIG: &str = "/var/lib/kops/kubeconfig";

/// What a node has to do with its cluster's add-ons.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AddonMode {
    /// It applies them, or stands by for whoever does.
    Reconcile(ReconcileMode),
    /// It watches the pod that applies them.
    Observe(ObserveMode),
}

/// What add-ons are applied by.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReconcileMode {
    pub channels: Vec<Location>,
    /// Those that are no location of a state store, as they were given.
    pub strange: Vec<String>,
    /// This node's name among those that would apply them.
    pub me: String,
    /// The version of the cluster, until its API server tells its own.
    pub kubernetes: KubernetesVersion,
}

/// What a pod that applies add-ons is watched by.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ObserveMode {
    pub pod: AddonsPod,
    pub channels: Vec<Location>,
    /// The version of the cluster, until its API server tells its own.
    pub kubernetes: KubernetesVersion,
}

/// What the node of this spec has to do with add-ons; `me` is its instance's id.
pub fn addon_mode(spec: &NodeSpec, me: &str) -> Option<AddonMode> {
    if !spec.is_control_plane() || (spec.channels.is_empty() && spec.addons_pod.is_none()) {
        return None;
    }
    let kubernetes = spec.kubernetes;
    let (mut channels, mut strange) = (Vec::new(), Vec::new());
    for channel in &spec.channels {
        match channel.parse() {
            Ok(location) => channels.push(location),
            Err(_) => strange.push(channel.clone()),
        }
    }
    Some(match spec.addons_pod.clone() {
        Some(pod) => AddonMode::Observe(ObserveMode {
            pod,
            channels,
            kubernetes,
        }),
        None => AddonMode::Reconcile(ReconcileMode {
            channels,
            strange,
            me: me.to_owned(),
            kubernetes,
        }),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::builders::sample::Sample;
    use quake_model::spec::Role;

    const CHANNEL: &str = "s3://b/c/addons/bootstrap-channel.yaml";

    fn spec(role: Role, channels: &[&str], pod: bool) -> NodeSpec {
        let sample = Sample::control_plane("");
        let mut spec = crate::config::current::lower(&sample.boot, &sample.config, Vec::new());
        spec.role = role;
        spec.channels = channels
            .iter()
            .map(|channel| str::to_owned(channel))
            .collect();
        spec.addons_pod = pod.then(|| AddonsPod {
            name: "kops-channels".to_owned(),
            health: None,
            labels: std::collections::BTreeMap::new(),
        });
        spec
    }

    #[test]
    fn only_the_control_plane_has_to_do_with_add_ons() {
        assert_eq!(
            addon_mode(&spec(Role::Worker, &[CHANNEL], false), "i-1"),
            None
        );
        assert_eq!(
            addon_mode(&spec(Role::ControlPlane, &[], false), "i-1"),
            None
        );
    }

    #[test]
    fn a_pod_that_applies_them_is_only_watched() {
        let found = addon_mode(&spec(Role::ControlPlane, &[CHANNEL], true), "i-1");
        assert!(
            matches!(found, Some(AddonMode::Observe(watching)) if watching.pod.name == "kops-channels")
        );
    }

    #[test]
    fn a_channel_that_is_no_location_is_kept_apart() {
        let found = addon_mode(
            &spec(Role::ControlPlane, &[CHANNEL, "networking.weave"], false),
            "i-1",
        );
        let Some(AddonMode::Reconcile(keeping)) = found else {
            panic!("{found:?}");
        };
        assert_eq!(keeping.channels.len(), 1);
        assert_eq!(keeping.strange, ["networking.weave"]);
        assert_eq!(keeping.me, "i-1");
    }
}
