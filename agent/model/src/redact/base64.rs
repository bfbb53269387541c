//! Base64, in both alphabets, as far as it is needed to see what is in it.

/// What is written in base64, of either alphabet, with or without its padding; line breaks and blanks count for
/// nothing. Nothing if it is not base64.
pub(super) fn decode(words: &[u8]) -> Option<Vec<u8>> {
    let mut out = Vec::with_capacity(words.len() / 4 * 3 + 3);
    let (mut bits, mut count, mut padded) = (0_u32, 0_u32, false);
    for byte in words {
        let value = match byte {
            b'A'..=b'Z' => byte - b'A',
            b'a'..=b'z' => byte - b'a' + 26,
            b'0'..=b'9' => byte - b'0' + 52,
            b'+' | b'-' => 62,
            b'/' | b'_' => 63,
            b'=' => {
                padded = true;
                continue;
            }
            b' ' | b'\t' | b'\n' | b'\r' => continue,
            _ => return None,
        };
        if padded {
            return None;
        }
        bits = (bits << 6) | u32::from(value);
        count += 6;
        if count >= 8 {
            count -= 8;
            out.push(u8::try_from((bits >> count) & 0xff).ok()?);
        }
    }
    // One character alone, or bits that are left over, are no base64.
    (count < 6 && bits & ((1 << count) - 1) == 0).then_some(out)
}

/// The text that is in it, if it is one.
pub(super) fn decode_text(words: &[u8]) -> Option<String> {
    let text = String::from_utf8(decode(words)?).ok()?;
    let is_shown = |c: char| !c.is_control() || matches!(c, '\n' | '\r' | '\t');
    text.chars().all(is_shown).then_some(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_alphabets_are_read_with_and_without_padding() {
        assert_eq!(decode_text(b"dXNlcjpwdw==").as_deref(), Some("user:pw"));
        assert_eq!(decode_text(b"dXNlcjpwdw").as_deref(), Some("user:pw"));
        assert_eq!(decode(b"-_-_"), decode(b"+/+/"));
        assert_eq!(decode(b"dXNl\n  cjpwdw=="), decode(b"dXNlcjpwdw=="));
    }

    #[test]
    fn what_is_no_base64_is_not_read() {
        assert_eq!(decode(b"dXNlc"), None);
        assert_eq!(decode(b"a.b"), None);
        assert_eq!(decode_text(b"AAECAwQF"), None);
    }
}
