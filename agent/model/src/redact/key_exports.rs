//! Keys that a program exports as text below a line of its own, which is no line of PEM: `BORG_KEY id`, and lines of base64.

use super::line::lines_from;
use super::manifest::said;
use super::marks::Marks;
use super::shape::{apart, is_base64, run};
use std::ops::Range;
use std::sync::LazyLock;

/// No export has more lines.
const MOST_LINES: usize = 256;

/// No line of an export is longer.
const LONGEST_LINE: usize = 1024;

/// What heads a key: Borg's and Attic's, those of minisign and signify, Tarsnap's, and Borg's for paper.
static HEADS: LazyLock<Marks> = LazyLock::new(|| {
    Marks::of([
        "BORG_KEY ",
        "ATTIC_KEY ",
        "minisign encrypted secret key",
        "minisign secret key",
        "signify secret key",
        "START OF TARSNAP KEY FILE",
        PAPER,
    ])
});

/// Numbers in base 16, in groups, of a key that is printed to be typed again.
const PAPER: &str = "BORG PAPER KEY v1";

pub(super) fn find_key_exports(text: &str) -> Vec<Range<usize>> {
    let mut found = Vec::new();
    let mut behind = 0;
    for (at, _, mark) in HEADS.places_in(text) {
        if at < behind {
            continue;
        }
        let from = at + mark.len();
        behind = match mark {
            PAPER => find_on_paper(text, from, &mut found),
            _ => find_body(text, from, &mut found),
        };
    }
    apart(found)
}

/// The lines of base64 below a head, up to the first that is none; returns where they end.
fn find_body(text: &str, from: usize, found: &mut Vec<Range<usize>>) -> usize {
    const SHORTEST_FIRST: usize = 32;
    let mut end = from;
    let mut is_first = true;
    for line in lines_from(text, from).skip(1).take(MOST_LINES) {
        let Some(body) = said_there(text, &line) else {
            return end;
        };
        let word = &text[body.clone()];
        let is_body = !word.is_empty() && word.bytes().all(is_base64);
        if !is_body || is_first && word.len() < SHORTEST_FIRST {
            return end;
        }
        is_first = false;
        end = body.end;
        found.push(body);
    }
    end
}

/// `1: 86a961 6c676f - 6d`: the groups of each line; returns where the last ends.
fn find_on_paper(text: &str, from: usize, found: &mut Vec<Range<usize>>) -> usize {
    let mut end = from;
    for line in lines_from(text, from).skip(1).take(MOST_LINES) {
        let Some(inside) = said_there(text, &line) else {
            return end;
        };
        let row = &text[inside.clone()];
        let digits = run(row.as_bytes(), |b| b.is_ascii_digit());
        let Some(groups) = row[digits..].strip_prefix(": ").filter(|_| digits > 0) else {
            if row.is_empty() || row.starts_with("id:") {
                continue;
            }
            return end;
        };
        let start = inside.end - groups.len();
        let length = run(groups.as_bytes(), |b| b.is_ascii_hexdigit() || b == b' ');
        let length = groups[..length].trim_end().len();
        if length > 0 {
            found.push(start..start + length);
        }
        end = inside.end;
    }
    end
}

/// What a line says, without its margin and the blanks around it.
fn said_there(text: &str, line: &Range<usize>) -> Option<Range<usize>> {
    let whole = text
        .get(line.clone())
        .filter(|whole| whole.len() <= LONGEST_LINE)?;
    let inside = said(whole);
    let inner = whole[inside.clone()].trim_end();
    let word = inner.trim_start_matches([' ', '\t', '#', '>']);
    let end = line.start + inside.start + inner.len();
    Some(end - word.len()..end)
}

#[cfg(test)]
mod tests {
    use crate::redact::scrub;

    #[test]
    fn the_body_of_an_exported_key_is_masked() {
        let head = "a".repeat(64);
        for (text, scrubbed) in [
            (
                format!("BORG_KEY {head}\nhqlhbGdvcml0aG2mc2hhMjU2pGRhdGHaAZ7DzCHj\nUQ8m+/==\n\nnext"),
                format!("BORG_KEY {head}\n***\n***\n\nnext"),
            ),
            (
                "  untrusted comment: minisign encrypted secret key\n  RWRTY0Iyo9E0dVbFnQXFVbC1qkBjyYx4rPTAx2hEFl8b\n".to_owned(),
                "  untrusted comment: minisign encrypted secret key\n  ***\n".to_owned(),
            ),
            (
                "# START OF TARSNAP KEY FILE\ndGFyc25hcAAAAAAAAABmrzbKkEMbWVm4Oc2wvuDbC4Aq\n# END OF TARSNAP KEY FILE".to_owned(),
                "# START OF TARSNAP KEY FILE\n***\n# END OF TARSNAP KEY FILE".to_owned(),
            ),
            (
                "BORG PAPER KEY v1\nid: 2 / e29442 - 02\n 1: 86a961 6c676f - 6d\n 2: 646174 - fe\n".to_owned(),
                "BORG PAPER KEY v1\nid: 2 / e29442 - 02\n 1: *** - 6d\n 2: *** - fe\n".to_owned(),
            ),
        ] {
            assert_eq!(scrub(&text), scrubbed);
            assert_eq!(scrub(&scrubbed), scrubbed);
        }
    }

    #[test]
    fn other_text_below_such_a_line_stays() {
        for text in [
            "BORG_KEY is not set\nrepository\nis locked",
            "untrusted comment: minisign public key\nnext",
            "START OF TARSNAP KEY FILE is missing\nrun it again",
            "BORG PAPER KEY v1\nnot printed\n1: 86 files",
        ] {
            assert_eq!(scrub(text), text);
        }
    }
}
