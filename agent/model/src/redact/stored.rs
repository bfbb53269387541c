//! What programs store with a secret in it: states of Terraform and of Pulumi, and the names and values of Subversion.

use super::form_values::result_behind;
use super::label::Form;
use super::line::lines_from;
use super::name::tells;
use super::opaque::is_opaque;
use super::quote::closed;
use super::shape::{apart, run};
use std::ops::Range;
use std::sync::LazyLock;

use super::marks::Marks;

static MARKS: LazyLock<Marks> = LazyLock::new(|| {
    Marks::of([
        "\"result\"",
        "\"result\\\"",
        "randomPassword:RandomPassword",
        "random_bytes\"",
        "K ",
    ])
});

/// How far the members of one instance are from each other.
const NEAR: usize = 512;

pub(super) fn find_stored(text: &str) -> Vec<Range<usize>> {
    let mut found = Vec::new();
    for (at, _, mark) in MARKS.places_in(text) {
        let from = at + mark.len();
        match mark {
            "randomPassword:RandomPassword" => found.extend(result_behind(text, from)),
            "random_bytes\"" => find_bytes(text, from, &mut found),
            "K " => found.extend(value_of_pair(text, at, from)),
            _ => found.extend(result_beside(text, at, from)),
        }
    }
    apart(found)
}

/// `"result": "value"` beside what says of which characters it was made.
fn result_beside(text: &str, at: usize, from: usize) -> Option<Range<usize>> {
    const SHORTEST: usize = 12;
    const NAMES: [&str; 3] = ["override_special", "min_special", "overrideSpecial"];
    let start = text.ceil_char_boundary(at.saturating_sub(NEAR));
    let near = &text[start..text.floor_char_boundary(from + NEAR)];
    if !NAMES.iter().any(|name| near.contains(name)) {
        return None;
    }
    let place = text_behind(text, from)?;
    let value = &text[place.clone()];
    (is_opaque(value, true) || value.len() >= SHORTEST && !value.contains(' ')).then_some(place)
}

/// `"base64": "…"` and `"hex": "…"` of random bytes.
fn find_bytes(text: &str, from: usize, found: &mut Vec<Range<usize>>) {
    let near = &text[from..text.floor_char_boundary(from + 2 * NEAR)];
    for name in ["base64\"", "hex\""] {
        let place = near.find(name).map(|at| from + at + name.len());
        found.extend(place.and_then(|behind| text_behind(text, behind)));
    }
}

/// The text in quotes behind a colon.
fn text_behind(text: &str, from: usize) -> Option<Range<usize>> {
    let rest = text[from..].trim_start_matches(' ').strip_prefix(':')?;
    let rest = rest.trim_start_matches(' ');
    let start = text.len() - rest.len();
    let inner = closed(rest.as_bytes()).filter(|inner| inner.len() < NEAR)?;
    Some(start + inner.start..start + inner.end)
}

/// `K 8`, `password`, `V 14`, and a line of so many bytes, in which blanks may be.
fn value_of_pair(text: &str, at: usize, from: usize) -> Option<Range<usize>> {
    let is_begin =
        at == 0 || !text.as_bytes()[at - 1].is_ascii_alphanumeric() || text[..at].ends_with("\\n");
    let digits = run(&text.as_bytes()[from..], |b| b.is_ascii_digit());
    let length: usize = text[from..from + digits].parse().ok()?;
    if !is_begin || length > NEAR {
        return None;
    }
    let mut lines = lines_from(text, from + digits);
    let head = lines.next()?;
    let name = text[lines.next()?].trim();
    let size = text[lines.next()?].trim().strip_prefix("V ")?;
    let value = lines.next()?;
    let is_name = head.is_empty()
        && (name.ends_with("passphrase") || tells(name.as_bytes()).is_some_and(Form::is_sure));
    let size: usize = size.parse().ok()?;
    let said = text[value.clone()].trim_start();
    let start = value.end - said.len();
    let said = match said.get(..size) {
        Some(whole) => whole,
        None => said.trim_end_matches(['"', ',', ' ']),
    };
    (is_name && !said.is_empty()).then(|| start..start + said.len())
}

#[cfg(test)]
mod tests {
    use crate::redact::scrub;

    #[test]
    fn secrets_that_programs_store_are_masked() {
        for (text, scrubbed) in [
            (
                "\"min_special\": 0,\n\"result\": \"aL\\u003c(owl\\u0026heron\",\n\"special\": true",
                "\"min_special\": 0,\n\"result\": \"***\",\n\"special\": true",
            ),
            (
                "\"type\": \"random:index/randomPassword:RandomPassword\",\n\"outputs\": {\"result\": \"an(owl\"}",
                "\"type\": \"random:index/randomPassword:RandomPassword\",\n\"outputs\": {\"result\": \"***\"}",
            ),
            (
                "\"type\": \"random_bytes\", \"base64\": \"b3dscyBhcmU=\", \"hex\": \"6f776c73\"",
                "\"type\": \"random_bytes\", \"base64\": \"***\", \"hex\": \"***\"",
            ),
            (
                "K 10\npassphrase\nV 12\nan owl heron\nK 8\npasstype\nV 6\nsimple\nEND",
                "K 10\npassphrase\nV 12\n***\nK 8\npasstype\nV 6\nsimple\nEND",
            ),
            (
                "K 8\npassword\nV 10\nzwei Eulen\nEND",
                "K 8\npassword\nV 10\n***\nEND",
            ),
        ] {
            assert_eq!(scrub(text), scrubbed);
            assert_eq!(scrub(scrubbed), scrubbed);
        }
    }

    #[test]
    fn other_results_and_pairs_stay() {
        for text in [
            "\"result\": \"succeeded-with-issues\", \"length\": 18",
            "\"special\": false, \"result\": \"x8k2p\"",
            "K 15\nsvn:realmstring\nV 27\n<https://svn.lan:443> A Realm\nEND",
            "K 8\nusername\nV 3\nann\nEND",
        ] {
            assert_eq!(scrub(text), text);
        }
    }
}
