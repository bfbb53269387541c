//! Blanks that part a name from its value, and what stands between the two then.

use super::directive::is_directive;
use super::label::{Sign, begins, name_run};
use super::line::blanks;
use super::name::tells;
use super::shape::run;

/// What a blank is that stands behind a name that tells: `password "value"`, `the password is value`.
pub(super) fn sign_of_blank(bytes: &[u8], start: usize) -> Option<Sign> {
    let next = &bytes[start + 1..];
    let slashes = run(&next[..next.len().min(8)], |b| b == b'\\');
    let opened = matches!(next.get(slashes), Some(b'"' | b'\''));
    let verb = length_of_verb(bytes, start);
    let opened = opened
        || next
            .get(verb)
            .is_some_and(|b| verb > 0 && b"\"'\\".contains(b));
    let sign = match (opened, verb) {
        (true, _) => Sign::Quote,
        (false, 0) if is_directive(bytes, start, &name_run(bytes, start)) => Sign::Directive,
        (false, 1..) => Sign::Verb,
        (false, _) if is_long_word(next) => Sign::Word,
        (false, _) => return None,
    };
    tells(&bytes[name_run(bytes, start)]).map(|_| sign)
}

fn is_long_word(next: &[u8]) -> bool {
    const SHORTEST: usize = 6;
    // Cookies of Erlang, which no other word is as long as.
    const LONGEST_OF_CAPITALS: usize = 18;
    // Names are aligned with so many blanks at most.
    const WIDEST_GAP: usize = 24;
    let next = &next[blanks(&next[..next.len().min(WIDEST_GAP)])..];
    let length = run(next, |b| b.is_ascii_graphic() && !b"\"'\\,;:".contains(&b));
    let word = &next[..length];
    let is_of_capitals = length >= LONGEST_OF_CAPITALS && word.iter().all(u8::is_ascii_uppercase);
    length >= SHORTEST && word.iter().any(u8::is_ascii_digit) || is_of_capitals
}

pub(super) fn length_of_verb(bytes: &[u8], start: usize) -> usize {
    let verbs: [&[u8]; 6] = [
        b"is now ",
        b"is ",
        b"was ",
        b"is: ",
        b"set to ",
        b"changed to ",
    ];
    let next = &bytes[start + 1..];
    let verb = verbs.iter().find(|verb| begins(next, verb));
    verb.map_or(0, |verb| verb.len())
}
