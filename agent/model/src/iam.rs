//! What the agent asks of AWS: every action, why, for whom and on what. One table; the policies that
//! `quake-agent iam policy` prints and the remedies of denied calls are both written from it.
//!
//! Nothing is here that the agent does not call. Facts of AWS are from its service authorization reference
//! (pages of EC2, EC2 Auto Scaling and S3) and its guide to IAM, as read in 2026-11:
//! - `ec2:DescribeInstances` and `ec2:DescribeVolumes` know no resources and no tags: only `*`.
//! - `ec2:AttachVolume` is judged twice, by the volume and by the instance, and each must be allowed;
//!   `ec2:ModifyInstanceAttribute` by the instance, and by the volume where one is named. All know
//!   `aws:ResourceTag/<key>`. `ec2:Attribute` is listed too, but others found it absent from requests, so no
//!   condition rests on it.
//! - `ec2:CreateTags` and `ec2:DeleteTags` know `aws:TagKeys` and, for a volume, `aws:ResourceTag/<key>`.
//!   `ForAllValues` also holds when a request names no keys, and a `DeleteTags` without keys removes every tag;
//!   hence `Null`, as the guide advises.
//! - `ec2:GetConsoleOutput` is judged by the instance and knows `aws:ResourceTag/<key>`.
//! - `ec2:DescribeInstanceTypes` and `autoscaling:DescribeLifecycleHooks` know no resources; `ec2:AssignIpv6Addresses` is
//!   judged by the network interface.
//! - `route53:ListHostedZones` knows no resources; what is done with a zone is judged by the zone, `route53:GetChange` by the
//!   batch of changes. Neither ARN has a region or an account.
//! - `autoscaling:DescribeAutoScalingInstances` and `autoscaling:DescribeAutoScalingGroups` know no resources; `autoscaling:SetInstanceHealth` and
//!   `autoscaling:CompleteLifecycleAction` are judged by the group and know its tags.
//! - `s3:ListBucket` is judged by the bucket and knows `s3:prefix`. Who may not list is told 403 and not 404 of
//!   an object that is not there, and S3 judges that by the object's key as if it were the prefix; so whoever may
//!   read a path may also list it, or an optional object that is absent would look like a refusal. (The guide
//!   says the first half; the second is what the authors of ceph, ceph/ceph#68577, and of kopia,
//!   kopia/kopia#3072, measured. It was not measured here.)

pub mod policy;
mod statement;
mod table;

pub use statement::Statement;
pub use table::{
    GRANTS, NAMES_GRANTS, NEWER_GRANTS, OLDER_STORE, PREVIEW_GRANTS, REPAIR_GRANTS, SIGNAL_GRANTS,
};

use crate::pattern::matches;

/// The tags the agent and its operators may write and remove, as a pattern of IAM.
pub const OWN_TAGS: &str = "quake.io/*";

/// Who calls.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Caller {
    /// A node that runs the control plane and etcd.
    ControlPlane,
    Worker,
    /// A person with `quake-agent volumes` or `quake-agent fleet` on a workstation.
    Operator,
}

/// What a grant reaches.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reach {
    /// Everything: the actions know no resources.
    Everything,
    /// EC2's resources of these kinds, as ARNs spell them, that carry a tag of the cluster.
    Cluster(&'static [&'static str]),
    /// The same, and of their tags only [`OWN_TAGS`].
    OwnTags(&'static [&'static str]),
    /// Auto Scaling groups that carry a tag of the cluster.
    Groups,
    /// Network interfaces. They are the instances', made by the launch, and carry no tag that one could rely on.
    Interfaces,
    /// The hosted zone of the cluster's names.
    Zone,
    /// Batches of changes of Route 53, which do not say whose they are.
    Changes,
    /// Objects at these paths below the cluster's directory in the state store; `*` stands for any characters.
    Objects(&'static [&'static str]),
    /// The bucket of the state store itself.
    Bucket,
    /// Names of objects at these paths.
    Names(&'static [&'static str]),
}

/// One row of the table: what is allowed for one purpose.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Grant {
    /// The statement's id in every policy: letters and digits.
    pub sid: &'static str,
    /// The actions, as IAM spells them.
    pub actions: &'static [&'static str],
    pub callers: &'static [Caller],
    pub reach: Reach,
    /// What the agent does with it.
    pub why: &'static str,
}

impl Grant {
    /// The paths it reaches in the state store; none outside S3.
    pub fn paths(&self) -> &'static [&'static str] {
        match self.reach {
            Reach::Objects(paths) | Reach::Names(paths) => paths,
            Reach::Everything
            | Reach::Cluster(_)
            | Reach::OwnTags(_)
            | Reach::Groups
            | Reach::Zone
            | Reach::Changes
            | Reach::Bucket
            | Reach::Interfaces => &[],
        }
    }
}

/// The grant that allows `action`, in S3 on `key`, which may be a prefix that is listed. The cluster's directory is
/// not known here, so a path may match from any `/` on.
pub fn grant_of(action: &str, key: &str) -> Option<&'static Grant> {
    let below = key
        .char_indices()
        .filter(|(_, character)| *character == '/')
        .map(|(at, _)| &key[at + 1..]);
    let tails: Vec<&str> = std::iter::once(key).chain(below).collect();
    let grants = GRANTS.iter().chain(SIGNAL_GRANTS).chain(NEWER_GRANTS);
    let grants = grants.chain(REPAIR_GRANTS).chain(NAMES_GRANTS);
    let grants = grants.chain(PREVIEW_GRANTS);
    grants.into_iter().find(|grant| {
        let reached = match grant.reach {
            Reach::Everything
            | Reach::Cluster(_)
            | Reach::OwnTags(_)
            | Reach::Groups
            | Reach::Zone
            | Reach::Changes
            | Reach::Bucket
            | Reach::Interfaces => true,
            Reach::Objects(paths) | Reach::Names(paths) => paths
                .iter()
                .any(|path| tails.iter().any(|tail| matches(path, tail))),
        };
        reached && grant.actions.contains(&action)
    })
}

/// The partition that ARNs of a region begin with.
pub fn partition_of(region: &str) -> &'static str {
    match region {
        region if region.starts_with("cn-") => "aws-cn",
        region if region.starts_with("us-gov-") => "aws-us-gov",
        _ => "aws",
    }
}

#[cfg(test)]
mod tests {
    use super::Caller::{ControlPlane, Operator, Worker};
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn a_sid_is_letters_and_digits_and_stands_once_for_each_caller() {
        for caller in [ControlPlane, Worker, Operator] {
            let mut sids = BTreeSet::new();
            for grant in GRANTS
                .iter()
                .chain(PREVIEW_GRANTS)
                .filter(|grant| grant.callers.contains(&caller))
            {
                assert!(
                    grant.sid.chars().all(|c| c.is_ascii_alphanumeric()),
                    "{}",
                    grant.sid
                );
                assert!(sids.insert(grant.sid), "{caller:?} has {} twice", grant.sid);
            }
        }
    }

    #[test]
    fn whoever_may_read_a_path_may_list_it() {
        for caller in [ControlPlane, Worker, Operator] {
            let of = |grant: &&Grant| grant.callers.contains(&caller);
            let listed: Vec<&str> = GRANTS
                .iter()
                .chain(PREVIEW_GRANTS)
                .filter(of)
                .filter(|grant| matches!(grant.reach, Reach::Names(_)))
                .flat_map(|grant| grant.paths().iter().copied())
                .collect();
            let read = GRANTS
                .iter()
                .chain(PREVIEW_GRANTS)
                .filter(of)
                .filter(|grant| matches!(grant.reach, Reach::Objects(_)))
                .filter(|grant| grant.actions.contains(&"s3:GetObject"));
            for path in read.flat_map(Grant::paths) {
                assert!(
                    listed.iter().any(|pattern| matches(pattern, path)),
                    "{caller:?} reads {path}"
                );
            }
        }
    }

    #[test]
    fn a_worker_reads_no_private_key_of_a_ca() {
        let key = "c.example/pki/private/ca/keyset.yaml";
        let reads = GRANTS
            .iter()
            .filter(|grant| grant.callers.contains(&Worker))
            .flat_map(Grant::paths)
            .any(|path| matches(&format!("c.example/{path}"), key));
        assert!(!reads);
    }

    #[test]
    fn a_node_writes_its_report_and_nothing_else_of_the_store() {
        let writes = GRANTS
            .iter()
            .filter(|grant| grant.actions.contains(&"s3:PutObject"));
        let paths: Vec<&str> = writes.flat_map(Grant::paths).copied().collect();
        assert_eq!(paths, ["boot-reports/*"]);
    }

    #[test]
    fn the_grant_of_a_denied_call_is_found_by_its_action_and_key() {
        let sid = |action: &str, key: &str| grant_of(action, key).map(|grant| grant.sid);
        assert_eq!(sid("ec2:AttachVolume", ""), Some("QuakeAttachVolume"));
        assert_eq!(
            sid("s3:GetObject", "c.example/pki/private/ca/keyset.yaml"),
            Some("QuakeReadCredentials")
        );
        assert_eq!(
            sid("s3:ListBucket", "c.example/backups/etcd/main/"),
            Some("QuakeListStateStore")
        );
        assert_eq!(
            sid("s3:ListBucketVersions", "c.example/igconfig/"),
            Some("QuakePreviewVersionNames")
        );
        assert_eq!(sid("s3:GetObject", "c.example/assets/x"), None);
        assert_eq!(sid("ec2:DetachVolume", ""), None);
    }

    #[test]
    fn what_is_of_the_cluster_is_so_by_either_tag() {
        let grant = grant_of("ec2:AttachVolume", "").expect("it is in the table");
        let statements = grant.statements("c.example", &["*".to_owned()], &[]);
        let keys: Vec<String> = statements
            .iter()
            .flat_map(|statement| statement.condition["StringEquals"].keys().cloned())
            .collect();
        assert_eq!(
            keys,
            [
                "aws:ResourceTag/KubernetesCluster",
                "aws:ResourceTag/kubernetes.io/cluster/c.example"
            ]
        );
    }
}
