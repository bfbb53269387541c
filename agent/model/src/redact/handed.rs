//! Secrets that stand on a line of their own behind the line that asks for them, arguments of checks, and schemes of lists of
//! users: `auth-user-pass`, `334 UGFzc3dvcmQ6`, `check_db!user!secret`, `{PLAIN}secret`.

use super::accounts::{
    behind_address, behind_connect, behind_parameter, behind_slash, find_accounts, find_arguments,
    find_in_command, find_of_domains, in_hex, of_account, of_host, of_macro, of_session,
};
use super::credential::is_masked;
use super::line::{length_of_break, length_of_line};
use super::manifest::said;
use super::marks::Marks;
use super::name::tells;
use super::shape::{apart, is_base64, run};
use std::ops::Range;
use std::sync::LazyLock;

/// No such line is longer.
pub(super) const LONGEST: usize = 512;

static MARKS: LazyLock<Marks> = LazyLock::new(|| {
    Marks::of([
        "<auth-user-pass>",
        "auth-user-pass <<",
        "334 UGFzc3dvcmQ6",
        "{PLAIN}",
        "{CLEAR}",
        "{CLEARTEXT}",
        "{PLAIN-MD5}",
        "{CRAM-MD5}",
        "check_",
        "chpasswd",
        "userid=",
        "USERID=",
        "user=",
        "uthCommunity ",
        "com2sec6 ",
        "form-data; name=",
        "literals:",
        "&p=",
        "_AUTH=",
        ":TEXT",
        "allow ",
        "auth ",
        "users: ",
        "basicauth ",
        "CLIENT_RANDOM ",
        "_SECRET ",
        "_TRAFFIC_SECRET_0 ",
        "$USER",
        "wpa_psk",
        "proctitle=",
        "BUNDLE_",
        "connect ",
        "CONNECT ",
        "type=EXECVE ",
        " data=",
        "user \"",
        "user '",
        "username \"",
        "user \\\"",
    ])
});

pub(super) fn find_handed(text: &str) -> Vec<Range<usize>> {
    let mut found = Vec::new();
    let mut behind = 0;
    for (at, _, mark) in MARKS.places_in(text) {
        let from = at + mark.len();
        if from < behind {
            continue;
        }
        match mark {
            "<auth-user-pass>" | "auth-user-pass <<" => found.extend(line_below(text, from, 2)),
            "334 UGFzc3dvcmQ6" => {
                let place = line_below(text, from, 1).or_else(|| last_below(text, from));
                found.extend(place.filter(|place| {
                    place.len() >= 4 && text[place.clone()].bytes().all(is_base64)
                }));
            }
            "chpasswd" => find_accounts(text, from, &mut found),
            "check_" => behind = find_arguments(text, from, &mut found),
            "userid=" | "USERID=" | "user=" | "_AUTH=" => found.extend(behind_slash(text, from)),
            "form-data; name=" => found.extend(field_of_form(text, from)),
            "literals:" => behind = find_literals(text, at, from, &mut found),
            "&p=" => found.extend(behind_parameter(text, at, from)),
            "type=EXECVE " => find_in_command(text, from, &mut found),
            "connect " | "CONNECT " => found.extend(behind_connect(text, from)),
            "BUNDLE_" => found.extend(of_host(text, from)),
            "proctitle=" | " data=" => found.extend(in_hex(text, at, from)),
            "allow " | "auth " | "users: " | "basicauth " => found.extend(of_account(text, from)),
            "CLIENT_RANDOM " | "_SECRET " | "_TRAFFIC_SECRET_0 " => {
                found.extend(of_session(text, from));
            }
            "$USER" => found.extend(of_macro(text, from)),
            "wpa_psk" => found.extend(behind_address(text, from)),
            "com2sec6 " => found.extend(last_word(text, from)),
            "uthCommunity " => found.extend(behind_kinds(text, from)),
            "user \"" | "user '" | "username \"" | "user \\\"" => {
                found.extend(behind_user(text, from));
            }
            _ => {
                let rest = &text.as_bytes()[from..];
                let length = run(&rest[..rest.len().min(LONGEST)], |b| {
                    b.is_ascii_graphic() && !b":\"'\\,".contains(&b)
                });
                if length >= 4 {
                    found.push(from..from + length);
                }
            }
        }
    }
    find_of_domains(text, &mut found);
    found.retain(|place| !is_masked(&text[place.clone()]));
    apart(found)
}

/// The last word of the line so many lines below, which says no more than what a session puts before it.
pub(super) fn line_below(text: &str, from: usize, number: usize) -> Option<Range<usize>> {
    const MOST_SIGNS: usize = 4;
    let near = text.floor_char_boundary(from + LONGEST);
    let bytes = &text.as_bytes()[..near];
    let mut start = from;
    for count in 0..=number {
        // What stands behind the mark, or on the line of the user, is passed over.
        let length = length_of_line(&bytes[start..]);
        let line = start..start + length;
        if count == number {
            let inside = said(&text[line.clone()]);
            let line = &text[line.start + inside.start..line.start + inside.end];
            let trimmed = line.trim_end_matches(['"', ',', '\\', ' ', '\r']);
            let last = trimmed.rsplit([' ', '"', '\t']).next().unwrap_or_default();
            let before = &trimmed[..trimmed.len() - last.len()];
            let signs = before.bytes().filter(u8::is_ascii_alphanumeric).count();
            let end = start + inside.start + trimmed.len();
            let is_word = last.len() >= 4 && signs <= MOST_SIGNS;
            return is_word.then(|| end - last.len()..end);
        }
        let length_of_end = length_of_break(&bytes[line.end..]);
        if length_of_end == 0 {
            return None;
        }
        start = line.end + length_of_end;
    }
    None
}

/// The last word of the next line, whatever stands before it, as a mail server's log tells of a session.
fn last_below(text: &str, from: usize) -> Option<Range<usize>> {
    let near = &text.as_bytes()[..text.floor_char_boundary(from + LONGEST)];
    let first = length_of_line(&near[from..]);
    let start = from + first + length_of_break(&near[from + first..]);
    let line = &text[start..start + length_of_line(&near[start..])];
    let line = line.trim_end_matches(['"', ',', '\\', ' ']);
    let last = line.rsplit(' ').next().unwrap_or_default();
    (start > from + first).then(|| start + line.len() - last.len()..start + line.len())
}

/// `form-data; name="password"`, and the value behind a blank line
fn field_of_form(text: &str, from: usize) -> Option<Range<usize>> {
    let near = &text[from..text.floor_char_boundary(from + 96)];
    let name = near.trim_start_matches(['"', '\\']);
    let length = run(name.as_bytes(), |b| {
        b.is_ascii_alphanumeric() || b"_-.".contains(&b)
    });
    tells(&name.as_bytes()[..length]).filter(|form| form.is_sure())?;
    line_below(text, from, 2)
}

/// The lines `- name=value` of a generator of Secrets; returns where they end.
fn find_literals(text: &str, at: usize, from: usize, found: &mut Vec<Range<usize>>) -> usize {
    const MOST_LINES: usize = 32;
    let near = text.ceil_char_boundary(at.saturating_sub(LONGEST));
    if !text[near..at].contains("secretGenerator") {
        return from;
    }
    let bytes = &text.as_bytes()[..text.floor_char_boundary(from + 4 * LONGEST)];
    let mut start = from;
    for number in 0..MOST_LINES {
        let length = length_of_line(&bytes[start..]);
        let line = &text[start..start + length];
        let item = line
            .find("- ")
            .and_then(|item| Some((item, line[item..].find('=')?)));
        match item {
            Some((item, sign)) => {
                let value =
                    line[item + sign + 1..].trim_end_matches(['"', ',', '\\', ' ', '\r', '\'']);
                let begin = start + item + sign + 1;
                let said = value.trim_start_matches(['"', '\'']);
                let end = begin + value.len();
                if said.len() >= 3 {
                    found.push(end - said.len()..end);
                }
            }
            None if number > 0 => return start,
            None => {}
        }
        let length_of_end = length_of_break(&bytes[start + length..]);
        if length_of_end == 0 {
            return start + length;
        }
        start += length + length_of_end;
    }
    start
}

/// `com2sec6 name source secret`
fn last_word(text: &str, from: usize) -> Option<Range<usize>> {
    let near = &text[from..text.floor_char_boundary(from + LONGEST)];
    let line = near[..length_of_line(near.as_bytes())].trim_end_matches(['"', ',', '\\', ' ']);
    let (before, last) = line.rsplit_once(' ')?;
    let is_place = before.trim().contains(' ') && last.len() >= 4;
    is_place.then(|| from + line.len() - last.len()..from + line.len())
}

/// `authCommunity log,execute secret`
fn behind_kinds(text: &str, from: usize) -> Option<Range<usize>> {
    let rest = &text.as_bytes()[from..];
    let rest = &rest[..rest.len().min(LONGEST)];
    let kinds = run(rest, |b| b.is_ascii_lowercase() || b == b',');
    let start = kinds + run(&rest[kinds..], |b| b == b' ');
    let length = run(&rest[start..], |b| {
        b.is_ascii_graphic() && !b"\"'\\".contains(&b)
    });
    (kinds > 0 && start > kinds && length >= 4).then_some(from + start..from + start + length)
}

/// `user "name" pass "secret"`
fn behind_user(text: &str, from: usize) -> Option<Range<usize>> {
    const WORDS: [&str; 4] = [
        "pass ",
        "password ",
        "with password ",
        "there with password ",
    ];
    let near = &text[from..text.floor_char_boundary(from + 128)];
    let (_, rest) = near.split_once(['"', '\''])?;
    let said = rest.trim_start();
    let word = WORDS.iter().find(|word| said.starts_with(**word))?;
    let value = said[word.len()..].trim_start_matches(['"', '\'', '\\']);
    let start = from + near.len() - value.len();
    let length = run(value.as_bytes(), |b| {
        b.is_ascii_graphic() && !b"\"'\\".contains(&b)
    });
    (length >= 4).then_some(start..start + length)
}

#[cfg(test)]
mod tests {
    use crate::redact::scrub;

    #[test]
    fn secrets_below_what_asks_for_them_are_masked() {
        for (text, scrubbed) in [
            (
                "auth-user-pass <<EOF\nme\nhunter\nEOF",
                "auth-user-pass <<EOF\nme\n***\nEOF",
            ),
            (
                "# <auth-user-pass>\n# me\n# hunter\n# </auth-user-pass>",
                "# <auth-user-pass>\n# me\n# ***\n# </auth-user-pass>",
            ),
            ("334 UGFzc3dvcmQ6\nC: aHVudGVy", "334 UGFzc3dvcmQ6\nC: ***"),
            ("check_db!monitor!hunter2!3306", "check_db!monitor!***!3306"),
            ("me:{PLAIN}hunter:1000:1000::", "me:{PLAIN}***:1000:1000::"),
            (
                "form-data; name=\"password\"\n\nhunter\n--",
                "form-data; name=\"password\"\n\n***\n--",
            ),
            (
                "secretGenerator:\n- literals:\n  - url=hunter\nname: x",
                "secretGenerator:\n- literals:\n  - url=***\nname: x",
            ),
            ("allow ops:hunter2", "allow ops:***"),
            (
                "connect erp/hunter@//db1:1521/ERP",
                "connect erp/***@//db1:1521/ERP",
            ),
            ("$USER3$=hunter2", "$USER3$=***"),
            ("GET /q?u=ops&p=hunter&q=1", "GET /q?u=ops&p=***&q=1"),
            ("proctitle=6D7973716C002D7068756E74657232", "proctitle=***"),
            ("imp userid=me/hunter2 file=x", "imp userid=me/*** file=x"),
            (
                "authCommunity log,execute hunter",
                "authCommunity log,execute ***",
            ),
            ("user \"me\" pass \"hunter2\"", "user \"me\" pass \"***\""),
        ] {
            assert_eq!(scrub(text), scrubbed);
            assert_eq!(scrub(scrubbed), scrubbed);
        }
    }

    #[test]
    fn other_lines_of_such_forms_stay() {
        for text in [
            "check_disk!20%!10%!/var",
            "allow ec2:AssignIpv6Addresses on arn:aws:ec2:us-west-2:*:network-interface/eni-1",
            "allow ec2:DescribeIpv6Pools",
            "curl -w \"a\\n%{http_code}2xx\" and date \"+\\t%Y-%m-%d\"",
            "check_ssh!node-1!22",
            "user=kube-system/app-1 verb=get",
            "<auth-user-pass>\nme",
            "334 UGFzc3dvcmQ6",
            "proctitle=2F7362696E2F696E6974",
            "literals:\n- url=hunter",
            "form-data; name=\"file\"\n\nhunter2",
            "GET /q?page=1&p=hunter2",
            "user \"me\" passed 12 tests",
        ] {
            assert_eq!(scrub(text), text);
        }
    }
}
