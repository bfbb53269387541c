//! What a flag says of a secret, and the words of a command line.

use super::items::length_of_argument;
use super::line::{blanks, end_of_line, length_of_break};
use super::manifest::said;
use super::quote::quoted;
use super::shape::run;
use std::ops::Range;

/// Where the secret is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Of {
    /// It is the word behind the flag.
    Next,
    /// It begins right behind the flag.
    Attached,
    /// Either.
    Either,
    /// It is what follows the colon, the percent sign, the equals sign, the comma or the slash of that word.
    User,
    Percent,
    Pair,
    Comma,
    Slash,
    /// It follows `pass:` in that word.
    Source,
    /// It is what follows the colon of any word behind this one, if it has letters and digits.
    Colon,
    /// It is the third of the plain words, if the first word has this letter; the second, if no file is named (`-n`).
    Last,
    /// It is so many plain words behind this one.
    At(usize),
    /// It is the word behind a name that tells of it, behind this word.
    Setting,
    /// It is all that the program writes, if another reads a secret from it.
    Piped,
}

/// A program, and its flags that carry secrets.
#[derive(Debug)]
pub(super) struct Command {
    pub(super) program: &'static str,
    /// A word without which its flags mean something else.
    pub(super) needs: Option<&'static str>,
    pub(super) flags: &'static [(&'static str, Of)],
}

pub(super) const fn command(
    program: &'static str,
    flags: &'static [(&'static str, Of)],
) -> Command {
    Command {
        program,
        needs: None,
        flags,
    }
}

pub(super) const fn with(
    program: &'static str,
    needs: &'static str,
    flags: &'static [(&'static str, Of)],
) -> Command {
    Command {
        program,
        needs: Some(needs),
        flags,
    }
}

/// No command line is read further.
const LONGEST: usize = 1024;

/// The words behind a program, up to the end of its command: in a shell, in JSON, in a list of YAML.
pub(super) fn words_after(text: &str, from: usize) -> Vec<Range<usize>> {
    let end = text.floor_char_boundary(from + LONGEST);
    let bytes = &text.as_bytes()[..end];
    let mut words = Vec::new();
    let mut at = from;
    while let Some(start) = start_of_word(bytes, at) {
        let rest = &bytes[start..];
        let word = match quoted(rest) {
            Some(inner) => start + inner.start..start + inner.end,
            None => start..start + length_of_plain(rest),
        };
        at = match quoted(rest) {
            Some(_) => word.end + 1,
            None => word.end.max(start + 1),
        };
        words.push(word);
    }
    words
}

/// The length of a word without quotes, in which a backslash may stand: behind the domain of a user, and before a sign that a
/// shell would read.
fn length_of_plain(bytes: &[u8]) -> usize {
    let mut at = 0;
    loop {
        at += run(&bytes[at..], |b| {
            !b.is_ascii_whitespace() && !b"\"'`;|&<>\\,]".contains(&b)
        });
        let slashes = run(&bytes[at..], |b| b == b'\\');
        let is_domain = at > 0
            && bytes[..at]
                .iter()
                .all(|b| b.is_ascii_uppercase() || b.is_ascii_digit());
        let goes_on = match bytes.get(at + slashes) {
            Some(b'x') if bytes[at..].starts_with(b"\\x00") => false,
            // As a rule they break a line.
            Some(b'n' | b'r' | b't' | b'u') => is_domain,
            Some(b) => b.is_ascii_alphanumeric() || b"_$!#&;|<>()*?%@".contains(b),
            None => false,
        };
        if slashes == 0 || at == 0 || !goes_on {
            return at;
        }
        at += slashes + 1;
    }
}

/// The length of an escaped quote behind which the next word comes.
fn ends_quote(bytes: &[u8]) -> usize {
    let slashes = run(bytes, |b| b == b'\\');
    let is_end = matches!(
        bytes.get(slashes..slashes + 2),
        Some([b'"' | b'\'', b' ' | b','])
    );
    if is_end { slashes + 1 } else { 0 }
}

/// Where the next word begins; nothing at the end of the command.
fn start_of_word(bytes: &[u8], from: usize) -> Option<usize> {
    let mut at = from;
    loop {
        match bytes.get(at)? {
            b' ' if length_of_argument(&bytes[at..]).is_some() => {
                at += length_of_argument(&bytes[at..]).unwrap_or(1);
            }
            b' ' | b'\t' | b',' | b'[' => at += 1,
            // What parts the words of a process, as a log escapes it.
            b'\\' if bytes[at..].starts_with(b"\\x00") => at += 4,
            b'\\' if bytes[at..].starts_with(b"\\u0000") => at += 6,
            b'"' | b'\'' if matches!(bytes.get(at + 1), Some(b' ' | b',')) => at += 1,
            b'\\' if ends_quote(&bytes[at..]) > 0 => at += ends_quote(&bytes[at..]),
            b'\n' | b'\\' => {
                let length = length_of_break(&bytes[at..]);
                match length {
                    0 => return Some(at),
                    // An escaped backslash before it goes on with the line.
                    4.. => {
                        at += length;
                        continue;
                    }
                    _ => {}
                }
                let item = at + length;
                let margin = length_of_margin(&bytes[item..]);
                let item = item + margin + blanks(&bytes[item + margin..]);
                if !bytes[item..].starts_with(b"- ") {
                    return None;
                }
                at = item + 2;
            }
            b';' | b'|' | b'&' | b'<' | b'>' | b'`' | b']' | b'\r' | b':' | b'=' => return None,
            _ => return Some(at),
        }
    }
}

/// How long what logs, comments and lists of JSON put before a line is.
pub(super) fn length_of_margin(bytes: &[u8]) -> usize {
    let line = &bytes[..end_of_line(&bytes[..bytes.len().min(LONGEST)])];
    std::str::from_utf8(line).map_or(0, |line| said(line).start)
}
