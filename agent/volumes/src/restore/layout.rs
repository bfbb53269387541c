//! Where a member of kops legacy without etcd-manager has its data, and how its peers reach it. Names,
//! ports and directories are protokube's.

use super::origin::member_name;

/// A member's place in its cluster and on its volume.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MemberLayout {
    /// The data directory below the volume's mount.
    pub data: &'static str,
    /// The name and the peer URL of each member.
    pub members: Vec<(String, String)>,
}

/// The layout of an etcd cluster; `None` for one that protokube had no ports for.
pub fn member_layout(cluster: &str, etcd: &str, members: &[String]) -> Option<MemberLayout> {
    let (data, port) = match etcd {
        "main" => ("var/etcd/data", 2380),
        "events" => ("var/etcd/data-events", 2381),
        _ => return None,
    };
    let named = |member: &String| {
        let name = member_name(etcd, member);
        let url = format!("http://{name}.internal.{cluster}:{port}");
        (name, url)
    };
    Some(MemberLayout {
        data,
        members: members.iter().map(named).collect(),
    })
}
