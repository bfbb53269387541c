//! What a command prints whose output is a secret: the line below it, in a session that somebody recorded.

use super::MASK;
use super::forms::is_odd_or_signed;
use super::grepped::line_beside;
use super::handed::{LONGEST, line_below};
use super::marks::Marks;
use super::opaque::{is_odd, is_opaque};
use super::shape::apart;
use std::ops::Range;
use std::sync::LazyLock;

/// Commands, or parts of them, that print a secret and nothing else.
const COMMANDS: &[&str] = &[
    "get secret",
    "get secrets",
    "get-secret-value",
    "get-parameter",
    "get-login-password",
    "print-access-token",
    "print-identity-token",
    "get-access-token",
    "create token",
    "token create",
    "generate-token",
    "preauthkeys create",
    "bootstrap-token",
    "vault kv get",
    "vault read",
    "op read",
    "pass show",
    "unlock-key",
    "join-token",
    "openssl rand",
    "/dev/urandom",
    "pwgen",
    "wg genkey",
    "wg genpsk",
    "sops -d",
    "sops --decrypt",
    "ansible-vault view",
    "find-generic-password",
    "secret-tool lookup",
    "bw get password",
    "base64 -d",
    "base64 --decode",
    "systemd-creds decrypt",
    "versions access",
];

/// How names of files end that hold a secret and nothing else.
const FILES: &[&str] = &[
    ".key",
    ".keys",
    "psk.txt",
    ".secrets",
    "chap-secrets",
    "pap-secrets",
    ".psk",
    ".secret",
    ".token",
    ".pass",
    ".passwd",
    ".password",
    ".cookie",
    ".seed",
    "/secret",
    "/token",
    "/password",
    "/passphrase",
    "_authenticator",
    "auth_private",
    "keyfile",
    "key-file",
    "_key",
    "_token",
    "_secret",
    "_pass",
    "-pass",
    "-password",
    "-token",
    "-secret",
    "_password",
];

/// Both, the commands first.
static MARKS: LazyLock<Marks> = LazyLock::new(|| Marks::of(COMMANDS.iter().chain(FILES).copied()));

/// The line below the name of such a file, as `cat` and `head` show it: one long word.
fn content_below(text: &str, from: usize) -> Option<Range<usize>> {
    const FARTHEST: usize = 80;
    const SHORTEST: usize = 12;
    let near = &text[from..text.floor_char_boundary(from + FARTHEST)];
    let (behind, _) = near.split_once(['\n', '\\'])?;
    let behind = behind.trim_end_matches("<==");
    let is_name = behind.is_empty() || behind.starts_with([' ', '\'', '"', ';', ')', ':']);
    let first = line_below(text, from, 1);
    // A diff says first which lines these are.
    let place = first.or_else(|| line_below(text, from, 2).filter(|_| near.contains("@@")));
    let place = place.filter(|_| is_name)?;
    let word = &text[place.clone()];
    // What is said of a key beside its file's name.
    let is_number = word.len() >= 32 && word.bytes().all(|b| b.is_ascii_hexdigit());
    if behind.contains('=') && !(is_number && behind.starts_with(' ')) {
        return None;
    }
    // `user:secret`
    if let Some((user, secret)) = word.split_once(':')
        && !user.is_empty()
        && user
            .bytes()
            .all(|b| b.is_ascii_alphanumeric() || b"_.-".contains(&b))
        && (is_odd_or_signed(secret) || is_opaque(secret, true))
    {
        return Some(place.end - secret.len()..place.end);
    }
    let is_alone = word
        .bytes()
        .all(|b| b.is_ascii_alphanumeric() || b"+/=_-".contains(&b));
    let is_path = word.contains('/') && word.starts_with(['/', '.']);
    let is_capital = word
        .bytes()
        .all(|b| b.is_ascii_uppercase() || b.is_ascii_digit());
    let is_secret = is_opaque(word, true) || word.len() >= 16 && is_capital;
    (is_alone && !is_path && word.len() >= SHORTEST && is_secret).then_some(place)
}

pub(super) fn find_shown(text: &str) -> Vec<Range<usize>> {
    let mut found = Vec::new();
    for (at, number, mark) in MARKS.places_in(text) {
        let from = at + mark.len();
        found.extend(match number < COMMANDS.len() {
            true => printed(text, at, from),
            false => line_beside(text, from).or_else(|| content_below(text, from)),
        });
    }
    apart(found)
}

/// What the command prints that a mark is of.
fn printed(text: &str, at: usize, from: usize) -> Option<Range<usize>> {
    // Breaks that the command itself has in quotes, as in a template.
    const MOST_LINES: usize = 3;
    let near = &text[text.ceil_char_boundary(at.saturating_sub(LONGEST))..at];
    let before = near.rsplit('\n').next().unwrap_or_default();
    let behind = &text[from..text.floor_char_boundary(from + LONGEST)];
    let line = behind.split('\n').next().unwrap_or_default();
    // A name that ends so, what a variable keeps, and what is written to a file.
    let is_command = !before.ends_with(|c: char| c.is_ascii_alphanumeric() || "_-/".contains(c));
    let is_kept = before.contains("$(") || before.contains('`') || line.contains('>');
    if !is_command && !text[at..].starts_with('/') || is_kept {
        return None;
    }
    for number in 1..=MOST_LINES {
        let lines = behind.split('\n');
        if lines
            .clone()
            .nth(number)
            .is_some_and(|line| line.contains(MASK))
        {
            return None;
        }
        let place = line_below(text, from, number).filter(|place| {
            let word = &text[place.clone()];
            (is_odd(word) || is_opaque(word, false)) && !word.contains('{')
        });
        if place.is_some() {
            return place;
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use crate::redact::scrub;

    #[test]
    fn what_a_command_prints_is_masked() {
        for (text, scrubbed) in [
            (
                "$ kubectl get secret a -o jsonpath={.data.x} | base64 -d\nhunter2x",
                "$ kubectl get secret a -o jsonpath={.data.x} | base64 -d\n***",
            ),
            (
                "# kubectl -n a get secret b -o go-template='{{.data.x}}{{\"\\n\"}}'\nhunter2x\n# ls",
                "# kubectl -n a get secret b -o go-template='{{.data.x}}{{\"\\n\"}}'\n***\n# ls",
            ),
            (
                "==> config/master.key <==\n0662b0c1f3a3a9dac565d39beb2503a7\n==> b <==",
                "==> config/master.key <==\n***\n==> b <==",
            ),
            (
                "head /etc/stunnel/psk.txt\nnode-1:5174f5a941da486cb2efb172832ff3d9",
                "head /etc/stunnel/psk.txt\nnode-1:***",
            ),
            (
                "# op read op://a/b\nhunter2x\n# ls node-1a",
                "# op read op://a/b\n***\n# ls node-1a",
            ),
            (
                "$ op read op://a/b/c\nhunter2x",
                "$ op read op://a/b/c\n***",
            ),
        ] {
            assert_eq!(scrub(text), scrubbed);
            assert_eq!(scrub(scrubbed), scrubbed);
        }
    }

    #[test]
    fn what_others_print_stays() {
        for text in [
            "$ kubectl get secret a\nNAME TYPE DATA AGE\na Opaque 1 4m2s",
            "loop read failed\\n#0 0x7ffd12ab34",
            "base64 -d > k8s.tgz\nrm k8s-1a.tgz",
            "x=$(op read op://a/b/c)\nnode1ab",
            "$ kubectl get secrets\nNo resources found",
            "open /srv/kubernetes/ca.key\n2024-11-07T09:14:03Z node-1",
            "-rw------- 1 root root 241 client.key\n-rw-r--r-- 1 root root 1021 client.crt",
            "/srv/kubernetes/ca.key\n/srv/kubernetes/ca.crt",
        ] {
            assert_eq!(scrub(text), text);
        }
    }
}
