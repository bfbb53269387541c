//! Looks for many short marks in one walk over a text. A search for each alone prepares itself anew for every text, which takes
//! longer than the search: most texts are short.

/// Marks by the first byte of each.
#[derive(Debug)]
pub(super) struct Marks {
    by_first: Vec<Vec<(usize, &'static str)>>,
}

impl Marks {
    /// These marks, none of which is empty.
    pub(super) fn of(marks: impl IntoIterator<Item = &'static str>) -> Self {
        let mut by_first = vec![Vec::new(); 256];
        for (number, mark) in marks.into_iter().enumerate() {
            by_first[usize::from(mark.as_bytes()[0])].push((number, mark));
        }
        Self { by_first }
    }

    /// Where each mark stands in a text, in the order of the text; with the number of the mark.
    pub(super) fn places_in<'marks>(
        &'marks self,
        text: &'marks str,
    ) -> impl Iterator<Item = (usize, usize, &'static str)> {
        let bytes = text.as_bytes();
        bytes.iter().enumerate().flat_map(move |(at, first)| {
            let marks = self.by_first[usize::from(*first)].iter();
            marks
                .filter(move |(_, mark)| bytes[at..].starts_with(mark.as_bytes()))
                .map(move |(number, mark)| (at, *number, *mark))
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
        let all = ["$1$", "$2a$", "md5", ":::", "m"];
        let marks = Marks::of(all);
        for text in ["", "m", "$1$ and $2a$md5m", "ä:::$", "::", "$1"] {
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
