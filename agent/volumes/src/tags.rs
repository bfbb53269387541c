//! What tags say: whose a volume is, which etcd member's data it holds, and what an operator decided about it.

use quake_formats::tags::{CLUSTER_TAG, ownership_tag};
use quake_model::time::Timestamp;
use std::cmp::Ordering;
use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;

/// Tags of which one must be on a volume of the control plane; the first is how kops wrote it up to 1.23.
pub const CONTROL_PLANE_TAGS: &[&str] = &["k8s.io/role/master", "k8s.io/role/control-plane"];

/// Begins the tag that names the member whose data a volume holds.
const ETCD: &str = "k8s.io/etcd/";

/// An operator's choice: this volume and no other for the slot that the value names.
pub const PIN: &str = "quake.io/etcd-pin";
/// An operator's choice: never this volume; the value says why.
pub const IGNORE: &str = "quake.io/etcd-ignore";
/// An operator's choice: this volume, although its past speaks against it; the value is the cluster's uid.
pub const ADOPT: &str = "quake.io/etcd-adopt";
/// An operator's consent to an empty filesystem where data is expected: `<slot>@<instant>`.
pub const BLANK_OK: &str = "quake.io/etcd-blank-ok";
/// Which life of the cluster the volume's data belongs to; the agent's own.
pub const UID: &str = "quake.io/cluster-uid";
/// When the volume got its filesystem, RFC 3339; the agent's own.
pub const FORMATTED: &str = "quake.io/etcd-formatted";

/// An etcd cluster and one of its members, such as `main/a`.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Slot {
    /// The etcd cluster, such as `main`.
    pub etcd: String,
    /// The member, such as `a`.
    pub member: String,
}

impl Slot {
    /// The slot of `member` in the cluster `etcd`.
    pub fn new(etcd: &str, member: &str) -> Self {
        Self {
            etcd: etcd.to_owned(),
            member: member.to_owned(),
        }
    }

    /// The slot that a volume's tags name; `None` when they name none, or more than one.
    pub fn of_tags(tags: &BTreeMap<String, String>) -> Option<Self> {
        slot_of(tags).ok().flatten()
    }

    /// Clusters are taken in this order: whoever has a member of `main` has its others too.
    fn rank(&self) -> usize {
        let order = ["main", "events", "cilium", "leases"];
        let known = order.iter().position(|etcd| *etcd == self.etcd);
        known.unwrap_or(order.len())
    }
}

impl Ord for Slot {
    fn cmp(&self, other: &Self) -> Ordering {
        (self.rank(), &self.etcd, &self.member).cmp(&(other.rank(), &other.etcd, &other.member))
    }
}

impl PartialOrd for Slot {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl fmt::Display for Slot {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.etcd, self.member)
    }
}

/// The text is not `<etcd cluster>/<member>`.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{text:?} is not a slot such as main/a")]
pub struct SlotError {
    text: String,
}

impl FromStr for Slot {
    type Err = SlotError;

    fn from_str(text: &str) -> Result<Self, SlotError> {
        match text.split_once('/') {
            Some((etcd, member)) if is_name(etcd) && is_name(member) => Ok(Self::new(etcd, member)),
            _ => Err(SlotError {
                text: text.to_owned(),
            }),
        }
    }
}

/// Why a volume's etcd tags name no slot.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum BadTags {
    /// More than one etcd tag.
    Several,
    /// The value is not `<member>/<member>,<member>,…` with the member in its list.
    Malformed,
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
    let well_formed =
        members.iter().all(|name| is_name(name)) && members.iter().any(|name| name == member);
    well_formed.then(|| MemberTag {
        member: member.to_owned(),
        members,
    })
}

fn is_name(name: &str) -> bool {
    let is_of_name = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
    !name.is_empty() && name.chars().all(is_of_name)
}

/// The tag that names the member whose data a volume holds.
pub fn member_tag(etcd: &str) -> String {
    format!("{ETCD}{etcd}")
}

/// The etcd tags of a volume: cluster and value.
pub(super) fn etcd_tags(tags: &BTreeMap<String, String>) -> impl Iterator<Item = (&str, &str)> {
    tags.iter()
        .filter_map(|(key, value)| Some((key.strip_prefix(ETCD)?, value.as_str())))
}

/// Whether a volume has any etcd tag, well-formed or not. Without one it is never chosen, and never in the way.
pub fn is_of_etcd(tags: &BTreeMap<String, String>) -> bool {
    etcd_tags(tags).next().is_some()
}

/// The slot that a volume's tags name; `None` when no etcd tag is there.
pub(super) fn slot_of(tags: &BTreeMap<String, String>) -> Result<Option<Slot>, BadTags> {
    let mut found = etcd_tags(tags);
    match (found.next(), found.next()) {
        (None, _) => Ok(None),
        (Some((etcd, value)), None) => match read_member_tag(value) {
            Some(tag) if is_name(etcd) => Ok(Some(Slot::new(etcd, &tag.member))),
            _ => Err(BadTags::Malformed),
        },
        (Some(_), Some(_)) => Err(BadTags::Several),
    }
}

/// Whether etcd tags that name no slot could have been meant for this one: one of them is of its etcd cluster, and does not
/// begin with another member's name. Letters' case and blanks are what people get wrong.
pub(super) fn could_mean(tags: &BTreeMap<String, String>, slot: &Slot, members: &[&Slot]) -> bool {
    let same = |a: &str, b: &str| a.trim().eq_ignore_ascii_case(b.trim());
    etcd_tags(tags)
        .filter(|(etcd, _)| same(etcd, &slot.etcd))
        .any(|(_, value)| {
            let named = value.split('/').next().unwrap_or_default();
            let is_other =
                |other: &&&Slot| other.member != slot.member && same(&other.member, named);
            !members.iter().any(|other| is_other(&other))
        })
}

/// The value of an operator's tag, which people type: blanks around it mean nothing. Tags of kops are compared as they are, as
/// kops and etcd-manager do.
pub(super) fn operators<'a>(tags: &'a BTreeMap<String, String>, key: &str) -> Option<&'a str> {
    tags.get(key).map(|value| value.trim())
}

/// Reads an RFC 3339 instant; `None` for any other text, and for one before 1970.
pub fn instant(text: &str) -> Option<Timestamp> {
    let read: jiff::Timestamp = text.parse().ok()?;
    u64::try_from(read.as_millisecond()).ok().map(Timestamp)
}

/// Whether a volume is of the cluster, by either of the two tags that say so.
///
/// kops deletes by the first and mounts by the second, so a volume with only one of them is exactly what is
/// left behind by accident: it must be seen.
pub(super) fn is_of_cluster(tags: &BTreeMap<String, String>, cluster: &str) -> bool {
    let owned = tags.get(&ownership_tag(cluster));
    tags.get(CLUSTER_TAG).is_some_and(|name| name == cluster)
        || owned.is_some_and(|how| how == "owned")
}

/// Whether a volume is of the control plane.
pub(super) fn is_of_control_plane(tags: &BTreeMap<String, String>) -> bool {
    let says = |tag: &&str| tags.get(*tag).is_some_and(|value| value == "1");
    CONTROL_PLANE_TAGS.iter().any(says)
}

/// The instance group that an instance's tags name. kops tags it by name since 1.15; before that the name of
/// the autoscaling group says it: `<group>.masters.<cluster>` or `<group>.<cluster>`.
pub fn group_of(tags: &BTreeMap<String, String>, cluster: &str) -> Option<String> {
    if let Some(group) = tags.get("kops.k8s.io/instancegroup") {
        return Some(group.clone());
    }
    let name = tags.get(AUTOSCALING_GROUP)?;
    let rest = name.strip_suffix(cluster)?.strip_suffix('.')?;
    Some(rest.strip_suffix(".masters").unwrap_or(rest).to_owned())
}

/// The tag that EC2 itself puts on an autoscaling group's instances.
pub const AUTOSCALING_GROUP: &str = "aws:autoscaling:groupName";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slot_is_two_names_and_nothing_else() {
        let slot: Slot = "main/a".parse().expect("it is one");
        assert_eq!(slot, Slot::new("main", "a"));
        for text in ["", "main", "/a", "main/", "main /a", "main/a b", "main/a/b"] {
            assert!(text.parse::<Slot>().is_err(), "{text}");
        }
    }

    #[test]
    fn a_member_tag_names_a_member_of_its_list() {
        let tag = read_member_tag("b/a,b,c").expect("it is well-formed");
        assert_eq!((tag.member.as_str(), tag.members.len()), ("b", 3));
        for malformed in ["", "a", "/a", "a/", "a/b", "a/a,,b", "a/a, b", "a/b/a"] {
            assert_eq!(read_member_tag(malformed), None, "{malformed}");
        }
    }

    #[test]
    fn a_tag_that_cannot_be_read_may_mean_every_slot_but_another_members() {
        let slot = Slot::new("main", "a");
        let others = ["b", "c"].map(|member| Slot::new("main", member));
        let members: Vec<&Slot> = others.iter().chain([&slot]).collect();
        for (etcd, value, could) in [
            ("main", "", true),
            ("main", "a", true),
            ("main", " A /a,b,c", true),
            ("main", "a/b,c", true),
            ("main", "d", true),
            ("Main", "a", true),
            ("main", "b", false),
            ("main", " B/b,,c", false),
            ("events", "a", false),
            ("events", "", false),
        ] {
            let tags = BTreeMap::from([(member_tag(etcd), value.to_owned())]);
            assert_eq!(
                could_mean(&tags, &slot, &members),
                could,
                "{etcd}={value:?}"
            );
        }
    }

    #[test]
    fn slots_are_taken_main_first_and_unknown_clusters_last() {
        let mut slots = [
            "leases/a", "own/a", "events/b", "main/b", "events/a", "cilium/a",
        ]
        .map(|text| text.parse::<Slot>().expect("a literal"));
        slots.sort();
        let shown: Vec<String> = slots.iter().map(Slot::to_string).collect();
        assert_eq!(
            shown,
            [
                "main/b", "events/a", "events/b", "cilium/a", "leases/a", "own/a"
            ]
        );
    }

    #[test]
    fn a_group_is_named_by_its_tag_or_by_its_autoscaling_group() {
        let cluster = "c.example.com";
        let tags = |key: &str, value: &str| BTreeMap::from([(key.to_owned(), value.to_owned())]);
        for (tags, group) in [
            (tags("kops.k8s.io/instancegroup", "m-1a"), Some("m-1a")),
            (
                tags(AUTOSCALING_GROUP, "m-1a.masters.c.example.com"),
                Some("m-1a"),
            ),
            (
                tags(AUTOSCALING_GROUP, "nodes.c.example.com"),
                Some("nodes"),
            ),
            (tags(AUTOSCALING_GROUP, "other"), None),
            (BTreeMap::new(), None),
        ] {
            assert_eq!(group_of(&tags, cluster).as_deref(), group, "{tags:?}");
        }
    }
}
