//! Where the secret is in forms of single programs, behind the mark of each: registries, functions of databases, addresses of
//! streams, states, answer files.

use super::label::Form;
use super::name::tells;
use super::opaque::is_odd;
use super::quote::closed;
use super::shape::run;
use std::ops::Range;

/// `Name    REG_SZ    value`, where the name tells of a secret.
pub(super) fn value_of_registry(text: &str, at: usize, from: usize) -> Option<Range<usize>> {
    const LONGEST: usize = 256;
    let before = &text[text.ceil_char_boundary(at.saturating_sub(LONGEST))..at];
    let before = before.trim_end_matches([' ', '\t']);
    let name = before.rsplit(|c: char| c.is_whitespace()).next()?;
    let near = &text[from..text.floor_char_boundary(from + LONGEST)];
    let gap = near.len() - near.trim_start_matches([' ', '\t']).len();
    let value = near[gap..].split(['\r', '\n']).next()?.trim_end();
    let tells_surely = tells(name.as_bytes()).is_some_and(Form::is_sure);
    (tells_surely && !value.is_empty()).then(|| from + gap..from + gap + value.len())
}

/// `PASSWORD(VALUE)` of commands of IBM i.
pub(super) fn in_brackets(text: &str, from: usize) -> Option<Range<usize>> {
    const LONGEST: usize = 128;
    let near = &text[from..text.floor_char_boundary(from + LONGEST)];
    let value = near.split_once(')')?.0;
    is_odd(value).then(|| from..from + value.len())
}

/// `OPENROWSET('PROVIDER', 'HOST';'USER';'VALUE', …)`
pub(super) fn third_of_row(text: &str, from: usize) -> Option<Range<usize>> {
    const LONGEST: usize = 512;
    let near = &text[from..text.floor_char_boundary(from + LONGEST)];
    let (user, _) = near.match_indices("';'").nth(1)?;
    let start = user + "';'".len();
    let value = near[start..].split_once('\'')?.0;
    (!value.is_empty()).then(|| from + start..from + start + value.len())
}

/// `host/application/key` of a stream.
pub(super) fn key_of_stream(text: &str, from: usize) -> Option<Range<usize>> {
    const SHORTEST: usize = 12;
    const LONGEST: usize = 256;
    let rest = &text.as_bytes()[from..];
    let is_of_address = |b: u8| b.is_ascii_graphic() && !b"\"'\\<>".contains(&b);
    let address = &text[from..from + run(&rest[..rest.len().min(LONGEST)], is_of_address)];
    let key = address.splitn(3, '/').nth(2)?;
    let is_key = key.len() >= SHORTEST && key.bytes().any(|b| b.is_ascii_digit());
    is_key.then(|| from + address.len() - key.len()..from + address.len())
}

/// `"result": "value"` of a random password, in a state of Terraform.
pub(super) fn result_behind(text: &str, from: usize) -> Option<Range<usize>> {
    const NEAR: usize = 2048;
    let near = &text[from..text.floor_char_boundary(from + NEAR)];
    let start = near.find("\"result\":")? + "\"result\":".len();
    let inner = closed(near[start..].trim_start().as_bytes())?;
    let start = near.len() - near[start..].trim_start().len();
    Some(from + start + inner.start..from + start + inner.end)
}

/// `<Password> <Value>value</Value>`, of an answer file of Windows.
pub(super) fn value_within(text: &str, at: usize, from: usize) -> Option<Range<usize>> {
    const NEAR: usize = 512;
    let before = text[..at].trim_end().strip_suffix('>')?;
    let name = before.rsplit('<').next()?;
    let near = &text[from..text.floor_char_boundary(from + NEAR)];
    let length = near.find("</Value>")?;
    let tells_surely = tells(name.as_bytes()).is_some_and(Form::is_sure);
    (tells_surely && length > 0).then_some(from..from + length)
}

/// `1204 => 840371,A Name,mail`, a mailbox of Asterisk.
pub(super) fn pin_of_mailbox(text: &str, at: usize, from: usize) -> Option<Range<usize>> {
    let bytes = text.as_bytes();
    let digits = bytes[..at].iter().rev().take_while(|b| b.is_ascii_digit());
    let start = at - digits.count();
    let is_line = start == 0 || b"\n ".contains(&bytes[start - 1]);
    let length = run(&bytes[from..], |b| b.is_ascii_digit());
    let behind = bytes[from + length..].first_chunk::<2>();
    let is_name = behind.is_some_and(|two| two[0] == b',' && two[1].is_ascii_alphabetic());
    (start < at && is_line && is_name && (4..=12).contains(&length)).then_some(from..from + length)
}

/// `AT+CPIN="PUK","PIN"`
pub(super) fn codes_of_card(text: &str, from: usize, found: &mut Vec<Range<usize>>) {
    const NEAR: usize = 48;
    let near = &text[from..text.floor_char_boundary(from + NEAR)];
    let mut start = from;
    for part in near.split('"') {
        let is_code = part.len() >= 4 && part.bytes().all(|b| b.is_ascii_digit());
        if is_code {
            found.push(start..start + part.len());
        }
        if !is_code && !matches!(part, "" | "," | "\\" | "\\,\\" | ",\\") {
            return;
        }
        start += part.len() + 1;
    }
}

/// `Login incorrect (…): [user/secret]`, as FreeRADIUS logs a password that was wrong.
pub(super) fn rejected_login(text: &str, from: usize) -> Option<Range<usize>> {
    const NEAR: usize = 256;
    let near = &text[from..text.floor_char_boundary(from + NEAR)];
    let line = near.split('\n').next()?;
    let open = line.find('[')?;
    let end = line.find("] (from").or_else(|| line.rfind(']'))?;
    let (user, secret) = line.get(open..end)?.split_once('/')?;
    let start = from + open + user.len() + 1;
    let is_shown =
        !secret.is_empty() && !secret.starts_with("<via ") && !secret.starts_with("<no ");
    is_shown.then(|| start..start + secret.len())
}

/// `address:as:secret:multihop,…`, the peers of kube-vip.
pub(super) fn find_in_peers(text: &str, from: usize, found: &mut Vec<Range<usize>>) {
    const NEAR: usize = 512;
    let near = &text[from..text.floor_char_boundary(from + NEAR)];
    for (end, _) in near
        .match_indices(":false")
        .chain(near.match_indices(":true"))
    {
        let peer = near[..end]
            .rsplit([',', '"', ' ', '=', '\n'])
            .next()
            .unwrap_or_default();
        let secret = peer.splitn(3, ':').nth(2).unwrap_or_default();
        if !secret.is_empty() {
            found.push(from + end - secret.len()..from + end);
        }
    }
}
