//! Secrets that a program compares: `"value" == password`. Behind the sign a value is found like any other.

use super::harmless::is_plain;
use super::name::tells;
use super::shape::run;
use std::ops::Range;

/// How far before the sign a text in quotes may begin.
const LONGEST: usize = 256;

pub(super) fn find_compared(text: &str) -> Vec<Range<usize>> {
    let bytes = text.as_bytes();
    let signs = text.match_indices("= ").map(|(at, _)| at);
    let found = signs.filter_map(|at| {
        let sign = bytes[..at]
            .iter()
            .rev()
            .take_while(|b| b"=!".contains(b))
            .count();
        let name = at + 2;
        let length = run(&bytes[name..], |b| {
            b.is_ascii_alphanumeric() || b"_-.".contains(&b)
        });
        let before = text[..at - sign].trim_end_matches(' ');
        let near = &before[before.ceil_char_boundary(before.len().saturating_sub(LONGEST))..];
        let quote = near
            .chars()
            .next_back()
            .filter(|c| matches!(c, '"' | '\''))?;
        let inner = &near[..near.len() - 1];
        let start = inner.rfind(quote)? + 1;
        let value = &inner[start..];
        let is_secret = sign > 0 && length > 0 && tells(&bytes[name..name + length]).is_some();
        let from = before.len() - near.len() + start;
        (is_secret && !is_plain(value)).then(|| from..from + value.len())
    });
    found.collect()
}

#[cfg(test)]
mod tests {
    use crate::redact::scrub;

    #[test]
    fn a_value_on_either_side_of_a_comparison_is_masked() {
        for (text, scrubbed) in [
            (
                "if (\"hunter2\" == password) {",
                "if (\"***\" == password) {",
            ),
            ("if 'hunter2' !== apiKey {", "if '***' !== apiKey {"),
            (
                "if (password === \"hunter2\") {",
                "if (password === \"***\") {",
            ),
        ] {
            assert_eq!(scrub(text), scrubbed);
        }
    }
}
