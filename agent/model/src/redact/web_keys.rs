//! The private members of keys as JSON (RFC 7517): `{"kty": "EC", "x": "…", "d": "…"}`, in any order, and escaped.
//!
//! What `x`, `y`, `n` and `e` hold is public, and stays.

use super::shape::{apart, run};
use std::ops::Range;

/// Members that are private: of elliptic curves and of RSA (RFC 7518, 6.2 and 6.3), and what is the whole key of one that both
/// sides have (6.4).
const PRIVATE: [&str; 7] = ["d", "p", "q", "dp", "dq", "qi", "k"];

/// The member that every key has: which kind it is.
const KIND: &str = "kty";

/// What a member may be called.
const LONGEST_NAME: usize = 3;

/// No private member is shorter.
const SHORTEST: usize = 16;

/// What is known of an object that has begun.
#[derive(Debug, Default)]
struct Object {
    is_key: bool,
    private: Vec<Range<usize>>,
}

pub(super) fn find_in_web_keys(text: &str) -> Vec<Range<usize>> {
    let mut found = Vec::new();
    if !text.contains(KIND) {
        return found;
    }
    let bytes = text.as_bytes();
    // What a text begins within, and what it ends within: it may be cut at both.
    let mut objects = vec![Object::default()];
    let mut at = 0;
    while at < bytes.len() {
        match bytes[at] {
            b'{' => objects.push(Object::default()),
            b'}' => {
                let object = objects.pop().unwrap_or_default();
                found.extend(private_of(object));
                if objects.is_empty() {
                    objects.push(Object::default());
                }
            }
            b'"' | b'\'' => {
                if let (Some(member), Some(object)) = (member_at(bytes, at), objects.last_mut()) {
                    let name = &text[at + 1..at + 1 + member.name];
                    object.is_key |= name == KIND;
                    let is_private = PRIVATE.contains(&name) && member.value.len() >= SHORTEST;
                    at = member.value.end - 1;
                    object.private.extend(is_private.then_some(member.value));
                }
            }
            _ => {}
        }
        at += 1;
    }
    found.extend(objects.into_iter().flat_map(private_of));
    apart(found)
}

fn private_of(object: Object) -> Vec<Range<usize>> {
    if object.is_key {
        object.private
    } else {
        Vec::new()
    }
}

/// A short name in quotes, and where its value is.
struct Member {
    name: usize,
    value: Range<usize>,
}

/// The member whose name begins with this quote, which may be escaped.
fn member_at(bytes: &[u8], quote: usize) -> Option<Member> {
    const WIDEST_GAP: usize = 32;
    let near = &bytes[quote + 1..];
    let name = run(&near[..near.len().min(LONGEST_NAME + 1)], |b| {
        b.is_ascii_lowercase()
    });
    if name == 0 || name > LONGEST_NAME {
        return None;
    }
    let is_sign = |b: u8| b"\\\"': =>\n\r\t".contains(&b);
    let gap = &near[name..near.len().min(name + WIDEST_GAP)];
    let gap = &gap[..run(gap, is_sign)];
    let is_parted = gap.contains(&b':') || gap.windows(2).any(|two| two == b"=>");
    let begins = gap.ends_with(b"\"") || gap.ends_with(b"'");
    let start = quote + 1 + name + gap.len();
    let length = run(&bytes[start..], |b| {
        b.is_ascii_alphanumeric() || b"_-+/=".contains(&b)
    });
    (is_parted && begins && length > 0).then_some(Member {
        name,
        value: start..start + length,
    })
}

#[cfg(test)]
mod tests {
    use crate::redact::scrub;

    const ONE: &str = "jTp0aHelloB3nvcbXz6aT2oR1aBqXo9Lm4ePzZ0Zb1A";
    const X: &str = "gI0GAILBdu7T53akrFmMyGcsF3n5dO7MmwNBHKW5SV0";

    #[test]
    fn private_members_of_a_key_are_masked_and_public_ones_stay() {
        for form in [
            "{\"kty\":\"EC\",\"x\":\"X\",\"d\":\"ONE\"}",
            "{\"keys\":[{\"d\":\"ONE\",\"x\":\"X\",\"kty\":\"OKP\"}],\"a\":{\"b\":1}}",
            "{\\\"kty\\\":\\\"EC\\\",\\\"x\\\":\\\"X\\\",\\\"d\\\":\\\"ONE\\\"}",
            "{\n  \"kty\": \"RSA\",\n  \"n\": \"X\",\n  \"dp\": \"ONE\",\n  \"qi\": \"ONE\"\n}",
            "{'kty': 'oct', 'k': 'ONE'}",
            "\"x\":\"X\",\"d\":\"ONE\",\"kty\":\"EC\"} and more",
        ] {
            let with = |one: &str| form.replace('X', X).replace("ONE", one);
            assert_eq!(scrub(&with(ONE)), with("***"));
            assert_eq!(scrub(&with("***")), with("***"));
        }
    }

    #[test]
    fn members_of_other_objects_stay() {
        for text in [
            format!("{{\"kty\":\"EC\",\"x\":\"{X}\",\"y\":\"{X}\"}}"),
            "{\"key\":{\"kty\":\"EC\"},\"d\":\"kubernetes-node-pool-a\"}".to_owned(),
            "{\"d\":\"kubernetes-node-pool-a\",\"k\":\"control-plane-nodes\"}".to_owned(),
        ] {
            assert_eq!(scrub(&text), text);
        }
    }
}
