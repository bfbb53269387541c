//! Wraps the prose of the report at 100 columns.

/// The longest line of prose.
const WIDTH: usize = 100;

/// Joins the lines of each paragraph and list item, and wraps them. Code blocks, tables and headings stay as they are.
pub(super) fn wrapped(text: &str) -> String {
    let mut is_code = false;
    let (mut lines, mut paragraph) = (Vec::new(), String::new());
    for line in text.lines() {
        let is_fence = line.starts_with("```");
        is_code ^= is_fence;
        let is_kept = is_code || is_fence || line.is_empty() || line.starts_with(['|', '#']);
        if is_kept || line.starts_with("- ") {
            fill(&std::mem::take(&mut paragraph), &mut lines);
        }
        if is_kept {
            lines.push(line.to_owned());
            continue;
        }
        if !paragraph.is_empty() {
            paragraph.push(' ');
        }
        paragraph.push_str(line.trim());
    }
    fill(&paragraph, &mut lines);
    lines.push(String::new());
    lines.join("\n")
}

fn fill(paragraph: &str, lines: &mut Vec<String>) {
    if paragraph.is_empty() {
        return;
    }
    let indent = if paragraph.starts_with("- ") {
        "  "
    } else {
        ""
    };
    let mut words = paragraph.split(' ');
    let mut current = words.next().unwrap_or_default().to_owned();
    for word in words {
        if current.chars().count() + 1 + word.chars().count() > WIDTH {
            lines.push(std::mem::replace(&mut current, indent.to_owned()));
        } else {
            current.push(' ');
        }
        current.push_str(word);
    }
    lines.push(current);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paragraphs_and_items_are_filled_and_tables_and_code_are_not() {
        let words = "word ".repeat(30);
        let words = words.trim_end();
        let text = wrapped(&format!(
            "{words}\nnext\n- {words}\n\n```\n{words}\n```\n| {words} |\n"
        ));
        let long: Vec<&str> = text.lines().filter(|line| line.len() > WIDTH).collect();
        assert_eq!(long, [words, &format!("| {words} |")], "{text}");
        assert!(text.contains("word next\n- word"), "{text}");
        assert!(text.contains("\n  word"), "{text}");
    }
}
