//! Keys as numbers in base 16: in pairs of digits, behind `0x`, and in the forms of single programs.

use super::MASK;
use super::manifest::said;
use super::shape::{apart, run};
use std::ops::Range;

pub(super) fn find_numbers(text: &str) -> Vec<Range<usize>> {
    let mut found = Vec::new();
    find_pairs(text, &mut found);
    find_long(text, &mut found);
    find_identities(text, &mut found);
    find_of_agents(text, &mut found);
    find_marked(text, &mut found);
    find_digests_of_realms(text, &mut found);
    find_of_accounts(text, &mut found);
    apart(found)
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
fn find_pairs(text: &str, found: &mut Vec<Range<usize>>) {
    const MARKS: [&str; 5] = [
        "priv:",
        "MK dump:",
        "rivate key:",
        "rivateExponent:",
        "hexdump(len=",
    ];
    const FEWEST: usize = 8;
    const LONGEST: usize = 4 << 10;
    let bytes = text.as_bytes();
    for mark in MARKS {
        for (at, mark) in text.match_indices(mark) {
            let mut start = at + mark.len();
            if mark.ends_with('=') {
                if !dumps_key(&text[..at]) {
                    continue;
                }
                start += run(&bytes[start..], |b| {
                    b.is_ascii_digit() || b"):".contains(&b)
                });
            }
            let end = bytes.len().min(start + LONGEST);
            let is_gap = |b: u8| b.is_ascii_whitespace() || b"#\"',\\".contains(&b);
            loop {
                start += run(&bytes[start..end], is_gap);
                // An escaped line break.
                start +=
                    usize::from(bytes[..start].ends_with(b"\\") && bytes.get(start) == Some(&b'n'));
                start += run(&bytes[start..end.max(start)], |b| b == b' ');
                let length = length_of_pairs(&bytes[start..end.max(start)]);
                if length < 3 * FEWEST - 1 {
                    break;
                }
                found.push(start..start + length);
                start += length;
            }
        }
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
fn find_long(text: &str, found: &mut Vec<Range<usize>>) {
    const SHORTEST: usize = 32;
    for (at, sign) in text.match_indices('x') {
        let start = at + sign.len();
        if !text[..at].ends_with(['0', '\\']) {
            continue;
        }
        let length = length_of_number(text, start);
        if length >= SHORTEST {
            found.push(start..start + length);
        }
    }
}

/// `0a1b2c3d4e:0:PUBLIC:SECRET`, as ZeroTier keeps its identity.
fn find_identities(text: &str, found: &mut Vec<Range<usize>>) {
    const KIND: &str = ":0:";
    const LENGTH: usize = 128;
    for (at, kind) in text.match_indices(KIND) {
        let public = at + kind.len();
        let start = public + LENGTH + 1;
        if length_of_number(text, public) == LENGTH
            && text.as_bytes().get(start - 1) == Some(&b':')
            && length_of_number(text, start) == LENGTH
        {
            found.push(start..start + LENGTH);
        }
    }
}

/// `'AC…', '…'`: the token behind the account of Twilio.
fn find_of_accounts(text: &str, found: &mut Vec<Range<usize>>) {
    const LENGTH: usize = 32;
    for (at, mark) in text.match_indices("AC") {
        let account = at + mark.len();
        let length = match text[account..].starts_with(MASK) {
            true => MASK.len(),
            false => length_of_number(text, account),
        };
        if length != LENGTH && length != MASK.len() {
            continue;
        }
        let behind = account + length;
        let rest = &text.as_bytes()[behind..];
        let start = behind + run(rest, |b| b"'\", :=\\".contains(&b)).min(8);
        if start > behind && length_of_number(text, start) == LENGTH {
            found.push(start..start + LENGTH);
        }
    }
}

/// `user:realm:digest`, a line of a list of Apache's `htdigest`.
fn find_digests_of_realms(text: &str, found: &mut Vec<Range<usize>>) {
    const LENGTH: usize = 32;
    const LONGEST: usize = 128;
    let is_of_user = |b: u8| b.is_ascii_alphanumeric() || b"_.-@".contains(&b);
    let mut start = 0;
    for line in text.split_inclusive('\n') {
        let whole = line.trim_end();
        let inside = said(whole);
        let parts: Vec<&str> = whole[inside.clone()].splitn(4, ':').collect();
        if let [user, realm, digest] = parts.as_slice()
            && whole.len() <= LONGEST
            && !user.is_empty()
            && user.bytes().all(is_of_user)
            && !realm.is_empty()
            && digest.len() == LENGTH
            && length_of_number(digest, 0) == LENGTH
        {
            let end = start + inside.end;
            found.push(end - LENGTH..end);
        }
        start += line.len();
    }
}

/// What stands behind a mark of one program: a key of a hidden service of Tor, the key of a swarm of IPFS, a hash of SMB.
fn find_marked(text: &str, found: &mut Vec<Range<usize>>) {
    const SHORTEST: usize = 32;
    let bytes = text.as_bytes();
    for mark in [
        ":descriptor:x25519:",
        "-plain64 ",
        "-plain ",
        "-essiv:sha256 ",
        "/base16/",
        "XXXX:",
        "aad3b435b51404eeaad3b435b51404ee:",
    ] {
        for (at, mark) in text.match_indices(mark) {
            let mut start = at + mark.len();
            // The key of a swarm has a line of its own.
            start += run(&bytes[start..], |b| {
                b.is_ascii_whitespace() || b"\\\",".contains(&b)
            })
            .min(32);
            start +=
                usize::from(bytes[..start].ends_with(b"\\") && bytes.get(start) == Some(&b'n'));
            start += run(&bytes[start..], |b| b == b' ').min(32);
            let length = run(&bytes[start..], |b| b.is_ascii_alphanumeric());
            if length >= SHORTEST {
                found.push(start..start + length);
            }
        }
    }
    // `'crypt' => ['key' => '…']`, as of Magento.
    for (at, mark) in text.match_indices("crypt") {
        let near = &text[at..text.floor_char_boundary(at + mark.len() + 32)];
        let Some(key) = near.find("key") else {
            continue;
        };
        let start = at + key + 3;
        let start = start + run(&bytes[start..], |b| b" '\"=>:\\".contains(&b)).min(16);
        let length = length_of_number(text, start);
        if length >= SHORTEST {
            found.push(start..start + length);
        }
    }
}

/// The secret of an agent of Jenkins, which older ones take as an argument of no name.
fn find_of_agents(text: &str, found: &mut Vec<Range<usize>>) {
    const NEAR: usize = 512;
    const LENGTH: usize = 64;
    for mark in ["agent.jar", "slave.jar", "remoting.jar", "remoting.jnlp"] {
        for (at, mark) in text.match_indices(mark) {
            let start = at + mark.len();
            let near = &text[start..text.floor_char_boundary(start + NEAR)];
            let line = near.split('\n').next().unwrap_or_default();
            let mut from = start;
            for word in line.split([' ', '"', '\'', ',']) {
                if word.len() == LENGTH && length_of_number(word, 0) == LENGTH {
                    found.push(from..from + LENGTH);
                }
                from += word.len() + 1;
            }
        }
    }
}

fn length_of_number(text: &str, from: usize) -> usize {
    let rest = text.as_bytes().get(from..).unwrap_or_default();
    run(rest, |b| b.is_ascii_hexdigit())
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
            format!("container {NUMBER} started"),
            format!("74b1ff6bd8:0:{NUMBER}{NUMBER}"),
        ] {
            assert_eq!(scrub(&text), text);
        }
    }
}
