//! Passwords of programs that are in no table: `-u user … -p secret` on one command line, and a secret that a shell hands to a
//! program: `program <<< secret`.

use super::arguments::words_after;
use super::handed::line_below;
use super::marks::Marks;
use super::opaque::{is_odd, is_opaque};
use super::piped::reads_secret;
use super::quote::quoted;
use super::shape::{apart, run};
use std::ops::Range;
use std::sync::LazyLock;

/// Flags that name a user, as they stand behind a blank.
static USER_MARKS: LazyLock<Marks> = LazyLock::new(|| {
    Marks::of([
        " -u ",
        " -U ",
        " --user ",
        " -user ",
        " --username ",
        " --login ",
        " -l ",
        " -x ",
        " -u:",
        " --user=",
        " --username=",
        " -D ",
        " -au ",
        " /u:",
        " /user:",
        " /ru ",
        " /U ",
        "\"-u\"",
        "\"-U\"",
        "\"--user\"",
        "\"--username\"",
    ])
});

/// What stands before a secret in sessions with routers, in commands for a TPM, and in settings of Bundler.
static SESSION_MARKS: LazyLock<Marks> =
    LazyLock::new(|| Marks::of(["neighbor ", " hex:", "BUNDLE_"]));

/// Flags that give a password, behind a user.
const FLAGS: [&str; 15] = [
    "-p",
    "-pas",
    "-P",
    "-w",
    "-K",
    "-pw",
    "-pass",
    "-passwd",
    "-ap",
    "/p",
    "/pass",
    "/password",
    "/pw",
    "/rp",
    "/P",
];

/// How the password stands beside the user in Windows' programs.
const WINDOWS_USER: &str = "/user:";

/// Programs whose `-p` is something else.
const OTHERS: [&str; 15] = [
    "mkdir",
    "docker",
    "podman",
    "nerdctl",
    "install",
    "cp",
    "ssh",
    "scp",
    "tar",
    "ps",
    "useradd",
    "journalctl",
    "rsync",
    "lsof",
    "id",
];

/// How far before it the program of a flag may stand.
const LONGEST: usize = 256;

pub(super) fn find_logins(text: &str) -> Vec<Range<usize>> {
    let mut found: Vec<Range<usize>> = Vec::new();
    let mut behind = 0;
    for (at, _, _) in USER_MARKS.places_in(text) {
        if at >= behind {
            behind = find_behind_user(text, at, &mut found);
        }
    }
    found.extend(find_here_strings(text));
    found.extend(find_of_samba(text));
    found.extend(find_of_windows(text));
    for (at, _, mark) in SESSION_MARKS.places_in(text) {
        let from = at + mark.len();
        found.extend(match mark {
            "neighbor " => of_neighbor(text, from),
            " hex:" => of_tpm(text, at, from),
            _ => of_bundler(text, from),
        });
    }
    apart(found)
}

/// Reads the command line behind a user's flag, and returns where it ended.
fn find_behind_user(text: &str, at: usize, found: &mut Vec<Range<usize>>) -> usize {
    let words = words_after(text, at);
    let end = words.last().map_or(at + 1, |word| word.end);
    let near = &text[text.ceil_char_boundary(at.saturating_sub(LONGEST))..at];
    let line = near.rsplit('\n').next().unwrap_or_default();
    let is_program = |word: &str| OTHERS.contains(&word.rsplit('/').next().unwrap_or(word));
    let before = line.split([' ', '"', '\'', ';', '|', '&']);
    let mut said = before.chain(words.iter().map(|word| &text[word.clone()]));
    if said.any(is_program) {
        return end;
    }
    for (number, word) in words.iter().enumerate() {
        let flag = &text[word.clone()];
        let value = match flag.split_once(':') {
            // `-p:secret`
            Some((flag, value)) if FLAGS.contains(&flag) => word.end - value.len()..word.end,
            _ if FLAGS.contains(&flag) => match words.get(number + 1) {
                Some(value) => value.clone(),
                None => continue,
            },
            _ => continue,
        };
        let secret = &text[value.clone()];
        if !secret.starts_with('-') && (is_odd(secret) || is_opaque(secret, true)) {
            found.push(value);
        }
    }
    end
}

/// `neighbor ADDRESS password secret`, `neighbor ADDRESS password 7 secret`: sessions with routers.
fn of_neighbor(text: &str, from: usize) -> Option<Range<usize>> {
    let words = words_after(text, from);
    let word = |number: usize| words.get(number).map(|place| &text[place.clone()]);
    word(1).filter(|word| *word == "password")?;
    let is_kind = word(2).is_some_and(|word| word.bytes().all(|b| b.is_ascii_digit()));
    let secret = words.get(2 + usize::from(is_kind && words.len() > 3))?;
    (secret.len() >= 4).then(|| secret.clone())
}

/// `tpm2_load -P hex:0a1b`: what authorizes the use of a key.
fn of_tpm(text: &str, at: usize, from: usize) -> Option<Range<usize>> {
    const SHORTEST: usize = 8;
    let near = &text[text.ceil_char_boundary(at.saturating_sub(LONGEST))..at];
    let line = near.rsplit('\n').next().unwrap_or_default();
    let flag = line.rsplit(' ').next().unwrap_or_default();
    let length = run(&text.as_bytes()[from..], |b| b.is_ascii_hexdigit());
    let found = line.contains("tpm2") && flag.starts_with('-') && length >= SHORTEST;
    found.then(|| from..from + length)
}

/// `BUNDLE_GEMS__EXAMPLE__COM: "user:secret"`: credentials of Bundler by host.
fn of_bundler(text: &str, from: usize) -> Option<Range<usize>> {
    let near = &text[from..text.floor_char_boundary(from + LONGEST)];
    let bytes = near.as_bytes();
    let name = run(bytes, |b| {
        b.is_ascii_uppercase() || b.is_ascii_digit() || b == b'_'
    });
    let sign = run(&bytes[name..], |b| b": =\"'\\".contains(&b));
    let start = name + sign;
    let length = run(&bytes[start..], |b| {
        b.is_ascii_alphanumeric() || b":_-.".contains(&b)
    });
    let (user, secret) = near[start..start + length].split_once(':')?;
    let is_host = near[..name].contains("__");
    let found = is_host && sign > 0 && !user.is_empty() && secret.len() >= 4;
    found.then(|| from + start + user.len() + 1..from + start + length)
}

/// `-U DOMAIN/user%secret`, of whatever program.
fn find_of_samba(text: &str) -> impl Iterator<Item = Range<usize>> {
    text.match_indices(" -U ").filter_map(|(at, flag)| {
        let word = words_after(text, at + flag.len()).into_iter().next()?;
        let (user, secret) = text[word.clone()].split_once('%')?;
        let is_secret = !user.is_empty() && secret.len() >= 4 && !secret.starts_with(['$', '*']);
        is_secret.then(|| word.start + user.len() + 1..word.end)
    })
}

/// `net use … /user:DOMAIN\\user secret`, `cmdkey /user:user /pass:secret`
fn find_of_windows(text: &str) -> impl Iterator<Item = Range<usize>> {
    let bytes = text.as_bytes();
    text.match_indices(WINDOWS_USER).filter_map(|(at, mark)| {
        let start = at + mark.len();
        let near = &bytes[start..bytes.len().min(start + LONGEST)];
        let user = run(near, |b| b.is_ascii_graphic() && !b"\"'".contains(&b));
        let blank = user + run(&near[user..], |b| b == b' ');
        let rest = &near[blank..];
        let pass = b"/pass:".as_slice();
        let flag = if rest.starts_with(pass) {
            pass.len()
        } else {
            0
        };
        let word = flag
            + run(&rest[flag..], |b| {
                b.is_ascii_graphic() && !b"\"'\\`;|&".contains(&b)
            });
        let secret = text.get(start + blank + flag..start + blank + word)?;
        let is_secret = blank > user && is_odd(secret);
        is_secret.then(|| start + blank + flag..start + blank + word)
    })
}

/// The word behind `<<<`, where a program before it reads secrets, or that on the line below `<<EOF`.
fn find_here_strings(text: &str) -> impl Iterator<Item = Range<usize>> {
    let documents = text.match_indices("<<").filter_map(|(at, sign)| {
        let near = &text[text.ceil_char_boundary(at.saturating_sub(LONGEST))..at];
        let line = near.rsplit('\n').next().unwrap_or_default();
        let behind = &text[at + sign.len()..];
        let is_document =
            behind.starts_with(|c: char| c.is_ascii_alphabetic() || "'\"-".contains(c));
        (is_document && reads_secret(line)).then(|| line_below(text, at + sign.len(), 1))?
    });
    let words = text.match_indices("<<<").filter_map(|(at, sign)| {
        let near = &text[text.ceil_char_boundary(at.saturating_sub(LONGEST))..at];
        let line = near.rsplit('\n').next().unwrap_or_default();
        let start = at + sign.len();
        let start = start + run(&text.as_bytes()[start..], |b| b == b' ');
        let rest = &text.as_bytes()[start..];
        let word = match quoted(rest) {
            Some(inner) => inner,
            None => {
                0..run(rest, |b| {
                    b.is_ascii_graphic() && !b"\"'`;|&<>\\".contains(&b)
                })
            }
        };
        let is_secret = !word.is_empty()
            && (reads_secret(line) || line.split(' ').any(|word| word == "su"))
            && rest[word.start] != b'*'
            && rest[word.start] != b'$';
        is_secret.then_some(start + word.start..start + word.end)
    });
    words.chain(documents)
}

#[cfg(test)]
mod tests {
    use crate::redact::scrub;

    #[test]
    fn passwords_behind_users_are_masked_whatever_the_program() {
        for (text, scrubbed) in [
            (
                "esxcli -s h -u root -p hunter2 system",
                "esxcli -s h -u root -p *** system",
            ),
            (
                "winrs -r:h -u:admin -p:hunter2 dir",
                "winrs -r:h -u:admin -p:*** dir",
            ),
            (
                "[\"check_x\", \"-u\", \"me\", \"-p\", \"hunter2\"]",
                "[\"check_x\", \"-u\", \"me\", \"-p\", \"***\"]",
            ),
            (
                "wmis -U CORP/me%hunter //h id",
                "wmis -U CORP/me%*** //h id",
            ),
            (
                "net use Z: x /user:CORP\\me hunter2",
                "net use Z: x /user:CORP\\me ***",
            ),
            ("sudo -S id <<< 'hunter'", "sudo -S id <<< '***'"),
            (
                "gbak -b -user SYSDBA -pas X7IFcLX6 a.fdb a.fbk",
                "gbak -b -user SYSDBA -pas *** a.fdb a.fbk",
            ),
            (
                "vty@(config-router)# neighbor 172.19.4.1 password yJY.Npaw-Fmurk",
                "vty@(config-router)# neighbor 172.19.4.1 password ***",
            ),
            (
                "tpm2_load -C prim.ctx -P hex:0bcadf0d4daade17 -u jwk.pub",
                "tpm2_load -C prim.ctx -P hex:*** -u jwk.pub",
            ),
            (
                "BUNDLE_GEMS__EXAMPLE__COM: \"8fdc54a6:0490e3c3\"",
                "BUNDLE_GEMS__EXAMPLE__COM: \"8fdc54a6:***\"",
            ),
        ] {
            assert_eq!(scrub(text), scrubbed);
            assert_eq!(scrub(scrubbed), scrubbed);
        }
    }

    #[test]
    fn other_flags_behind_users_stay() {
        for text in [
            "journalctl -u kubelet.service -p warning3",
            "sudo -u postgres mkdir -p data14",
            "docker run -u app1 -p 8080:80 image1",
            "prog -u root -p 22",
            "neighbor 172.19.4.1 remote-as 65001",
            "tpm2_pcrread sha256:7",
            "BUNDLE_PATH: vendor/bundle",
            "cat <<< 'hunter2'",
        ] {
            assert_eq!(scrub(text), text);
        }
    }
}
