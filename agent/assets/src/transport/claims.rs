//! How long the mirrors say that a file is, and whose word is taken first.

use super::download_plan::Mirror;
use std::collections::BTreeMap;

/// Up to this length one mirror's word is enough. For a longer file, or one of no known length, the other mirrors are
/// asked too. A guess: twice the largest program of a node.
const ONE_WORD_BYTES: u64 = 256 << 20;

/// What each mirror said; `None` of a mirror that gave no length.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Claims {
    lengths: BTreeMap<usize, Option<u64>>,
    /// Whether all mirrors were asked and put in order: this is done once.
    is_ordered: bool,
}

impl Claims {
    pub(crate) fn note(&mut self, mirror: usize, length: Option<u64>) {
        self.lengths.insert(mirror, length);
    }

    /// Forgets what a mirror said whose bytes were wrong.
    pub(crate) fn forget(&mut self, mirror: usize) {
        self.lengths.remove(&mirror);
    }

    /// Whether this mirror's answer has to wait for another mirror's, and then which of `mirrors` go first.
    ///
    /// `failed` tells which mirrors gave no answer that says anything.
    pub(crate) fn puts_aside(
        &mut self,
        mirror: usize,
        mirrors: &mut Vec<Mirror>,
        failed: impl Fn(usize) -> bool,
    ) -> bool {
        let length = self.lengths.get(&mirror).copied().flatten();
        if self.is_ordered || length.is_some_and(|length| length <= ONE_WORD_BYTES) {
            return false;
        }
        let is_open = |it: &Mirror| !self.lengths.contains_key(&it.number) && !failed(it.number);
        if let Some(at) = mirrors.iter().position(is_open) {
            let next = mirrors.remove(at);
            mirrors.insert(0, next);
            return true;
        }
        self.is_ordered = true;
        self.sort(mirrors);
        mirrors.first().is_some_and(|first| first.number != mirror)
    }

    /// Puts the mirrors first that agree on a length, then the shortest length, and last those without one: a lie
    /// about a length costs time and disk, and most lies are long.
    pub(crate) fn sort(&self, mirrors: &mut [Mirror]) {
        mirrors.sort_by_key(|mirror| {
            let length = self.lengths.get(&mirror.number).copied().flatten();
            let same = |it: &&Option<u64>| length.is_some() && **it == length;
            let agreeing = self.lengths.values().filter(same).count();
            (agreeing < 2, length.unwrap_or(u64::MAX))
        });
    }

    /// The longest file that a mirror speaks of.
    pub(crate) fn longest(&self) -> Option<u64> {
        self.lengths.values().copied().flatten().max()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mirrors(numbers: &[usize]) -> Vec<Mirror> {
        let mirror = |number: &usize| Mirror {
            number: *number,
            url: String::new(),
            host: String::new(),
        };
        numbers.iter().map(mirror).collect()
    }

    fn numbers(mirrors: &[Mirror]) -> Vec<usize> {
        mirrors.iter().map(|mirror| mirror.number).collect()
    }

    #[test]
    fn a_common_length_needs_no_second_word() {
        let mut claims = Claims::default();
        let mut all = mirrors(&[0, 1]);
        claims.note(0, Some(ONE_WORD_BYTES));
        assert!(!claims.puts_aside(0, &mut all, |_| false));
    }

    #[test]
    fn a_long_file_or_one_without_a_length_waits_for_the_other_mirrors_once() {
        for length in [None, Some(ONE_WORD_BYTES + 1)] {
            let mut claims = Claims::default();
            let mut all = mirrors(&[0, 1]);
            claims.note(0, length);
            assert!(claims.puts_aside(0, &mut all, |_| false));
            assert_eq!(numbers(&all), [1, 0]);
            claims.note(1, Some(7));
            assert!(!claims.puts_aside(1, &mut all, |_| false));
        }
    }

    #[test]
    fn where_no_mirror_gives_a_length_the_first_one_is_taken() {
        let mut claims = Claims::default();
        let mut all = mirrors(&[0, 1]);
        claims.note(0, None);
        assert!(claims.puts_aside(0, &mut all, |_| false));
        claims.note(1, None);
        assert!(!claims.puts_aside(1, &mut all, |_| false));
        assert_eq!(numbers(&all), [1, 0]);
        assert!(!claims.puts_aside(0, &mut all, |_| false), "only once");
    }

    #[test]
    fn a_mirror_that_failed_is_not_waited_for() {
        let mut claims = Claims::default();
        let mut all = mirrors(&[0, 1]);
        claims.note(0, None);
        assert!(!claims.puts_aside(0, &mut all, |number| number == 1));
    }

    #[test]
    fn mirrors_that_agree_go_first_then_the_shortest_length_and_the_unknown_last() {
        let mut claims = Claims::default();
        for (number, length) in [
            (0, None),
            (1, Some(9)),
            (2, Some(5)),
            (3, Some(9)),
            (4, Some(3)),
        ] {
            claims.note(number, length);
        }
        let mut all = mirrors(&[0, 1, 2, 3, 4]);
        claims.sort(&mut all);
        assert_eq!(numbers(&all), [1, 3, 4, 2, 0]);
        assert_eq!(claims.longest(), Some(9));
    }
}
