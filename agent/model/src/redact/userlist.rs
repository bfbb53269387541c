//! Lists of users and their secrets, each known by the form of its lines.

use super::line::lines_of_list;
use super::manifest::said as said_in;
use super::marks::Marks;
use super::opaque::{is_odd, is_opaque};
use super::quote::quoted;
use super::shape::run;
use std::ops::Range;
use std::sync::LazyLock;

/// No line of such a list is longer.
const LONGEST_LINE: usize = 256;

/// What stands before a secret, which may be in quotes.
const MARKS: &[&str] = &[
    "IDENTIFIED BY ",
    "identified by ",
    "' USING ",
    " priv aes ",
    " priv des ",
    ":secret ",
    "_password BY ",
    "_password by ",
    "insecure-password ",
    ": EAP ",
    ": PSK ",
    ": XAUTH ",
    ": NTLM ",
    "password 7 ",
    "secret 5 ",
    "secret 8 ",
    "secret 9 ",
    "userPassword:: ",
    "plain-text-password-value ",
    "there with password ",
    "password \"Auth\" ",
    "password 'Auth' ",
    "password \\\"Auth\\\" ",
];

/// What stands before a secret that has letters and digits.
const ODD_MARKS: &[&str] = &[
    "password 0 ",
    "secret 0 ",
    "key 0 ",
    "key 7 ",
    "password 6 ",
    "secret 4 ",
    "authentication text ",
    "ascii-text ",
    " md5 ",
    " set-key ascii ",
    "cleartext ",
    "IPSec secret ",
    "set psksecret ",
    "set passwd ",
];

static ODD: LazyLock<Marks> = LazyLock::new(|| Marks::of(ODD_MARKS.iter().copied()));

/// A private key and the phrase that opens it, as IPsec has them.
const KEY_MARKS: &[&str] = &[": RSA ", ": ECDSA ", ": P12 ", ": PKCS8 "];

static KEYS: LazyLock<Marks> = LazyLock::new(|| Marks::of(KEY_MARKS.iter().copied()));

static SECRET_MARKS: LazyLock<Marks> = LazyLock::new(|| Marks::of(MARKS.iter().copied()));
static CHAP_MARKS: LazyLock<Marks> =
    LazyLock::new(|| Marks::of(["CHAP", "chap-secrets", "pap-secrets", "\tsecret\tIP"]));
static USER_MARKS: LazyLock<Marks> =
    LazyLock::new(|| Marks::of(["chpasswd:", "chpasswd <<", "rsyncd.secrets", "identity:key"]));

pub(super) fn find_in_lists(text: &str) -> Vec<Range<usize>> {
    let mut found: Vec<Range<usize>> = Vec::new();
    for (at, _, mark) in SECRET_MARKS.places_in(text) {
        let start = at + mark.len();
        // `IDENTIFIED BY VALUES 'hash'`
        let hash = ["VALUES ", "values "]
            .iter()
            .find(|word| text[start..].starts_with(**word));
        found.extend(word_at(text, start + hash.map_or(0, |word| word.len())));
    }
    find_behind_marks(text, &mut found);
    let has_chap = CHAP_MARKS.are_in(text);
    let is_of_users = USER_MARKS.are_in(text);
    let mut is_of_admins = false;
    let mut start = 0;
    for line in lines_of_list(text) {
        // A line may be a comment, and the secret in it is one nevertheless.
        let ends = |c: char| c.is_ascii_whitespace() || c == '\\';
        let whole = line
            .strip_suffix("\\n")
            .unwrap_or(line)
            .trim_end_matches(ends);
        let inside = said_in(whole);
        let said = line[inside.clone()].trim_start_matches(|c: char| c == '#' || c.is_whitespace());
        let commented = inside.end - said.len();
        let said = said.trim_end();
        // `10 SHA1 secret # server`
        let said = match said.split_once(" #") {
            Some((first, _)) if said.starts_with(|c: char| c.is_ascii_digit()) => first.trim_end(),
            Some(_) | None => said,
        };
        if said.starts_with('[') {
            is_of_admins = matches!(said, "[admins]" | "[users]");
        }
        let offset = start + commented;
        if said.len() <= LONGEST_LINE {
            let words = words_of(said);
            let place = match words.as_slice() {
                [_, server, secret, last] if has_chap && has_any(said, [server, last]) => {
                    Some(secret.clone())
                }
                [_, sign, secret] if is_of_admins && &said[sign.clone()] == "=" => {
                    Some(secret.clone())
                }
                [word] if is_of_users => odd_behind_colon(said, word),
                [word] => odd_behind_mail(said, word),
                words => secret_among(said, words).cloned(),
            };
            found.extend(place.map(|place| place.start + offset..place.end + offset));
        }
        start += line.len();
    }
    find_marked(text, &mut found);
    found.sort_by_key(|place| place.start);
    found
}

/// Whether one of these words stands for any server or any address.
fn has_any(line: &str, words: [&Range<usize>; 2]) -> bool {
    words.into_iter().any(|word| &line[word.clone()] == "*")
}

/// The secret among the words of a line, if the line has the form of one of a list.
fn secret_among<'words>(line: &str, words: &'words [Range<usize>]) -> Option<&'words Range<usize>> {
    const PLACES: [&str; 7] = ["for", "of", "to", "from", "on", "by", "in"];
    let said = |word: &Range<usize>| &line[word.clone()];
    let are_quoted = |user, secret| is_quoted(line, user) && is_quoted(line, secret);
    match words {
        [user, secret] if are_quoted(user, secret) && is_odd(said(secret)) => Some(secret),
        // A list of a pool of connections ends each line with an empty word.
        [user, secret, rest]
            if rest.is_empty() && are_quoted(user, secret) && is_odd(said(secret)) =>
        {
            Some(secret)
        }
        [_, any, secret, last]
            if said(any) == "*"
                && is_odd(said(secret))
                && (said(last) == "*" || said(last).split('.').count() == 4) =>
        {
            Some(secret)
        }
        [.., number, kind, secret]
            if is_of_keys(line, number, kind) && secret.end == line.len() =>
        {
            Some(secret)
        }
        // `"user" MSCHAPV2 "secret" [2]` and `HOTP/T30/6 user - secret`
        [user, method, secret, ..]
            if are_quoted(user, secret)
                && said(method).contains(|c: char| c.is_ascii_uppercase())
                && !said(method).contains(|c: char| c.is_ascii_lowercase()) =>
        {
            Some(secret)
        }
        [kind, _, _, secret] if said(kind).starts_with("HOTP") && is_opaque(said(secret), true) => {
            Some(secret)
        }
        [place, user, secret] if is_of_mount(line, place, user, secret) => Some(secret),
        [name, user, secret]
            if said(name) == "password"
                && !PLACES.contains(&said(user))
                && is_odd(said(secret))
                && said(secret).bytes().any(|b| b.is_ascii_uppercase()) =>
        {
            Some(secret)
        }
        [name, _, sign, secret] if said(name) == "PASSWORD" && said(sign) == "=" => Some(secret),
        [kind, _, _, _, secret] if is_proxy(said(kind)) => Some(secret),
        [user, secret, role] if is_of_realm([user, secret, role].map(said)) => Some(secret),
        [.., id, _, place, secret] if is_of_agent([id, place, secret].map(said)) => Some(secret),
        _ => None,
    }
}

/// Words with letters and digits behind what says so, and phrases behind the key that they open.
fn find_behind_marks(text: &str, found: &mut Vec<Range<usize>>) {
    for (at, _, mark) in ODD.places_in(text) {
        let word = word_at(text, at + mark.len());
        found.extend(word.filter(|word| is_odd(&text[word.clone()])));
    }
    for (at, _, mark) in KEYS.places_in(text) {
        let from = at + mark.len();
        let near = &text.as_bytes()[from..text.floor_char_boundary(from + LONGEST_LINE)];
        let file = run(near, |b| b.is_ascii_graphic());
        if near.get(file) == Some(&b' ') {
            let inner = quoted(&near[file + 1..]);
            let start = from + file + 1;
            found.extend(inner.map(|inner| start + inner.start..start + inner.end));
        }
    }
}

/// Ids of hooks in addresses, keys to recover a disk, and what Ansible encrypted.
fn find_marked(text: &str, found: &mut Vec<Range<usize>>) {
    const LONGEST_VAULT: usize = 8 << 10;
    let bytes = text.as_bytes();
    for mark in ["/hooks/", "inputs/"] {
        for (at, mark) in text.match_indices(mark) {
            let start = at + mark.len();
            let length = run(&bytes[start..], |b| b.is_ascii_alphanumeric() || b == b'-');
            let has_digits = bytes[start..start + length].iter().any(u8::is_ascii_digit);
            // `inputs/` is a directory far more often than a part of an address.
            let word = &text[start..start + length];
            let is_id = mark != "inputs/" || is_opaque(word, true);
            if length >= 16 && has_digits && is_id {
                found.push(start..start + length);
            }
        }
    }
    let mut behind = 0;
    for (at, _) in text.match_indices("$ANSIBLE_VAULT;") {
        let end = bytes.len().min(at + LONGEST_VAULT);
        let mut start = at.max(behind);
        while start < end {
            let length = run(&bytes[start..], |b| b.is_ascii_hexdigit());
            if length >= 40 {
                found.push(start..start + length);
            }
            start += length.max(1);
        }
        behind = start;
    }
}

/// The secret of `user:secret`.
fn odd_behind_colon(line: &str, word: &Range<usize>) -> Option<Range<usize>> {
    let (user, secret) = line[word.clone()].split_once(':')?;
    let found = !user.is_empty() && is_odd(secret);
    found.then(|| word.start + user.len() + 1..word.end)
}

/// The secret of `host:user@domain:secret`, as in lists of Exim.
fn odd_behind_mail(line: &str, word: &Range<usize>) -> Option<Range<usize>> {
    let mut parts = line[word.clone()].splitn(3, ':');
    let (host, user, secret) = (parts.next()?, parts.next()?, parts.next()?);
    let (_, domain) = user.split_once('@')?;
    let found = host.contains('.') && domain.contains('.') && is_odd(secret);
    found.then(|| word.end - secret.len()..word.end)
}

/// `socks5 host port user secret`
fn is_proxy(kind: &str) -> bool {
    matches!(kind, "socks4" | "socks5" | "http" | "https")
}

/// `user: secret, role`, as in lists of users of Jetty.
fn is_of_realm([user, secret, role]: [&str; 3]) -> bool {
    const ROLES: [&str; 8] = [
        "admin", "admins", "user", "users", "guest", "manager", "monitor", "viewer",
    ];
    let role = role.split(',').next().unwrap_or_default();
    user.ends_with(':') && ROLES.contains(&role) && secret.strip_suffix(',').is_some_and(is_odd)
}

/// `001 name address secret`, as in lists of agents of OSSEC.
fn is_of_agent([id, place, secret]: [&str; 3]) -> bool {
    let is_place = place == "any"
        || place
            .bytes()
            .all(|b| b.is_ascii_digit() || b"./".contains(&b));
    is_place
        && id.len() >= 3
        && id.bytes().all(|b| b.is_ascii_digit())
        && secret.len() == 64
        && secret.bytes().all(|b| b.is_ascii_hexdigit())
}

/// `10 SHA1 secret`, as in files of keys of NTP.
fn is_of_keys(line: &str, number: &Range<usize>, kind: &Range<usize>) -> bool {
    const KINDS: [&str; 8] = [
        "M",
        "MD5",
        "SHA1",
        "SHA256",
        "SHA384",
        "SHA512",
        "AES128CMAC",
        "AES256",
    ];
    let number = &line[number.clone()];
    number.len() <= 5
        && number.bytes().all(|b| b.is_ascii_digit())
        && KINDS.contains(&&line[kind.clone()])
}

/// `https://server/path user secret` and `/mnt user secret`, as in files of secrets of davfs2.
fn is_of_mount(
    line: &str,
    place: &Range<usize>,
    user: &Range<usize>,
    secret: &Range<usize>,
) -> bool {
    let (place, user, said) = (
        &line[place.clone()],
        &line[user.clone()],
        &line[secret.clone()],
    );
    let is_user = user.starts_with(|c: char| c.is_ascii_alphabetic())
        && user
            .bytes()
            .all(|b| b.is_ascii_alphanumeric() || b"_.@-".contains(&b));
    let is_address = place.starts_with("http://") || place.starts_with("https://");
    let has = |is: fn(u8) -> bool| said.bytes().any(is);
    let is_secret = said.len() >= 6
        && has(|b| b.is_ascii_digit())
        && has(|b| b.is_ascii_lowercase())
        && !said.contains(['/', ':', '(', '<', '=', '*'])
        && (has(|b| b.is_ascii_uppercase()) || is_quoted(line, secret));
    is_user && is_secret && (is_address || place.starts_with('/'))
}

/// A word, or what stands in quotes.
fn word_at(text: &str, start: usize) -> Option<Range<usize>> {
    let rest = text.as_bytes().get(start..)?;
    let place = match quoted(rest) {
        Some(inner) => inner,
        None => 0..run(rest, |b| b.is_ascii_graphic() && !b"\"'\\;`".contains(&b)),
    };
    (place.len() >= 4).then_some(start + place.start..start + place.end)
}

/// The words of a line, those in quotes without them.
fn words_of(line: &str) -> Vec<Range<usize>> {
    let bytes = line.as_bytes();
    let mut words = Vec::new();
    let mut at = 0;
    while at < bytes.len() && words.len() < 6 {
        let rest = &bytes[at..];
        match (rest[0], quoted(rest)) {
            (b' ' | b'\t', _) => at += 1,
            (_, Some(inner)) => {
                words.push(at + inner.start..at + inner.end);
                at += inner.end + inner.start;
            }
            (_, None) => {
                let length = run(rest, |b| !b.is_ascii_whitespace());
                words.push(at..at + length);
                at += length.max(1);
            }
        }
    }
    words
}

fn is_quoted(line: &str, word: &Range<usize>) -> bool {
    line[..word.start].ends_with('"') && line[word.end..].starts_with('"')
}

#[cfg(test)]
mod tests {
    use crate::redact::scrub;

    #[test]
    fn secrets_of_lists_of_users_are_masked() {
        for (text, scrubbed) in [
            ("\"bouncer\" \"hunter2\"", "\"bouncer\" \"***\""),
            (
                "# CHAP\n\"me\" * \"hunter\" *\n",
                "# CHAP\n\"me\" * \"***\" *\n",
            ),
            ("carol : EAP \"hunter\"", "carol : EAP \"***\""),
            ("[admins]\nadmin = hunter", "[admins]\nadmin = ***"),
            ("https://dav.lan/x me hunTer2", "https://dav.lan/x me ***"),
            ("10 SHA1 hunter", "10 SHA1 ***"),
            ("10 SHA1 hunter  # b <-> c", "10 SHA1 ***  # b <-> c"),
            ("admin: hunter2, admin", "admin: *** admin"),
            (
                "\"me\"\tMSCHAPV2\t\"owl\"\t[2]",
                "\"me\"\tMSCHAPV2\t\"***\"\t[2]",
            ),
            (
                "CREATE USER 'a'@'%' IDENTIFIED BY 'hunter';",
                "CREATE USER 'a'@'%' IDENTIFIED BY '***';",
            ),
        ] {
            assert_eq!(scrub(text), scrubbed);
            assert_eq!(scrub(scrubbed), scrubbed);
        }
    }

    #[test]
    fn other_lines_of_words_in_quotes_stay() {
        for text in ["\"name\" \"value\"", "[main]\nadmin = hunter", "a b c *"] {
            assert_eq!(scrub(text), text);
        }
    }
}
