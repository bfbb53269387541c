//! Reads `os-release`: assignments in the shell's quoting, as os-release(5) defines them.

use quake_model::facts::OsFacts;

/// Reads the text of an `os-release` file. A key that is absent reads as empty; of a key given twice, the
/// last value holds, as in a shell.
pub fn parse_os_release(text: &str) -> OsFacts {
    let mut facts = OsFacts {
        id: String::new(),
        version: String::new(),
        like: Vec::new(),
    };
    for line in text.lines() {
        let line = line.trim();
        let Some((key, value)) = line.split_once('=').filter(|_| !line.starts_with('#')) else {
            continue;
        };
        let value = unquote(value);
        match key {
            "ID" => facts.id = value,
            "VERSION_ID" => facts.version = value,
            "ID_LIKE" => facts.like = value.split_whitespace().map(str::to_owned).collect(),
            _ => {}
        }
    }
    // The man page gives `linux` as the meaning of an absent ID.
    if facts.id.is_empty() {
        facts.id.push_str("linux");
    }
    facts
}

/// The value of a shell word: quotes of either kind joined, escapes resolved, ended by a bare blank.
fn unquote(word: &str) -> String {
    let mut out = String::with_capacity(word.len());
    let mut quote = None;
    let mut rest = word.chars();
    while let Some(c) = rest.next() {
        match (quote, c) {
            (None, '\'' | '"') => quote = Some(c),
            (Some(open), _) if c == open => quote = None,
            (Some('\''), _) => out.push(c),
            (Some(_), '\\') => match rest.next() {
                Some(escaped @ ('"' | '$' | '\\' | '`')) => out.push(escaped),
                Some(other) => out.extend(['\\', other]),
                None => out.push('\\'),
            },
            (None, '\\') => out.extend(rest.next()),
            (None, _) if c.is_whitespace() => break,
            (None | Some(_), _) => out.push(c),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn debian_and_a_derivative_are_read() {
        let debian = parse_os_release("PRETTY_NAME=\"Debian\"\nVERSION_ID=\"12\"\nID=debian\n");
        assert_eq!(
            (debian.id.as_str(), debian.version.as_str()),
            ("debian", "12")
        );
        let ubuntu = parse_os_release("ID=ubuntu\nID_LIKE=debian\nVERSION_ID='22.04'\n");
        assert_eq!(
            (ubuntu.like.as_slice(), ubuntu.version.as_str()),
            (&["debian".to_owned()][..], "22.04")
        );
        let amazon = parse_os_release("ID=\"amzn\"\nID_LIKE=\"centos rhel fedora\"\n");
        assert_eq!(amazon.like, ["centos", "rhel", "fedora"]);
    }

    #[test]
    fn quotes_escapes_and_comments_mean_what_they_mean_to_a_shell() {
        let text = "# ID=commented\nID=a\"b c\"'d$'\nVERSION_ID=\"1\\\"2\\$3\\n\" # trailing\n";
        let facts = parse_os_release(text);
        assert_eq!(
            (facts.id.as_str(), facts.version.as_str()),
            ("ab cd$", "1\"2$3\\n")
        );
    }

    #[test]
    fn the_last_of_two_values_holds_and_an_absent_id_is_linux() {
        assert_eq!(parse_os_release("ID=a\nID=b").id, "b");
        assert_eq!(parse_os_release("VERSION_ID=1").id, "linux");
    }
}
