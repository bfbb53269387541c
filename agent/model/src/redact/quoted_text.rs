//! Texts of several lines within quotes, as JSON and Go write them: rules read them as the lines that they are.

use std::ops::Range;

/// No text in quotes is read that is longer.
const LONGEST: usize = 256 << 10;

/// The texts in quotes that have escaped line breaks, with their quotes, and what they say.
pub(super) fn texts_of_lines(text: &str) -> Vec<(Range<usize>, String)> {
    let bytes = text.as_bytes();
    let mut found = Vec::new();
    if !text.contains("\\n") {
        return found;
    }
    let mut at = 0;
    while let Some(start) = next_quote(bytes, at) {
        let Some(end) = closing_quote(bytes, start) else {
            at = start + 1;
            continue;
        };
        let quoted = &text[start..=end];
        at = end + 1;
        if quoted.contains("\\n")
            && let Ok(said) = serde_json::from_str::<String>(quoted)
            && (said.trim_end().contains('\n') || said.contains("\\n"))
        {
            found.push((start..end + 1, said));
        }
    }
    found
}

/// A text as it is written within quotes, with them.
pub(super) fn in_quotes(said: &str) -> String {
    serde_json::Value::from(said).to_string()
}

fn next_quote(bytes: &[u8], from: usize) -> Option<usize> {
    let is_quote = |at: &usize| bytes[*at] == b'"' && (*at == 0 || bytes[*at - 1] != b'\\');
    (from..bytes.len()).find(is_quote)
}

/// Where the text in quotes ends that begins here; nothing where its line ends before.
fn closing_quote(bytes: &[u8], start: usize) -> Option<usize> {
    let mut at = start + 1;
    let end = bytes.len().min(start + LONGEST);
    while at < end {
        match bytes[at] {
            b'"' => return Some(at),
            b'\n' => return None,
            b'\\' => at += 2,
            _ => at += 1,
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use crate::redact::scrub;

    #[test]
    fn lines_within_quotes_are_read_as_lines() {
        for (text, scrubbed) in [
            (
                r#"{"log":"first\n\" TOTP_AUTH\n15541729","a":1}"#,
                r#"{"log":"first\n\" TOTP_AUTH\n***","a":1}"#,
            ),
            (
                r#"{"a":"{\"b\":\"\\\" TOTP_AUTH\\n15541729\"}\n\n"}"#,
                r#"{"a":"{\"b\":\"\\\" TOTP_AUTH\\n***\"}\n\n"}"#,
            ),
        ] {
            assert_eq!(scrub(text), scrubbed);
            assert_eq!(scrub(scrubbed), scrubbed);
        }
    }

    #[test]
    fn quotes_that_do_not_close_are_none() {
        for text in ["a \" b\\n c", "\"a\\n\nb\"", "\"\\", "\"a\\x\\n\" \""] {
            assert_eq!(scrub(text), text);
        }
    }
}
