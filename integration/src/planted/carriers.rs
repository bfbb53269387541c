//! What a text of others goes through before the agent sees it: quotes, journals, listings, diffs.

use super::Planted;

/// The secret's text as it is, and in each carrier that leaves it to be read.
pub fn carried(planted: &Planted) -> Vec<Planted> {
    let text = &planted.text;
    let in_json = |text: &str| serde_json::json!({ "message": text, "next": 1 }).to_string();
    let mut all = vec![
        ("as it is", text.clone()),
        ("in JSON", in_json(text)),
        ("indented", lines(text, "      ")),
        ("in a listing", lines(text, " 12 | ")),
        ("added", lines(text, "+")),
        ("removed", lines(text, "-")),
        ("in quotes", format!("the line {text:?} is wrong")),
        ("in bare quotes", format!("it says: \"{text}\" and ends")),
    ];
    if !planted.of_lines {
        let journal = "2026-01-01T10:00:00.123456+0000 ip-10-0-0-1 kubelet[12]: ";
        all.extend([
            ("in JSON in JSON", in_json(&in_json(text))),
            ("in a journal", lines(text, journal)),
            // journalctl puts an entry of several lines below its first.
            ("in one entry of a journal", hanging(text, journal)),
        ]);
    }
    all.into_iter()
        .map(|(carrier, text)| Planted {
            name: format!("{}, {carrier}", planted.name),
            text,
            ..planted.clone()
        })
        .collect()
}

/// The first line behind a margin, and the others as far in.
fn hanging(text: &str, margin: &str) -> String {
    let blank = " ".repeat(margin.len());
    let margins = std::iter::once(margin).chain(std::iter::repeat(blank.as_str()));
    let lines = text.lines().zip(margins);
    lines
        .map(|(line, margin)| format!("{margin}{line}\n"))
        .collect()
}

fn lines(text: &str, margin: &str) -> String {
    text.lines()
        .map(|line| format!("{margin}{line}\n"))
        .collect()
}
