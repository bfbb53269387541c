//! What a journal, the log of a container or the kernel's puts before each line. Rules read the lines without it, for they know
//! forms of several lines, and how lines begin.

use super::shape::run;
use super::unfold::container_margin;

/// A text without what stands before its lines.
#[derive(Debug)]
pub(super) struct Prefixed<'text> {
    prefixes: Vec<&'text str>,
    pub(super) lines: String,
}

impl<'text> Prefixed<'text> {
    /// Nothing where no line has such a prefix.
    pub(super) fn of(text: &'text str) -> Option<Self> {
        let lengths: Vec<usize> = text.split('\n').map(length_of_prefix).collect();
        if lengths.iter().all(|length| *length == 0) {
            return None;
        }
        let mut lines = String::with_capacity(text.len());
        let mut prefixes = Vec::with_capacity(lengths.len());
        for (number, (line, length)) in text.split('\n').zip(lengths).enumerate() {
            if number > 0 {
                lines.push('\n');
            }
            let (prefix, said) = line.split_at(length);
            prefixes.push(prefix);
            lines.push_str(said);
        }
        Some(Self { prefixes, lines })
    }

    /// The lines with what stood before them; nothing where they are not as many as they were.
    pub(super) fn restored(&self, lines: &str) -> Option<String> {
        let length: usize = self.prefixes.iter().map(|prefix| prefix.len()).sum();
        let mut text = String::with_capacity(lines.len() + length);
        let mut prefixes = self.prefixes.iter();
        for (number, line) in lines.split('\n').enumerate() {
            if number > 0 {
                text.push('\n');
            }
            text.push_str(prefixes.next()?);
            text.push_str(line);
        }
        prefixes.next().is_none().then_some(text)
    }
}

/// How long it is; 0 where the line has none.
fn length_of_prefix(line: &str) -> usize {
    let bytes = line.as_bytes();
    let length = match bytes.first() {
        Some(b'[') => length_of_kernel_time(bytes),
        Some(b'0'..=b'9' | b'A'..=b'Z') => container_margin(bytes)
            .map(|(length, _)| length)
            .or_else(|| length_of_journal(line)),
        Some(_) | None => None,
    };
    length.filter(|at| line.is_char_boundary(*at)).unwrap_or(0)
}

/// `[   12.345678] `
fn length_of_kernel_time(bytes: &[u8]) -> Option<usize> {
    let inner = 1 + run(&bytes[1..], |b| {
        b == b' ' || b == b'.' || b.is_ascii_digit()
    });
    let has_point = bytes[..inner].contains(&b'.');
    (has_point && bytes[inner..].starts_with(b"] ")).then_some(inner + 2)
}

/// `Jan 02 03:04:05 host unit[7]: ` or `2026-01-02T03:04:05+0000 host unit: `
fn length_of_journal(line: &str) -> Option<usize> {
    const WIDEST: usize = 160;
    let near = &line[..line.floor_char_boundary(WIDEST)];
    let (end, _) = near.match_indices(": ").next()?;
    let unit_start = near[..end].rfind(' ')?;
    let (before, unit) = (&near[..unit_start], &near[unit_start + 1..end]);
    let is_unit = !unit.is_empty() && !unit.contains(['=', '"', '/']);
    (is_unit && is_time_and_host(before)).then_some(end + 2)
}

fn is_time_and_host(before: &str) -> bool {
    let mut words = before.split_ascii_whitespace();
    let is_clock = |word: &str| {
        let mut parts = word.split([':', '.', ',']);
        let is_number = |part: Option<&str>| {
            part.is_some_and(|part| part.len() == 2 && part.bytes().all(|b| b.is_ascii_digit()))
        };
        is_number(parts.next()) && is_number(parts.next()) && is_number(parts.next())
    };
    let first = words.next().unwrap_or_default();
    let is_time = match first.split_once('T') {
        Some((date, clock)) if date.len() == 10 => clock.get(..8).is_some_and(is_clock),
        _ if first.len() == 3 => {
            let day = words.next().unwrap_or_default();
            let is_day = day.len() <= 2 && day.bytes().all(|b| b.is_ascii_digit());
            is_day && words.next().is_some_and(is_clock)
        }
        _ => false,
    };
    is_time && words.next().is_some() && words.next().is_none()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::redact::scrub;

    #[test]
    fn what_stands_before_a_line_is_known() {
        for (line, length) in [
            ("Jan 02 03:04:05 host unit[7]: said", 30),
            ("2026-01-02T03:04:05+0000 host unit: said: more", 36),
            ("2026-01-02T03:04:05.123456789Z stdout F said", 40),
            ("[   12.345678] said", 15),
            ("[section] said", 0),
            ("Name: said", 0),
            ("a: said", 0),
        ] {
            assert_eq!(length_of_prefix(line), length, "{line}");
        }
    }

    #[test]
    fn a_form_of_several_lines_is_found_behind_it() {
        let said = ["Password:", "  hunter2", "", "\" TOTP_AUTH", "15541729"];
        for prefix in [
            "Jan 02 03:04:05 host unit[7]: ",
            "2026-01-02T03:04:05.123456789Z stdout F ",
        ] {
            let text = |lines: [&str; 5]| lines.map(|line| format!("{prefix}{line}")).join("\n");
            let scrubbed = text([said[0], "  ***", "", said[3], "***"]);
            assert_eq!(scrub(&text(said)), scrubbed);
            assert_eq!(scrub(&scrubbed), scrubbed);
        }
    }

    #[test]
    fn a_name_or_a_secret_in_what_looks_like_a_prefix_counts() {
        for text in [
            "2026-01-02T03:04:05Z INFO password: hunter2",
            "Password=hunter2 2026-01-02T03:04:05.123456789Z stdout F said",
        ] {
            let scrubbed = scrub(text);
            assert!(!scrubbed.contains("hunter2"), "{scrubbed}");
            assert_eq!(scrub(&scrubbed), scrubbed);
        }
    }

    #[test]
    fn a_value_behind_a_backslash_and_a_block_leave_the_other_lines() {
        const PREFIX: &str = "2026-01-02T03:04:05.123456789Z stdout F ";
        let lines = [
            "cmd \\",
            "  --next",
            "token: |",
            "  abcdefgh",
            "  ijklmnop",
            "tail",
        ];
        let text = lines.map(|line| format!("{PREFIX}{line}")).join("\n");
        let scrubbed = scrub(&text);
        assert!(
            scrubbed.contains("--next") && scrubbed.ends_with("tail"),
            "{scrubbed}"
        );
        assert!(!scrubbed.contains("abcdefgh"), "{scrubbed}");
        assert!(!scrubbed.contains("ijklmnop"), "{scrubbed}");
    }

    #[test]
    fn a_key_over_several_lines_is_masked() {
        let text = "Jan 02 03:04:05 h u[7]: -----BEGIN RSA PRIVATE KEY-----\nJan 02 03:04:05 h u[7]: MIIE\nJan 02 03:04:05 h u[7]: -----END RSA PRIVATE KEY-----\n";
        let scrubbed = scrub(text);
        assert!(!scrubbed.contains("MIIE"), "{scrubbed}");
        assert_eq!(scrub(&scrubbed), scrubbed);
    }
}
