//! The node's object of kops legacy (1.8 to 1.15): what kubelet registers a new node with.

use super::kubelet::{labels, taints};
use crate::config::legacy::{GROUP_LABEL, MASTER_LABEL, ROLE_LABEL};
use quake_model::spec::{NodeObjectSpec, NodeSpec, Role};

/// What the agent sets in the object; `None` on a bastion, which has none.
pub(crate) fn node_object(spec: &NodeSpec) -> Option<NodeObjectSpec> {
    if spec.role == Role::Bastion {
        return None;
    }
    let mut labels = labels(spec);
    if spec.is_control_plane() {
        // From 1.16 on kubelet may not set them itself.
        labels.insert(ROLE_LABEL.to_owned(), "master".to_owned());
        labels.insert(MASTER_LABEL.to_owned(), String::new());
    }
    labels
        .entry(GROUP_LABEL.to_owned())
        .or_insert_with(|| spec.instance_group.clone());
    // Before 1.6 there were no taints of this form, and no RBAC.
    let is_modern = spec.kubernetes.at_least(1, 6);
    Some(NodeObjectSpec {
        labels,
        taints: if is_modern { taints(spec) } else { Vec::new() },
        has_provider_id: spec.kubelet.flag("cloud-provider") == Some("aws"),
        grants_access: is_modern && spec.is_control_plane(),
    })
}
