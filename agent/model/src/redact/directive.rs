//! Secrets of configuration files that no name tells of, but the place in a line of a known form.

use super::arguments::words_after;
use super::harmless::{is_plain, is_reference};
use super::line::blanks;
use super::marks::Marks;
use super::opaque::is_odd;
use super::quote::{closed, quoted};
use super::shape::{apart, run};
use super::userlist::find_in_lists;
use std::ops::Range;
use std::sync::LazyLock;

/// No line of two words is longer.
const LONGEST_DIRECTIVE: usize = 256;

/// No line of such a file is longer.
const LONGEST_LINE: usize = 1024;

/// What each of the forms below has, of which most texts have none.
static FORM_MARKS: LazyLock<Marks> = LazyLock::new(|| {
    let marks = [
        ACCESS_LIST_MARKS.as_slice(),
        &[LOGIN_MARK, ORACLE_MARK, JOIN_MARK, GROUP_MARK],
        &RADIUS_PORTS,
        &MAIL_PORTS,
        &USER_VARIABLES,
        &CALLS,
    ];
    Marks::of(marks.concat())
});

const ACCESS_LIST_MARKS: [&str; 3] = [" on ", "SETUSER ", "setuser "];
const LOGIN_MARK: &str = "LoginModule";
const ORACLE_MARK: &str = "jdbc:oracle:";
const RADIUS_PORTS: [&str; 4] = [":1812", ":1813", ":1645", ":1646"];
const MAIL_PORTS: [&str; 4] = ["]:25", "]:465", "]:587", "]:2525"];
const JOIN_MARK: &str = ":25000/";
const USER_VARIABLES: [&str; 11] = [
    "_USER=",
    "_USERPWD=",
    "_AUTH=",
    "_LOGIN=",
    "_CREDS=",
    "_credentials=",
    "_CREDENTIALS=",
    " login=",
    "auth=",
    "_auth = ",
    "-auth ",
];
const GROUP_MARK: &str = "system:";

/// Calls of which the third text in quotes is a password, as PHP prints them in a trace.
const CALLS: [&str; 6] = [
    "connect-toplevel ",
    "PDO->__construct(",
    "new PDO(",
    "mysqli->__construct(",
    "mysqli_connect(",
    "ldap_bind(",
];

pub(super) fn find_in_directives(text: &str) -> Vec<Range<usize>> {
    let mut found = Vec::new();
    if FORM_MARKS.are_in(text) {
        find_in_access_lists(text, &mut found);
        find_in_logins(text, &mut found);
        find_in_oracle(text, &mut found);
        find_of_servers(text, &mut found);
        found.extend(CALLS.iter().flat_map(|call| find_in_calls(text, call)));
        found.extend(find_users(text));
        found.extend(find_in_users(text));
    }
    found.extend(find_in_lists(text));
    found.retain(|place| {
        let words = &text[place.clone()];
        !is_plain(words) && !is_reference(words) && !words.starts_with('$')
    });
    apart(found)
}

/// The line around a place, as far as it may reach.
fn line_around(text: &str, at: usize) -> Range<usize> {
    let from = text.ceil_char_boundary(at.saturating_sub(LONGEST_LINE));
    let to = text.floor_char_boundary(at + LONGEST_LINE);
    let ends = |c: char| matches!(c, '\n' | '\r');
    let start = text[from..at]
        .rfind(ends)
        .map_or(from, |end| from + end + 1);
    let end = text[at..to].find(ends).map_or(to, |end| at + end);
    start..end
}

fn is_of_secret(byte: u8) -> bool {
    byte.is_ascii_graphic() && !b"\"'\\`".contains(&byte)
}

/// `user NAME on >secret`, `ACL SETUSER NAME on >secret`: the lists of Redis and Valkey.
fn find_in_access_lists(text: &str, found: &mut Vec<Range<usize>>) {
    let bytes = text.as_bytes();
    let mut behind = 0;
    for mark in ACCESS_LIST_MARKS {
        for (at, _) in text.match_indices(mark) {
            let line = line_around(text, at);
            let before = &text[line.start..at];
            if line.end < behind || !(mark != " on " || is_user(before)) {
                continue;
            }
            let rules = &text[at..line.end];
            for (sign, _) in rules.match_indices([' ', '"']) {
                let word = at + sign + 1;
                if matches!(bytes.get(word), Some(b'>' | b'#')) {
                    let length = run(&bytes[word + 1..], is_of_secret);
                    if length >= 4 {
                        found.push(word + 1..word + 1 + length);
                    }
                }
            }
            behind = line.end;
        }
    }
}

/// Whether a line begins with `user` and a name, and says no more.
fn is_user(before: &str) -> bool {
    let mut words = before.split_ascii_whitespace().rev();
    let name = words.next();
    name.is_some() && words.next().is_some_and(|word| word.ends_with("user"))
}

/// `user_NAME="secret"` of a login module of Java.
fn find_in_logins(text: &str, found: &mut Vec<Range<usize>>) {
    if !text.contains(LOGIN_MARK) {
        return;
    }
    let bytes = text.as_bytes();
    for (at, mark) in text.match_indices("user_") {
        let name = at + mark.len();
        let sign = name
            + run(&bytes[name..bytes.len().min(name + LONGEST_LINE)], |b| {
                b.is_ascii_alphanumeric() || b"_-.".contains(&b)
            });
        let value = sign + 1;
        if bytes.get(sign) == Some(&b'=')
            && let Some(inner) = quoted(&bytes[value..])
        {
            found.push(value + inner.start..value + inner.end);
        }
    }
}

/// `jdbc:oracle:thin:user/secret@host`.
fn find_in_oracle(text: &str, found: &mut Vec<Range<usize>>) {
    let bytes = text.as_bytes();
    for (at, mark) in text.match_indices(ORACLE_MARK) {
        let start = at + mark.len();
        let near = &bytes[start..bytes.len().min(start + 256)];
        let address = &text[start..start + run(near, is_of_secret)];
        let Some(end) = address.rfind('@') else {
            continue;
        };
        if let Some(slash) = address[..end].find('/') {
            found.push(start + slash + 1..start + end);
        }
    }
}

/// `host:port secret timeout`, as in the lists of RADIUS servers.
fn find_of_servers(text: &str, found: &mut Vec<Range<usize>>) {
    for port in RADIUS_PORTS {
        for (at, port) in text.match_indices(port) {
            if let Some(word) = words_after(text, at + port.len()).into_iter().next()
                && is_odd(&text[word.clone()])
            {
                found.push(word);
            }
        }
    }
    // `[host]:587 user:secret`, as in Postfix' lists of passwords
    for port in MAIL_PORTS {
        for (at, port) in text.match_indices(port) {
            let start = at + port.len();
            let near = &text[start..text.floor_char_boundary(start + LONGEST_LINE)];
            let blank = near.len() - near.trim_start_matches([' ', '\t']).len();
            let entry = near[blank..].split(char::is_whitespace).next();
            let entry = entry.unwrap_or_default();
            // The end of a string in JSON is none of the secret.
            let entry = entry
                .strip_suffix("\",")
                .or(entry.strip_suffix('"'))
                .unwrap_or(entry);
            if let Some((user, secret)) = entry.split_once(':')
                && blank > 0
                && !user.is_empty()
                && secret.len() >= 3
            {
                let secret_at = start + blank + user.len() + 1;
                found.push(secret_at..secret_at + secret.len());
            }
        }
    }
    // `microk8s join host:25000/secret/hash`
    for (at, mark) in text.match_indices(JOIN_MARK) {
        let start = at + mark.len();
        let length = run(&text.as_bytes()[start..], |b| b.is_ascii_alphanumeric());
        if length >= 16 {
            found.push(start..start + length);
        }
    }
}

/// The third text in quotes of a call: `mysqli_connect('host', 'user', 'secret')`.
fn find_in_calls<'a>(text: &'a str, call: &'a str) -> impl Iterator<Item = Range<usize>> + 'a {
    text.match_indices(call).filter_map(|(at, call)| {
        let from = at + call.len();
        let near = &text[from..text.floor_char_boundary(from + LONGEST_LINE)];
        let line = near.split('\n').next().unwrap_or_default();
        // A connection that comes first is in no quotes.
        let first = match line.starts_with(['R', 'O']) {
            true => line.find(',')? + 1,
            false => 0,
        };
        let which = if first > 0 { 1 } else { 2 };
        let place = nth_quoted(&line[first..], which)?;
        Some(from + first + place.start..from + first + place.end)
    })
}

/// One of the texts in quotes that a line begins with, counted from nought; nothing where one of them does not end in it.
pub(super) fn nth_quoted(line: &str, which: usize) -> Option<Range<usize>> {
    let bytes = line.as_bytes();
    let mut start = 0;
    for number in 0..=which {
        start += run(bytes.get(start..)?, |b| b == b' ' || b == b',');
        let inner = closed(&bytes[start..])?;
        if number == which {
            return Some(start + inner.start..start + inner.end);
        }
        // The quote that ends it is as long as the one that begins it.
        start += inner.end + inner.start;
    }
    None
}

/// `NAME_USER=user:secret`, a variable of which the secret is the second part.
fn find_users(text: &str) -> impl Iterator<Item = Range<usize>> {
    let bytes = text.as_bytes();
    USER_VARIABLES.into_iter().flat_map(move |name| {
        text.match_indices(name).filter_map(move |(at, name)| {
            let start = at + name.len();
            let start = start
                + run(&bytes[start..bytes.len().min(start + 4)], |b| {
                    b"\\\"'".contains(&b)
                });
            let word = &text[start
                ..start
                    + run(&bytes[start..bytes.len().min(start + LONGEST_LINE)], |b| {
                        is_of_secret(b) && b != b';'
                    })];
            let (user, secret) = word.split_once(':')?;
            let is_name = !user.is_empty()
                && !matches!(user, "system" | "arn" | "http" | "https")
                && user
                    .bytes()
                    .all(|b| b.is_ascii_alphanumeric() || b"._-@".contains(&b));
            let is_group = secret.bytes().all(|b| b.is_ascii_digit());
            (is_name && !is_group && secret.len() >= 3)
                .then(|| start + user.len() + 1..start + word.len())
        })
    })
}

/// `secret,user,uid,"system:group"`, as in files of tokens and of passwords of an API server.
fn find_in_users(text: &str) -> impl Iterator<Item = Range<usize>> {
    let bytes = text.as_bytes();
    text.match_indices(GROUP_MARK).filter_map(move |(at, _)| {
        let near = &bytes[at.saturating_sub(LONGEST_USER)..at];
        let signs = near
            .iter()
            .rev()
            .take_while(|b| b"\"\\".contains(b))
            .count();
        let end = at - signs;
        let length = bytes[..end]
            .iter()
            .rev()
            .take(LONGEST_USER)
            .take_while(|b| b.is_ascii_graphic() && !b"\"'\\".contains(b))
            .count();
        let start = end - length;
        // The letter of an escaped line break is no part of it.
        let start =
            start + usize::from(bytes[..start].ends_with(b"\\") && bytes.get(start) == Some(&b'n'));
        let mut fields = text.get(start..end)?.split(',');
        let (secret, user, id) = (fields.next()?, fields.next()?, fields.next()?);
        let is_list = fields.next() == Some("") && !user.is_empty() && !id.is_empty();
        (is_list && secret.len() >= 3).then_some(start..start + secret.len())
    })
}

/// No line of a list of users is longer.
const LONGEST_USER: usize = 256;

/// Whether a blank parts the only two words of a line.
pub(super) fn is_directive(bytes: &[u8], start: usize, name: &Range<usize>) -> bool {
    let near = &bytes[name.start.saturating_sub(LONGEST_DIRECTIVE)..name.start];
    let inner = near.trim_ascii_end();
    let is_first = near.len() < LONGEST_DIRECTIVE && inner.is_empty()
        || near[inner.len()..].contains(&b'\n')
        || inner.ends_with(b"\\n") && inner.len() == near.len();
    if name.is_empty() || !is_first {
        return false;
    }
    let value = &bytes[start..bytes.len().min(start + LONGEST_DIRECTIVE)];
    let value = &value[blanks(value)..];
    let length = run(value, |b| b.is_ascii_graphic() && !b"\"'\\".contains(&b));
    let rest = &value[length..];
    let rest = &rest[blanks(rest)..];
    let is_last = matches!(rest.first(), None | Some(b'\n' | b'\r')) || rest.starts_with(b"\\n");
    length >= 4 && is_last
}

#[cfg(test)]
mod tests {
    use crate::redact::scrub;

    #[test]
    fn secrets_of_known_lines_are_masked() {
        for (text, scrubbed) in [
            (
                "user worker on >hunter ~app:* +@all",
                "user worker on >*** ~app:* +@all",
            ),
            (
                "ACL SETUSER worker on >hunter +get",
                "ACL SETUSER worker on >*** +get",
            ),
            (
                "PlainLoginModule required\nuser_admin=\"hunter\";",
                "PlainLoginModule required\nuser_admin=\"***\";",
            ),
            (
                "jdbc:oracle:thin:app/hunter@//db:1521/x",
                "jdbc:oracle:thin:app/***@//db:1521/x",
            ),
            ("10.0.0.3:1812  hunter2  3", "10.0.0.3:1812  ***  3"),
            (
                "[smtp.example.io]:587 me@example.io:hunter",
                "[smtp.example.io]:587 me@example.io:***",
            ),
            (
                "app[1]: db.example.io:5432:app:me:hunter",
                "app[1]: db.example.io:5432:app:me:***",
            ),
            (
                "\"[smtp.example.io]:587 me@example.io:hunter\",\n",
                "\"[smtp.example.io]:587 me@example.io:***\",\n",
            ),
            (
                "[smtp.example.io]:587 me@example.io:hun,ter",
                "[smtp.example.io]:587 me@example.io:***",
            ),
            (
                "PDO->__construct('mysql:host=db', 'wp', 'hunter')",
                "PDO->__construct('mysql:host=db', 'wp', '***')",
            ),
            ("ETCDCTL_USER=root:hunter", "ETCDCTL_USER=root:***"),
        ] {
            assert_eq!(scrub(text), scrubbed);
            assert_eq!(scrub(scrubbed), scrubbed);
        }
    }

    #[test]
    fn other_lines_of_such_forms_stay() {
        for text in [
            "user me logged on > /dev/null",
            "echo on >file",
            "user_agent=\"curl\"",
            "mysqli_connect('host",
            "ldap_bind(\"",
            "new PDO('mysql:host=db', 'us\nmore\n",
            "KUBE_USER=system:anonymous",
            "RUN_AS_USER=1000:1000",
            "listening on 0.0.0.0:1812 for requests",
        ] {
            assert_eq!(scrub(text), text);
        }
    }
}
