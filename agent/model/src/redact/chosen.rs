//! Words as people choose them for passwords, in places that tell nothing of them: letters of both cases, digits, and a sign
//! that names have not, such as `Plum!tree42X`. Like all of what is unknown, a guess.

use super::opaque::count_changes;
use super::shape::run;
use std::ops::Range;

/// Signs that stand within no name, and signs that some names have, which count only behind a digit.
const SIGNS: &[u8] = b"!#^";
const DOUBTFUL: &[u8] = b"$*@~";

const SHORTEST: usize = 8;

/// No such word is longer.
const LONGEST: usize = 40;

/// How often the kind of character changes within it, at least: `Job#1234` has three.
const FEWEST_CHANGES: usize = 5;

pub(super) fn find_chosen(text: &str) -> Vec<Range<usize>> {
    let bytes = text.as_bytes();
    let mut found: Vec<Range<usize>> = Vec::new();
    for (at, byte) in bytes.iter().enumerate() {
        let is_sign = SIGNS.contains(byte) || DOUBTFUL.contains(byte);
        if !is_sign || found.last().is_some_and(|last| at < last.end) {
            continue;
        }
        let before = bytes[..at].iter().rev().take(LONGEST + 1);
        let start = at - before.take_while(|b| is_of_word(**b)).count();
        let near = &bytes[at..bytes.len().min(at + LONGEST + 1)];
        let length = at - start + run(near, is_of_word);
        let word = &bytes[start..start + length];
        let begins = start == 0 || !b"/&?%[".contains(&bytes[start - 1]);
        let ends = bytes
            .get(start + length)
            .is_none_or(|b| !b"/([=<%&".contains(b));
        if begins && ends && is_chosen(word, at - start) {
            let end = word.len() - word.iter().rev().take_while(|b| b".!".contains(b)).count();
            found.push(start..start + end);
        }
    }
    found
}

fn is_of_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric()
        || SIGNS.contains(&byte)
        || DOUBTFUL.contains(&byte)
        || b"-_.".contains(&byte)
}

/// Whether a word with a sign at this place reads as a password.
fn is_chosen(word: &[u8], sign: usize) -> bool {
    let has = |is: fn(&u8) -> bool| word.iter().any(is);
    let (before, behind) = (&word[..sign], &word[sign + 1..]);
    let is_within = before.last().is_some_and(u8::is_ascii_alphanumeric)
        && behind.first().is_some_and(u8::is_ascii_alphanumeric);
    let counts = SIGNS.contains(&word[sign]) || before.iter().any(u8::is_ascii_digit);
    // `file.html#Part1`, `user1@Host.example`
    let is_address = before.contains(&b'.') || word[sign] == b'@' && behind.contains(&b'.');
    (SHORTEST..=LONGEST).contains(&word.len())
        && is_within
        && counts
        && !is_address
        && has(u8::is_ascii_lowercase)
        && has(u8::is_ascii_uppercase)
        && has(u8::is_ascii_digit)
        && count_changes(word) >= FEWEST_CHANGES
}

#[cfg(test)]
mod tests {
    use crate::redact::scrub;

    #[test]
    fn words_that_people_choose_are_masked_wherever_they_stand() {
        for (text, scrubbed) in [
            ("ready: Ame-7tsuru#K0i. Next", "ready: ***. Next"),
            ("`Plum!tree42X`", "`***`"),
            ("bound \\20Vq3!heronCliff62\", 62)", "bound \\***\", 62)"),
            ("got Kd9$plumTree4 from it", "got *** from it"),
        ] {
            assert_eq!(scrub(text), scrubbed);
            assert_eq!(scrub(scrubbed), scrubbed);
        }
    }

    #[test]
    fn names_with_a_sign_stay() {
        for text in [
            "at java.util.concurrent.ThreadPoolExecutor$Worker1.run(T.java:6)",
            "see README.md#Part1A and Job#1234",
            "ops1@Host.example.com",
            "/^Error![A-Z]0x/",
            "5.15.0-1031~20.04.1-Ubuntu",
            "https://a.example/x#Section2B",
            "lib2@v1.2.3Beta",
        ] {
            assert_eq!(scrub(text), text);
        }
    }
}
