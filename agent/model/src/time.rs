//! Instants as the agent records them: milliseconds since the Unix epoch, printed as RFC 3339.

use serde::de::{self, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::fmt;

/// A wall-clock instant, in milliseconds since 1970-01-01T00:00:00Z.
///
/// JSON has it as RFC 3339 text. A number of milliseconds is read too: builds before 0.1 wrote that.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Timestamp(pub u64);

impl Timestamp {
    /// Reads an RFC 3339 instant.
    pub fn parse(text: &str) -> Option<Self> {
        let instant: jiff::Timestamp = text.parse().ok()?;
        u64::try_from(instant.as_millisecond()).ok().map(Self)
    }

    /// The text without fractions, as Kubernetes' API keeps a `Time`.
    pub fn whole_seconds(self) -> String {
        let text = Self(self.0 / 1000 * 1000).to_string();
        text.replace(".000Z", "Z")
    }

    /// Milliseconds from `earlier` to `self`; zero when the clock went backwards.
    pub fn millis_since(self, earlier: Self) -> u64 {
        self.0.saturating_sub(earlier.0)
    }
}

impl fmt::Display for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let millis = i64::try_from(self.0).unwrap_or(i64::MAX);
        // Years beyond 9999 have no RFC 3339 text.
        let instant = jiff::Timestamp::from_millisecond(millis).unwrap_or(jiff::Timestamp::MAX);
        write!(f, "{instant:.3}")
    }
}

impl Serialize for Timestamp {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Timestamp {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(TimestampVisitor)
    }
}

struct TimestampVisitor;

impl Visitor<'_> for TimestampVisitor {
    type Value = Timestamp;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an RFC 3339 time, or milliseconds since 1970")
    }

    fn visit_u64<E: de::Error>(self, millis: u64) -> Result<Timestamp, E> {
        Ok(Timestamp(millis))
    }

    fn visit_str<E: de::Error>(self, text: &str) -> Result<Timestamp, E> {
        let instant: jiff::Timestamp = text.parse().map_err(E::custom)?;
        let millis = u64::try_from(instant.as_millisecond());
        Ok(Timestamp(millis.unwrap_or_default()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn instants_print_as_rfc_3339_in_utc() {
        assert_eq!(Timestamp(0).to_string(), "1970-01-01T00:00:00.000Z");
        assert_eq!(
            Timestamp(951_782_400_001).to_string(),
            "2000-02-29T00:00:00.001Z"
        );
        assert_eq!(
            Timestamp(1_795_231_337_250).to_string(),
            "2026-11-21T03:22:17.250Z"
        );
    }

    #[test]
    fn an_instant_is_written_as_text_and_read_from_text_or_milliseconds() {
        let instant = Timestamp(1_795_231_337_250);
        let text = serde_json::to_string(&instant).expect("it serialises");
        assert_eq!(text, r#""2026-11-21T03:22:17.250Z""#);
        for read in [text.as_str(), "1795231337250"] {
            assert_eq!(
                serde_json::from_str::<Timestamp>(read).expect(read),
                instant
            );
        }
        for wrong in ["-1", "\"yesterday\"", "null"] {
            serde_json::from_str::<Timestamp>(wrong).expect_err(wrong);
        }
    }

    #[test]
    fn an_instant_beyond_the_calendar_prints_its_last_second() {
        assert_eq!(Timestamp(u64::MAX).to_string(), "9999-12-30T22:00:00.999Z");
    }
}
