//! Keys as numbers in base 16: in pairs of digits, behind `0x`, and in the forms of single programs.

use super::MASK;
use super::manifest::said;
use super::marks::Marks;
use super::shape::{apart, run};
use std::ops::Range;
use std::sync::LazyLock;

static MARKS: LazyLock<Marks> = LazyLock::new(|| {
    Marks::of([
        "priv:",
        "MK dump:",
        "rivate key:",
        "rivateExponent:",
        "AppKey:",
        "SKey:",
        "NwkKey:",
        "ey[16]",
        "EY[16]",
        "ey[32]",
        "EY[32]",
        "hexdump(len=",
        " key 0",
        "0x",
        "\\x",
        ":0:",
        "AC",
        "crypt",
        ":descriptor:x25519:",
        "-plain64 ",
        "-plain ",
        "-essiv:sha256 ",
        "/base16/",
        "::server:",
        "::node:",
        " ki ",
        " opc ",
        "KEY,\"",
        "KEY,\\\"",
        "XXXX:",
        "aad3b435b51404eeaad3b435b51404ee:",
        "agent.jar",
        "slave.jar",
        "remoting.jar",
        "remoting.jnlp",
    ])
});

/// No number is longer.
const LONGEST: usize = 4 << 10;

pub(super) fn find_numbers(text: &str) -> Vec<Range<usize>> {
    let mut found = Vec::new();
    for (at, _, mark) in MARKS.places_in(text) {
        let from = at + mark.len();
        match mark {
            // Names of systemd have `\x2d` for a hyphen.
            "\\x" if text[from..].starts_with("2d") => {}
            "0x" | "\\x" => found.extend(long(text, from)),
            ":0:" => found.extend(identity(text, from)),
            " key 0" => {
                // `key 01 …`, as of MACsec.
                let number = length_of_number(text, from).min(2);
                found.extend(long(text, from + number + 1).filter(|_| number == 1));
            }
            "AC" => found.extend(behind_account(text, from)),
            "crypt" => found.extend(key_of_shop(text, from)),
            "agent.jar" | "slave.jar" | "remoting.jar" | "remoting.jnlp" => {
                found.extend(of_agent(text, from));
            }
            "hexdump(len=" if dumps_key(&text[..at]) => {
                let behind = |b: u8| b.is_ascii_digit() || b"):".contains(&b);
                let length = run(&text.as_bytes()[from..], behind);
                find_pairs(text, from + length, &mut found);
            }
            "hexdump(len=" => {}
            "ey[16]" | "EY[16]" | "ey[32]" | "EY[32]" => {
                found.extend(bytes_of_array(text, at, from));
            }
            "priv:" | "MK dump:" | "rivate key:" | "rivateExponent:" | "AppKey:" | "SKey:"
            | "NwkKey:" => {
                find_pairs(text, from, &mut found);
            }
            _ => found.extend(behind_mark(text, from)),
        }
    }
    find_digests_of_realms(text, &mut found);
    apart(found)
}

/// Whether a line of a file of settings is `Key=` and 32 digits or more: digests stand beside other names.
pub(super) fn is_key_of_file(name: &str, value: &str) -> bool {
    name.eq_ignore_ascii_case("key")
        && value.len() >= 32
        && value.bytes().all(|b| b.is_ascii_hexdigit())
}

/// Whether what stands before a dump says that it is one of a key: `PSK (from passphrase) - hexdump(len=32): 2d 6f …`.
fn dumps_key(before: &str) -> bool {
    const NEAR: usize = 48;
    const OF_KEYS: [&str; 9] = [
        "psk",
        "pmk",
        "ptk",
        "gtk",
        "kck",
        "kek",
        "key",
        "secret",
        "passphrase",
    ];
    let near = &before[before.ceil_char_boundary(before.len().saturating_sub(NEAR))..];
    let near = near.rsplit('\n').next().unwrap_or_default();
    let near = near.to_ascii_lowercase();
    !near.contains("public") && OF_KEYS.iter().any(|word| near.contains(word))
}

/// Bytes of a key, each two digits of base 16, over as many lines as they have: `priv:\n    3f:9a:…`.
fn find_pairs(text: &str, from: usize, found: &mut Vec<Range<usize>>) {
    const FEWEST: usize = 8;
    let bytes = text.as_bytes();
    let mut start = from;
    let end = bytes.len().min(start + LONGEST);
    let is_gap = |b: u8| b.is_ascii_whitespace() || b"#\"',\\".contains(&b);
    loop {
        start += run(&bytes[start..end], is_gap);
        // An escaped line break.
        start += usize::from(bytes[..start].ends_with(b"\\") && bytes.get(start) == Some(&b'n'));
        start += run(&bytes[start..end.max(start)], |b| b == b' ');
        let length = length_of_pairs(&bytes[start..end.max(start)]);
        if length < 3 * FEWEST - 1 {
            return;
        }
        found.push(start..start + length);
        start += length;
    }
}

/// How long a run of pairs of digits is, each with a colon or a blank behind it.
fn length_of_pairs(bytes: &[u8]) -> usize {
    let is_pair = |three: &&[u8]| {
        three[..2].iter().all(u8::is_ascii_hexdigit)
            && three.get(2).is_none_or(|b| b": \n\r\"\\".contains(b))
    };
    let pairs = bytes
        .chunks(3)
        .take_while(|three| three.len() >= 2 && is_pair(three));
    let ends = |three: &&[u8]| matches!(three.get(2), Some(b':' | b' '));
    let mut length = 0;
    for three in pairs {
        length += 2;
        if !ends(&three) {
            return length;
        }
        length += 1;
    }
    length.saturating_sub(1)
}

/// `0x` or `\x` and 32 digits or more: no address is so long, and digests are written without it.
fn long(text: &str, from: usize) -> Option<Range<usize>> {
    const SHORTEST: usize = 32;
    let length = length_of_number(text, from);
    (length >= SHORTEST).then_some(from..from + length)
}

/// `0a1b2c3d4e:0:PUBLIC:SECRET`, as ZeroTier keeps its identity.
fn identity(text: &str, public: usize) -> Option<Range<usize>> {
    const LENGTH: usize = 128;
    let start = public + LENGTH + 1;
    let is_identity = length_of_number(text, public) == LENGTH
        && text.as_bytes().get(start - 1) == Some(&b':')
        && length_of_number(text, start) == LENGTH;
    is_identity.then_some(start..start + LENGTH)
}

/// `'AC…', '…'`: the token behind the account of Twilio.
fn behind_account(text: &str, account: usize) -> Option<Range<usize>> {
    const LENGTH: usize = 32;
    let rest = &text.as_bytes()[account..];
    let length = match rest.starts_with(MASK.as_bytes()) {
        true => MASK.len(),
        false => run(&rest[..rest.len().min(LENGTH + 1)], |b| {
            b.is_ascii_hexdigit()
        }),
    };
    if length != LENGTH && length != MASK.len() {
        return None;
    }
    let gap = run(&rest[length..], |b| b"'\", :=\\".contains(&b)).min(8);
    let start = account + length + gap;
    (gap > 0 && length_of_number(text, start) == LENGTH).then_some(start..start + LENGTH)
}

/// `user:realm:digest`, a line of a list of Apache's `htdigest`.
fn find_digests_of_realms(text: &str, found: &mut Vec<Range<usize>>) {
    const LENGTH: usize = 32;
    const LONGEST_LINE: usize = 128;
    let is_of_user = |b: u8| b.is_ascii_alphanumeric() || b"_.-@".contains(&b);
    let mut start = 0;
    for line in text.split_inclusive('\n') {
        let whole = line.trim_end();
        let begin = start;
        start += line.len();
        let digits = whole.bytes().rev().take(LENGTH);
        if whole.len() > LONGEST_LINE || digits.filter(u8::is_ascii_hexdigit).count() < LENGTH {
            continue;
        }
        let inside = said(whole);
        let parts: Vec<&str> = whole[inside.clone()].splitn(4, ':').collect();
        if let [user, realm, digest] = parts.as_slice()
            && !user.is_empty()
            && user.bytes().all(is_of_user)
            && !realm.is_empty()
            && digest.len() == LENGTH
            && length_of_number(digest, 0) == LENGTH
        {
            let end = begin + inside.end;
            found.push(end - LENGTH..end);
        }
    }
}

/// What stands behind a mark of one program: a key of a hidden service of Tor, the key of a swarm of IPFS, a hash of SMB, a key
/// of dm-crypt.
fn behind_mark(text: &str, from: usize) -> Option<Range<usize>> {
    const SHORTEST: usize = 32;
    let bytes = &text.as_bytes()[..text.len().min(from + LONGEST)];
    // The key of a swarm has a line of its own.
    let is_gap = |b: u8| b.is_ascii_whitespace() || b"\\\",".contains(&b);
    let mut start = from + run(&bytes[from..], is_gap).min(32);
    start += usize::from(bytes[..start].ends_with(b"\\") && bytes.get(start) == Some(&b'n'));
    start += run(&bytes[start..], |b| b == b' ').min(32);
    let length = run(&bytes[start..], |b| b.is_ascii_alphanumeric());
    (length >= SHORTEST).then_some(start..start + length)
}

/// `APP_KEY[16] = { 0x2b, 0x7e, … }`, as sources of C have it.
fn bytes_of_array(text: &str, at: usize, from: usize) -> Option<Range<usize>> {
    const LONGEST_ARRAY: usize = 512;
    const FEWEST: usize = 16;
    const BEFORE: usize = 24;
    let before = &text[text.ceil_char_boundary(at.saturating_sub(BEFORE))..at];
    let near = &text[from..text.floor_char_boundary(from + LONGEST_ARRAY)];
    let open = near.find('{').filter(|open| *open <= 4)? + 1;
    let inner = near[open..].split('}').next()?.trim();
    let is_of_bytes = |b: u8| b.is_ascii_hexdigit() || b"x, \n\r\t\\".contains(&b);
    let is_key = inner.bytes().all(is_of_bytes) && inner.matches("0x").count() >= FEWEST;
    let start = from + open + near[open..].find(inner)?;
    let is_public = before.to_ascii_lowercase().contains("pub");
    (is_key && !is_public).then(|| start..start + inner.len())
}

/// `'crypt' => ['key' => '…']`, as of Magento.
fn key_of_shop(text: &str, from: usize) -> Option<Range<usize>> {
    let near = &text[from..text.floor_char_boundary(from + 32)];
    let start = from + near.find("key")? + 3;
    let rest = &text.as_bytes()[start..];
    long(
        text,
        start + run(rest, |b| b" '\"=>:\\".contains(&b)).min(16),
    )
}

/// The secret of an agent of Jenkins, which older ones take as an argument of no name.
fn of_agent(text: &str, start: usize) -> Option<Range<usize>> {
    const NEAR: usize = 512;
    const LENGTH: usize = 64;
    let near = &text[start..text.floor_char_boundary(start + NEAR)];
    let line = near.split('\n').next().unwrap_or_default();
    let mut from = start;
    for word in line.split([' ', '"', '\'', ',']) {
        if word.len() == LENGTH && length_of_number(word, 0) == LENGTH {
            return Some(from..from + LENGTH);
        }
        from += word.len() + 1;
    }
    None
}

fn length_of_number(text: &str, from: usize) -> usize {
    let rest = text.as_bytes().get(from..).unwrap_or_default();
    run(&rest[..rest.len().min(LONGEST)], |b| b.is_ascii_hexdigit())
}

#[cfg(test)]
mod tests {
    use crate::redact::scrub;

    const NUMBER: &str = "035013e04feb9eaa3acfb20e77fd5a2a9066d7630534bd5df05a47358a64b03e";

    #[test]
    fn keys_in_base_16_are_masked() {
        for (text, scrubbed) in [
            (
                "PSK (from passphrase) - hexdump(len=8): 2d 6f 5c d8 81 16 94 21".to_owned(),
                "PSK (from passphrase) - hexdump(len=8): ***",
            ),
            (
                format!("ip macsec add macsec0 on key 01 {}", &NUMBER[..32]),
                "ip macsec add macsec0 on key 01 ***",
            ),
            (
                format!("host/a@B (aes256-cts-hmac-sha1-96)  (0x{NUMBER})"),
                "host/a@B (aes256-cts-hmac-sha1-96)  (0x***)",
            ),
            (
                format!("java -jar agent.jar -webSocket {NUMBER} arm-2"),
                "java -jar agent.jar -webSocket *** arm-2",
            ),
            (
                "priv:\n    3f:9a:00:11:22:33:44:55".to_owned(),
                "priv:\n    ***",
            ),
            (
                "AppKey: 2B 7E 15 16 28 AE D2 A6 AB F7 15 88 09 CF 4F 3C".to_owned(),
                "AppKey: ***",
            ),
            (
                format!("u1_t APPKEY[16] = {{ {}0x3c }};", "0x2b, ".repeat(15)),
                "u1_t APPKEY[16] = { *** };",
            ),
            (format!("VALUES (1, '\\x{NUMBER}')"), "VALUES (1, '\\x***')"),
            (
                format!("ops:Nagios Access:{}", &NUMBER[..32]),
                "ops:Nagios Access:***",
            ),
        ] {
            assert_eq!(scrub(&text), scrubbed);
            assert_eq!(scrub(scrubbed), scrubbed);
        }
        let identity = format!("74b1ff6bd8:0:{NUMBER}{NUMBER}:{NUMBER}{NUMBER}");
        let public = format!("74b1ff6bd8:0:{NUMBER}{NUMBER}:***");
        assert_eq!(scrub(&identity), public);
    }

    #[test]
    fn other_numbers_stay() {
        for text in [
            format!("RX frame - hexdump(len=8): 2d 6f 5c d8 81 16 94 21 {NUMBER}"),
            "0xffff888103a2b000 0x7f3a".to_owned(),
            format!("dev-disk-by\\x2did-nvme\\x2d{NUMBER}\\x2d1.device"),
            format!("container {NUMBER} started"),
            format!("74b1ff6bd8:0:{NUMBER}{NUMBER}"),
        ] {
            assert_eq!(scrub(&text), text);
        }
    }
}
