//! What a volume's tags say: which etcd member's data it claims to hold.

use crate::identity::{CLUSTER_TAG, ownership_tag};
use quake_model::facts::{AttachmentState, VolumeFacts};

/// Tags of which one must be on a volume of the control plane; the first is how kops wrote it up to 1.23.
pub(super) const ROLE_TAGS: &[&str] = &["k8s.io/role/master", "k8s.io/role/control-plane"];

/// The tag that names the member whose data a volume holds.
pub(super) fn member_tag(etcd_cluster: &str) -> String {
    format!("k8s.io/etcd/{etcd_cluster}")
}

/// The value of a member tag: `<member>/<member>,<member>,…`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct MemberTag {
    /// The member whose data the volume holds.
    pub(super) member: String,
    /// All members of the cluster, in the tag's order.
    pub(super) members: Vec<String>,
}

/// Reads the value of a member tag; `None` when it is malformed, or names a member that is not of the cluster.
pub(super) fn read_member_tag(value: &str) -> Option<MemberTag> {
    let (member, all) = value.split_once('/')?;
    let members: Vec<String> = all.split(',').map(str::to_owned).collect();
    let is_name = |name: &str| {
        !name.is_empty()
            && name
                .chars()
                .all(|c| c.is_ascii_alphanumeric() || "-_.".contains(c))
    };
    let well_formed =
        members.iter().all(|name| is_name(name)) && members.iter().any(|name| name == member);
    well_formed.then(|| MemberTag {
        member: member.to_owned(),
        members,
    })
}

/// Whether a volume is of the cluster: by its name tag, or, where that is missing, by its ownership tag.
pub(super) fn is_of_cluster(volume: &VolumeFacts, cluster: &str) -> bool {
    match volume.tags.get(CLUSTER_TAG) {
        Some(name) => name == cluster,
        None => volume
            .tags
            .get(&ownership_tag(cluster))
            .is_some_and(|how| how == "owned"),
    }
}

/// Whether a volume is of the control plane.
pub(super) fn is_of_control_plane(volume: &VolumeFacts) -> bool {
    ROLE_TAGS.iter().any(|tag| volume.tags.contains_key(*tag))
}

/// A volume that claims to hold a member's data.
#[derive(Debug, Clone)]
pub(super) struct Claim<'a> {
    /// The etcd cluster.
    pub(super) cluster: &'a str,
    /// The member.
    pub(super) member: String,
    /// The volume.
    pub(super) volume: &'a VolumeFacts,
}

impl Claim<'_> {
    /// The etcd cluster and member, such as `main/a`.
    pub(super) fn slot(&self) -> String {
        format!("{}/{}", self.cluster, self.member)
    }

    /// Whether the volume is on this instance, or on its way there or off.
    pub(super) fn is_ours(&self, instance_id: &str) -> bool {
        self.volume.attachments.iter().any(|attachment| {
            attachment.instance_id == instance_id && attachment.state != AttachmentState::Detached
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_member_tag_names_a_member_of_its_list() {
        let tag = read_member_tag("b/a,b,c").expect("it is well-formed");
        assert_eq!((tag.member.as_str(), tag.members.len()), ("b", 3));
        for malformed in ["", "a", "/a", "a/", "a/b", "a/a,,b", "a/a, b", "a/b/a"] {
            assert_eq!(read_member_tag(malformed), None, "{malformed}");
        }
    }
}
