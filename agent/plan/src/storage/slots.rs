//! Which etcd clusters this node runs a member of.

use quake_model::spec::NodeSpec;

/// One etcd cluster this node runs a member of.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WantedSlot {
    /// The cluster, such as `main`.
    pub cluster: String,
    /// The members this node's instance group runs, sorted; empty where the spec does not say, and then the
    /// volumes of the node's zone decide.
    pub members: Vec<String>,
}

/// The etcd clusters this node runs a member of, in the spec's order; empty on anything but a control plane.
pub fn slots(spec: &NodeSpec) -> Vec<WantedSlot> {
    if !spec.is_control_plane() {
        return Vec::new();
    }
    spec.etcd
        .iter()
        .map(|cluster| {
            let ours = |group: &Option<String>| group.as_ref() == Some(&spec.instance_group);
            let mut members: Vec<String> = cluster
                .members
                .iter()
                .filter(|member| ours(&member.instance_group))
                .map(|member| member.name.clone())
                .collect();
            members.sort();
            members.dedup();
            WantedSlot {
                cluster: cluster.name.clone(),
                members,
            }
        })
        .collect()
}
