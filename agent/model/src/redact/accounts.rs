//! Secrets beside an account on one line: `allow user:secret`, `userid=name/secret`, `check_db!user!secret`, and what records of
//! the kernel's audit and of TLS have in base 16.

use super::handed::LONGEST;
use super::opaque::{count_changes, is_odd};
use super::scrub::surely_holds_secret;
use super::shape::run;
use std::ops::Range;

/// How long a word of a line is.
fn length_of_word(text: &str, from: usize) -> usize {
    let rest = &text.as_bytes()[from..];
    run(&rest[..rest.len().min(LONGEST)], |b| {
        b.is_ascii_graphic() && !b"\"'\\,;`".contains(&b)
    })
}

/// Whether a word is odd, and no name of a host, a file or an object.
fn is_odd_word(word: &str) -> bool {
    let is_name = word.contains(['-', '.']) && !word.bytes().any(|b| b.is_ascii_uppercase());
    is_odd(word) && !is_name
}

/// `ec2:AssignIpv6Addresses`, an action that a policy of AWS allows: words that begin with capitals.
fn is_action(service: &str, action: &str) -> bool {
    let is_of_service = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-';
    let capitals = action.bytes().filter(u8::is_ascii_uppercase).count();
    service.bytes().all(is_of_service)
        && action.bytes().all(|b| b.is_ascii_alphanumeric())
        && action.starts_with(|c: char| c.is_ascii_uppercase())
        && action.ends_with(|c: char| c.is_ascii_lowercase())
        && capitals >= 2
        && count_changes(action.as_bytes()) * 2 <= action.len()
}

/// `allow user:secret`, `basicauth user secret`
pub(super) fn of_account(text: &str, from: usize) -> Option<Range<usize>> {
    let rest = &text.as_bytes()[from..];
    let user = run(&rest[..rest.len().min(64)], |b| {
        b.is_ascii_alphanumeric() || b"_@-".contains(&b)
    });
    let is_beside = matches!(rest.get(user), Some(b':'))
        || rest.get(user) == Some(&b' ') && text[..from].ends_with("basicauth ");
    let start = from + user + 1;
    if user == 0 || !is_beside || !rest[0].is_ascii_alphabetic() {
        return None;
    }
    let end = start + length_of_word(text, start);
    let secret = text.get(start..end)?;
    (is_odd_word(secret) && !is_action(&text[from..from + user], secret)).then_some(start..end)
}

/// `connect user/secret@host`, as SQL*Plus reads it
pub(super) fn behind_connect(text: &str, from: usize) -> Option<Range<usize>> {
    let rest = &text.as_bytes()[from..];
    let user = run(&rest[..rest.len().min(64)], |b| {
        b.is_ascii_alphanumeric() || b"_$#".contains(&b)
    });
    let start = from + user + 1;
    if user == 0 || rest.get(user) != Some(&b'/') {
        return None;
    }
    let word = &text[start..start + length_of_word(text, start)];
    let secret = word.split('@').next().unwrap_or_default();
    (secret.len() >= 4 && secret.len() < word.len()).then(|| start..start + secret.len())
}

/// `BUNDLE_GEMS__EXAMPLE__COM=user:secret`
pub(super) fn of_host(text: &str, from: usize) -> Option<Range<usize>> {
    let rest = &text.as_bytes()[from..];
    let name = run(&rest[..rest.len().min(LONGEST)], |b| {
        b.is_ascii_uppercase() || b.is_ascii_digit() || b == b'_'
    });
    let is_host = text[from..from + name].contains("__") && rest.get(name) == Some(&b'=');
    let start = from + name + 1;
    if !is_host {
        return None;
    }
    let end = start + length_of_word(text, start);
    text[start..end].contains(':').then_some(start..end)
}

/// `CLIENT_RANDOM id secret`, as TLS writes keys for those who debug it.
pub(super) fn of_session(text: &str, from: usize) -> Option<Range<usize>> {
    let hex = |at: usize| {
        let rest = &text.as_bytes()[at..];
        run(&rest[..rest.len().min(256)], |b| b.is_ascii_hexdigit())
    };
    let start = from + hex(from) + 1;
    let is_pair = start > from + 32 && text.as_bytes().get(start - 1) == Some(&b' ');
    let length = if is_pair { hex(start) } else { 0 };
    (length >= 32).then(|| start..start + length)
}

/// `$USER3$=secret`, as in resources of Nagios.
pub(super) fn of_macro(text: &str, from: usize) -> Option<Range<usize>> {
    let rest = &text.as_bytes()[from..];
    let digits = run(&rest[..rest.len().min(4)], |b| b.is_ascii_digit());
    let start = from + digits + 2;
    let is_macro = digits > 0 && rest[digits..].starts_with(b"$=");
    let end = if is_macro {
        start + length_of_word(text, start)
    } else {
        start
    };
    let secret = text.get(start..end)?;
    is_odd(secret).then_some(start..end)
}

/// `wpa_psk_file: 00:11:22:33:44:55 secret`
pub(super) fn behind_address(text: &str, from: usize) -> Option<Range<usize>> {
    const ADDRESS: usize = 17;
    let rest = &text.as_bytes()[from..];
    let name = run(&rest[..rest.len().min(32)], |b| {
        b.is_ascii_alphabetic() || b"_.: ".contains(&b)
    });
    let near = rest.get(name..name + ADDRESS + 1)?;
    let is_address = near.iter().filter(|b| **b == b':').count() == 5 && near.ends_with(b" ");
    let start = from + name + ADDRESS + 1;
    let length = if is_address {
        length_of_word(text, start)
    } else {
        0
    };
    (length >= 8).then_some(start..start + length)
}

/// `chpasswd: {list: "user:secret\\nuser:secret"}`
pub(super) fn find_accounts(text: &str, from: usize, found: &mut Vec<Range<usize>>) {
    let near = &text[from..text.floor_char_boundary(from + LONGEST)];
    let ends = |c: char| c.is_ascii_whitespace() || "\"',[]{}\\".contains(c);
    let mut start = from;
    for part in near.split_inclusive(ends) {
        let word = part.trim_end_matches(ends);
        // The letter of an escaped line break is no part of the user.
        let escaped = usize::from(text[..start].ends_with('\\') && word.starts_with('n'));
        let pair = word[escaped..].split_once(':');
        let pair = pair.filter(|(user, secret)| {
            let is_name = |b: u8| b.is_ascii_alphanumeric() || b"_-.".contains(&b);
            !user.is_empty() && user.bytes().all(is_name) && is_odd(secret)
        });
        if let Some((_, secret)) = pair {
            let end = start + word.len();
            found.push(end - secret.len()..end);
        }
        start += part.len();
    }
}

/// `userid=name/secret`
pub(super) fn behind_slash(text: &str, from: usize) -> Option<Range<usize>> {
    let rest = &text.as_bytes()[from..];
    let length = run(&rest[..rest.len().min(LONGEST)], |b| {
        b.is_ascii_graphic() && !b"\"'\\,;@".contains(&b)
    });
    let (user, secret) = text[from..from + length].split_once('/')?;
    let is_user = !user.is_empty() && user.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_');
    (is_user && is_odd_word(secret)).then(|| from + user.len() + 1..from + length)
}

/// `DOMAIN\user%secret`
pub(super) fn find_of_domains(text: &str, found: &mut Vec<Range<usize>>) {
    for (at, sign) in text.match_indices('%') {
        let before = text.as_bytes()[..at].iter().rev().take(64);
        let is_name = |b: &&u8| b.is_ascii_alphanumeric() || b"_.-".contains(b);
        let user = before.take_while(is_name).count();
        let domain = text.as_bytes()[..at - user].strip_suffix(b"\\");
        let is_of_domain = user > 1
            && domain
                .and_then(<[u8]>::last)
                .is_some_and(u8::is_ascii_alphanumeric);
        let start = at + sign.len();
        if is_of_domain {
            let end = start + length_of_word(text, start);
            let secret = &text[start..end];
            if is_odd(secret) {
                found.push(start..end);
            }
        }
    }
}

/// `?u=user&p=secret`
pub(super) fn behind_parameter(text: &str, at: usize, from: usize) -> Option<Range<usize>> {
    let near = &text[text.ceil_char_boundary(at.saturating_sub(64))..at];
    let rest = &text.as_bytes()[from..];
    let length = run(&rest[..rest.len().min(LONGEST)], |b| {
        b.is_ascii_graphic() && !b"\"'\\&".contains(&b)
    });
    let behind = &text[from + length..text.floor_char_boundary(from + length + 3)];
    let has_user = ["?u=", "&u=", "user="]
        .iter()
        .any(|name| near.contains(name))
        || behind.starts_with("&u=");
    (has_user && length >= 4).then_some(from..from + length)
}

/// A command line, or what somebody typed, in base 16, as in records of the kernel's audit.
pub(super) fn in_hex(text: &str, at: usize, from: usize) -> Option<Range<usize>> {
    let rest = &text.as_bytes()[from..];
    let length = run(&rest[..rest.len().min(8 * LONGEST)], |b| {
        b.is_ascii_hexdigit()
    });
    let near = &text[text.ceil_char_boundary(at.saturating_sub(LONGEST))..at];
    if length < 8 || length % 2 == 1 {
        return None;
    }
    let place = from..from + length;
    if text[at..].starts_with(" data=") {
        return near.contains("type=TTY").then_some(place);
    }
    surely_holds_secret(&decoded(&rest[..length])).then_some(place)
}

/// What digits of base 16 stand for.
fn decoded(digits: &[u8]) -> String {
    let digit = |b: u8| char::from(b).to_digit(16).unwrap_or_default();
    digits
        .chunks_exact(2)
        .filter_map(|pair| u8::try_from(digit(pair[0]) * 16 + digit(pair[1])).ok())
        .map(|byte| if byte == 0 { ' ' } else { char::from(byte) })
        .collect()
}

/// `a0="mysql" a1=2D70…`: arguments of a command, of which the kernel writes those with a blank in base 16.
pub(super) fn find_in_command(text: &str, from: usize, found: &mut Vec<Range<usize>>) {
    let near = &text[from..text.floor_char_boundary(from + 4 * LONGEST)];
    let line = near.split('\n').next().unwrap_or_default();
    let (mut command, mut encoded) = (String::new(), Vec::new());
    let mut start = from;
    for word in line.split(' ') {
        let argument = word.split_once('=').filter(|(name, _)| {
            name.strip_prefix('a')
                .is_some_and(|number| number.parse::<u16>().is_ok())
        });
        if let Some((name, value)) = argument {
            let is_hex = value.len() >= 4 && value.bytes().all(|b| b.is_ascii_hexdigit());
            if is_hex {
                let begin = start + name.len() + 1;
                encoded.push(begin..begin + value.len());
                // A blank within it would part it.
                command.push_str(&decoded(value.as_bytes()).replace(' ', "_"));
            } else {
                command.push_str(value.trim_matches(['"', '\\']));
            }
            command.push(' ');
        }
        start += word.len() + 1;
    }
    if !encoded.is_empty() && surely_holds_secret(&command) {
        found.extend(encoded);
    }
}

/// `check_name!user!secret`, as Nagios parts arguments; returns where they end.
pub(super) fn find_arguments(text: &str, from: usize, found: &mut Vec<Range<usize>>) -> usize {
    let bytes = text.as_bytes();
    let near = &bytes[from..bytes.len().min(from + LONGEST)];
    let name = run(near, |b| b.is_ascii_alphanumeric() || b"_-.".contains(&b));
    if near.get(name) != Some(&b'!') {
        return from;
    }
    let length = name + run(&near[name..], |b| !b"\n\r\"'\\;".contains(&b));
    let Some(line) = text.get(from + name + 1..from + length) else {
        return from;
    };
    let mut start = from + name + 1;
    let mut before = "";
    for argument in line.split('!') {
        let word = argument.trim();
        let last = word.rsplit([' ', ':']).next().unwrap_or_default();
        let is_user = !before.is_empty()
            && before
                .bytes()
                .all(|b| b.is_ascii_alphabetic() || b"_-".contains(&b));
        let has_capital = last.bytes().any(|b| b.is_ascii_uppercase());
        let is_beside = word.contains(':') && word.starts_with('-');
        if is_odd(last) && (is_user || has_capital || is_beside) {
            let end = start + argument.trim_end().len();
            found.push(end - last.len()..end);
        }
        start += argument.len() + 1;
        before = word;
    }
    from + length
}
