//! What every host must keep of a bucket that is looked at.

use super::{Broken, hold, sound};
use quake_model::location::Location;
use quake_model::ports::{Condition, Objects};

/// Looks at one bucket that nobody else may read and that encrypts, at one that everybody may read and that does not, and at
/// one that there is not.
///
/// # Errors
///
/// Returns the first promise that was broken.
pub async fn buckets<H: Objects>(
    host: &H,
    closed: &Location,
    open: &Location,
    absent: &Location,
) -> Result<(), Broken> {
    let found = sound("a bucket is looked at", host.look_at_bucket(closed).await)?;
    hold("its name", found.bucket.as_str(), closed.bucket())?;
    hold("a closed bucket", found.public_by(), None)?;
    hold("its policy", found.policy_is_public, Some(false))?;
    let encrypts = found
        .encryption
        .as_deref()
        .is_some_and(|kind| !kind.is_empty());
    hold("that it encrypts", encrypts, true)?;
    hold("what is denied", found.denied, Vec::new())?;
    let found = sound("an open one is looked at", host.look_at_bucket(open).await)?;
    hold("an open bucket", found.public_by().is_some(), true)?;
    hold(
        "that it does not encrypt",
        found.encryption.as_deref(),
        Some(""),
    )?;
    let gone = host.look_at_bucket(absent).await;
    let gone = gone.map(drop).map_err(|error| error.condition);
    hold("no bucket", gone, Err(Condition::Unknown))
}
