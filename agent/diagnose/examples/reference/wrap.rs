//! Wraps generated prose at 100 columns. Code blocks, tables and headings stay as they are.

/// The longest line of prose.
const WIDTH: usize = 100;

/// Wraps each paragraph and list item. What follows the first line of an item is indented below its text.
pub(super) fn wrapped(text: &str) -> String {
    let mut is_code = false;
    let mut lines = Vec::new();
    for line in text.lines() {
        let is_fence = line.trim_start().starts_with("```");
        is_code ^= is_fence;
        let is_kept = is_code || is_fence || line.starts_with(['|', '#']);
        if is_kept {
            lines.push(line.to_owned());
        } else {
            wrap_line(line, &mut lines);
        }
    }
    lines.push(String::new());
    lines.join("\n")
}

fn wrap_line(line: &str, lines: &mut Vec<String>) {
    let text = line.trim_start();
    let mut indent = line.len() - text.len();
    let mut current = " ".repeat(indent);
    if text.starts_with("- ") {
        indent += 2;
    }
    let mut is_empty = true;
    for word in text.split(' ') {
        let is_full = current.chars().count() + 1 + word.chars().count() > WIDTH;
        if !is_empty && is_full {
            lines.push(std::mem::replace(&mut current, " ".repeat(indent)));
            is_empty = true;
        }
        if !is_empty {
            current.push(' ');
        }
        current.push_str(word);
        is_empty = false;
    }
    lines.push(current);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prose_and_items_are_wrapped_and_code_is_not() {
        let words = "word ".repeat(30);
        let words = words.trim_end();
        let text = wrapped(&format!(
            "{words}\n\n  - {words}\n\n```\n{words}\n```\n| {words} |\n"
        ));
        let long = text.lines().filter(|line| line.len() > WIDTH);
        let long: Vec<&str> = long.collect();
        assert_eq!(long, [words, &format!("| {words} |")], "{text}");
        assert!(text.contains("\n    word"), "{text}");
        assert!(text.ends_with("|\n"), "{text:?}");
    }

    #[test]
    fn a_text_that_fits_stays_as_it_is() {
        let text = "# Title\n\nA line.\n- an item\n";
        assert_eq!(wrapped(text), text);
    }
}
