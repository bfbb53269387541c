//! Text of systemd unit files, with a comment above each line that is not obvious.

/// A unit file under construction; sections and settings stand in the order they are added.
#[derive(Debug, Default)]
pub struct UnitText(String);

impl UnitText {
    /// A unit file that says who wrote it.
    pub fn new() -> Self {
        Self("# Written by quake-agent; changes are lost at the next boot.\n".to_owned())
    }

    /// Starts a section.
    #[must_use]
    pub fn section(mut self, name: &str) -> Self {
        if self.0.contains('[') {
            self.0.push('\n');
        }
        self.line(&format!("[{name}]"))
    }

    /// Adds a setting.
    #[must_use]
    pub fn set(self, name: &str, value: &str) -> Self {
        self.line(&format!("{name}={value}"))
    }

    /// Adds a setting if it has a value.
    #[must_use]
    pub fn set_optional(self, name: &str, value: Option<&str>) -> Self {
        match value {
            Some(value) => self.set(name, value),
            None => self,
        }
    }

    /// Adds a setting if `wanted`.
    #[must_use]
    pub fn set_if(self, wanted: bool, name: &str, value: &str) -> Self {
        if wanted { self.set(name, value) } else { self }
    }

    /// Adds a comment.
    #[must_use]
    pub fn comment(self, text: &str) -> Self {
        self.line(&format!("# {text}"))
    }

    /// Adds text as it is, such as a section an operator wrote.
    #[must_use]
    pub fn raw(self, text: &str) -> Self {
        self.line(text.trim_end())
    }

    fn line(mut self, text: &str) -> Self {
        self.0.push_str(text);
        self.0.push('\n');
        self
    }

    /// The text.
    pub fn finish(self) -> String {
        self.0
    }
}

/// A command line of words that systemd must not change: quoted, with its specifiers and variables escaped.
pub fn command_line<Word: AsRef<str>>(words: &[Word]) -> String {
    let quoted: Vec<String> = words
        .iter()
        .map(|word| command_word(word.as_ref()))
        .collect();
    quoted.join(" ")
}

fn command_word(word: &str) -> String {
    let escaped = word.replace('%', "%%").replace('$', "$$");
    let plain = !escaped.is_empty()
        && !escaped.contains(|c: char| c.is_whitespace() || matches!(c, '"' | '\'' | '\\' | ';'));
    if plain {
        return escaped;
    }
    let escaped = escaped
        .replace('\\', "\\\\")
        .replace('"', "\\\"")
        .replace('\n', "\\n")
        .replace('\t', "\\t");
    format!("\"{escaped}\"")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sections_are_set_apart_by_an_empty_line() {
        let text = UnitText::new()
            .section("Unit")
            .set("After", "a")
            .section("Service")
            .finish();
        assert!(text.ends_with("[Unit]\nAfter=a\n\n[Service]\n"), "{text}");
    }

    #[test]
    fn systemd_expands_nothing_in_a_command() {
        let words = ["/bin/sh", "-c", "echo $HOME 100% \"x\""];
        assert_eq!(
            command_line(&words),
            "/bin/sh -c \"echo $$HOME 100%% \\\"x\\\"\""
        );
    }
}
