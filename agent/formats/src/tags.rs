//! The tags that kops and Kubernetes put on instances and volumes.

use quake_model::spec::Role;
use std::collections::BTreeMap;

/// The tag that names an instance's cluster, on everything kops makes.
pub const CLUSTER_TAG: &str = "KubernetesCluster";

/// Tags of instances and volumes that name a role, and the role; the first is how kops wrote it up to 1.23.
const ROLE_TAGS: &[(&str, Role)] = &[
    ("k8s.io/role/master", Role::ControlPlane),
    ("k8s.io/role/control-plane", Role::ControlPlane),
    ("k8s.io/role/apiserver", Role::ApiServer),
    ("k8s.io/role/node", Role::Worker),
    ("k8s.io/role/bastion", Role::Bastion),
];

/// The tag that says a resource belongs to `cluster`, beside [`CLUSTER_TAG`].
pub fn ownership_tag(cluster: &str) -> String {
    format!("kubernetes.io/cluster/{cluster}")
}

/// The tags of which one must be on the instance before kubelet may start.
///
/// kubelet's AWS provider reads the instance's tags once, at its start: without one of these it goes on
/// broken (Kubernetes up to 1.9) or exits (later), and nothing reads them again.
pub fn own_tag_keys(cluster: &str) -> Vec<String> {
    vec![CLUSTER_TAG.to_owned(), ownership_tag(cluster)]
}

/// Whether the instance's tags say that it belongs to `cluster`.
pub fn own_tags_seen(tags: &BTreeMap<String, String>, cluster: &str) -> bool {
    tags.get(CLUSTER_TAG).is_some_and(|name| name == cluster)
        || tags.contains_key(&ownership_tag(cluster))
}

/// The role the tags name; `None` when they name none, or more than one.
pub fn role_of_tags(tags: &BTreeMap<String, String>) -> Option<Role> {
    let mut named = ROLE_TAGS
        .iter()
        .filter(|(tag, _)| tags.contains_key(*tag))
        .map(|(_, role)| *role);
    let first = named.next()?;
    named.all(|role| role == first).then_some(first)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tags(pairs: &[(&str, &str)]) -> BTreeMap<String, String> {
        pairs
            .iter()
            .map(|(key, value)| ((*key).to_owned(), (*value).to_owned()))
            .collect()
    }

    #[test]
    fn either_cluster_tag_is_enough_and_another_cluster_is_not_ours() {
        let cluster = "c.example.com";
        assert!(own_tags_seen(&tags(&[(CLUSTER_TAG, cluster)]), cluster));
        let owned = tags(&[("kubernetes.io/cluster/c.example.com", "owned")]);
        assert!(own_tags_seen(&owned, cluster));
        assert!(!own_tags_seen(&tags(&[(CLUSTER_TAG, "other")]), cluster));
        assert!(!own_tags_seen(&tags(&[]), cluster));
    }

    #[test]
    fn tags_that_name_two_roles_name_none() {
        let both = tags(&[("k8s.io/role/master", "1"), ("k8s.io/role/node", "1")]);
        assert_eq!(role_of_tags(&both), None);
        let renamed = tags(&[
            ("k8s.io/role/master", "1"),
            ("k8s.io/role/control-plane", "1"),
        ]);
        assert_eq!(role_of_tags(&renamed), Some(Role::ControlPlane));
    }
}
