//! Tries the mirrors of an asset in order, and says what came of them all.

use super::arrival::{Arrival, Arrived};
use super::failure::{check_space, free_bytes};
use super::looks::describe_bytes;
use super::source::Bytes;
use super::staging::Staging;
use quake_http::shown;
use quake_model::ports::{Condition, PortError, ReportBytes};
use quake_model::spec::AssetSpec;
use std::path::Path;
use std::sync::Arc;

/// One mirror that did not give the asset.
#[derive(Debug)]
pub(super) struct FailedMirror {
    error: PortError,
    /// The digest it gave instead, if it gave one.
    gave: Option<String>,
}

impl FailedMirror {
    /// What happened, as one line.
    pub(super) fn line(&self) -> String {
        let causes = self.error.causes.iter();
        causes.fold(self.error.summary.clone(), |line, cause| {
            format!("{line}: {cause}")
        })
    }

    /// Whether trying another mirror is pointless: the failure is this machine's, or the asset's own.
    pub(super) fn is_final(&self) -> bool {
        matches!(
            self.error.condition,
            Condition::NoSpace | Condition::Io | Condition::Unsafe | Condition::Occupied
        )
    }
}

impl From<PortError> for FailedMirror {
    fn from(error: PortError) -> Self {
        Self { error, gave: None }
    }
}

/// Takes in everything a source gives and compares its digest with the pinned one.
///
/// # Errors
///
/// `DigestMismatch`, `NoSpace`, `Io` or `Unreachable`.
pub(super) async fn take_in(
    asset: &AssetSpec,
    mut source: Bytes,
    staging: Arc<Staging>,
    folder: &Path,
    report: ReportBytes<'_>,
) -> Result<Arrived, FailedMirror> {
    let total = source.length;
    if let (Some(needed), Some(free)) = (total, free_bytes(folder)) {
        check_space(folder, needed, free)?;
    }
    let mut arrival = Arrival::begin(staging, asset.digest.algorithm()).await?;
    if let Err(error) = pump(&mut source, &mut arrival, report).await {
        arrival.give_up().await;
        return Err(error.into());
    }
    let arrived = arrival.finish().await?;
    if let Some(total) = total.filter(|total| *total != arrived.size) {
        let summary = format!("{} bytes came of {total}", arrived.size);
        return Err(PortError::new(Condition::Unreachable, summary).into());
    }
    if arrived.digest == asset.digest {
        return Ok(arrived);
    }
    Err(FailedMirror {
        gave: Some(arrived.digest.to_string()),
        error: mismatch(asset, &arrived),
    })
}

/// Moves everything the source has into the arrival.
async fn pump(
    source: &mut Bytes,
    arrival: &mut Arrival,
    report: ReportBytes<'_>,
) -> Result<(), PortError> {
    let total = source.length;
    loop {
        let before = arrival.buffer().len();
        if !source.read_into(arrival.buffer()).await? {
            return Ok(());
        }
        let count = arrival.buffer().len() - before;
        arrival.hand_over(count).await?;
        report(arrival.received, total);
    }
}

fn mismatch(asset: &AssetSpec, arrived: &Arrived) -> PortError {
    let (expected, actual) = (&asset.digest, &arrived.digest);
    let looks = describe_bytes(&arrived.head);
    let summary = format!("the digest is {actual}, not {expected}; it looks like {looks}");
    PortError::new(Condition::DigestMismatch, summary)
        .seen("expected", expected)
        .seen("actual", actual)
        .seen("bytes", arrived.size)
        .seen("looks-like", looks)
}

/// Names the asset and the mirror in the error of one mirror.
pub(super) fn at_mirror(asset: &AssetSpec, url: &str, mut failed: FailedMirror) -> FailedMirror {
    let url = shown(url);
    let told = if failed.error.summary.contains(&url) {
        failed.error.summary
    } else {
        format!("{url}: {}", failed.error.summary)
    };
    failed.error.summary = format!("{}: {told}", asset.name);
    failed.error = failed.error.seen("url", url);
    failed
}

/// One error for all mirrors: the condition that can heal wins, and every mirror is told of.
pub(super) fn sum_up(asset: &AssetSpec, failed: Vec<FailedMirror>) -> PortError {
    let lines: Vec<_> = failed.iter().map(FailedMirror::line).collect();
    let same = same_digest(&failed);
    let worst = failed
        .into_iter()
        .min_by_key(|mirror| rank(mirror.error.condition));
    let Some(worst) = worst else {
        let summary = format!("{} has no url to fetch it from", asset.name);
        return PortError::new(Condition::Missing, summary);
    };
    let mut error = worst.error;
    if lines.len() > 1 {
        error.causes = lines;
    }
    match same {
        Some(count) if error.condition == Condition::DigestMismatch => error.remedied_by(format!(
            "{count} mirrors gave the same bytes, so the pinned digest is probably wrong: compare the actual one with the publisher's and correct the pin"
        )),
        _ => error,
    }
}

/// How many mirrors gave the same wrong bytes, if there were several and they all did.
fn same_digest(failed: &[FailedMirror]) -> Option<usize> {
    let first = failed.first()?.gave.as_ref()?;
    let all = failed
        .iter()
        .all(|mirror| mirror.gave.as_ref() == Some(first));
    (all && failed.len() > 1).then_some(failed.len())
}

/// Lower wins. What only a person can heal comes last.
fn rank(condition: Condition) -> u8 {
    match condition {
        Condition::NoSpace | Condition::Io | Condition::Occupied => 0,
        Condition::Unsafe => 1,
        Condition::Unreachable
        | Condition::Throttled
        | Condition::TimedOut
        | Condition::ClockSkew
        | Condition::Conflict
        | Condition::NotReady => 2,
        Condition::Denied | Condition::Limit | Condition::Impossible => 3,
        Condition::DigestMismatch | Condition::Malformed => 4,
        Condition::Missing | Condition::Unknown => 5,
    }
}
