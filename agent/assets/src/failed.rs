//! What came of the mirrors that did not give an asset.

use super::ingest::IngestStats;
use super::looks::describe_bytes;
use quake_http::shown;
use quake_model::ports::{Condition, PortError};
use quake_model::spec::AssetSpec;

/// One mirror that did not give the asset.
#[derive(Debug, Clone)]
pub(super) struct FailedMirror {
    /// Why, with the asset's name and the mirror's URL.
    pub(super) error: PortError,
    /// The digest it gave instead, if it gave one.
    pub(super) gave: Option<String>,
}

impl FailedMirror {
    /// The failure of the mirror at `url`.
    pub(super) fn new(asset: &AssetSpec, url: &str, mut error: PortError) -> Self {
        let url = shown(url);
        let reported = if error.summary.contains(&url) {
            error.summary
        } else {
            format!("{url}: {}", error.summary)
        };
        error.summary = format!("{}: {reported}", asset.name);
        Self {
            error: error.seen("url", url),
            gave: None,
        }
    }

    /// A mirror whose bytes have another digest.
    pub(super) fn mismatch(asset: &AssetSpec, url: &str, tally: &IngestStats) -> Self {
        Self {
            gave: Some(tally.digest.to_string()),
            ..Self::new(asset, url, mismatch(asset, tally))
        }
    }

    /// What happened, as one line.
    pub(super) fn line(&self) -> String {
        let causes = self.error.causes.iter();
        causes.fold(self.error.summary.clone(), |line, cause| {
            format!("{line}: {cause}")
        })
    }
}

/// The error of bytes that have another digest than the one pinned.
pub(super) fn mismatch(asset: &AssetSpec, tally: &IngestStats) -> PortError {
    let (expected, actual) = (&asset.digest, &tally.digest);
    let looks = describe_bytes(&tally.head);
    let summary = format!("the digest is {actual}, not {expected}; it looks like {looks}");
    PortError::new(Condition::DigestMismatch, summary)
        .seen("expected", expected)
        .seen("actual", actual)
        .seen("bytes", tally.size)
        .seen("looks-like", looks)
}

/// One error for all mirrors: the condition that can heal wins, and every mirror is told of.
pub(super) fn sum_up(asset: &AssetSpec, failed: &[FailedMirror]) -> PortError {
    let worst = failed
        .iter()
        .min_by_key(|mirror| rank(mirror.error.condition));
    let Some(worst) = worst else {
        let summary = format!("{} has no url to fetch it from", asset.name);
        return PortError::new(Condition::Missing, summary);
    };
    let mut error = worst.error.clone();
    if failed.len() > 1 {
        error.causes = failed.iter().map(FailedMirror::line).collect();
    }
    match same_digest(failed) {
        Some(count) if error.condition == Condition::DigestMismatch => error.remedied_by(format!(
            "{count} mirrors gave the same bytes, so the pinned digest is probably wrong: compare the actual one with the publisher's and correct the pin"
        )),
        _ => error,
    }
}

/// How many mirrors gave the same wrong bytes, if there were several and they all did.
pub(super) fn same_digest(failed: &[FailedMirror]) -> Option<usize> {
    let first = failed.first()?.gave.as_ref()?;
    let all = failed
        .iter()
        .all(|mirror| mirror.gave.as_ref() == Some(first));
    (all && failed.len() > 1).then_some(failed.len())
}

/// Lower wins. What only a person can heal comes last.
fn rank(condition: Condition) -> u8 {
    match condition {
        Condition::Exhausted | Condition::Io | Condition::Occupied => 0,
        Condition::Unsafe => 1,
        Condition::Unreachable
        | Condition::Throttled
        | Condition::TimedOut
        | Condition::ClockSkew
        | Condition::Conflict
        | Condition::NotReady => 2,
        // A length that one mirror claims: another one may have a shorter file.
        Condition::NoSpace => 3,
        Condition::Denied | Condition::Limit => 4,
        Condition::DigestMismatch | Condition::Malformed | Condition::Impossible => 5,
        Condition::Missing | Condition::Unknown => 6,
    }
}
