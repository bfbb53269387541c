//! Policies of `quake-agent iam policy`, and what they allow of a bucket.

use quake_model::iam::Caller;
use quake_model::iam::policy::{Policy, Request};
use quake_model::location::Location;
use quake_model::pattern::matches;

/// A request for what every caller has.
pub(crate) fn request(caller: Caller, cluster: &str, state_store: Location) -> Request {
    Request {
        caller,
        cluster: cluster.to_owned(),
        state_store,
        region: None,
        account: None,
        partition: None,
        with_signals: false,
        with_repair: false,
        with_newer_kops: false,
        zone: None,
        assets: Vec::new(),
    }
}

/// Whether an object may be read.
pub(crate) fn may_read(policy: &Policy, arn: &str) -> bool {
    let statements = policy.statement.iter();
    let reads = statements.filter(|one| one.action == ["s3:GetObject"]);
    let mut reads = reads.flat_map(|one| &one.resource);
    reads.any(|pattern| matches(pattern, arn))
}

/// Whether a key may be listed.
pub(crate) fn may_list(policy: &Policy, key: &str) -> bool {
    let statements = policy.statement.iter();
    let lists = statements.filter(|one| one.action == ["s3:ListBucket"]);
    let mut lists = lists.flat_map(|one| &one.condition["StringLike"]["s3:prefix"]);
    lists.any(|prefix| matches(prefix, key))
}
