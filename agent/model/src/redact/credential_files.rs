//! Passwords of files that put them at a place of their own: `.netrc`, `.pgpass`, the settings of SNMP.

use super::marks::Marks;
use super::shape::run;
use std::ops::Range;
use std::sync::LazyLock;

/// `login user password secret`, as in `.netrc` and in commands of network managers.
pub(super) fn find_in_netrc(text: &str) -> impl Iterator<Item = Range<usize>> {
    const BEFORE: [&str; 5] = ["machine ", "login ", "username ", "connect ", "ssid "];
    text.match_indices("password ").filter_map(|(at, word)| {
        let start = text.ceil_char_boundary(at.saturating_sub(128));
        let near = &text[start..at];
        let is_secret =
            near.ends_with([' ', '\n', '\t']) && BEFORE.iter().any(|word| near.contains(word));
        let value = at + word.len();
        let length = run(&text.as_bytes()[value..], |b| {
            b.is_ascii_graphic() && !b"\"'\\".contains(&b)
        });
        let is_verb = [
            "is",
            "for",
            "of",
            "was",
            "not",
            "to",
            "and",
            "file",
            "authentication",
        ]
        .contains(&&text[value..value + length]);
        (is_secret && length >= 3 && !is_verb).then_some(value..value + length)
    })
}

/// Communities of SNMP, which are its passwords, and words of other settings that only their place tells.
pub(super) fn find_communities(text: &str) -> impl Iterator<Item = Range<usize>> {
    static WORDS: LazyLock<Marks> = LazyLock::new(|| {
        Marks::of([
            "stats auth ",
            "rfc4106(gcm(aes)) ",
            "rocommunity ",
            "rwcommunity ",
            "rocommunity6 ",
            "rwcommunity6 ",
            "trapcommunity ",
        ])
    });
    WORDS.places_in(text).map(|(at, _, word)| {
        let start = at + word.len();
        let rest = &text.as_bytes()[start..];
        start..start + run(rest, |b| b.is_ascii_graphic() && !b"\"'\\".contains(&b))
    })
}

/// `host:port:database:user:password`, as in `.pgpass`.
pub(super) fn find_in_pgpass(text: &str) -> impl Iterator<Item = Range<usize>> {
    const LONGEST: usize = 512;
    let mut start = 0;
    text.split_inclusive(|c: char| c.is_ascii_whitespace() || c == '"')
        .filter_map(move |part| {
            let from = start;
            start += part.len();
            let said = part.trim_end_matches(|c: char| c.is_ascii_whitespace() || c == '"');
            let said = said.trim_end_matches('\\');
            // An escaped break begins a line, too.
            let (from, said, begins) = match said.rsplit_once("\\n") {
                Some((before, rest)) => (from + before.len() + 2, rest, true),
                None => (from, said, false),
            };
            if said.len() > LONGEST || !said.contains(':') || said.contains('/') {
                return None;
            }
            let mut parts = said.splitn(5, ':');
            let (host, port) = (parts.next()?, parts.next()?);
            let (database, user) = (parts.next()?, parts.next()?);
            let password = parts.next()?;
            let is_port = port == "*"
                || (4..=5).contains(&port.len())
                    && !port.starts_with('0')
                    && port.bytes().all(|b| b.is_ascii_digit());
            // Within a line such a word may be a place in a file, an address or a time.
            let is_entry = begins || from == 0 || text.as_bytes()[from - 1] == b'\n';
            let has_letter = |part: &str| part.bytes().any(|b| b.is_ascii_alphabetic());
            let is_host = host == "*"
                || host.contains('.') && !host.contains('=')
                || is_entry && host.bytes().any(|b| b.is_ascii_alphabetic() && b > b'f');
            let is_number = password.bytes().all(|b| b.is_ascii_digit());
            let is_named = has_letter(user)
                && (database == "*" || has_letter(database))
                && !database.contains('.');
            let named = !database.is_empty()
                && !user.is_empty()
                && password.len() >= 3
                && is_named
                && (is_entry || !is_number);
            (is_port && is_host && named)
                .then(|| from + said.len() - password.len()..from + said.len())
        })
}
