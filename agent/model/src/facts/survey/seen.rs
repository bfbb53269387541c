//! What was seen of one thing, or why nothing was.

use crate::ports::{Condition, PortError};
use serde::{Deserialize, Serialize};
use std::fmt;

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
    Failed(LookError),
}

/// Why a look failed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "StoredLookError")]
pub struct LookError {
    pub condition: Condition,
    /// The summary and its causes, outermost first.
    pub text: String,
}

/// A failed look as a bundle has it. Builds before 0.1 wrote the text alone.
#[derive(Deserialize)]
#[serde(untagged)]
enum StoredLookError {
    Text(String),
    Whole { condition: Condition, text: String },
}

impl From<StoredLookError> for LookError {
    fn from(stored: StoredLookError) -> Self {
        match stored {
            StoredLookError::Text(text) => Self::from(text),
            StoredLookError::Whole { condition, text } => Self { condition, text },
        }
    }
}

/// A failure of this host's own I/O.
impl From<String> for LookError {
    fn from(text: String) -> Self {
        Self {
            condition: Condition::Io,
            text,
        }
    }
}

impl From<&PortError> for LookError {
    fn from(error: &PortError) -> Self {
        let mut text = error.summary.clone();
        for cause in &error.causes {
            text.push_str(": ");
            text.push_str(cause);
        }
        Self {
            condition: error.condition,
            text,
        }
    }
}

impl fmt::Display for LookError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
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
            Self::Failed(why) => Err(Unseen::Failed(why.text.clone())),
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
        let refused = PortError::new(Condition::Denied, "refused");
        let failed = Seen::Failed(LookError::from(&refused));
        for seen in [Seen::Yes(7), Seen::TimedOut(2000), failed] {
            let text = serde_json::to_string(&seen).expect("it serialises");
            assert_eq!(
                serde_json::from_str::<Seen<u32>>(&text).expect("it reads"),
                seen
            );
        }
    }

    #[test]
    fn a_failed_look_of_an_older_bundle_has_its_text() {
        let seen: Seen<u32> =
            serde_json::from_str(r#"{"seen":"failed","value":"no route"}"#).expect("it reads");
        assert_eq!(seen, Seen::Failed(LookError::from("no route".to_owned())));
    }
}
