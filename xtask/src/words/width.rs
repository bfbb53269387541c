//! Prose of the docs is at most 100 columns wide. Tables, headings, code blocks and what a link leads to may be wider.

/// The widest line of prose.
const WIDTH: usize = 100;

/// The lines of a page that are too wide.
pub(super) fn findings(path: &str, text: &str) -> Vec<String> {
    let mut is_code = false;
    let mut found = Vec::new();
    for (index, line) in text.lines().enumerate() {
        if line.trim_start().starts_with("```") {
            is_code = !is_code;
            continue;
        }
        let is_prose = !is_code && !line.trim_start().starts_with(['|', '#']);
        let width = visible(line);
        if is_prose && width > WIDTH && line.trim().contains(' ') {
            found.push(format!(
                "{path}:{}: {width} columns of at most {WIDTH}",
                index + 1
            ));
        }
    }
    found
}

/// How many characters of a line a reader sees: neither anchors nor what links lead to.
fn visible(line: &str) -> usize {
    let (mut width, mut rest) = (0, line);
    while let Some(first) = rest.chars().next() {
        let hidden = hidden(rest);
        if hidden == 0 {
            width += 1;
            rest = &rest[first.len_utf8()..];
        } else {
            rest = &rest[hidden..];
        }
    }
    width
}

/// How many bytes a text begins with that are not seen.
fn hidden(text: &str) -> usize {
    let end = |sign: &str| text.find(sign).map_or(0, |at| at + sign.len());
    if text.starts_with("<a ") {
        return end("</a>");
    }
    if text.starts_with("](") {
        return end(")");
    }
    0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_prose_that_can_be_wrapped_is_too_wide() {
        let words = "word ".repeat(21);
        let page = format!("{words}\n| {words} |\n# {words}\n```\n{words}\n```\n  {words}\n");
        let found = findings("docs/x.md", &page);
        assert_eq!(found.len(), 2, "{found:?}");
        assert!(found[0].starts_with("docs/x.md:1: "), "{found:?}");
        assert!(found[1].starts_with("docs/x.md:7: "), "{found:?}");
    }

    #[test]
    fn what_a_link_leads_to_and_one_long_word_are_not_counted() {
        let target = "x".repeat(120);
        let page = format!("- [a link]({target})\n<a id=\"{target}\"></a>it\n{target}\n");
        assert_eq!(findings("docs/x.md", &page), Vec::<String>::new());
    }
}
