//! Tokens to which their vendors give a form that nothing else has: a prefix, a mark within, the address of a hook.

use super::marks::Marks;
use super::opaque::count_changes;
use super::prefixes::{Of, PREFIXES};
use super::shape::{apart, is_base64, is_base64_of_urls, run};
use std::ops::Range;
use std::sync::LazyLock;

/// What is behind a shorter prefix must look as if chance made it, for words begin so, too.
const CERTAIN_PREFIX: usize = 5;

/// So many characters are no word, whatever is before them.
const SURE: usize = 36;

type Entry = &'static (&'static str, Of, usize);

/// The prefixes by their first byte, so that one walk looks for all.
static BY_FIRST: LazyLock<Vec<Vec<Entry>>> = LazyLock::new(|| {
    let mut all = vec![Vec::new(); 128];
    for entry in PREFIXES {
        let first = usize::from(entry.0.as_bytes()[0]);
        all[first].push(entry);
    }
    all
});

/// Tokens that begin as their vendor's do.
pub(super) fn find_by_prefix(text: &str) -> Vec<Range<usize>> {
    let bytes = text.as_bytes();
    let mut found = Vec::new();
    let mut at = 0;
    while at < bytes.len() {
        let entries = BY_FIRST.get(usize::from(bytes[at]));
        let entries = entries.filter(|entries| !entries.is_empty() && is_start(bytes, at));
        let length = entries.and_then(|entries| {
            entries
                .iter()
                .find_map(|entry| length_of_token(&bytes[at..], entry))
        });
        if let Some(length) = length {
            found.push(at..at + length);
        }
        at += length.unwrap_or(1);
    }
    found
}

fn length_of_token(bytes: &[u8], (prefix, of, least): Entry) -> Option<usize> {
    let rest = bytes.strip_prefix(prefix.as_bytes())?;
    let near = &rest[..rest.len().min(ANY)];
    let length = length_of(near, *of);
    let token = &near[..length];
    let ends = *of != Of::Hex || rest.get(length).is_none_or(|b| !b.is_ascii_alphanumeric());
    let chance = prefix.len() >= CERTAIN_PREFIX
        || *least >= SURE
        || *prefix == "AKC"
        || is_made_by_chance(token);
    (length >= *least && ends && chance).then(|| prefix.len() + length_of(rest, *of))
}

fn length_of(rest: &[u8], of: Of) -> usize {
    match of {
        Of::Url => run(rest, is_base64_of_urls),
        Of::Dotted => run(rest, |b| is_base64_of_urls(b) || b == b'.'),
        Of::Base64 => run(rest, |b| is_base64(b) || is_base64_of_urls(b)),
        Of::Plain => run(rest, |b| b.is_ascii_alphanumeric()),
        Of::Hex => run(rest, |b| b.is_ascii_hexdigit()),
    }
}

fn is_made_by_chance(token: &[u8]) -> bool {
    token.iter().any(u8::is_ascii_digit)
        && token.iter().any(u8::is_ascii_alphabetic)
        && count_changes(token) * 5 >= token.len()
}

/// Whether a word begins here, also behind an escape.
pub(super) fn is_start(bytes: &[u8], at: usize) -> bool {
    let Some(before) = at.checked_sub(1) else {
        return true;
    };
    let ends_with =
        |count: usize, escape: &[u8]| at >= count && bytes[at - count..].starts_with(escape);
    !bytes[before].is_ascii_alphanumeric()
        || ends_with(2, b"\\n")
        || ends_with(2, b"\\t")
        || ends_with(2, b"\\r")
        || ends_with(3, b"%")
        || ends_with(6, b"\\u00")
}

/// How many bytes there are, and which.
type Bytes = (Range<usize>, fn(u8) -> bool);

/// A form without a prefix: a mark, and how far the token goes before and behind it.
struct Form {
    mark: &'static str,
    before: Bytes,
    behind: Bytes,
    /// Whether what is before the mark may be seen.
    shows: bool,
}

/// A form whose mark and what is before it are masked, too.
const fn hidden(mark: &'static str, before: Bytes, behind: Bytes) -> Form {
    Form {
        mark,
        before,
        behind,
        shows: false,
    }
}

/// A form whose mark and what is before it may be seen.
const fn shown(mark: &'static str, before: Bytes, behind: Bytes) -> Form {
    Form {
        shows: true,
        ..hidden(mark, before, behind)
    }
}

const ANY: usize = 512;

/// The private lines of a key of PuTTY take no more bytes.
const LONGEST_PUTTY: usize = 8 << 10;

/// From the vendors' documentation.
const FORMS: &[Form] = &[
    // Telegram's bots: a number, a colon, 35 characters.
    hidden(":AA", (8..13, is_digit), (32..34, is_base64_of_urls)),
    // Secrets of Azure's applications.
    hidden("Q~", (4..5, is_of_azure), (31..38, is_of_azure)),
    hidden(
        ".atlasv1.",
        (10..20, is_plain),
        (40..ANY, is_base64_of_urls),
    ),
    hidden("access_token$", (0..1, is_none), (30..ANY, is_of_braintree)),
    // Loggly's token, the number of whose vendor is behind it (RFC 5424, section 6.3.2).
    hidden("@41058", (36..37, is_of_uuid), (0..1, is_none)),
    shown(
        "alert.victorops.com/integrations/generic/",
        (0..ANY, is_none),
        (40..ANY, is_path),
    ),
    shown("nosnch.in/", (0..ANY, is_host), (8..ANY, is_path)),
    shown("IncomingWebhook/", (0..ANY, is_host), (30..ANY, is_path)),
    hidden("-us", (32..33, is_hex), (1..3, is_digit)),
    shown("hooks.slack.com/", (0..ANY, is_none), (20..ANY, is_path)),
    shown("/api/webhooks/", (0..ANY, is_host), (40..ANY, is_path)),
    shown("/webhook/", (0..ANY, is_host), (60..ANY, is_path)),
    hidden("AZDO", (76..77, is_plain), (4..5, is_plain)),
    shown("/webhookb2/", (0..ANY, is_host), (40..ANY, is_path)),
    shown(
        "hooks.zapier.com/hooks/",
        (0..ANY, is_none),
        (12..ANY, is_path),
    ),
    shown("maker.ifttt.com/", (0..ANY, is_none), (20..ANY, is_path)),
    shown("hc-ping.com/", (0..ANY, is_none), (20..ANY, is_path)),
    shown("/integration/", (0..ANY, is_host), (32..ANY, is_path)),
    shown(
        "open.feishu.cn/open-apis/bot/v2/hook/",
        (0..ANY, is_none),
        (20..ANY, is_path),
    ),
    shown(
        "events.pagerduty.com/integration/",
        (0..ANY, is_none),
        (20..ANY, is_path),
    ),
];

static FORM_MARKS: LazyLock<Marks> =
    LazyLock::new(|| Marks::of(FORMS.iter().map(|form| form.mark)));

fn is_none(_: u8) -> bool {
    false
}

fn is_digit(byte: u8) -> bool {
    byte.is_ascii_digit()
}

fn is_hex(byte: u8) -> bool {
    byte.is_ascii_hexdigit()
}

fn is_of_uuid(byte: u8) -> bool {
    byte.is_ascii_hexdigit() || byte == b'-'
}

fn is_plain(byte: u8) -> bool {
    byte.is_ascii_alphanumeric()
}

fn is_of_azure(byte: u8) -> bool {
    is_base64_of_urls(byte) || b"~.".contains(&byte)
}

fn is_host(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b".-:/".contains(&byte)
}

fn is_of_braintree(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'$'
}

fn is_path(byte: u8) -> bool {
    is_base64_of_urls(byte) || b"/@.=".contains(&byte)
}

/// Tokens that a mark within tells.
pub(super) fn find_by_form(text: &str) -> Vec<Range<usize>> {
    let bytes = text.as_bytes();
    let mut found: Vec<Range<usize>> = Vec::new();
    for (mark, form, _) in FORM_MARKS.places_in(text) {
        let form = &FORMS[form];
        let (lengths, is) = &form.before;
        let from = mark.saturating_sub(lengths.end);
        let before = bytes[from..mark]
            .iter()
            .rev()
            .take_while(|b| is(**b))
            .count();
        let end = mark + form.mark.len();
        let (behind, is) = &form.behind;
        let length = run(&bytes[end..bytes.len().min(end + behind.end)], *is);
        let start = if form.shows { end } else { mark - before };
        if lengths.contains(&before) && behind.contains(&length) {
            found.push(start..end + length);
        }
    }
    found.extend(find_discord(bytes));
    found.extend(find_product_keys(bytes));
    found.extend(find_putty(text));
    apart(found)
}

/// Keys of products as they are printed: four to eight groups of as many capitals and digits.
fn find_product_keys(bytes: &[u8]) -> Vec<Range<usize>> {
    let is_of_key = |b: u8| b.is_ascii_uppercase() || b.is_ascii_digit() || b == b'-';
    let mut found = Vec::new();
    let mut at = 0;
    while at < bytes.len() {
        let length = run(&bytes[at..], is_of_key);
        let word = &bytes[at..at + length];
        let begins = at == 0 || !bytes[at - 1].is_ascii_alphanumeric();
        let ends = !bytes
            .get(at + length)
            .is_some_and(u8::is_ascii_alphanumeric);
        if length >= 19 && begins && ends && is_product_key(word) {
            found.push(at..at + length);
        }
        at += length.max(1);
    }
    found
}

fn is_product_key(word: &[u8]) -> bool {
    let groups: Vec<&[u8]> = word.split(|b| *b == b'-').collect();
    let wide = groups[0].len();
    let mixed = groups.iter().filter(|group| {
        group.iter().any(u8::is_ascii_digit) && group.iter().any(u8::is_ascii_alphabetic)
    });
    (4..=8).contains(&groups.len())
        && (4..=8).contains(&wide)
        && groups.iter().all(|group| group.len() == wide)
        && mixed.count() * 2 > groups.len()
        && word.iter().any(|b| *b > b'F')
}

/// Tokens of Discord's bots: an id in base64, six characters, and at least 27.
fn find_discord(bytes: &[u8]) -> impl Iterator<Item = Range<usize>> {
    let dots = (0..bytes.len()).filter(|at| bytes[*at] == b'.');
    dots.filter_map(|dot| {
        let near = &bytes[dot.saturating_sub(30)..dot];
        let before = near
            .iter()
            .rev()
            .take_while(|b| is_base64_of_urls(**b))
            .count();
        let middle = run(&bytes[dot + 1..bytes.len().min(dot + 8)], is_base64_of_urls);
        let second = dot + 1 + middle;
        let rest = bytes.get(second + 1..).filter(|_| bytes[second] == b'.')?;
        let last = run(&rest[..rest.len().min(64)], is_base64_of_urls);
        let is_token = (23..=28).contains(&before)
            && middle == 6
            && (27..=60).contains(&last)
            && is_made_by_chance(&bytes[dot - before..dot]);
        is_token.then(|| dot - before..second + 1 + last)
    })
}

/// The private lines of a key of PuTTY.
fn find_putty(text: &str) -> impl Iterator<Item = Range<usize>> {
    text.match_indices("Private-Lines:")
        .filter_map(|(at, mark)| {
            let start = at + mark.len();
            let rest = &text[start..];
            let rest = &rest[..rest.floor_char_boundary(LONGEST_PUTTY)];
            let end = rest.find("Private-MAC").unwrap_or_else(|| {
                rest.bytes()
                    .take_while(|b| b.is_ascii_whitespace() || is_base64(*b))
                    .count()
            });
            let body = rest[..end].trim();
            let offset = rest.find(body)?;
            (body.len() > 40).then(|| start + offset..start + offset + body.len())
        })
}
