//! Secrets of many words or many lines: phrases that restore a wallet, and lists of codes that replace a second factor.

use super::manifest::said;
use super::marks::Marks;
use super::opaque::is_odd;
use super::shape::{apart, run};
use std::ops::Range;
use std::sync::LazyLock;

/// How a phrase is called, without the first letter where that may be a capital.
static PHRASE_MARKS: LazyLock<Marks> = LazyLock::new(|| {
    let marks = [
        "nemonic",
        "eed:",
        "eed=",
        "eed \"",
        "allet words",
        "estore phrase",
        "ecret phrase",
        "allet phrase",
        "eed phrase",
        "eed_phrase",
        "eed-phrase",
        "eedPhrase",
        "eed words",
        "ecovery phrase",
        "ackup phrase",
        "EED_PHRASE",
        "ECOVERY_PHRASE",
    ];
    Marks::of(marks)
});

/// How a list of codes is called, likewise.
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
        "ecovery Codes",
        "ackup Codes",
    ];
    Marks::of(marks)
});

/// Phrases of twelve words and more, and codes one after the other, each behind what names it.
pub(super) fn find_phrases(text: &str) -> Vec<Range<usize>> {
    let mut found = Vec::new();
    for (at, _, mark) in PHRASE_MARKS.places_in(text) {
        found.extend(phrase_near(text, at + mark.len()));
    }
    find_alone(text, &mut found);
    let mut behind = 0;
    for (at, _, mark) in CODE_MARKS.places_in(text) {
        // A heading within what another one has read begins no list of its own.
        if at >= behind {
            behind = find_codes(text, at + mark.len(), &mut found);
        }
    }
    apart(found)
}

/// Lines of twelve words and more that such a phrase may have, and that no sentence is made of.
fn find_alone(text: &str, found: &mut Vec<Range<usize>>) {
    const FEWEST: usize = 12;
    // Every sentence of so many words has one of these; no phrase has (BIP 39, English words).
    const OF_SENTENCES: [&str; 19] = [
        "the", "and", "for", "with", "not", "was", "are", "has", "from", "that", "this", "its",
        "but", "were", "have", "been", // Directories of a listing.
        "usr", "etc", "tmp",
    ];
    let is_word = |word: &str| {
        (3..=8).contains(&word.len())
            && word.bytes().all(|b| b.is_ascii_lowercase())
            && !OF_SENTENCES.contains(&word)
    };
    let mut start = 0;
    for line in text.split_inclusive('\n') {
        let whole = line.trim_end();
        let inside = said(whole);
        let words = whole[inside.clone()].trim_start();
        if words.len() > 4 * FEWEST
            && words.split(' ').all(is_word)
            && words.split(' ').count() >= FEWEST
        {
            let end = start + inside.end;
            found.push(end - words.len()..end);
        }
        start += line.len();
    }
}

/// How far behind its name a phrase begins at most.
const NEAR: usize = 48;

/// The phrase that begins near a place: twelve words and more of three to eight small letters (BIP 39), behind what begins a
/// value.
fn phrase_near(text: &str, from: usize) -> Option<Range<usize>> {
    const FEWEST: usize = 12;
    const MOST: usize = 24;
    let bytes = text.as_bytes();
    let end = bytes.len().min(from + NEAR);
    let begins = |at: &usize| {
        let before = bytes[from.saturating_sub(1)..*at].trim_ascii_end();
        before.last().is_some_and(|b| b":=\"'[".contains(b))
    };
    (from..end).filter(begins).find_map(|start| {
        let (mut at, mut last, mut words) = (start, start, 0);
        while words < MOST {
            let length = run(&bytes[at..], |b| b.is_ascii_lowercase());
            if !(3..=8).contains(&length) {
                break;
            }
            words += 1;
            last = at + length;
            let near = &bytes[last..bytes.len().min(last + 6)];
            at = last + run(near, |b| b" ,\"'\t-.0123456789".contains(&b));
            if at == last {
                break;
            }
        }
        (words >= FEWEST).then_some(start..last)
    })
}

/// The codes behind their heading: on its line, or one and more on each of the lines below it, which have nothing else. Returns
/// where the reading ended.
fn find_codes(text: &str, from: usize, found: &mut Vec<Range<usize>>) -> usize {
    const MOST_LINES: usize = 20;
    const LONGEST: usize = 2 << 10;
    let window = &text[from..text.floor_char_boundary(from + LONGEST)];
    let mut start = from;
    for (number, line) in window.split_inclusive('\n').take(MOST_LINES).enumerate() {
        // On the line of the heading they come behind its sign.
        let behind = match number {
            0 => match line.find([':', '=', '[']) {
                Some(sign) => sign + 1,
                None => return start,
            },
            _ => 0,
        };
        let codes = codes_in(&line[behind..], number > 0);
        let is_blank = line.trim().is_empty() && number == 1;
        if number > 0 && codes.is_empty() && !is_blank {
            return start;
        }
        let at = start + behind;
        found.extend(codes.into_iter().map(|code| at + code.start..at + code.end));
        start += line.len();
    }
    start
}

/// The codes of a line; none of one that says something else, if it is to be of codes `alone`.
fn codes_in(line: &str, alone: bool) -> Vec<Range<usize>> {
    let ends = |c: char| c.is_ascii_whitespace() || ",;\"'\\[]{}".contains(c);
    let mut codes = Vec::new();
    let mut at = 0;
    for word in line.split_inclusive(ends) {
        let said = word.trim_end_matches(ends);
        // A bullet, or the number of the code.
        let is_sign = said.len() <= 3 && !said.bytes().any(|b| b.is_ascii_alphabetic());
        match is_code(said) {
            true => codes.push(at..at + said.len()),
            false if alone && !is_sign => return Vec::new(),
            false => {}
        }
        at += word.len();
    }
    codes
}

fn is_code(word: &str) -> bool {
    const SHORTEST: usize = 8;
    // A host, a date, a time since 1970.
    let is_date = word.len() == 10 && word.as_bytes()[4] == b'-' && word.as_bytes()[7] == b'-';
    let is_time = word.len() >= 10 && word.bytes().all(|b| b.is_ascii_digit());
    if word.starts_with("ip-") || is_date || is_time {
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
            (
                format!("{{\"mnemonic\":[\"{}\"]}}", words.replace(' ', "\",\"")),
                "{\"mnemonic\":[\"***\"]}",
            ),
            (
                "Recovery Codes:\n\n  1. pg8le-9yuej\n  2. 54mum-nzzto\n".to_owned(),
                "Recovery Codes:\n\n  1. ***\n  2. ***\n",
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
            "recovery codes: made at 2024-01-01\n2024-01-02 pod coredns-5d78c9869d-abcde is ready",
            "the mnemonic for this opcode must never appear inside another table because there is none",
        ] {
            assert_eq!(scrub(text), text);
        }
    }
}
