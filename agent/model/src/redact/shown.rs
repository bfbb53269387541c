//! What a command prints whose output is a secret: the line below it, in a session that somebody recorded.

use super::handed::line_below;
use super::label::Form;
use super::marks::Marks;
use super::name::tells;
use super::opaque::{is_odd, is_opaque};
use super::shape::{apart, run};
use std::ops::Range;
use std::sync::LazyLock;

/// Commands, or parts of them, that print a secret and nothing else.
static MARKS: LazyLock<Marks> = LazyLock::new(|| {
    Marks::of([
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
    ])
});

/// How names of files end that hold a secret and nothing else.
static FILES: LazyLock<Marks> = LazyLock::new(|| {
    Marks::of([
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
    ])
});

/// What begins a list of a user and a secret, and what is before a secret in forms of their own.
static OTHERS: LazyLock<Marks> = LazyLock::new(|| {
    Marks::of([
        "auth' => [",
        "auth\": [",
        "auth: [",
        "auth=[",
        "auth = [",
        "login' => [",
        "credentials' => [",
        "credentials\": [",
        "credentials = [",
        "auth': (",
        "auth\": (",
        "auth=(",
        "auth = (",
        "New value: ",
        "\" RATE_LIMIT",
        "unicodePwd::",
        "PresharedKey:",
        "PrivateKey:",
        "TOTP_AUTH",
        "-[ RECORD",
        "assword",
        "SecureString",
    ])
});

/// The word behind a mark, to its quote or its blank.
fn word_behind(text: &str, from: usize) -> Option<Range<usize>> {
    const LONGEST: usize = 1024;
    let start = from + usize::from(text[from..].starts_with(' '));
    let rest = &text.as_bytes()[start..];
    let length = run(&rest[..rest.len().min(LONGEST)], |b| {
        b.is_ascii_graphic() && !b"\"'\\".contains(&b)
    });
    (length >= 8).then_some(start..start + length)
}

/// `PresharedKey:&[155 89 …]`, the bytes of a key as Go prints them.
fn bytes_behind(text: &str, from: usize) -> Option<Range<usize>> {
    const FEWEST: usize = 16;
    const LONGEST: usize = 512;
    let near = &text[from..text.floor_char_boundary(from + LONGEST)];
    let open = near.find('[').filter(|open| *open <= 2)? + 1;
    let numbers = near[open..].split(']').next()?;
    let are_bytes = numbers
        .split(' ')
        .all(|number| number.parse::<u8>().is_ok());
    let is_key = are_bytes && numbers.split(' ').count() >= FEWEST;
    is_key.then(|| from + open..from + open + numbers.len())
}

/// `'auth' => [ 'user', 'secret' ]`
fn second_of_pair(text: &str, from: usize) -> Option<Range<usize>> {
    const NEAR: usize = 256;
    let near = &text[from..text.floor_char_boundary(from + NEAR)];
    let quote = near.chars().find(|c| !c.is_whitespace())?;
    let mut parts = near.split(quote);
    let user = parts.by_ref().take(2).map(|part| part.len() + 1);
    let start: usize = user.sum();
    let between = parts.next()?;
    let secret = parts.next()?.trim_end_matches('\\');
    let is_pair = matches!(quote, '"' | '\'') && between.trim() == ",";
    let begin = from + start + between.len() + 1;
    (is_pair && is_odd_or_signed(secret)).then(|| begin..begin + secret.len())
}

/// Whether a word reads as a password: digits and letters, and whatever signs.
fn is_odd_or_signed(word: &str) -> bool {
    let has_digit = word.bytes().any(|b| b.is_ascii_digit());
    is_odd(word) || word.len() >= 8 && has_digit && !word.contains([' ', '/'])
}

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
    let place = place.filter(|_| is_name && !behind.contains('='))?;
    let word = &text[place.clone()];
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
    for (at, _, mark) in MARKS.places_in(text) {
        found.extend(printed(text, at, at + mark.len()));
    }
    for (at, _, mark) in FILES.places_in(text) {
        found.extend(content_below(text, at + mark.len()));
    }
    for (at, _, mark) in OTHERS.places_in(text) {
        let from = at + mark.len();
        match mark {
            "TOTP_AUTH" => find_codes(text, from, &mut found),
            "\" RATE_LIMIT" => found.extend(word_above(text, at)),
            "-[ RECORD" => find_in_record(text, from, &mut found),
            "assword" => found.extend(read_behind(text, from)),
            "SecureString" => found.extend(value_of_parameter(text, from)),
            "New value: " | "unicodePwd::" => {
                found.extend(word_behind(text, from));
            }
            "PresharedKey:" | "PrivateKey:" => found.extend(bytes_behind(text, from)),
            _ => found.extend(second_of_pair(text, from)),
        }
    }
    apart(found)
}

/// What the command prints that a mark is of.
fn printed(text: &str, at: usize, from: usize) -> Option<Range<usize>> {
    // Breaks that the command itself has in quotes, as in a template.
    const MOST_LINES: usize = 3;
    let is_kept = text[..at].ends_with("$(") || text[..at].ends_with('`');
    let mut below = (1..=MOST_LINES).filter_map(|number| line_below(text, from, number));
    let secret = below.find(|place| {
        let word = &text[place.clone()];
        (is_odd(word) || is_opaque(word, false)) && !word.contains('{')
    });
    secret.filter(|_| !is_kept)
}

/// The key of a second factor, which is the line above its settings.
fn word_above(text: &str, at: usize) -> Option<Range<usize>> {
    const LENGTHS: std::ops::RangeInclusive<usize> = 16..=64;
    const NEAR: usize = 160;
    let from = at.saturating_sub(NEAR);
    let near = &text.as_bytes()[from..at];
    let end = near.iter().rposition(u8::is_ascii_alphanumeric)? + 1;
    let is_base32 = |b: &&u8| b.is_ascii_uppercase() || b"234567".contains(b);
    let length = near[..end].iter().rev().take_while(is_base32).count();
    LENGTHS
        .contains(&length)
        .then(|| from + end - length..from + end)
}

/// Codes that each replace a second factor once, a line for each.
fn find_codes(text: &str, from: usize, found: &mut Vec<Range<usize>>) {
    const MOST: usize = 10;
    let below = (1..=MOST).map_while(|number| line_below(text, from, number));
    found.extend(below.take_while(|place| {
        place.len() == 8 && text[place.clone()].bytes().all(|b| b.is_ascii_digit())
    }));
}

/// `read(4, "value\n", 256)`, as strace shows what somebody typed where a program asked for a password.
fn read_behind(text: &str, from: usize) -> Option<Range<usize>> {
    const NEAR: usize = 160;
    let near = &text[from..text.floor_char_boundary(from + NEAR)];
    let read = near.find("read(")?;
    let start = from + read + near[read..].find('"')? + 1;
    let start = start + run(&text.as_bytes()[start..], |b| b"\"\\".contains(&b)).min(4);
    let rest = &text.as_bytes()[start..];
    let length = run(&rest[..rest.len().min(NEAR)], |b| !b"\n\"\\".contains(&b));
    (length >= 4).then_some(start..start + length)
}

/// `key | value`, a column of a record that psql shows with a line for each.
fn find_in_record(text: &str, from: usize, found: &mut Vec<Range<usize>>) {
    const MOST: usize = 64;
    const LONGEST: usize = 8 << 10;
    let near = &text[from..text.floor_char_boundary(from + LONGEST)];
    let mut start = from;
    for line in near.split_inclusive('\n').take(MOST) {
        if let Some((name, value)) = line.split_once(" | ") {
            let name = name
                .trim_end()
                .rsplit([' ', '"'])
                .next()
                .unwrap_or_default();
            let said = value.trim_end_matches(|c: char| c.is_whitespace() || "\",".contains(c));
            let form = tells(name.as_bytes());
            let is_secret =
                form.is_some_and(Form::is_sure) || form.is_some() && is_opaque(said, true);
            if is_secret && !said.is_empty() && !said.contains(' ') {
                let begin = start + line.len() - value.len();
                found.push(begin..begin + said.len());
            }
        }
        start += line.len();
    }
}

/// The value of a parameter of Systems Manager, in JSON or in a table.
fn value_of_parameter(text: &str, from: usize) -> Option<Range<usize>> {
    const NEAR: usize = 256;
    let near = &text[from..text.floor_char_boundary(from + NEAR)];
    let name = near.find("Value")? + "Value".len();
    let gap = run(&near.as_bytes()[name..], |b| b" \t|:\"\\".contains(&b));
    let start = from + name + gap;
    let rest = &text.as_bytes()[start..];
    let length = run(&rest[..rest.len().min(NEAR)], |b| {
        b.is_ascii_graphic() && !b"\"\\|".contains(&b)
    });
    (gap > 0 && length >= 4).then_some(start..start + length)
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
                "# cat /home/ops/.google_authenticator\n5UHGCCBWBJUNMCOUOGD4W5IQDJ\n\" TOTP_AUTH",
                "# cat /home/ops/.google_authenticator\n***\n\" TOTP_AUTH",
            ),
            (
                "-[ RECORD 1 ]-+---\nid | 31\nkey           | bb1cbe5ad9f7079ee10bf5ecac79d06f\nok | t",
                "-[ RECORD 1 ]-+---\nid | 31\nkey           | ***\nok | t",
            ),
            ("\" TOTP_AUTH\n15541729\n15541730", "\" TOTP_AUTH\n***\n***"),
            (
                "write(4, \"password for a: \", 28) = 28\nread(4, \"hunter\\n\", 256) = 7",
                "write(4, \"password for a: \", 28) = 28\nread(4, \"***\\n\", 256) = 7",
            ),
            (
                "'auth': ('svc_sync', 'wQ5]nettle(Dra7'), 's': 1",
                "'auth': ('***', '***'), 's': 1",
            ),
            (
                "Password for the [a] user successfully reset.\nNew value: q*DOrrhlkmW=Yclmg",
                "Password for the [a] user successfully reset.\nNew value: ***",
            ),
            (
                "head /etc/stunnel/psk.txt\nnode-1:5174f5a941da486cb2efb172832ff3d9",
                "head /etc/stunnel/psk.txt\nnode-1:***",
            ),
            (
                "PresharedKey:&[155 89 155 25 165 41 64 137 79 248 226 154 218 168 99 218]",
                "PresharedKey:***",
            ),
            (
                "'auth' => [\n  'rt_user',\n  'hunter2x'\n]",
                "'auth' => [\n  'rt_user',\n  '***'\n]",
            ),
            (
                "CCKT2SLZQYDP2IFHOPQ4HN2UCX\n\" RATE_LIMIT 3 30",
                "***\n\" RATE_LIMIT 3 30",
            ),
            (
                "||  Type  |  SecureString  ||\n||  Value  |  hunter  ||",
                "||  Type  |  SecureString  ||\n||  Value  |  ***  ||",
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
