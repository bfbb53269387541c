//! Which cluster a snapshot was taken of. The members in it have the names that kops gives them, and
//! their URLs end with the cluster's name.

use super::snapshot::SnapshotFacts;
use serde::Serialize;

/// Where a snapshot comes from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case", tag = "from")]
pub enum Origin {
    /// A member of this etcd cluster of this cluster.
    Ours,
    /// Another one; the name of one of its members, and where that was.
    Foreign {
        /// Such as `etcd-a at https://etcd-a.internal.other.example:2380`.
        member: String,
    },
    /// Its members have no names of kops.
    Unproven,
}

/// The name of a member of etcd: `etcd-a`, `etcd-events-a`. kops calls the cluster `main` plain
/// `etcd`, in both generations.
pub fn member_name(etcd: &str, member: &str) -> String {
    match etcd {
        "main" => format!("etcd-{member}"),
        _ => format!("etcd-{etcd}-{member}"),
    }
}

/// Where a snapshot comes from, judged for this etcd cluster with these members.
///
/// A member may have been added or removed since, so one that is known is enough; one of another
/// cluster is enough to refuse.
pub fn origin_of(facts: &SnapshotFacts, cluster: &str, etcd: &str, members: &[String]) -> Origin {
    let mut found = Origin::Unproven;
    for member in &facts.members {
        let hosts: Vec<&str> = member
            .peer_urls
            .iter()
            .filter_map(|url| host_of(url))
            .collect();
        let named = hosts.iter().filter_map(|host| kops_name(host));
        let named: Vec<(&str, &str)> = named.collect();
        let foreign = named
            .iter()
            .any(|(name, of)| *of != cluster || *name != member.name);
        let expected = members
            .iter()
            .any(|it| member_name(etcd, it) == member.name);
        let another = !expected && is_of_other_etcd(&member.name, etcd);
        if !named.is_empty() && (foreign || another) {
            let urls = member.peer_urls.join(" ");
            return Origin::Foreign {
                member: format!("{} at {urls}", member.name),
            };
        }
        if !named.is_empty() {
            found = Origin::Ours;
        }
    }
    found
}

/// Whether the name is one of another etcd cluster: `etcd-events-a` for `main`.
fn is_of_other_etcd(name: &str, etcd: &str) -> bool {
    let Some(rest) = name.strip_prefix("etcd-") else {
        return true;
    };
    let own = rest
        .strip_prefix(etcd)
        .and_then(|rest| rest.strip_prefix('-'));
    match etcd {
        // Members of `main` may be called anything but what begins with another known cluster's name.
        "main" => ["events-", "cilium-", "leases-"]
            .iter()
            .any(|it| rest.starts_with(it)),
        _ => own.is_none(),
    }
}

/// The member and the cluster in a host such as `etcd-a.internal.c.example`.
fn kops_name(host: &str) -> Option<(&str, &str)> {
    let (name, cluster) = host.split_once(".internal.")?;
    (name.starts_with("etcd-") && !cluster.is_empty()).then_some((name, cluster))
}

fn host_of(url: &str) -> Option<&str> {
    let (_, rest) = url.split_once("://")?;
    let host = rest.split(['/', ':']).next()?;
    Some(host.trim_end_matches('.'))
}

#[cfg(test)]
mod tests {
    use super::super::snapshot::SnapshotMember;
    use super::*;

    fn facts(members: &[(&str, &str)]) -> SnapshotFacts {
        let member = |(name, url): &(&str, &str)| SnapshotMember {
            name: (*name).to_owned(),
            peer_urls: vec![(*url).to_owned()],
        };
        SnapshotFacts {
            members: members.iter().map(member).collect(),
            ..SnapshotFacts::default()
        }
    }

    #[test]
    fn kops_calls_the_members_of_main_plain_etcd() {
        assert_eq!(member_name("main", "a"), "etcd-a");
        assert_eq!(member_name("events", "a"), "etcd-events-a");
    }

    #[test]
    fn a_host_names_a_member_and_a_cluster_as_kops_writes_them() {
        for (host, wanted) in [
            ("etcd-a.internal.c.example", Some(("etcd-a", "c.example"))),
            ("etcd-a.internal.", None),
            ("api.internal.c.example", None),
            ("etcd-a.c.example", None),
        ] {
            assert_eq!(kops_name(host), wanted, "{host}");
        }
    }

    #[test]
    fn the_members_of_a_snapshot_say_whose_it_is() {
        let a = ("etcd-a", "https://etcd-a.internal.c.example:2380");
        let gone = ("etcd-z", "https://etcd-z.internal.c.example:2380");
        let events = (
            "etcd-events-a",
            "https://etcd-events-a.internal.c.example:2381",
        );
        let other = ("etcd-a", "http://etcd-a.internal.other.example:2380");
        let longer = ("etcd-a", "http://etcd-a.internal.sub.c.example:2380");
        let plain = ("default", "http://localhost:2380");
        for (etcd, members, wanted) in [
            ("main", vec![a], "ours"),
            ("main", vec![a, gone], "ours"),
            ("events", vec![events], "ours"),
            ("main", vec![events], "foreign"),
            ("events", vec![a], "foreign"),
            ("main", vec![other], "foreign"),
            ("main", vec![a, other], "foreign"),
            ("main", vec![longer], "foreign"),
            ("main", vec![plain], "unproven"),
            ("main", vec![], "unproven"),
        ] {
            let members_of_spec = ["a", "b", "c"].map(str::to_owned);
            let found = origin_of(&facts(&members), "c.example", etcd, &members_of_spec);
            let found = match found {
                Origin::Ours => "ours",
                Origin::Foreign { .. } => "foreign",
                Origin::Unproven => "unproven",
            };
            assert_eq!(found, wanted, "{etcd} and {members:?}");
        }
    }
}
