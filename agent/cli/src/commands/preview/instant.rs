//! What a side is named by: a place, and an instant behind an `@` where it is meant as it was then.

use quake_model::time::Timestamp;

/// Splits the text of a side.
///
/// # Errors
///
/// Says what is wrong with the instant. A directory may have an `@` in its name; neither a bucket nor a cluster of kops has.
pub(super) fn split_instant(text: &str) -> Result<(&str, Option<Timestamp>), String> {
    let Some((store, instant)) = text.rsplit_once('@') else {
        return Ok((text, None));
    };
    match Timestamp::parse(instant) {
        Some(instant) => Ok((store, Some(instant))),
        None if text.starts_with("s3://") => Err(format!(
            "{instant:?} is no instant: write it as in {store}@2026-11-20T03:00:00Z"
        )),
        None => Ok((text, None)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_instant_is_behind_the_last_at_and_only_a_directory_may_have_another() {
        let instant = Timestamp::parse("2026-11-20T03:00:00Z");
        assert!(instant.is_some());
        for (text, wanted) in [
            ("s3://b/c.example", Some(("s3://b/c.example", None))),
            (
                "s3://b/c.example@2026-11-20T03:00:00Z",
                Some(("s3://b/c.example", instant)),
            ),
            (
                "s3://b/c.example@2026-11-20T04:00:00+01:00",
                Some(("s3://b/c.example", instant)),
            ),
            ("s3://b/c.example@2026-11-20", None),
            ("s3://b/c.example@", None),
            ("./me@home", Some(("./me@home", None))),
            ("./copy@2026-11-20T03:00:00Z", Some(("./copy", instant))),
        ] {
            assert_eq!(split_instant(text).ok(), wanted, "{text}");
        }
    }
}
