//! Passwords that a command line, an address or a list of users carries.

use super::marks::Marks;
use super::opaque::is_odd;
use super::shape::run;
use std::ops::Range;
use std::sync::LazyLock;

/// Prefixes of password hashes (crypt(5); RFC 2307).
const HASHES: &[&str] = &[
    "$1$",
    "$5$",
    "$6$",
    "$y$",
    "$7$",
    "$2a$",
    "$2b$",
    "$2y$",
    "$apr1$",
    "$argon2i$",
    "$argon2id$",
    "$pbkdf2-sha256$",
    "$8$",
    "$9$",
    "$P$",
    "$H$",
    "$S$",
    "$NT$",
    "$gy$",
    "$scrypt$",
    "$argon2d$",
    "$sha1$",
    "$krb5",
    "$pbkdf2",
    "$bcrypt",
    "$DCC2$",
    "{SSHA}",
    "{SHA}",
    "{SHA256}",
    "{SHA512}",
    "{SSHA256}",
    "{SSHA512}",
    "{CRYPT}",
    "{MD5}",
    "{SMD5}",
    "{PBKDF2",
    "pbkdf2_sha256$",
    "pbkdf2:sha256:",
    "scrypt:32768:",
    "SCRAM-SHA-256$",
    "bcrypt_sha256$",
    "grub.pbkdf2.sha512.",
];

static HASH_MARKS: LazyLock<Marks> = LazyLock::new(|| Marks::of(HASHES.iter().copied()));

/// What no other hash has in it.
const SIGNS: &[u8] = b"./$=,+-_*@:{}";

/// No hash, password or command line is read further.
const LONGEST: usize = 8 << 10;

/// The fewest characters of a hash.
const SHORTEST_HASH: usize = 16;

/// Hashes of passwords, as in `/etc/shadow`, in htpasswd files and in cloud-config.
pub(super) fn find_hashes(text: &str) -> Vec<Range<usize>> {
    let mut found: Vec<Range<usize>> = HASH_MARKS
        .places_in(text)
        .filter_map(|(start, _, prefix)| {
            let value = start + prefix.len();
            let is_long =
                prefix.starts_with("$krb5") || prefix.contains(':') || prefix.starts_with("SCRAM");
            let signs = if is_long { SIGNS } else { &SIGNS[..8] };
            let is_hash = |b: u8| b.is_ascii_alphanumeric() || signs.contains(&b);
            let bytes = &text.as_bytes()[value..];
            let length = run(&bytes[..bytes.len().min(LONGEST)], is_hash);
            let least = if prefix == "$9$" { 8 } else { SHORTEST_HASH };
            (length >= least).then_some(start..value + length)
        })
        .collect();
    found.extend(find_windows_hashes(text));
    found.sort_by_key(|place| place.start);
    found.dedup_by(|later, earlier| later.start < earlier.end);
    found
}

/// `md5` and 32 digits of PostgreSQL, `*` and 40 of MySQL, the two hashes of Windows in a line of a list of users.
fn find_windows_hashes(text: &str) -> impl Iterator<Item = Range<usize>> {
    let bytes = text.as_bytes();
    let hex = |from: usize| {
        run(&bytes[from..bytes.len().min(from + 72)], |b| {
            b.is_ascii_hexdigit()
        })
    };
    let begins = |at: usize| at == 0 || !bytes[at - 1].is_ascii_alphanumeric();
    let postgres = text.match_indices("md5").filter_map(move |(at, mark)| {
        let start = at + mark.len();
        (begins(at) && hex(start) == 32).then_some(at..start + 32)
    });
    let mysql = text
        .match_indices('*')
        .filter_map(move |(at, _)| (hex(at + 1) == 40).then_some(at + 1..at + 41));
    let windows = text.match_indices(":::").filter_map(move |(at, _)| {
        let start = at.checked_sub(65)?;
        let first = bytes.get(start..start + 32)?;
        let second = bytes.get(start + 33..at)?;
        let are_hex = first.iter().chain(second).all(u8::is_ascii_hexdigit);
        (are_hex && bytes[start + 32] == b':').then_some(start..at)
    });
    postgres.chain(mysql).chain(windows)
}

/// Passwords of command lines: `-u user:password`, and `-ppassword` of MySQL's programs.
pub(super) fn find_arguments(text: &str) -> Vec<Range<usize>> {
    let bytes = text.as_bytes();
    let users = text.match_indices(" -u").filter_map(|(at, flag)| {
        let start = at + flag.len();
        let start = start + run(&bytes[start..], |b| b == b' ' || b == b'"' || b == b'\'');
        let word = &text[start..start + run(&bytes[start..], is_of_argument)];
        let (user, password) = word.split_once(':')?;
        // Two numbers are a user and a group.
        let is_id = |part: &str| part.bytes().all(|b| b.is_ascii_digit());
        let is_secret = !user.is_empty() && !password.is_empty() && !is_id(password);
        let begins = start + user.len() + 1;
        (is_secret && !is_masked(password)).then_some(begins..begins + password.len())
    });
    let passwords = text.match_indices(" -p").filter_map(|(at, flag)| {
        let near = &bytes[at.saturating_sub(LONGEST)..at];
        let line = near.rsplit(|b| *b == b'\n').next().unwrap_or_default();
        let names = |name: &[u8]| line.windows(name.len()).any(|word| word == name);
        if !names(b"mysql") && !names(b"mariadb") {
            return None;
        }
        let start = at + flag.len();
        let length = run(&bytes[start..], is_of_argument);
        (length >= 4 && !is_masked(&text[start..start + length])).then_some(start..start + length)
    });
    let mut found: Vec<Range<usize>> = users.chain(passwords).collect();
    found.sort_by_key(|place| place.start);
    found
}

/// Passwords of `user:password@host:port` and `user:password@tcp(host:port)`, which have no scheme.
pub(super) fn find_in_addresses(text: &str) -> Vec<Range<usize>> {
    let bytes = text.as_bytes();
    let signs = text.match_indices('@').map(|(at, _)| at);
    let found = signs.filter_map(|at| {
        let before = run_back(&bytes[..at], |b| {
            b.is_ascii_graphic() && !b"\"'`@/,<>()[]{}=".contains(&b)
        });
        let word = &text[at - before..at];
        let (user, password) = word.split_once(':')?;
        let is_name = |b: u8| b.is_ascii_alphanumeric() || b"._-".contains(&b);
        let is_user = !user.is_empty() && user.bytes().all(is_name);
        let rest = &text[at + 1..];
        let host = &rest[..run(rest.as_bytes(), is_name)];
        let after = &rest[host.len()..];
        let port = after.strip_prefix(':').unwrap_or_default();
        let is_port = (2..=5).contains(&run(port.as_bytes(), |b| b.is_ascii_digit()));
        let is_digest = host.starts_with("sha");
        let is_path = after.starts_with('/') && host.contains('.') && is_odd(password);
        let begins = at - before;
        let is_domain = begins > 0 && text.as_bytes()[begins - 1] == b'/' && is_odd(password);
        let is_machine = host.parse::<std::net::Ipv4Addr>().is_ok() && is_odd(password);
        let leads = is_port || is_path || is_domain || is_machine || after.starts_with('(');
        let is_secret = is_user
            && password.len() >= 3
            && (!host.is_empty() || after.starts_with('('))
            && leads
            && !is_digest;
        (is_secret && !is_masked(password)).then_some(at - password.len()..at)
    });
    found.collect()
}

fn is_of_argument(byte: u8) -> bool {
    byte.is_ascii_graphic() && !b"\"'`;|&<>\\".contains(&byte)
}

/// Whether it is masked already, or a variable stands for it.
pub(super) fn is_masked(words: &str) -> bool {
    words.bytes().all(|b| b == b'*') || words.starts_with('$')
}

/// How many bytes at the end are of a kind.
fn run_back(bytes: &[u8], is: impl Fn(u8) -> bool) -> usize {
    bytes.iter().rev().take_while(|byte| is(**byte)).count()
}

#[cfg(test)]
mod tests {
    use crate::redact::scrub;

    #[test]
    fn passwords_of_command_lines_and_addresses_are_masked() {
        for (text, scrubbed) in [
            (
                "curl -u admin:s3cr3t https://h/x",
                "curl -u admin:*** https://h/x",
            ),
            ("curl -uadmin:s3cr3t h", "curl -uadmin:*** h"),
            (
                "mysql -h db -u root -pHunter2 app",
                "mysql -h db -u root -p*** app",
            ),
            ("dsn app:pa55@tcp(db:3306)/x", "dsn app:***@tcp(db:3306)/x"),
            (
                "open app:pa55word@db.example.io/x?y",
                "open app:***@db.example.io/x?y",
            ),
            (
                "to app:pa55@db.example:5432 failed",
                "to app:***@db.example:5432 failed",
            ),
            (
                "root:$6$abcdefgh$0123456789abcdefghij:19000:",
                "root:***:19000:",
            ),
            ("admin:$2y$05$abcdefghijklmnopqrstuv", "admin:***"),
        ] {
            assert_eq!(scrub(text), scrubbed);
            assert_eq!(scrub(scrubbed), scrubbed);
        }
    }

    #[test]
    fn users_groups_ports_and_digests_stay() {
        for text in [
            "docker run -u 1000:1000 image",
            "journalctl -u kubelet.service -p warning",
            "kill -p 12345; ssh -p 2222 host",
            "registry.example:5000/image:1@sha256:7031c1b283388d2c",
            "image:1.2@sha256:0123",
            "git@git.example.com:group/project",
            "mail to: a@example.com:25",
            "awk '{print $1$2}' and echo $6$",
            "10.0.0.1:2380 is leader@term 12:30",
        ] {
            assert_eq!(scrub(text), text);
        }
    }
}
