//! Why a restore is refused, and what must be done before one can begin.

use serde::Serialize;

/// Why there is no plan. Each has a code of its own.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// Nothing can be restored from.
    #[error("{place} has no backup of {etcd} that is complete")]
    NoBackup { etcd: String, place: String },
    /// The backup that was named is not there.
    #[error("{place} has no backup {name}")]
    UnknownBackup { name: String, place: String },
    /// A restore of it would be an empty cluster.
    #[error("the backup {name} of {etcd} has no keys: restored, the cluster would be empty")]
    Empty { name: String, etcd: String },
    /// The backup has not all of its parts.
    #[error("the backup {name} cannot be restored: {problem}")]
    Incomplete { name: String, problem: String },
    /// The snapshot is not what etcd wrote.
    #[error("the snapshot {name} cannot be restored: {problem}")]
    Corrupt { name: String, problem: String },
    /// Another backup is being restored into the same cluster.
    #[error("{pending} restores {other} into {etcd}, and {name} was asked for")]
    Mixed {
        etcd: String,
        name: String,
        other: String,
        /// Who does that: a command, or a volume.
        pending: String,
    },
    /// The snapshot is of another cluster.
    #[error("the snapshot {name} was taken of {member}, not of {etcd} of {cluster}")]
    Foreign {
        name: String,
        member: String,
        etcd: String,
        cluster: String,
    },
    /// A snapshot file whose members have no names of kops.
    #[error("nothing in the snapshot {name} says that it was taken of {etcd} of {cluster}")]
    Unproven {
        name: String,
        etcd: String,
        cluster: String,
    },
    /// This etcd cannot read it.
    #[error("the backup {name} is of etcd {data}, and etcd {program} does not read it")]
    Unsupported {
        name: String,
        data: String,
        program: String,
    },
    /// The cluster works, or nobody knows that it does not.
    #[error("{}", quorum_text(etcd, healthy, unknown, *needed))]
    QuorumHealthy {
        etcd: String,
        healthy: Vec<String>,
        /// Members that run and were not asked.
        unknown: Vec<String>,
        /// The quorum.
        needed: usize,
    },
}

fn quorum_text(etcd: &str, healthy: &[String], unknown: &[String], needed: usize) -> String {
    let all = |names: &[String]| match names {
        [] => "none".to_owned(),
        names => names.join(", "),
    };
    if unknown.is_empty() {
        return format!(
            "{etcd} has a quorum of {needed}: healthy are {}",
            all(healthy)
        );
    }
    format!(
        "{etcd} may have its quorum of {needed}: healthy are {}, not asked and running are {}",
        all(healthy),
        all(unknown)
    )
}

/// What stands before a restore that is otherwise right.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, thiserror::Error)]
#[serde(rename_all = "kebab-case", tag = "kind")]
pub enum Blocker {
    /// Several volumes claim one member.
    #[error("{slot} is claimed by {}", ids.join(", "))]
    SeveralVolumes { slot: String, ids: Vec<String> },
    /// etcd-manager needs more members than run.
    #[error("{running} of {members} members run, and etcd-manager restores into {needed} or more")]
    TooFewMembers {
        running: usize,
        needed: usize,
        members: usize,
    },
    /// etcd-manager has no spec to restore into.
    #[error("{location} is missing, which names the members and the version to restore into")]
    NoControlSpec { location: String },
    /// etcd-manager's pod cannot restore snapshots of this etcd.
    #[error("etcd-manager's pod has no etcdutl, which restores snapshots of etcd {version}")]
    NoRestorer { version: String, manifest: String },
}
