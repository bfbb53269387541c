//! Keys that are written in groups, so that people can type them: of licences, and of a second factor.

use super::shape::run;
use std::ops::Range;

/// What is said before such a key, in small letters.
const OF_LICENCES: [&str; 14] = [
    "licen",
    "serial",
    "product",
    "activation",
    "registration",
    "subscription",
    "with key",
    "entitle",
    "coupon",
    "recovery key",
    "schlüssel",
    "clé ",
    "clave",
    "código",
];
const OF_FACTORS: [&str; 10] = [
    "2fa",
    "mfa",
    "totp",
    "otp",
    "authenticator",
    "two-factor",
    "setup key",
    "manual",
    "secret",
    "seed",
];

/// How far before it that may be said.
const NEAR: usize = 64;

/// No key has more groups.
const MOST_GROUPS: usize = 16;

/// No group has more characters.
const LONGEST_GROUP: usize = 8;

pub(super) fn find_groups(text: &str) -> Vec<Range<usize>> {
    let bytes = text.as_bytes();
    let mut found = Vec::new();
    let mut at = 0;
    while at < bytes.len() {
        if !bytes[at].is_ascii_alphanumeric() {
            at += 1;
            continue;
        }
        let first = run(&bytes[at..], |b| b.is_ascii_alphanumeric());
        let sign = bytes.get(at + first).copied();
        let begins = at == 0 || !b"-_./".contains(&bytes[at - 1]);
        let groups = match sign {
            Some(sign @ (b'-' | b' ')) if begins && (4..=LONGEST_GROUP).contains(&first) => {
                groups_from(bytes, at, first, sign)
            }
            _ => None,
        };
        match groups {
            Some(end) if is_key(text, at..end, first) => {
                found.push(at..end);
                at = end;
            }
            Some(_) | None => at += first,
        }
    }
    found
}

/// Where the groups end that begin here, if there are three and more of one length.
fn groups_from(bytes: &[u8], start: usize, length: usize, sign: u8) -> Option<usize> {
    let mut end = start + length;
    let mut count = 1;
    while count < MOST_GROUPS && bytes.get(end) == Some(&sign) {
        let rest = &bytes[end + 1..];
        let next = run(&rest[..rest.len().min(LONGEST_GROUP + 1)], |b| {
            b.is_ascii_alphanumeric()
        });
        if next != length {
            break;
        }
        end += 1 + length;
        count += 1;
    }
    let goes_on = sign == b'-' && bytes.get(end) == Some(&b'-');
    (count >= 3 && !goes_on).then_some(end)
}

fn is_key(text: &str, key: Range<usize>, length: usize) -> bool {
    let said = &text[key.clone()];
    let groups = || said.split(['-', ' ']);
    let near = text.ceil_char_boundary(key.start.saturating_sub(NEAR));
    let before = text[near..key.start].to_ascii_lowercase();
    let before = before.rsplit('\n').next().unwrap_or_default();
    let tells = |words: &[&str]| words.iter().any(|word| before.contains(word));
    let is_large = said.bytes().all(|b| !b.is_ascii_lowercase());
    let is_small = said.bytes().all(|b| !b.is_ascii_uppercase());
    let has_digit = said.bytes().any(|b| b.is_ascii_digit());
    let has_letter = said.bytes().any(|b| b.is_ascii_alphabetic());
    let is_base32 = said
        .bytes()
        .all(|b| b.is_ascii_alphabetic() || b"234567- ".contains(&b));
    let of_factor = length == 4
        && groups().count() >= 4
        && is_base32
        && has_digit
        && (is_large || is_small)
        && tells(&OF_FACTORS);
    // A key of systemd to recover a disk, in letters that all keyboards have at one place.
    let of_disk = length == LONGEST_GROUP
        && groups().count() == 8
        && said.bytes().all(|b| b"cbdefghijklnrtuv-".contains(&b));
    let of_licence = said.contains('-')
        && is_large
        && (has_letter || groups().count() >= 4)
        && tells(&OF_LICENCES);
    of_factor || of_licence || of_disk
}

#[cfg(test)]
mod tests {
    use crate::redact::scrub;

    #[test]
    fn keys_in_groups_are_masked() {
        for (text, scrubbed) in [
            (
                "manual 2FA key of ops: JBSW Y3DP EHPK 3PXP",
                "manual 2FA key of ops: ***",
            ),
            (
                "product key KDWQX-83921-PLMNB-44017-ZZTRV is used",
                "product key *** is used",
            ),
            (
                "    gceehfuk-chenujuk-ciuicbth-ivhhbenc-fdfhejed-klcifjdf-jenehidi-jtgbuhni",
                "    ***",
            ),
            (
                "Wiederherstellungsschlüssel für a: DVCH-YEYW-MZ3M-L76M-FREX-V4U2 – sicher",
                "Wiederherstellungsschlüssel für a: *** – sicher",
            ),
            (
                "activation number 48213-99120-77314-00218 accepted",
                "activation number *** accepted",
            ),
        ] {
            assert_eq!(scrub(text), scrubbed);
            assert_eq!(scrub(scrubbed), scrubbed);
        }
    }

    #[test]
    fn other_groups_stay() {
        for text in [
            "licence of 2024-2025-2026 is over",
            "otp: this that from with them when",
            "serial 0000-0000",
            "KDWQX-83921-PLMNB-44017-ZZTRV",
        ] {
            assert_eq!(scrub(text), text);
        }
    }
}
