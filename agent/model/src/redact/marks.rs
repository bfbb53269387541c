//! Looks for many short marks in one walk over a text. A search for each alone prepares itself anew for every text, which takes
//! longer than the search: most texts are short.

/// So many bytes of a mark are compared at once.
const WIDTH: usize = 8;

/// A mark: its first bytes as one number, which of the number's bits count, its place in the list, and itself.
#[derive(Debug, Clone, Copy)]
struct Mark {
    start: u64,
    counts: u64,
    number: usize,
    text: &'static str,
}

/// Marks by the first byte of each.
#[derive(Debug)]
pub(super) struct Marks {
    by_first: Vec<Vec<Mark>>,
}

/// The bytes at a place as one number; what the text lacks is 0.
fn number_at(bytes: &[u8], at: usize) -> u64 {
    match bytes[at..].first_chunk::<WIDTH>() {
        Some(whole) => u64::from_le_bytes(*whole),
        None => {
            let mut whole = [0; WIDTH];
            whole[..bytes.len() - at].copy_from_slice(&bytes[at..]);
            u64::from_le_bytes(whole)
        }
    }
}

impl Marks {
    /// These marks, none of which is empty.
    pub(super) fn of(marks: impl IntoIterator<Item = &'static str>) -> Self {
        let mut by_first = vec![Vec::new(); 256];
        for (number, text) in marks.into_iter().enumerate() {
            let bytes = text.as_bytes();
            let lacking = WIDTH.saturating_sub(bytes.len());
            by_first[usize::from(bytes[0])].push(Mark {
                start: number_at(bytes, 0),
                counts: u64::MAX >> (8 * lacking),
                number,
                text,
            });
        }
        Self { by_first }
    }

    /// Where each mark stands in a text, in the order of the text; with the number of the mark.
    pub(super) fn places_in<'marks>(
        &'marks self,
        text: &'marks str,
    ) -> impl Iterator<Item = (usize, usize, &'static str)> {
        let bytes = text.as_bytes();
        let is_first = |first: &u8| !self.by_first[usize::from(*first)].is_empty();
        let starts = bytes.iter().enumerate();
        let starts = starts.filter(move |(_, first)| is_first(first));
        starts.flat_map(move |(at, first)| {
            let here = number_at(bytes, at);
            let marks = self.by_first[usize::from(*first)].iter();
            let begin = marks.filter(move |mark| here & mark.counts == mark.start);
            let whole = begin.filter(move |mark| {
                let rest = mark.text.as_bytes().get(WIDTH..).unwrap_or_default();
                rest.is_empty() || bytes[at + WIDTH..].starts_with(rest)
            });
            whole.map(move |mark| (at, mark.number, mark.text))
        })
    }

    /// Whether any of them stands in a text.
    pub(super) fn are_in(&self, text: &str) -> bool {
        self.places_in(text).next().is_some()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_mark_is_found_where_a_search_for_it_alone_finds_it() {
        let all = [
            "$1$",
            "$2a$",
            "md5",
            ":::",
            "m",
            "and $2a$md",
            "and $2a$",
            "\0",
        ];
        let marks = Marks::of(all);
        for text in [
            "",
            "m",
            "$1$ and $2a$md5m",
            "ä:::$",
            "::",
            "$1",
            "and $2a$",
            "x\0",
        ] {
            let mut found: Vec<_> = marks.places_in(text).collect();
            found.sort_unstable();
            let mut alone = Vec::new();
            for (number, mark) in all.into_iter().enumerate() {
                alone.extend(text.match_indices(mark).map(|(at, _)| (at, number, mark)));
            }
            alone.sort_unstable();
            assert_eq!(found, alone, "{text}");
            assert_eq!(marks.are_in(text), !alone.is_empty());
        }
    }
}
