//! Secrets among the arguments of a call, as code and traces show them.

use super::markup::{LONGEST, beside, name_before};
use super::opaque::is_odd;
use super::quote::closed;
use super::shape::run;
use std::ops::Range;

/// `define('name', 'value')`, and `auth('user', 'value')`
pub(super) fn of_call(text: &str, open: usize, quote: usize) -> Option<Range<usize>> {
    let bytes = text.as_bytes();
    let near = &bytes[..text.floor_char_boundary(quote + LONGEST)];
    let first = closed(&near[quote..])?;
    let behind = quote + first.end + first.start;
    let call = name_before(bytes, open);
    let call = call
        .rsplit(|b| b". ".contains(b))
        .next()
        .unwrap_or_default();
    let only = quote + first.start..quote + first.end;
    let is_only = ["password", "passwd", "passphrase", "crypt", "pwd"]
        .iter()
        .any(|name| call.eq_ignore_ascii_case(name.as_bytes()));
    if is_only && is_odd(text.get(only.clone())?) {
        return Some(only);
    }
    let comma = behind + run(near.get(behind..)?, |b| b == b' ');
    if near.get(comma) != Some(&b',') {
        return None;
    }
    let next = comma + 1 + run(&near[comma + 1..], |b| b == b' ');
    let second = closed(near.get(next..)?)?;
    let end = next + second.end + second.start;
    let close = end + run(near.get(end..)?, |b| b == b' ');
    let value = next + second.start..next + second.end;
    let name = &bytes[quote + first.start..quote + first.end];
    let named = beside(text, name, value).filter(|_| near.get(close) == Some(&b')'));
    named.or_else(|| of_user(text, open, near, behind))
}

/// `connect('host', 'user', 'value')`, `auth=('user', 'value')`: the first argument behind the first that reads like a password.
fn of_user(text: &str, open: usize, near: &[u8], behind: usize) -> Option<Range<usize>> {
    const CALLS: [&[u8]; 10] = [
        b"auth",
        b"login",
        b"authenticate",
        b"bind",
        b"credentials",
        b"credential",
        b"authenticationtoken",
        b"connect",
        b"connection",
        b"userpassword",
    ];
    const MOST: usize = 4;
    let before = &text.as_bytes()[..open];
    let end = open - usize::from(before.ends_with(b"="));
    let call = name_before(text.as_bytes(), end).to_ascii_lowercase();
    if !CALLS.iter().any(|ends| call.ends_with(ends)) {
        return None;
    }
    let mut at = behind;
    for _ in 0..MOST {
        let sign = at + run(near.get(at..)?, |b| b == b' ');
        if near.get(sign) != Some(&b',') {
            return None;
        }
        let next = sign + 1 + run(&near[sign + 1..], |b| b == b' ');
        let inner = closed(near.get(next..)?)?;
        let value = next + inner.start..next + inner.end;
        if is_odd(text.get(value.clone())?) {
            return Some(value);
        }
        at = next + inner.end + inner.start;
    }
    None
}

#[cfg(test)]
mod tests {
    use crate::redact::scrub;

    #[test]
    fn passwords_behind_users_are_masked() {
        for (text, scrubbed) in [
            (
                "pymysql.connect('db', 'ops', 'hunter2', 'app')",
                "pymysql.connect('db', 'ops', '***', 'app')",
            ),
            (
                "get(url, auth=('ops', 'hunter2'))",
                "get(url, auth=('ops', '***'))",
            ),
            (
                "new NetworkCredential(\"ops\", \"hunter2\", \"CORP\")",
                "new NetworkCredential(\"ops\", \"***\", \"CORP\")",
            ),
            (
                "{\"a\":\"db.auth(\\\"ops\\\",\\\"hunter2\\\")\"}",
                "{\"a\":\"db.auth(\\\"ops\\\",\\\"***\\\")\"}",
            ),
        ] {
            assert_eq!(scrub(text), scrubbed);
            assert_eq!(scrub(scrubbed), scrubbed);
        }
    }

    #[test]
    fn arguments_of_other_calls_stay() {
        for text in [
            "connect('db', 'ops')",
            "connect('db', \"",
            "print('node-1a', 'node-2b')",
            "f('a', 'b1c2d3e4",
        ] {
            assert_eq!(scrub(text), text);
        }
    }
}
