//! Secrets behind a mark of one program that says what follows: credentials of units, objects of QEMU, variables that a platform
//! keeps as secrets, replies that a script sends where it was asked for a password.

use super::arguments::words_after;
use super::marks::Marks;
use super::opaque::{is_odd, is_opaque};
use super::quote::{backslashes_before, closed, quoted};
use super::shape::{apart, run};
use std::ops::Range;
use std::sync::LazyLock;

/// No such line is longer.
const LONGEST: usize = 1024;

static MARKS: LazyLock<Marks> = LazyLock::new(|| {
    Marks::of([
        "SetCredential=",
        "secret,id=",
        "secrets set ",
        "secret set ",
        "send ",
        "sending ",
        "sendline(",
        "sent ",
        "register => ",
        "kv put ",
        "kv patch ",
        "config:set ",
        "env set ",
        "variable set ",
        "variables set ",
        "http-basic.",
        "ConvertTo-SecureString ",
        ":pserver:",
        "PRAGMA key",
        "SET PASSWORD",
        "pgp_sym_",
        "AES_DECRYPT(",
        "AES_ENCRYPT(",
        "option key ",
        "].key=",
        "setPassword(",
        "token set ",
    ])
});

pub(super) fn find_marked(text: &str) -> Vec<Range<usize>> {
    let mut found = Vec::new();
    let mut behind = 0;
    for (at, _, mark) in MARKS.places_in(text) {
        let start = at + mark.len();
        if start < behind {
            continue;
        }
        let near = &text[start..text.floor_char_boundary(start + LONGEST)];
        let line = near.split('\n').next().unwrap_or_default();
        let places = match mark {
            "SetCredential=" => credential(line),
            "secret,id=" => object(line),
            "send " => reply(
                &text[text.ceil_char_boundary(at.saturating_sub(LONGEST))..at],
                line,
            ),
            "sending " | "sendline(" | "sent " => answer(
                &text[text.ceil_char_boundary(at.saturating_sub(LONGEST))..at],
                line,
            ),
            "register => " | ":pserver:" => registration(line),
            "http-basic." => nth_word(line, 2),
            "token set " => {
                let mut word = nth_word(line, 0);
                word.retain(|word| is_opaque(&line[word.clone()], true));
                word
            }
            "PRAGMA key" | "SET PASSWORD" | "pgp_sym_" | "AES_DECRYPT(" | "AES_ENCRYPT(" => {
                last_quoted(line)
            }
            "option key " | "].key=" | "setPassword(" => first_quoted(line),
            "ConvertTo-SecureString " => first_quoted(line),
            _ => {
                behind = start + line.len();
                variables(line)
            }
        };
        found.extend(
            places
                .into_iter()
                .map(|place| start + place.start..start + place.end),
        );
    }
    found.retain(|place| !text[place.clone()].bytes().all(|b| b == b'*'));
    apart(found)
}

fn is_of_value(byte: u8) -> bool {
    byte.is_ascii_graphic() && !b"\"'\\,;".contains(&byte)
}

/// `SetCredential=id:value`
fn credential(line: &str) -> Vec<Range<usize>> {
    let end = line.find(['"', '\\']).unwrap_or(line.len());
    let value = line[..end].find(':').map(|colon| colon + 1..end);
    value
        .into_iter()
        .filter(|value| !value.is_empty())
        .collect()
}

/// `secret,id=a,data=value`
fn object(line: &str) -> Vec<Range<usize>> {
    let value = line.find(",data=").map(|at| {
        let start = at + ",data=".len();
        start..start + run(&line.as_bytes()[start..], is_of_value)
    });
    value.into_iter().collect()
}

/// `NAME=value` after `secrets set`
fn variables(line: &str) -> Vec<Range<usize>> {
    let mut found = Vec::new();
    for (sign, _) in line.match_indices('=') {
        let name = line[..sign]
            .bytes()
            .rev()
            .take_while(|b| b.is_ascii_alphanumeric() || *b == b'_')
            .count();
        let before = line[..sign - name].bytes().next_back();
        let rest = &line.as_bytes()[sign + 1..];
        let inner = quoted(rest).unwrap_or_else(|| 0..run(rest, is_of_value));
        if name > 0
            && before.is_none_or(|b| b == b' ')
            && !inner.is_empty()
            && rest[inner.start] != b'$'
        {
            found.push(sign + 1 + inner.start..sign + 1 + inner.end);
        }
    }
    found
}

/// `send "value\r"` behind what expects a password
fn reply(before: &str, line: &str) -> Vec<Range<usize>> {
    let expects_password = before
        .rfind("assword")
        .is_some_and(|at| !before[at..].contains("send "));
    let start = line.find(['"', '\'', '\\']).filter(|start| *start <= 3);
    let inner = start.and_then(|start| {
        let inner = closed(&line.as_bytes()[start..])?;
        Some(start + inner.start..start + inner.end)
    });
    let inner = inner.map(|inner| {
        // The escape of a carriage return at its end, which may itself be escaped.
        let end = line[inner.clone()].find('\\').unwrap_or(inner.len());
        inner.start..inner.start + end
    });
    let is_secret = |words: &str| {
        let is_wanted = expects_password || before.contains("expect") && is_odd(words);
        is_wanted && !words.is_empty() && !words.starts_with('$')
    };
    let inner = inner.filter(|inner| is_secret(&line[inner.clone()]));
    inner.into_iter().collect()
}

/// `http-basic.host user secret`
fn nth_word(line: &str, number: usize) -> Vec<Range<usize>> {
    let word = words_after(line, 0).into_iter().nth(number);
    word.into_iter().filter(|word| !word.is_empty()).collect()
}

/// `ConvertTo-SecureString 'secret'`, `-String "secret"`
fn first_quoted(line: &str) -> Vec<Range<usize>> {
    let start = line.find(['"', '\'']).filter(|start| *start <= 10);
    let inner = start.and_then(|start| {
        let start = start - backslashes_before(line.as_bytes(), start);
        let inner = closed(&line.as_bytes()[start..])?;
        Some(start + inner.start..start + inner.end)
    });
    let inner = inner.filter(|inner| !line[inner.clone()].starts_with('$'));
    inner.into_iter().collect()
}

/// `SET PASSWORD FOR 'user' = 'secret';`
fn last_quoted(line: &str) -> Vec<Range<usize>> {
    let statement = line.split([';', '"']).next().unwrap_or_default();
    let place = statement.rfind('\'').and_then(|end| {
        let start = statement[..end].rfind('\'')? + 1;
        (end - start >= 4).then_some(start..end)
    });
    place
        .into_iter()
        .filter(|place| !line[place.clone()].starts_with('%'))
        .collect()
}

/// `sending "value\r" to … (after "Password: ")`, as a script's trace shows it
fn answer(before: &str, line: &str) -> Vec<Range<usize>> {
    let start = line.find(['"', '\'', '(']).filter(|start| *start <= 8);
    let inner = start.and_then(|start| {
        let rest = &line[start + 1..];
        let end = rest.find(['"', '\'', ')', '\\', '^'])?;
        Some(start + 1..start + 1 + end)
    });
    let inner = inner.filter(|inner| {
        let asks = |said: &str| {
            said.contains("assword:") || said.contains("assphrase") || said.contains("PIN:")
        };
        let prompt = before.rfind("assword:").or(before.rfind("assphrase"));
        let is_first = prompt.is_some_and(|at| !before[at..].contains("send"));
        let is_asked = is_first || asks(&line[inner.end..]);
        let said = &line[inner.clone()];
        is_asked && said.len() >= 4 && !said.starts_with('$') && !said.contains(' ')
    });
    inner.into_iter().collect()
}

/// `register => user:value@host`
fn registration(line: &str) -> Vec<Range<usize>> {
    let place = line.split_once(':').and_then(|(user, rest)| {
        let end = rest
            .find(['@', ' ', '"'])
            .filter(|end| rest[*end..].starts_with('@'))?;
        Some(user.len() + 1..user.len() + 1 + end)
    });
    place.into_iter().collect()
}

#[cfg(test)]
mod tests {
    use crate::redact::scrub;

    #[test]
    fn what_such_a_mark_begins_is_masked() {
        for (text, scrubbed) in [
            ("SetCredential=tls:hunter two", "SetCredential=tls:***"),
            (
                "-object secret,id=a,data=hunter,format=raw",
                "-object secret,id=a,data=***,format=raw",
            ),
            (
                "fly secrets set DB=hunter MODE='hunter two'",
                "fly secrets set DB=*** MODE='***'",
            ),
            (
                "expect \"password:\"\nsend -- \"hunter\\r\"",
                "expect \"password:\"\nsend -- \"***\\r\"",
            ),
            (
                "vault kv put secret/db value=hunter",
                "vault kv put secret/db value=***",
            ),
            (
                "config http-basic.repo.lan ci hunter",
                "config http-basic.repo.lan ci ***",
            ),
            (
                "SET PASSWORD FOR 'a'@'%' = 'hunter';",
                "SET PASSWORD FOR 'a'@'%' = '***';",
            ),
            (
                "send: sending \"hunter\\r\" to { exp6 } after Password:",
                "send: sending \"***\\r\" to { exp6 } after Password:",
            ),
            (
                "expect('Password:'); child.sendline('hunter')",
                "expect('Password:'); child.sendline('***')",
            ),
            (
                "register => 1001:hunter@sip.io",
                "register => 1001:***@sip.io",
            ),
        ] {
            assert_eq!(scrub(text), scrubbed);
            assert_eq!(scrub(scrubbed), scrubbed);
        }
    }

    #[test]
    fn other_lines_with_such_words_stay() {
        for text in [
            "expect \"login:\"\nsend \"me\\r\"",
            "send: sending \"ls\\r\" to { exp6 } (after \"$ \")",
            "failed to send \"hello\"",
            "LoadCredential=tls:/etc/tls.key",
            "secrets set by the operator",
        ] {
            assert_eq!(scrub(text), text);
        }
    }
}
