//! `config.bucket`: whether the bucket of the state store is private and encrypted. It holds every key of the cluster.

use super::check::{Check, Finding, Severity, Source, Verdict};
use super::node::Node;
use quake_model::facts::{BucketFacts, Unseen};

pub(super) const CHECKS: &[Check] = &[Check {
    id: "config.bucket",
    title: "the state store's bucket is private and encrypted",
    severity: Severity::Warning,
    tags: &["aws", "s3", "security"],
    sources: &[Source::Permissions],
    because: &[],
    why: "it holds the keys of the cluster's CAs, and the backups of etcd with every Secret in them",
    remedy: "aws s3api put-public-access-block and put-bucket-encryption; what was public is known to others: rotate the cluster's keys",
    judge,
}];

fn judge(node: &Node<'_>) -> Result<Verdict, Unseen> {
    let facts = node.survey().bucket.get()?;
    let bucket = &facts.bucket;
    if let Some(by) = facts.public_by() {
        return Finding::new(
            format!("everybody may read the state store's bucket {bucket}, by {by}: it has the keys of the cluster's CAs"),
            format!(
                "aws s3api put-public-access-block --bucket {bucket} --public-access-block-configuration BlockPublicAcls=true,IgnorePublicAcls=true,BlockPublicPolicy=true,RestrictPublicBuckets=true; look who read it (CloudTrail data events, access logs); then rotate the cluster's CAs: kops create keypair all, kops promote keypair all"
            ),
        )
        .seen("bucket", bucket)
        .seen("public access block", unblocked(facts))
        .fail();
    }
    if facts.encryption.as_deref() == Some("") {
        return Finding::new(
            format!("the state store's bucket {bucket} encrypts nothing of what is written to it"),
            format!(
                "aws s3api put-bucket-encryption --bucket {bucket} --server-side-encryption-configuration '{{\"Rules\":[{{\"ApplyServerSideEncryptionByDefault\":{{\"SSEAlgorithm\":\"AES256\"}}}}]}}'; objects that are there are encrypted once they are written again: aws s3 cp --recursive --sse AES256 s3://{bucket} s3://{bucket}"
            ),
        )
        .seen("bucket", bucket)
        .warn();
    }
    let is_known = facts.policy_is_public.is_some() || facts.acl_is_public.is_some();
    match (&facts.encryption, is_known) {
        (None, false) => Err(Unseen::Denied(format!(
            "this role may not {}; add the statement QuakeLookAtStateStore of quake-agent iam policy --role operator",
            facts.denied.join(", ")
        ))),
        (encryption, _) => {
            let kind = encryption.as_deref().unwrap_or("unknown");
            let open = match facts.denied.len() {
                0 => String::new(),
                _ => format!(
                    "; not asked for want of permission: {}",
                    facts.denied.join(", ")
                ),
            };
            let who = if is_known {
                "private"
            } else {
                "not known to be public"
            };
            Verdict::ok(format!("{bucket} is {who}, encryption {kind}{open}"))
        }
    }
}

/// The settings of the public access block that are off, in words.
fn unblocked(facts: &BucketFacts) -> String {
    match &facts.unblocked {
        None => "not known".to_owned(),
        Some(off) if off.is_empty() => "all on".to_owned(),
        Some(off) => format!("off: {}", off.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::checks::Status;
    use crate::checks::node_sample::Sample;
    use quake_model::facts::Seen;

    const ID: &str = "config.bucket";

    fn closed() -> BucketFacts {
        BucketFacts {
            bucket: "state".to_owned(),
            policy_is_public: Some(false),
            acl_is_public: Some(false),
            unblocked: Some(Vec::new()),
            encryption: Some("aws:kms".to_owned()),
            denied: Vec::new(),
        }
    }

    #[test]
    fn a_bucket_that_everybody_reads_is_a_failure_and_one_without_encryption_a_warning() {
        let open = BucketFacts {
            policy_is_public: Some(true),
            unblocked: None,
            ..closed()
        };
        let plain = BucketFacts {
            encryption: Some(String::new()),
            ..closed()
        };
        let unknown = BucketFacts {
            bucket: "state".to_owned(),
            denied: BucketFacts::ACTIONS.map(str::to_owned).to_vec(),
            ..BucketFacts::default()
        };
        let some = BucketFacts {
            denied: vec!["s3:GetBucketAcl".to_owned()],
            acl_is_public: None,
            ..closed()
        };
        for (facts, status, says) in [
            (closed(), Status::Ok, "private, encryption aws:kms"),
            (open, Status::Fail, "everybody may read"),
            (plain, Status::Warn, "encrypts nothing"),
            (unknown, Status::Skip, "s3:GetBucketPolicyStatus"),
            (some, Status::Ok, "for want of permission: s3:GetBucketAcl"),
        ] {
            let mut node = Sample::worker();
            node.survey.bucket = Seen::Yes(facts);
            node.assert(ID, status, says);
        }
    }

    #[test]
    fn a_bucket_that_nobody_looked_at_is_unknown() {
        let mut node = Sample::worker();
        node.survey.bucket = Seen::NotTaken("--offline".to_owned());
        assert_eq!(node.judge(ID).status, Status::Skip);
    }
}
