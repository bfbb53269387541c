//! How lines of logs are quoted.

/// So much of the end of a line is kept: an error of Go wraps the cause, which stands last.
const TAIL: usize = 150;

/// What kubelet writes behind the error: to which pod, container or image it belongs (klog's structured lines).
const BEHIND: &[&str] = &[
    "\" pod=\"",
    "\" logger=\"",
    "\" containerID=\"",
    "\" image=\"",
];

/// A line that is longer than `most` characters without its middle: its first three quarters of `most`, and the end of its error.
pub(super) fn quote(line: &str, most: usize) -> String {
    let count = line.chars().count();
    if count <= most {
        return line.to_owned();
    }
    let head: String = line.chars().take(most * 3 / 4).collect();
    // What stands behind the error is left out where the head has not reached it.
    let ends = BEHIND.iter().filter_map(|mark| line.rfind(mark));
    let end = ends.filter(|end| *end > head.len()).min();
    let text = &line[..end.unwrap_or(line.len())];
    let rest = &text[head.len()..];
    match rest.char_indices().rev().nth(TAIL) {
        Some((start, c)) => format!("{head}…{}", &rest[start + c.len_utf8()..]),
        None => format!("{head}{rest}"),
    }
}

#[cfg(test)]
mod tests {
    use super::quote;

    #[test]
    fn the_middle_of_a_long_line_is_left_out_and_the_end_of_its_error_is_kept() {
        assert_eq!(quote("short", 300), "short");
        let wraps = "failed to do this: ".repeat(40);
        let line = format!("E1122 err=\"{wraps}open /x: no such file\" pod=\"a/b\" podUID=\"1\"");
        let quoted = quote(&line, 300);
        assert!(
            quoted.starts_with("E1122 err=") && quoted.contains('…'),
            "{quoted}"
        );
        assert!(quoted.ends_with("open /x: no such file"), "{quoted}");
        assert!(quoted.chars().count() < 300 + 150, "{quoted}");
        let umlauts = "ü".repeat(900);
        assert_eq!(quote(&umlauts, 400).chars().count(), 300 + 1 + 150);
        let just = "a".repeat(310);
        assert_eq!(quote(&just, 300).chars().count(), 310);
    }
}
