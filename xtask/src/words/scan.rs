//! Rust source as names and string literals, each with its line. It knows comments, characters and lifetimes well enough
//! to leave them out, and is no parser.

/// What a piece is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// An identifier or a keyword.
    Name,
    /// A string literal, without its quotes.
    Literal,
}

/// A piece of source.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Piece<'a> {
    pub(super) kind: Kind,
    pub(super) text: &'a str,
    /// The line it begins on, from 1.
    pub(super) line: usize,
}

/// The names and literals of a source file, in their order.
pub(super) fn pieces(source: &str) -> Vec<Piece<'_>> {
    let mut found = Vec::new();
    let (mut at, mut line) = (0, 1);
    while let Some(first) = source[at..].chars().next() {
        let rest = &source[at..];
        let (length, piece) = next(rest, first);
        if let Some((kind, text)) = piece {
            found.push(Piece { kind, text, line });
        }
        line += rest[..length].matches('\n').count();
        at += length;
    }
    found
}

/// How many bytes the next piece has, and what it is; comments and signs are nothing.
fn next(rest: &str, first: char) -> (usize, Option<(Kind, &str)>) {
    if rest.starts_with("//") {
        return (rest.find('\n').unwrap_or(rest.len()), None);
    }
    if rest.starts_with("/*") {
        return (rest.find("*/").map_or(rest.len(), |end| end + 2), None);
    }
    if let Some((length, text)) = raw(rest) {
        return (length, Some((Kind::Literal, text)));
    }
    if first == '"' {
        let end = end_of_literal(rest);
        let text = &rest[1..end];
        return ((end + 1).min(rest.len()), Some((Kind::Literal, text)));
    }
    if first == '\'' {
        return (length_of_character(rest), None);
    }
    if first.is_alphabetic() || first == '_' {
        let is_part = |c: char| c.is_alphanumeric() || c == '_';
        let end = rest.find(|c| !is_part(c)).unwrap_or(rest.len());
        return (end, Some((Kind::Name, &rest[..end])));
    }
    (first.len_utf8(), None)
}

/// Where the quote is that ends the literal at the start of `rest`.
fn end_of_literal(rest: &str) -> usize {
    let mut is_escaped = false;
    for (index, c) in rest.char_indices().skip(1) {
        match c {
            '"' if !is_escaped => return index,
            '\\' => is_escaped = !is_escaped,
            _ => is_escaped = false,
        }
    }
    rest.len()
}

/// A raw literal at the start of `rest`: its length, and its text.
fn raw(rest: &str) -> Option<(usize, &str)> {
    let after = rest.strip_prefix("br").or_else(|| rest.strip_prefix('r'))?;
    let body = after.trim_start_matches('#');
    let hashes = after.len() - body.len();
    let body = body.strip_prefix('"')?;
    let end = body.find(&format!("\"{}", "#".repeat(hashes)))?;
    let start = rest.len() - body.len();
    Some((start + end + 1 + hashes, &body[..end]))
}

/// The length of the character or the lifetime at the start of `rest`.
fn length_of_character(rest: &str) -> usize {
    let body = &rest[1..];
    if let Some(escaped) = body.strip_prefix('\\') {
        let end = escaped.char_indices().skip(1).find(|(_, c)| *c == '\'');
        return end.map_or(rest.len(), |(index, _)| index + 3);
    }
    let mut characters = body.char_indices();
    let is_character = characters.next().is_some() && matches!(characters.next(), Some((_, '\'')));
    match is_character {
        true => body.find('\'').map_or(1, |index| index + 2),
        false => 1,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all(source: &str) -> Vec<(Kind, &str, usize)> {
        let pieces = pieces(source);
        let parts = pieces
            .iter()
            .map(|piece| (piece.kind, piece.text, piece.line));
        parts.collect()
    }

    #[test]
    fn names_and_literals_have_their_lines_and_comments_are_left_out() {
        let source = "fn a() {\n    // not this\n    b(\"c d\"); /* nor\n this */ e\n}\n";
        let wanted = [
            (Kind::Name, "fn", 1),
            (Kind::Name, "a", 1),
            (Kind::Name, "b", 3),
            (Kind::Literal, "c d", 3),
            (Kind::Name, "e", 4),
        ];
        assert_eq!(all(source), wanted);
    }

    #[test]
    fn quotes_in_characters_and_escapes_end_nothing() {
        let source = r##"x('"', '\'', "a \" b", r#"c " d"#, &'a y)"##;
        let texts: Vec<&str> = pieces(source).iter().map(|piece| piece.text).collect();
        assert_eq!(texts, ["x", "a \\\" b", "c \" d", "a", "y"]);
    }

    #[test]
    fn what_ends_early_ends() {
        for source in ["\"a", "r#\"a", "/* a", "'\\", "'", "// a"] {
            let _ = pieces(source);
        }
    }
}
