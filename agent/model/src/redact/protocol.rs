//! Secrets in what a client says to a server: `AUTH user secret`, `PASS secret`, `LOGIN user secret`.

use super::line::length_of_break;
use super::marks::Marks;
use super::opaque::{is_odd, is_opaque};
use super::packets::is_sent;
use super::quote::quoted;
use super::shape::{apart, is_base64, run};
use std::ops::Range;
use std::sync::LazyLock;

/// The command's word, and how many words at most stand between it and the secret.
const COMMANDS: &[(&str, usize)] = &[
    ("AUTH", 1),
    ("PASS", 0),
    ("LOGIN", 1),
    ("OPER", 1),
    ("IDENTIFY", 1),
    ("HELLO 3 AUTH", 1),
];

/// How a secret in base64 is announced (RFC 4954).
const MECHANISMS: [&str; 4] = ["PLAIN", "LOGIN", "XOAUTH2", "CRAM-MD5"];

/// So many words of a line are read.
const MOST_WORDS: usize = 4;

/// No such line is longer.
const LONGEST_LINE: usize = 512;

static COMMAND_MARKS: LazyLock<Marks> =
    LazyLock::new(|| Marks::of(COMMANDS.iter().map(|(word, _)| *word)));

/// The last word of a line that begins with such a command, or of what a log tells of it.
pub(super) fn find_in_protocols(text: &str) -> Vec<Range<usize>> {
    let bytes = text.as_bytes();
    let found = COMMAND_MARKS
        .places_in(text)
        .filter_map(|(at, number, word)| {
            let is_word =
                |b: Option<&u8>| b.is_some_and(|b| b.is_ascii_alphanumeric() || b"_-".contains(b));
            let end = at + word.len();
            if at > 0 && is_word(bytes.get(at - 1)) && !bytes[..at].ends_with(b"\\n")
                || is_word(bytes.get(end))
            {
                return None;
            }
            if let Some(last) = last_in_bulk(text, end) {
                return Some(last);
            }
            let words = words_of_line(text, end);
            let last = words.last()?.clone();
            let first = &text[words[0].clone()];
            let said = &text[last.clone()];
            if MECHANISMS.contains(&first) {
                let is_encoded = said.len() >= 8 && said.bytes().all(is_base64);
                return (words.len() == 2 && is_encoded).then_some(last);
            }
            if is_whole(number, words.len()) && is_sent(text, at) {
                let is_phrase = COMMANDS[number].1 == 0;
                let start = if is_phrase {
                    words[0].start
                } else {
                    last.start
                };
                return (last.end - start >= 4).then_some(start..last.end);
            }
            let is_short = (1..=COMMANDS[number].1 + 1).contains(&words.len());
            let is_secret = is_odd(said) && !said.contains('=') || is_opaque(said, true);
            (is_short && is_secret).then_some(last)
        });
    let mut found: Vec<Range<usize>> = found.collect();
    find_in_dumps(text, &mut found);
    apart(found)
}

/// Whether a line has as many words as its command takes; a password that is sent alone may have blanks.
fn is_whole(number: usize, words: usize) -> bool {
    let most = COMMANDS[number].1 + 1;
    words == most || most == 1 && words < MOST_WORDS
}

/// The last word of a command of Redis as it is sent, with its length before each word: `AUTH`, `$7`, `session`, `$6`, `secret`.
fn last_in_bulk(text: &str, from: usize) -> Option<Range<usize>> {
    const MOST_WORDS: usize = 2;
    let bytes = &text.as_bytes()[..text.floor_char_boundary(from + LONGEST_LINE)];
    let mut last = None;
    let mut at = from;
    for _ in 0..MOST_WORDS {
        at += length_of_breaks(&bytes[at..]);
        let digits = match bytes.get(at) {
            Some(b'$') => run(&bytes[at + 1..], |b| b.is_ascii_digit()),
            _ => 0,
        };
        let broken = length_of_breaks(&bytes[(at + 1 + digits).min(bytes.len())..]);
        if digits == 0 || broken == 0 {
            return last;
        }
        at += 1 + digits + broken;
        let length = run(&bytes[at..], |b| {
            b.is_ascii_graphic() && !b"\"\\".contains(&b)
        });
        if length > 0 {
            last = Some(at..at + length);
        }
        at += length;
    }
    last
}

/// How long a row of line breaks is, escaped or not.
fn length_of_breaks(bytes: &[u8]) -> usize {
    let mut length = 0;
    loop {
        match length_of_break(&bytes[length..]) {
            0 => return length,
            more => length += more,
        }
    }
}

/// What a dump or a log has before a secret, in forms that each are of one program.
static DUMP_MARKS: LazyLock<Marks> = LazyLock::new(|| {
    Marks::of([
        "C=\"",
        " simple: ",
        " <- D ",
        " -> D ",
        "SETUSER",
        "PRESET_PASSPHRASE ",
        "=iscsi:",
        "=cifs:",
    ])
});

fn find_in_dumps(text: &str, found: &mut Vec<Range<usize>>) {
    for (at, _, mark) in DUMP_MARKS.places_in(text) {
        let from = at + mark.len();
        match mark {
            "C=\"" => found.extend(community(text, from)),
            " simple: " => found.extend(of_bind(text, at, from)),
            "SETUSER" => find_of_user(text, from, found),
            "PRESET_PASSPHRASE " => found.extend(preset(text, from)),
            "=iscsi:" | "=cifs:" => find_of_root(text, from, found),
            _ => found.extend(of_agent(text, at, from)),
        }
    }
}

/// How much before a mark, or behind it, tells what it is of.
const NEAR: usize = 64;

fn before(text: &str, at: usize) -> &str {
    &text[text.ceil_char_boundary(at.saturating_sub(NEAR))..at]
}

/// `C="secret" GetRequest(28)`, as tcpdump shows SNMP
fn community(text: &str, from: usize) -> Option<Range<usize>> {
    const REQUESTS: [&str; 6] = ["Get", "Set", "V2", "Trap", "Inform", "Response"];
    let near = &text[from..text.floor_char_boundary(from + NEAR)];
    let (secret, behind) = near.split_once('"')?;
    let mut requests = REQUESTS.iter();
    let is_request = requests.any(|request| behind.trim_start().starts_with(request));
    is_request.then(|| from..from + secret.len())
}

/// `authentication: simple (0)` and `simple: 6875…`, as Wireshark shows LDAP
fn of_bind(text: &str, at: usize, from: usize) -> Option<Range<usize>> {
    let length = run(&text.as_bytes()[from..], |b| b.is_ascii_hexdigit());
    (before(text, at).contains("authentication") && length >= 8).then_some(from..from + length)
}

/// `chan_10 <- D secret`, as the agent of GnuPG shows a passphrase, in which blanks may be
fn of_agent(text: &str, at: usize, from: usize) -> Option<Range<usize>> {
    let rest = &text.as_bytes()[from..text.floor_char_boundary(from + LONGEST_LINE)];
    let length = run(rest, |b| !b.is_ascii_control() && !b"\"\\".contains(&b));
    let said = rest[..length].trim_ascii_end();
    (before(text, at).contains("chan_") && said.len() >= 4).then_some(from..from + said.len())
}

/// `PRESET_PASSPHRASE grip timeout hex`, as the agent of GnuPG reads it
fn preset(text: &str, from: usize) -> Option<Range<usize>> {
    let words = words_of_line(text, from);
    let mut words = words
        .into_iter()
        .filter(|word| !text[word.clone()].starts_with("--"));
    let (_grip, timeout, hex) = (words.next()?, words.next()?, words.next()?);
    let is_timeout = text[timeout]
        .bytes()
        .all(|b| b.is_ascii_digit() || b == b'-');
    is_timeout.then_some(hex)
}

/// `netroot=iscsi:user:secret:user:secret@host`, where a kernel finds its root
fn find_of_root(text: &str, from: usize, found: &mut Vec<Range<usize>>) {
    let rest = &text.as_bytes()[from..text.floor_char_boundary(from + LONGEST_LINE)];
    let word = &text[from..from + run(rest, |b| b.is_ascii_graphic() && !b"\"'\\".contains(&b))];
    let Some((users, _)) = word.rsplit_once('@') else {
        return;
    };
    let mut start = from;
    for (number, part) in users.split(':').enumerate() {
        // A URL begins with an empty part, and has a rule of its own.
        if number % 2 == 1 && !part.is_empty() && !users.starts_with('/') {
            found.push(start..start + part.len());
        }
        start += part.len() + 1;
    }
}

/// `ACL SETUSER name on >secret`, and a digest behind `#`
fn find_of_user(text: &str, from: usize, found: &mut Vec<Range<usize>>) {
    let near = &text[from..text.floor_char_boundary(from + LONGEST_LINE)];
    let line = near.split('\n').next().unwrap_or_default();
    let mut start = from;
    for word in line.split([' ', '"', '\'', '\\']) {
        if word.starts_with(['>', '#']) && word.len() > 4 {
            found.push(start + 1..start + word.len());
        }
        start += word.len() + 1;
    }
}

/// The words up to the end of the line, or of the text in quotes that the command stands in; at most four.
fn words_of_line(text: &str, from: usize) -> Vec<Range<usize>> {
    let bytes = &text.as_bytes()[..text.floor_char_boundary(from + LONGEST_LINE)];
    let mut words = Vec::new();
    // The quote that ends the command's own word.
    let mut at = from + run(&bytes[from..], |b| b"\"\\".contains(&b)).min(2);
    if at > from && bytes.get(at) != Some(&b' ') {
        return words;
    }
    while words.len() < MOST_WORDS {
        at += run(&bytes[at..], |b| b == b' ');
        let rest = &bytes[at..];
        let word = match quoted(rest) {
            Some(inner) if !inner.is_empty() => at + inner.start..at + inner.end,
            _ => at..at + run(rest, |b| b.is_ascii_graphic() && !b"\"'\\".contains(&b)),
        };
        if word.is_empty() {
            return words;
        }
        at = word.end + (word.start - at);
        words.push(word);
        // A quote behind a word ends what the line stands in.
        if bytes.get(at) != Some(&b' ') {
            return words;
        }
    }
    words
}

#[cfg(test)]
mod tests {
    use crate::redact::scrub;

    #[test]
    fn what_a_client_authenticates_with_is_masked() {
        for (text, scrubbed) in [
            (
                "redis[12]: AUTH default Hunter.two2",
                "redis[12]: AUTH default ***",
            ),
            (
                "1.2 [0 10.0.0.4:51] \"AUTH\" \"Hunter.two2\"",
                "1.2 [0 10.0.0.4:51] \"AUTH\" \"***\"",
            ),
            ("---> PASS Hunter.two2\n200 ok", "---> PASS ***\n200 ok"),
            ("a1 LOGIN relay Hunter.two2", "a1 LOGIN relay ***"),
            ("AUTH PLAIN AGEAaHVudGVyMg==", "AUTH PLAIN ***"),
            ("AUTH\r\n$7\r\nhunter2\r\n", "AUTH\r\n$7\r\n***\r\n"),
            (
                "161:  C=\"public1\" GetRequest(28) C=\"\" GetRequest(2)",
                "161:  C=\"***\" GetRequest(28) C=\"\" GetRequest(2)",
            ),
            (
                "chan_10 <- PRESET_PASSPHRASE 5C2F0E1D88A4B7360912F4D3A6E8C17B90D5E342 -1 616E206F776C2034",
                "chan_10 <- PRESET_PASSPHRASE 5C2F0E1D88A4B7360912F4D3A6E8C17B90D5E342 -1 ***",
            ),
            ("chan_9 <- D an owl 4", "chan_9 <- D ***"),
            (
                "netroot=iscsi:me:aheron:it:anowl@10.0.0.9::3260::iqn.2009-06.lan:root ro",
                "netroot=iscsi:me:***:it:***@10.0.0.9::3260::iqn.2009-06.lan:root ro",
            ),
            (
                "IP 10.0.0.1.4000 > 10.0.0.2.110: Flags [P.], length 9\nE..3.@.@.\nPASS heron&owl",
                "IP 10.0.0.1.4000 > 10.0.0.2.110: Flags [P.], length 9\nE..3.@.@.\nPASS ***",
            ),
            (
                "T 10.0.0.1:4000 -> 10.0.0.2:6667 [AP]\n  PASS an owl\n  NICK me",
                "T 10.0.0.1:4000 -> 10.0.0.2:6667 [AP]\n  PASS ***\n  NICK me",
            ),
            (
                "E..3.\n*..\nP..m....PASS heron&owl",
                "E..3.\n*..\nP..m....PASS ***",
            ),
            ("Request: PASS heron", "Request: PASS ***"),
            (
                "/msg NickServ IDENTIFY Hunter.two2",
                "/msg NickServ IDENTIFY ***",
            ),
        ] {
            assert_eq!(scrub(text), scrubbed);
            assert_eq!(scrub(scrubbed), scrubbed);
        }
    }

    #[test]
    fn other_sentences_with_such_words_stay() {
        for text in [
            "ALTER ROLE me WITH LOGIN",
            "250-AUTH LOGIN PLAIN",
            "Result: PASS in 12ms",
            "--- PASS TestHeron\ncheck.......PASS TestOwl",
            "IP 10.0.0.2.21 > 10.0.0.1.4000: Flags [P.], length 9\n331 PASS required",
            "AUTH failed",
            "chan_10 <- CLEAR_PASSPHRASE 5C2F0E1D88A4B7360912F4D3A6E8C17B90D5E342",
            "netroot=iscsi:@10.0.0.9::3260::iqn.2009-06.lan:root",
        ] {
            assert_eq!(scrub(text), text);
        }
    }
}
