//! Whether a value reads as a word of somebody, or as chance made it.

/// No value beside a doubtful name is shorter.
const SHORTEST: usize = 8;

/// Digits and letters among so many characters without a sign are no name that people give.
const SHORTEST_MIX: usize = 10;

/// Fewer digits of base 16 are part of a name, as pods have them.
const SHORTEST_HEX: usize = 16;

/// Nobody gives names of so many letters without a sign between them.
const LONGEST_NAME: usize = 24;

/// Nor words of so many capitals, such as cookies of Erlang.
const LONGEST_OF_CAPITALS: usize = 18;

/// Whether a value looks as if chance made it, or as passwords do; digests only if `hex` says so.
pub(super) fn is_opaque(words: &str, hex: bool) -> bool {
    let words = words.trim_matches(|c: char| "\"'`\\".contains(c));
    if words.len() < SHORTEST || words.bytes().any(|b| b.is_ascii_whitespace()) {
        return false;
    }
    if words.contains("://") || words.starts_with(['/', '.', '~', '<', '$', '%', '{', '*']) {
        return false;
    }
    if words.starts_with("arn:")
        || is_uuid(words) && !hex
        || is_aws_id(words)
        || words.contains("sha256")
    {
        return false;
    }
    // Groups of digits, as in a key to recover a disk.
    let groups = words.split('-');
    if hex && groups.clone().count() >= 6 && groups.clone().all(|group| group.len() >= 4) {
        return true;
    }
    let longest = words
        .split(|c: char| !c.is_ascii_alphanumeric() && !"+=".contains(c))
        .max_by_key(|part| part.len())
        .unwrap_or_default();
    let is_hex = longest.bytes().all(|b| b.is_ascii_hexdigit());
    match is_hex {
        true => hex && (is_uuid(words) || longest.len() >= SHORTEST_HEX && is_mixed(longest)),
        // No other word of capitals is so long.
        false
            if hex
                && longest.len() >= LONGEST_OF_CAPITALS
                && longest.bytes().all(|b| b.is_ascii_uppercase()) =>
        {
            true
        }
        false => {
            is_mixed(longest) || is_like_a_password(words) || hex && longest.len() >= LONGEST_NAME
        }
    }
}

/// Whether a word has letters and digits, and is no file, address, id or time.
pub(super) fn is_odd(words: &str) -> bool {
    words.len() >= 6
        && words.bytes().any(|b| b.is_ascii_digit())
        && words.bytes().any(|b| b.is_ascii_alphabetic())
        && !words.contains(['/', ':', '(', '<', '='])
        && !is_uuid(words)
        && !is_aws_id(words)
}

/// Whether digits and letters, or letters of both cases, change often.
pub(super) fn is_mixed(part: &str) -> bool {
    let changes = count_changes(part.as_bytes());
    let digits = part.bytes().filter(u8::is_ascii_digit).count();
    let letters = part.bytes().filter(u8::is_ascii_alphabetic).count();
    part.len() >= SHORTEST_MIX
        && letters >= 3
        && ((digits >= 2 && changes >= 3) || changes * 5 >= part.len() * 2)
}

/// How often the kind of character changes: small letter, capital, digit, sign.
pub(super) fn count_changes(bytes: &[u8]) -> usize {
    bytes
        .windows(2)
        .filter(|pair| kind(pair[0]) != kind(pair[1]))
        .count()
}

fn kind(byte: u8) -> u8 {
    match byte {
        b'a'..=b'z' => 0,
        b'A'..=b'Z' => 1,
        b'0'..=b'9' => 2,
        _ => 3,
    }
}

/// Letters, digits, and a sign that names have not.
fn is_like_a_password(words: &str) -> bool {
    let has = |is: fn(&u8) -> bool| words.bytes().any(|b| is(&b));
    let signs = words.bytes().filter(|b| b"!#$%^&*?~".contains(b)).count();
    let unusual = words
        .bytes()
        .filter(|b| b.is_ascii_punctuation() && !b"-_./:,@<>=\"&;'".contains(b));
    if unusual.count() >= 5 && has(u8::is_ascii_alphabetic) {
        return true;
    }
    let address = words.contains('@') && words.contains('.');
    has(u8::is_ascii_alphabetic)
        && has(u8::is_ascii_digit)
        && signs > 0
        && !address
        && !words.contains(['(', '{', '='])
}

pub(super) fn is_uuid(words: &str) -> bool {
    let lengths = [8, 4, 4, 4, 12];
    let mut parts = words.split('-');
    let matches = lengths.iter().all(|length| {
        parts.next().is_some_and(|part| {
            part.len() == *length && part.bytes().all(|b| b.is_ascii_hexdigit())
        })
    });
    matches && parts.next().is_none()
}

/// `i-0123456789abcdef0`, `vol-…`, `subnet-…`.
pub(super) fn is_aws_id(words: &str) -> bool {
    words.split_once('-').is_some_and(|(kind, id)| {
        kind.bytes().all(|b| b.is_ascii_lowercase())
            && (8..=17).contains(&id.len())
            && id.bytes().all(|b| b.is_ascii_hexdigit())
    })
}

/// Whether a line is one long word that chance made.
pub(super) fn is_opaque_word(said: &[u8]) -> bool {
    const SHORTEST: usize = 16;
    said.len() >= SHORTEST
        && !said.contains(&b':')
        && std::str::from_utf8(said).is_ok_and(|said| is_opaque(said.trim_end(), true))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_chance_made_is_opaque() {
        for words in [
            "k3Jx92mQpLw8",
            "dGhpcyBpcyBhIGtleQ",
            "P@ssw0rd!",
            "a8f3k2m9x7q1z5",
        ] {
            assert!(is_opaque(words, false), "{words}");
        }
        assert!(is_opaque("5f4dcc3b5aa765d61d8327deb882cf99", true));
    }

    #[test]
    fn what_people_name_is_not() {
        for words in [
            "node-role.kubernetes.io/control-plane",
            "CriticalAddonsOnly",
            "topology.kubernetes.io/zone",
            "i-0123456789abcdef0",
            "123e4567-e89b-12d3-a456-426614174000",
            "ip-172-20-33-12.ec2.internal",
            "kube-system/coredns-5d78c9869d-abcde",
            "KubeletConfiguration",
            "backups/etcd/main/2024-01-01T00:00:00Z",
            "us-east-1a",
            "v1.29.3",
            "AWS4-HMAC-SHA256",
            "5f4dcc3b5aa765d61d8327deb882cf99",
        ] {
            assert!(!is_opaque(words, false), "{words}");
        }
    }
}
