//! Secrets of many words or many lines: phrases that restore a wallet, and lists of codes that replace a second factor.

use super::marks::Marks;
use super::opaque::is_odd;
use super::shape::{apart, run};
use std::ops::Range;
use std::sync::LazyLock;

static PHRASE_MARKS: LazyLock<Marks> = LazyLock::new(|| {
    let marks = [
        "nemonic",
        "eed phrase",
        "eed_phrase",
        "eed-phrase",
        "eedPhrase",
        "eed words",
        "ecovery phrase",
        "ackup phrase",
    ];
    Marks::of(marks)
});

static CODE_MARKS: LazyLock<Marks> = LazyLock::new(|| {
    let marks = [
        "ecovery codes",
        "ecovery_codes",
        "ecoveryCodes",
        "ackup codes",
        "ackup_codes",
        "ackupCodes",
        "cratch codes",
        "cratch_codes",
    ];
    Marks::of(marks)
});

/// Phrases of twelve words and more, and codes one after the other, each behind what names it.
pub(super) fn find_phrases(text: &str) -> Vec<Range<usize>> {
    let mut found = Vec::new();
    for (at, _, mark) in PHRASE_MARKS.places_in(text) {
        found.extend(phrase_near(text, at + mark.len()));
    }
    for (at, _, mark) in CODE_MARKS.places_in(text) {
        find_codes(text, at + mark.len(), &mut found);
    }
    apart(found)
}

/// How far behind its name a phrase begins at most.
const NEAR: usize = 48;

/// The phrase that begins near a place: twelve words and more of three to eight small letters (BIP 39).
fn phrase_near(text: &str, from: usize) -> Option<Range<usize>> {
    const FEWEST: usize = 12;
    const MOST: usize = 24;
    let bytes = text.as_bytes();
    let end = bytes.len().min(from + NEAR);
    let begins = |at: &usize| !bytes[*at - 1].is_ascii_alphanumeric();
    (from..end).filter(begins).find_map(|start| {
        let (mut at, mut words) = (start, 0);
        loop {
            let length = run(&bytes[at..], |b| b.is_ascii_lowercase());
            if !(3..=8).contains(&length) {
                break;
            }
            words += 1;
            at += length;
            match bytes.get(at..at + 2) {
                Some([b' ' | b',' | b'-', next]) if next.is_ascii_lowercase() && words < MOST => {
                    at += 1;
                }
                _ => break,
            }
        }
        (words >= FEWEST).then_some(start..at)
    })
}

/// The codes behind their heading: on its line, or one and more on each of the lines below it.
fn find_codes(text: &str, from: usize, found: &mut Vec<Range<usize>>) {
    const MOST_LINES: usize = 20;
    const LONGEST: usize = 2 << 10;
    let mut start = from;
    for (number, line) in text[from..text.floor_char_boundary(from + LONGEST)]
        .split_inclusive('\n')
        .take(MOST_LINES)
        .enumerate()
    {
        let ends = |c: char| c.is_ascii_whitespace() || ",;\"'\\[]{}".contains(c);
        let mut at = start;
        let mut has_code = false;
        for word in line.split_inclusive(ends) {
            let said = word.trim_end_matches(ends);
            if is_code(said) {
                found.push(at..at + said.len());
                has_code = true;
            }
            at += word.len();
        }
        if number > 0 && !has_code {
            return;
        }
        start += line.len();
    }
}

fn is_code(word: &str) -> bool {
    const SHORTEST: usize = 8;
    // `ip-10-0-0-1`
    if word.starts_with("ip-") {
        return false;
    }
    let is_of_digits = word.bytes().all(|b| b.is_ascii_digit() || b == b'-');
    word.len() >= SHORTEST
        && (is_odd(word) || is_of_digits)
        && word.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-')
}

#[cfg(test)]
mod tests {
    use crate::redact::scrub;

    #[test]
    fn phrases_and_lists_of_codes_are_masked() {
        let words =
            "velvet orbit mango copper lunar drift pencil harbor sibling tornado gospel ivory";
        for (text, scrubbed) in [
            (
                format!("wallet restored from mnemonic \"{words}\" (path m/44)"),
                "wallet restored from mnemonic \"***\" (path m/44)",
            ),
            (
                format!("Seed phrase (12 words): {words}\nnext"),
                "Seed phrase (12 words): ***\nnext",
            ),
            (
                "recovery codes for root:\n  pg8le-9yuej\n  54mum-nzzto\ndone".to_owned(),
                "recovery codes for root:\n  ***\n  ***\ndone",
            ),
            (
                "\"backup_codes\":[\"8314-9921\",\"4417-0062\"]".to_owned(),
                "\"backup_codes\":[\"***\",\"***\"]",
            ),
        ] {
            assert_eq!(scrub(&text), scrubbed);
            assert_eq!(scrub(scrubbed), scrubbed);
        }
    }

    #[test]
    fn what_is_said_of_phrases_and_codes_stays() {
        for text in [
            "the mnemonic of the instruction is not known to this assembler",
            "recovery codes were made for node ip-10-0-0-1\nnext line",
        ] {
            assert_eq!(scrub(text), text);
        }
    }
}
