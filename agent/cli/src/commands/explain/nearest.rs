//! Which names a misspelt one may have meant.

/// How many are named at most.
const MOST: usize = 3;

/// The names with the fewest slips of the keyboard between them and a word of what was asked for, the nearest first. A
/// name may be given without its area.
pub(super) fn nearest(query: &str, names: &[&'static str]) -> Vec<&'static str> {
    let query = query.to_ascii_lowercase();
    let words = query.split(|c: char| c.is_whitespace() || c == ':' || c == ',');
    let words: Vec<&str> = words.filter(|word| word.len() > 2).collect();
    let mut near: Vec<(usize, &'static str)> = names
        .iter()
        .filter_map(|name| {
            let slips = words.iter().filter_map(|word| slips(word, name)).min()?;
            Some((slips, *name))
        })
        .collect();
    near.sort();
    near.truncate(MOST);
    near.into_iter().map(|(_, name)| name).collect()
}

/// How many letters are wrong, missing, too many or swapped; `None` when it is too many for a slip.
fn slips(word: &str, name: &str) -> Option<usize> {
    let (_, rest) = name.split_once('.').unwrap_or_default();
    let whole = strsim::osa_distance(word, name);
    let slips = match word.contains('.') {
        true => whole,
        false => whole.min(strsim::osa_distance(word, rest)),
    };
    (slips <= word.len() / 3).then_some(slips)
}

#[cfg(test)]
mod tests {
    use super::*;

    const NAMES: &[&str] = &[
        "storage.volume-held",
        "storage.volume-busy",
        "files.no-space",
    ];

    #[test]
    fn a_slip_of_the_keyboard_leads_to_the_name_that_was_meant() {
        for query in [
            "storage.volume-hold",
            "storage.voluem-held",
            "stroage.volume-held",
            "volume-held",
            "error: storage.volume_held: vol-0a1b",
        ] {
            assert_eq!(
                nearest(query, NAMES).first(),
                Some(&"storage.volume-held"),
                "{query}"
            );
        }
    }

    #[test]
    fn what_is_like_nothing_leads_nowhere() {
        assert!(nearest("the house is on fire", NAMES).is_empty());
        assert!(nearest("", NAMES).is_empty());
    }
}
