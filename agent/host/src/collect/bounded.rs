//! Keeps what a collector brings within its size: the first half and the last, each in whole lines.

use std::collections::VecDeque;

/// Bytes as they come, of which the middle is dropped once there are too many.
#[derive(Debug)]
pub(super) struct BoundedOutput {
    half: usize,
    head: Vec<u8>,
    tail: VecDeque<u8>,
    dropped: u64,
}

impl BoundedOutput {
    /// Keeps so many bytes.
    pub(super) fn new(size: usize) -> Self {
        Self {
            half: size / 2,
            head: Vec::new(),
            tail: VecDeque::new(),
            dropped: 0,
        }
    }

    /// Takes the next bytes.
    pub(super) fn take(&mut self, bytes: &[u8]) {
        let room = self.half.saturating_sub(self.head.len());
        let (first, rest) = bytes.split_at(room.min(bytes.len()));
        self.head.extend_from_slice(first);
        self.tail.extend(rest);
        let excess = self.tail.len().saturating_sub(self.half);
        self.tail.drain(..excess);
        self.dropped += excess as u64;
    }

    /// What was kept, with a mark where it was cut; and how much is missing, if anything is.
    ///
    /// A line that would be cut is left out whole, so that no half of a secret is left that nothing tells from text.
    pub(super) fn finish(self) -> (Vec<u8>, Option<String>) {
        let (mut bytes, mut tail) = (self.head, Vec::from(self.tail));
        if self.dropped == 0 {
            bytes.append(&mut tail);
            return (bytes, None);
        }
        let line = bytes
            .iter()
            .rposition(|b| *b == b'\n')
            .map_or(0, |at| at + 1);
        let next = tail
            .iter()
            .position(|b| *b == b'\n')
            .map_or(tail.len(), |at| at + 1);
        let dropped = self.dropped + (bytes.len() - line + next) as u64;
        bytes.truncate(line);
        bytes.extend_from_slice(format!("[... {dropped} bytes were cut here ...]\n").as_bytes());
        bytes.extend_from_slice(&tail[next..]);
        (
            bytes,
            Some(format!("{dropped} bytes in its middle were cut")),
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kept(size: usize, pieces: &[&str]) -> (String, Option<String>) {
        let mut kept = BoundedOutput::new(size);
        pieces.iter().for_each(|piece| kept.take(piece.as_bytes()));
        let (bytes, cut) = kept.finish();
        (String::from_utf8(bytes).unwrap(), cut)
    }

    #[test]
    fn what_fits_is_kept_as_it_is() {
        assert_eq!(
            kept(12, &["one\ntw", "o\nthr"]),
            ("one\ntwo\nthr".to_owned(), None)
        );
    }

    #[test]
    fn what_does_not_fit_is_cut_in_its_middle_at_lines_with_a_mark() {
        let lines: String = (0..100)
            .map(|number| format!("line {number:02}\n"))
            .collect();
        let (text, cut) = kept(40, &[&lines]);
        let mark = "[... 768 bytes were cut here ...]";
        assert_eq!(
            text,
            format!("line 00\nline 01\n{mark}\nline 98\nline 99\n")
        );
        assert_eq!(cut.as_deref(), Some("768 bytes in its middle were cut"));
    }

    #[test]
    fn one_line_that_does_not_fit_is_left_out() {
        let (text, _) = kept(10, &["a line without an end"]);
        assert_eq!(text, "[... 21 bytes were cut here ...]\n");
    }

    #[test]
    fn how_the_bytes_come_makes_no_difference() {
        let lines: String = (0..50).map(|number| format!("{number}\n")).collect();
        let bytes: Vec<&str> = lines.split_inclusive('\n').collect();
        assert_eq!(kept(30, &[&lines]), kept(30, &bytes));
    }
}
