//! Words as people choose them for passwords, in places that tell nothing of them: letters of both cases, digits, and a sign
//! that names have not, such as `Plum!tree42X`. Like all of what is unknown, a guess.

use super::base64::decode_text;
use super::digits_in_words::has_digits_in_word;
use super::entropy::{is_announced, words_beside_blocks};
use super::opaque::count_changes;
use super::shape::run;
use std::ops::Range;

/// Signs that stand within no name, and signs that some names have, which count only behind a digit.
const SIGNS: &[u8] = b"!#^";
const DOUBTFUL: &[u8] = b"$*@";

const SHORTEST: usize = 8;

/// No such word is longer.
const LONGEST: usize = 40;

/// How often the kind of character changes within it, at least: `Job#1234` has three.
const FEWEST_CHANGES: usize = 5;

pub(super) fn find_chosen(text: &str) -> Vec<Range<usize>> {
    let bytes = text.as_bytes();
    let mut found: Vec<Range<usize>> = Vec::new();
    for (at, byte) in bytes.iter().enumerate() {
        let is_sign = SIGNS.contains(byte) || DOUBTFUL.contains(byte);
        if !is_sign || found.last().is_some_and(|last| at < last.end) {
            continue;
        }
        let before = bytes[..at].iter().rev().take(LONGEST + 1);
        let start = at - before.take_while(|b| is_of_word(**b)).count();
        let near = &bytes[at..bytes.len().min(at + LONGEST + 1)];
        let length = at - start + run(near, is_of_word);
        let word = &bytes[start..start + length];
        let begins = start == 0 || !b"/&?%[".contains(&bytes[start - 1]);
        let ends = bytes
            .get(start + length)
            .is_none_or(|b| !b"/([=<%&".contains(b));
        if begins && ends && is_chosen(word, at - start) {
            let end = word.len() - word.iter().rev().take_while(|b| b".!".contains(b)).count();
            found.push(start..start + end);
        }
    }
    found
}

/// Parts of names that have digits between letters.
const NAMES: [&str; 22] = [
    "k8s", "i18n", "l10n", "e2e", "p2p", "x86", "s3fs", "ipv4", "ipv6", "utf8", "ec2", "base64",
    "sha256", "http2", "oauth2", "amd64", "arm64", "chacha20", "ed25519", "x509", "v1beta1",
    "v1alpha1",
];

/// Words of letters of both cases with digits among them, as in `b4ltiskHav31` and `Wb3_kolTz81Ax`.
pub(super) fn find_odd(text: &str) -> Vec<Range<usize>> {
    const LONGEST: usize = 24;
    let bytes = text.as_bytes();
    let is_part = |b: u8| b.is_ascii_alphanumeric() || b"-_.".contains(&b);
    let mut found = Vec::new();
    for Range { start, end } in words_beside_blocks(text, is_part) {
        let words = text[start..end].trim_end_matches(['.', '-']);
        if !(SHORTEST..=LONGEST).contains(&words.len()) {
            continue;
        }
        // A flag, such as `-Xmx640m`, is no password.
        let begins = start == 0 || !b"/&?%[$\\@+#".contains(&bytes[start - 1]);
        let ends = bytes.get(end).is_none_or(|b| !b"/([=<%&:@+".contains(b));
        if begins
            && ends
            && !words.starts_with('-')
            && (words.split('.').any(is_odd_part)
                || is_mixed_within(words)
                || words.split('.').any(has_digits_in_word))
            && decode_text(words.as_bytes()).is_none()
            && !is_announced(&bytes[..start])
        {
            found.push(start..start + words.len());
        }
    }
    found
}

/// Whether a small letter, a capital and a digit stand side by side as in no name: `oV7-pelikan.Drift_41`, `4kL.pewter-Vo`.
fn is_mixed_within(words: &str) -> bool {
    let words = without_versions(words);
    let bytes = words.as_bytes();
    let mut three = bytes.windows(3);
    let is_odd = three.any(|three| match three {
        [first, b'A'..=b'Z', last] => first.is_ascii_lowercase() && last.is_ascii_digit(),
        [first, b'a'..=b'z', last] => first.is_ascii_digit() && last.is_ascii_uppercase(),
        _ => false,
    });
    is_odd && count_changes(bytes) > FEWEST_CHANGES && !is_named(words)
}

/// Whether a part of a name with digits stands in it.
fn is_named(part: &str) -> bool {
    let small = part.to_ascii_lowercase();
    NAMES.iter().any(|name| small.contains(name))
}

/// Up to what counts the versions of an API or names one resource of a stack: `CoreV1Api`, `Nodegroup-1XK9QW2ZP7LM`.
fn without_versions(part: &str) -> &str {
    const SHORTEST_WORD: usize = 3;
    let bytes = part.as_bytes();
    let mut pairs = bytes.windows(2);
    let version = pairs.rposition(|two| two[0] == b'V' && two[1].is_ascii_digit());
    let is_behind_word = |at: &usize| {
        let before = bytes[..*at].iter().rev();
        before.take_while(|b| b.is_ascii_lowercase()).count() >= SHORTEST_WORD
    };
    if let Some(version) = version.filter(is_behind_word) {
        return &part[..version];
    }
    match part.rsplit_once('-') {
        Some((before, id))
            if (12..=13).contains(&id.len())
                && id
                    .bytes()
                    .all(|b| b.is_ascii_uppercase() || b.is_ascii_digit()) =>
        {
            before
        }
        _ => part,
    }
}

/// Whether digits and letters of both cases change within it more than in names.
fn is_odd_part(part: &str) -> bool {
    const SHORTEST: usize = 6;
    let has = |is: fn(&u8) -> bool| part.bytes().any(|b| is(&b));
    let is_mixed =
        has(u8::is_ascii_digit) && has(u8::is_ascii_lowercase) && has(u8::is_ascii_uppercase);
    if !is_mixed || part.starts_with("0x") {
        return false;
    }
    let part = without_versions(part);
    // A version, the number of one of many, or a zone: `Nodes-1a`.
    let is_number = |c: char| c.is_ascii_digit() || "-_".contains(c);
    let zone = part.trim_end_matches(|c: char| c.is_ascii_lowercase());
    let part = match zone.trim_end_matches(|c: char| c.is_ascii_digit()) {
        before if part.len() - zone.len() == 1 && before.ends_with(['-', '_']) => before,
        _ => part,
    };
    let part = part.trim_end_matches(is_number);
    if part.len() < SHORTEST || is_named(part) {
        return false;
    }
    let bytes = part.as_bytes();
    let between = (1..bytes.len()).any(|at| {
        bytes[at].is_ascii_lowercase()
            && bytes[at - 1].is_ascii_digit()
            && bytes[..at]
                .iter()
                .rev()
                .find(|b| !b.is_ascii_digit())
                .is_some_and(u8::is_ascii_alphabetic)
    });
    let changes = count_changes(bytes);
    let has_digit = bytes.iter().any(u8::is_ascii_digit);
    let is_often = match changes {
        FEWEST_CHANGES => changes * 2 >= bytes.len(),
        more => more > FEWEST_CHANGES && more * 100 >= bytes.len() * 43,
    };
    has_digit && (between && changes >= 4 || is_often)
}

fn is_of_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric()
        || SIGNS.contains(&byte)
        || DOUBTFUL.contains(&byte)
        || b"-_.".contains(&byte)
}

/// Whether a word with a sign at this place reads as a password.
fn is_chosen(word: &[u8], sign: usize) -> bool {
    let has = |is: fn(&u8) -> bool| word.iter().any(is);
    let (before, behind) = (&word[..sign], &word[sign + 1..]);
    let is_within = before.last().is_some_and(u8::is_ascii_alphanumeric)
        && behind.first().is_some_and(u8::is_ascii_alphanumeric);
    // `Http2Exception$StreamException`
    let is_class = word[sign] == b'$'
        && before.first().is_some_and(u8::is_ascii_uppercase)
        && behind.first().is_some_and(u8::is_ascii_uppercase);
    let counts = SIGNS.contains(&word[sign]) || before.iter().any(u8::is_ascii_digit) && !is_class;
    // `file.html#Part1`, `user1@Host.example`
    let is_number = behind.iter().all(u8::is_ascii_digit);
    let is_address = before.contains(&b'.') || word[sign] == b'@' && behind.contains(&b'.');
    (SHORTEST..=LONGEST).contains(&word.len())
        && is_within
        && counts
        && !is_address
        && !is_number
        && has(u8::is_ascii_lowercase)
        && has(u8::is_ascii_uppercase)
        && has(u8::is_ascii_digit)
        && count_changes(word) >= FEWEST_CHANGES
}

#[cfg(test)]
mod tests {
    use crate::redact::scrub;

    #[test]
    fn words_that_people_choose_are_masked_wherever_they_stand() {
        for (text, scrubbed) in [
            ("ready: Ame-7tsuru#K0i. Next", "ready: ***. Next"),
            ("`Plum!tree42X`", "`***`"),
            ("bound \\20Vq3!heronCliff62\", 62)", "bound \\***\", 62)"),
            ("got Kd9$plumTree4 from it", "got *** from it"),
            ("Parameter is b4ltiskHav31.", "Parameter is ***."),
            (
                "USER db2inst1 USING gl4zenB0omgaarD",
                "USER db2inst1 USING ***",
            ),
            (
                "198.51.100.17   oV7-pelikan.Drift_41",
                "198.51.100.17   ***",
            ),
            ("<<Ouzel-23-fRamble>>", "<<***>>"),
            (
                "trunk-eu  4kL.pewter-Vo  from-trunk",
                "trunk-eu  ***  from-trunk",
            ),
            ("OPER Wb3_kolTz81Ax'", "OPER ***'"),
            ("-pw Mstr9kez -s nsc_71Tarn", "-pw *** -s ***"),
            ("|  Value |  Qr9_sMelt.ovn2  |", "|  Value |  ***  |"),
        ] {
            assert_eq!(scrub(text), scrubbed);
            assert_eq!(scrub(scrubbed), scrubbed);
        }
    }

    #[test]
    fn names_with_a_sign_stay() {
        for text in [
            "at java.util.concurrent.ThreadPoolExecutor$Worker1.run(T.java:6)",
            "see README.md#Part1A and Job#1234",
            "ops1@Host.example.com",
            "/^Error![A-Z]0x/",
            "5.15.0-1031~20.04.1-Ubuntu",
            "https://a.example/x#Section2B",
            "lib2@v1.2.3Beta",
            "client.CoreV1Api readCoreV1NamespacedPod DescribeInstanceTypesV2 FlowSchemaV1Beta2",
            "Nodegroup-1XK9QW2ZP7LM Caused by: Http2Exception$StreamException: x",
            "AgentBaker#7680 java -Xmx640m #111~18.04.1-Ubuntu GetAddrInfoReqWrap.onlookupall",
            "MyRole-Prod-2a Nodes_Of-Group-12 role kOps-Nodes-1b",
            "DataSourceEc2Local ChaCha20-Poly1305 22-Nov-2026 CoreDNS-1.12.4 K8s-driven",
            "core.v1.PodSpec policy/v1beta1.Eviction SSL_OP_NO_TLSv1_2 CgroupV2Path",
            "Mesh_10_0_1_21 EC2NodeClass AssignPodIPv4Address Apache-2.0-only X-Amz-Id-2",
            "0x7FF0006D0AB1C2 TLSv1.3 AES256-GCM-SHA384 Rocky-Linux-9 en_US.UTF-8 GzipBase64",
        ] {
            assert_eq!(scrub(text), text);
        }
    }
}
