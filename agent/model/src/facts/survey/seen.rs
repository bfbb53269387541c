//! What was seen of one thing, or why nothing was.

use serde::{Deserialize, Serialize};

/// Something that was looked at, or the reason why it is not known.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", tag = "seen", content = "value")]
pub enum Seen<T> {
    /// It was seen.
    Yes(T),
    /// It was not looked at.
    NotTaken(String),
    /// Only root may look.
    Denied(String),
    /// It could not be seen in this many milliseconds.
    TimedOut(u64),
    /// The look itself failed.
    Failed(String),
}

/// Why something is not known.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Unseen {
    /// It was not looked at.
    NotTaken(String),
    /// Only root may look.
    Denied(String),
    /// It could not be seen in this many milliseconds.
    TimedOut(u64),
    /// The look itself failed.
    Failed(String),
}

impl<T> Default for Seen<T> {
    fn default() -> Self {
        Self::NotTaken("nothing recorded it".to_owned())
    }
}

impl<T> Seen<T> {
    /// What was seen.
    ///
    /// # Errors
    ///
    /// Returns why it is not known.
    pub fn get(&self) -> Result<&T, Unseen> {
        match self {
            Self::Yes(value) => Ok(value),
            Self::NotTaken(why) => Err(Unseen::NotTaken(why.clone())),
            Self::Denied(why) => Err(Unseen::Denied(why.clone())),
            Self::TimedOut(millis) => Err(Unseen::TimedOut(*millis)),
            Self::Failed(why) => Err(Unseen::Failed(why.clone())),
        }
    }

    /// What was seen, if anything was.
    pub fn ok(&self) -> Option<&T> {
        self.get().ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_not_recorded_is_not_taken_for_nothing() {
        let seen: Seen<Vec<u8>> = Seen::default();
        assert!(matches!(seen.get(), Err(Unseen::NotTaken(_))));
    }

    #[test]
    fn what_was_seen_survives_a_round_trip() {
        for seen in [Seen::Yes(7), Seen::TimedOut(2000), Seen::Failed("x".into())] {
            let text = serde_json::to_string(&seen).expect("it serialises");
            assert_eq!(
                serde_json::from_str::<Seen<u32>>(&text).expect("it reads"),
                seen
            );
        }
    }
}
