//! Secrets of mail programs that no name tells of: what Exim sends to authenticate, users of a relay, and passwords for one
//! program that a provider gives in groups.

use super::marks::Marks;
use super::opaque::is_odd;
use super::quote::closed;
use super::shape::{apart, run};
use std::ops::Range;
use std::sync::LazyLock;

/// No such line is longer.
const LONGEST: usize = 512;

static MARKS: LazyLock<Marks> = LazyLock::new(|| {
    Marks::of([
        "client_send",
        "ass \"",
        "ass '",
        "ass \\\"",
        "assword \"",
        "] ",
    ])
});

pub(super) fn find_in_mail(text: &str) -> Vec<Range<usize>> {
    let mut found = Vec::new();
    for (at, _, mark) in MARKS.places_in(text) {
        let from = at + mark.len();
        found.extend(match mark {
            "client_send" => last_sent(text, from),
            "] " => of_relay(text, at, from),
            _ => in_groups(
                text,
                from - mark.len() + mark.rfind(' ').map_or(0, |blank| blank + 1),
            ),
        });
    }
    let mapped = text
        .match_indices('@')
        .filter_map(|(at, _)| of_mapping(text, at));
    found.extend(mapped);
    apart(found)
}

/// `relay.example user@domain:secret`, a line of a list without brackets.
fn of_mapping(text: &str, at: usize) -> Option<Range<usize>> {
    const WIDEST: usize = 160;
    let before = &text[text.ceil_char_boundary(at.saturating_sub(WIDEST))..at];
    let line = before.rsplit('\n').next().unwrap_or_default();
    let line = line.rsplit("\\n").next().unwrap_or_default();
    let mut words = line.rsplit([' ', '\t']).filter(|word| !word.is_empty());
    let (_user, host) = (words.next()?, words.next()?);
    let is_of_host = |b: u8| b.is_ascii_alphanumeric() || b".-".contains(&b);
    let is_host = host.contains('.') && host.bytes().all(is_of_host);
    // A margin of a journal ends with a colon.
    let is_first = words.next().is_none_or(|word| word.ends_with(':'));
    let (domain, secret) = line_of(text, at + 1).trim_end().split_once(':')?;
    let is_domain = domain.contains('.') && domain.bytes().all(is_of_host);
    let is_secret = secret.len() >= 6 && !secret.contains(['/', ' ', ':', '.', '\\']);
    let start = at + 1 + domain.len() + 1;
    let found = is_host && is_first && is_domain && is_secret && !secret.starts_with(['$', '*']);
    found.then(|| start..start + secret.len())
}

fn line_of(text: &str, from: usize) -> &str {
    let near = &text[from..text.floor_char_boundary(from + LONGEST)];
    let end = near.find(['\n', '\r', '"']).unwrap_or(near.len());
    let line = &near[..end];
    line.find("\\n").map_or(line, |end| &line[..end])
}

/// `client_send = : user : secret` and `client_send = ^user^secret`, in which Exim writes a colon of the secret twice.
fn last_sent(text: &str, from: usize) -> Option<Range<usize>> {
    let line = line_of(text, from).trim_end_matches([' ', '\t', '\\']);
    let list = line.trim_start().strip_prefix('=')?.trim_start();
    let begins = line.len() - list.len();
    let (sign, skipped) = match list.strip_prefix('<') {
        // `<; ; user ; secret`
        Some(rest) => (rest.bytes().next().filter(u8::is_ascii_punctuation)?, 2),
        None if list.starts_with('^') => (b'^', 0),
        None => (b':', 0),
    };
    let bytes = &list.as_bytes()[skipped..];
    let is_twice = |at: usize| at > 0 && bytes[at - 1] == sign || bytes.get(at + 1) == Some(&sign);
    let mut signs = (0..bytes.len()).filter(|at| bytes[*at] == sign && !is_twice(*at));
    // `^user^secret`: the secret is all that is left.
    let parts = match sign {
        b'^' => signs.nth(1)?,
        _ => signs.next_back()?,
    };
    let start = skipped + parts + 1;
    let secret = list[start..].trim_start();
    let start = begins + list.len() - secret.len();
    let is_shown = secret.len() >= 3 && !secret.starts_with(['$', '*']);
    is_shown.then(|| from + start..from + line.len())
}

/// `[relay.example] user:secret`, an entry of Postfix' list of passwords that names no port.
fn of_relay(text: &str, at: usize, from: usize) -> Option<Range<usize>> {
    let before = &text[text.ceil_char_boundary(at.saturating_sub(LONGEST))..at];
    let (line, host) = before.rsplit_once('[')?;
    let is_host = host.contains('.')
        && host
            .bytes()
            .all(|b| b.is_ascii_alphanumeric() || b".-:".contains(&b));
    let is_first =
        line.is_empty() || line.ends_with(['\n', '"', '+', '-', ':']) || line.ends_with("\\n");
    let entry = line_of(text, from).trim();
    let (user, secret) = entry.split_once(':')?;
    let is_user = !user.is_empty()
        && user
            .bytes()
            .all(|b| b.is_ascii_alphanumeric() || b"._-@+".contains(&b));
    let is_secret = is_odd(secret) || user.contains('@') && secret.len() >= 4;
    let found = is_host && is_first && is_user && is_secret && !secret.contains(' ');
    let start = from + line_of(text, from).find(entry)? + user.len() + 1;
    found.then(|| start..start + secret.len())
}

/// `Pass "abcd efgh ijkl mnop"`: four groups, as providers of mail give passwords for one program.
fn in_groups(text: &str, from: usize) -> Option<Range<usize>> {
    const GROUPS: usize = 4;
    const LENGTH: usize = 4;
    let near = &text.as_bytes()[from..text.floor_char_boundary(from + 64)];
    let inner = closed(near)?;
    let is_group = |group: &[u8]| {
        group.len() == LENGTH
            && run(group, |b| b.is_ascii_lowercase() || b.is_ascii_digit()) == LENGTH
    };
    let mut groups = near[inner.clone()].split(|b| *b == b' ');
    let is_secret = groups.clone().count() == GROUPS && groups.all(is_group);
    is_secret.then(|| from + inner.start..from + inner.end)
}

#[cfg(test)]
mod tests {
    use crate::redact::scrub;

    #[test]
    fn secrets_of_mail_programs_are_masked() {
        for (text, scrubbed) in [
            (
                "  driver = plaintext\n  client_send = : me@b.example : an=Owl^4",
                "  driver = plaintext\n  client_send = : me@b.example : ***",
            ),
            (
                "relay.b.example   me@b.example:aherons\n",
                "relay.b.example   me@b.example:***\n",
            ),
            ("client_send = ^me^a heron", "client_send = ^me^***"),
            (
                "hide client_send = <; ; me ; a::heron",
                "hide client_send = <; ; me ; ***",
            ),
            ("client_send = : me : a::heron", "client_send = : me : ***"),
            (
                "[smtp.b.example] me@b.example:aheron",
                "[smtp.b.example] me@b.example:***",
            ),
            (
                "IMAPAccount a\nPass \"qkzv wyra mfoe tbcu\"\nSSLType IMAPS",
                "IMAPAccount a\nPass \"***\"\nSSLType IMAPS",
            ),
        ] {
            assert_eq!(scrub(text), scrubbed);
            assert_eq!(scrub(scrubbed), scrubbed);
        }
    }

    #[test]
    fn other_lines_of_mail_programs_stay() {
        for text in [
            "client_send = : ${extract{user}{$value}} : ${extract{pass}{$value}}",
            "client_send = $auth1",
            "rsync from node-1.example to me@b.example:backups",
            "b.example me@b.example:/srv/backups",
            "[127.0.0.1] port:8080",
            "pass \"this test reads what it was told\"",
            "[node-1.example] kubelet:started",
        ] {
            assert_eq!(scrub(text), text);
        }
    }
}
