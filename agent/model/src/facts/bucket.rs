//! How a bucket is kept: who may read it, and whether it is encrypted.

use serde::{Deserialize, Serialize};

/// A bucket as S3 shows it. What this role may not ask for is `None`, and its action is in `denied`.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct BucketFacts {
    pub bucket: String,
    /// Whether S3 calls its policy public; `false` where it has none.
    pub policy_is_public: Option<bool>,
    /// Whether its list of grants lets everybody, or everybody with an AWS account, in.
    pub acl_is_public: Option<bool>,
    /// The settings of its public access block that are off, as S3 calls them.
    pub unblocked: Option<Vec<String>>,
    /// How it encrypts what is written, `AES256` or `aws:kms`; empty where it does not.
    pub encryption: Option<String>,
    /// Actions of IAM that this role may not do.
    pub denied: Vec<String>,
}

impl BucketFacts {
    /// The actions that are asked, each for one of the facts.
    pub const ACTIONS: [&str; 4] = [
        "s3:GetBucketPolicyStatus",
        "s3:GetBucketAcl",
        "s3:GetBucketPublicAccessBlock",
        "s3:GetEncryptionConfiguration",
    ];

    /// Whether a setting of the public access block is known to be on.
    pub fn blocks(&self, setting: &str) -> bool {
        let off = self.unblocked.as_ref();
        off.is_some_and(|off| !off.iter().any(|it| it == setting))
    }

    /// What lets everybody read the bucket: its policy or its list of grants, where nothing blocks that.
    pub fn public_by(&self) -> Option<&'static str> {
        let by_policy =
            self.policy_is_public == Some(true) && !self.blocks("RestrictPublicBuckets");
        let by_grants = self.acl_is_public == Some(true) && !self.blocks("IgnorePublicAcls");
        match (by_policy, by_grants) {
            (true, _) => Some("its policy"),
            (false, true) => Some("its list of grants (ACL)"),
            (false, false) => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bucket_is_public_by_its_policy_or_its_grants_unless_that_is_blocked() {
        let facts = |policy, grants, off: Option<&[&str]>| BucketFacts {
            policy_is_public: Some(policy),
            acl_is_public: Some(grants),
            unblocked: off.map(|off| off.iter().map(ToString::to_string).collect()),
            ..BucketFacts::default()
        };
        let all = ["IgnorePublicAcls", "RestrictPublicBuckets"];
        for (facts, wanted) in [
            (facts(false, false, None), None),
            (facts(true, false, None), Some("its policy")),
            (facts(true, true, Some(&[])), None),
            (facts(true, false, Some(&all)), Some("its policy")),
            (
                facts(true, true, Some(&["IgnorePublicAcls"])),
                Some("its list of grants (ACL)"),
            ),
            (BucketFacts::default(), None),
        ] {
            assert_eq!(facts.public_by(), wanted, "{facts:?}");
        }
    }
}
