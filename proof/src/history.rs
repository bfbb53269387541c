//! What EC2 said of one object lately: a read may answer with any of it.

/// Versions that are kept at most; so many less one may a read be stale.
pub const DEPTH: usize = 5;

/// The versions of one object, the newest first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct History<T>([T; DEPTH]);

impl<T: Copy + PartialEq> History<T> {
    /// An object that was always so.
    pub fn new(value: T) -> Self {
        Self([value; DEPTH])
    }

    /// The truth.
    pub fn now(&self) -> T {
        self.0[0]
    }

    /// Makes a new version, if it is one.
    pub fn set(&mut self, value: T) {
        if self.now() != value {
            self.0.copy_within(0..DEPTH - 1, 1);
            self.0[0] = value;
        }
    }

    /// Forgets what was: every reader sees the truth.
    pub fn settle(&mut self) {
        *self = Self::new(self.now());
    }

    /// What a read that is stale by at most `stale` versions may answer, the newest first; a value may come twice.
    pub fn readable(&self, stale: usize) -> &[T] {
        &self.0[..=stale.min(DEPTH - 1)]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reader_sees_the_newest_versions_and_no_older_ones() {
        let mut history = History::new(0);
        for value in [1, 1, 2, 3] {
            history.set(value);
        }
        assert_eq!(history.readable(0), [3]);
        assert_eq!(history.readable(2), [3, 2, 1]);
        history.settle();
        assert_eq!(history.readable(2), [3, 3, 3]);
    }
}
