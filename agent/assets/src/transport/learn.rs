//! What an answer says of its file, and whether that is believed.

use super::download::Download;
use super::download_plan::{Mirror, StopReason};
use super::request::Answer;

/// What becomes of an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Learned {
    /// Its bytes are taken.
    Taken,
    /// Another mirror is asked first, or instead.
    Aside,
}

impl Download<'_> {
    /// Compares an answer with what is known of the file, and remembers what it adds.
    pub(super) fn learn(
        &mut self,
        mirror: &Mirror,
        answer: &Answer,
        received: u64,
    ) -> Result<Learned, StopReason> {
        if self.refuses(mirror, answer.total) {
            return Ok(Learned::Aside);
        }
        let other_length = |total| answer.total.is_some_and(|length| length != total);
        if self.known.total.is_some_and(other_length) {
            // Whose length is right, the digest will tell: each mirror is then asked alone.
            return Err(StopReason::Anew);
        }
        let earlier = self.known.validators.get(&mirror.number);
        let is_other = earlier.is_some() && answer.validator.as_ref() != earlier;
        if received > 0 && is_other {
            return Err(StopReason::Anew);
        }
        if self.known.total.is_none() {
            if !self.believes(mirror, answer.total, received) {
                return Ok(Learned::Aside);
            }
            self.known.total = answer.total;
        }
        if let Some(validator) = answer.validator.clone() {
            self.known.validators.insert(mirror.number, validator);
        }
        Ok(Learned::Taken)
    }

    /// Whether a mirror claims a length that cannot be; it is not asked again then.
    fn refuses(&mut self, mirror: &Mirror, claimed: Option<u64>) -> bool {
        let judged = claimed.map_or(Ok(()), |total| self.room.judge(&mirror.url, total));
        let Err(error) = judged else {
            return false;
        };
        self.fail(mirror.number, error);
        self.course.mirrors.retain(|it| it.number != mirror.number);
        true
    }

    /// Whether the length that a mirror claims is taken for the file's, as far as it claims one.
    fn believes(&mut self, mirror: &Mirror, claimed: Option<u64>, received: u64) -> bool {
        self.known.claims.note(mirror.number, claimed);
        let (claims, mirrors) = (&mut self.known.claims, &mut self.course.mirrors);
        let failed = |number| self.failed.iter().any(|(failed, _)| *failed == number);
        if claims.puts_aside(mirror.number, mirrors, failed) {
            return false;
        }
        self.limit = self.room.limit();
        if claimed.is_none()
            && let Some(longest) = claims.longest()
        {
            // Another mirror knows how long the file is.
            self.limit = self.limit.min(longest.max(received));
        }
        true
    }
}
