//! Answers in pages: in no order, and with a volume that stands on two of them.

use crate::random::Random;
use crate::xml::Element;
use std::collections::BTreeMap;

/// Pages that were not asked for yet, by their token. The first has an empty one.
#[derive(Debug, Default)]
pub(super) struct Pages {
    waiting: BTreeMap<String, Vec<Element>>,
    next: BTreeMap<String, String>,
    issued: u64,
}

impl Pages {
    /// Lays out an answer; where it has several pages, one of its volumes is repeated, as `again` shows it.
    pub(super) fn begin(
        &mut self,
        mut found: Vec<Element>,
        again: &[Element],
        size: usize,
        random: &mut Random,
    ) {
        shuffle(&mut found, random);
        if let (true, Some(first)) = (found.len() > size, found.first()) {
            let id = first.text_of("volumeId").to_owned();
            let repeated = again.iter().find(|volume| volume.text_of("volumeId") == id);
            found.extend(repeated.cloned());
        }
        let mut token = String::new();
        let count = found.len().div_ceil(size);
        self.waiting.insert(token.clone(), Vec::new());
        self.next.remove(&token);
        for (index, page) in found.chunks(size).enumerate() {
            self.waiting.insert(token.clone(), page.to_vec());
            if index + 1 < count {
                self.issued += 1;
                let following = format!("page-{}", self.issued);
                self.next.insert(token, following.clone());
                token = following;
            }
        }
    }

    /// The page of this token, and the token of the next.
    pub(super) fn take(&mut self, token: &str) -> Option<(Vec<Element>, Option<String>)> {
        let page = self.waiting.remove(token)?;
        Some((page, self.next.remove(token)))
    }
}

/// Puts things in an order of chance.
pub(super) fn shuffle<T>(things: &mut [T], random: &mut Random) {
    for end in (1..things.len()).rev() {
        let other = random.below(end as u64 + 1);
        things.swap(end, usize::try_from(other).unwrap_or_default());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_pages_together_have_everything_and_one_volume_twice() {
        let volume = |id: &u32| {
            Element::of_children("item", vec![Element::of_text("volumeId", &id.to_string())])
        };
        let all: Vec<Element> = [1, 2, 3, 4, 5].iter().map(volume).collect();
        let mut pages = Pages::default();
        pages.begin(all.clone(), &all, 2, &mut Random::seeded(1));
        let (mut seen, mut token) = (Vec::new(), String::new());
        loop {
            let (page, next) = pages.take(&token).unwrap();
            assert!(page.len() <= 2);
            seen.extend(
                page.iter()
                    .map(|volume| volume.text_of("volumeId").to_owned()),
            );
            match next {
                Some(next) => token = next,
                None => break,
            }
        }
        assert_eq!(seen.len(), 6);
        seen.sort();
        seen.dedup();
        assert_eq!(seen, ["1", "2", "3", "4", "5"]);
    }
}
