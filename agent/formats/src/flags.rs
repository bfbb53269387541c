//! The flags of one program: those of the spec and those the node adds, and how they are quoted.

use quake_model::spec::Flag;

/// Flags by name. A flag may stand more than once, as docker's `--log-opt` does.
#[derive(Debug, Clone, Default)]
pub struct FlagSet(Vec<Flag>);

impl FlagSet {
    /// The flags of the spec.
    pub fn from_spec(flags: &[Flag]) -> Self {
        Self(flags.to_vec())
    }

    /// The first value of a flag.
    pub fn get(&self, name: &str) -> Option<&str> {
        self.0
            .iter()
            .find(|flag| flag.name == name)
            .map(|flag| flag.value.as_str())
    }

    /// Sets a flag whatever the spec says: for what only the node can know, such as where its files are.
    pub fn set(&mut self, name: &str, value: impl Into<String>) {
        self.remove(name);
        self.0.push(Flag::new(name, value));
    }

    /// Sets a flag unless the spec does.
    pub fn set_default(&mut self, name: &str, value: impl Into<String>) {
        if self.get(name).is_none() {
            self.0.push(Flag::new(name, value));
        }
    }

    /// Adds a flag once for each value, beside those of its name that there are.
    pub fn add<Value: Into<String>>(
        &mut self,
        name: &str,
        values: impl IntoIterator<Item = Value>,
    ) {
        let flags = values.into_iter().map(|value| Flag::new(name, value));
        self.0.extend(flags);
    }

    /// Takes a flag away.
    pub fn remove(&mut self, name: &str) {
        self.0.retain(|flag| flag.name != name);
    }

    /// `--name=value` for each flag, sorted by name; values of one name stay in the spec's order.
    pub fn words(&self) -> Vec<String> {
        let mut flags: Vec<&Flag> = self.0.iter().collect();
        flags.sort_by(|a, b| a.name.cmp(&b.name));
        flags.into_iter().map(ToString::to_string).collect()
    }

    /// The flags as the value of a variable that systemd splits into words.
    pub fn environment_value(&self) -> String {
        environment_value(&self.words())
    }
}

/// Words as the value of a variable that systemd splits into them again.
pub fn environment_value(words: &[String]) -> String {
    let words: Vec<String> = words.iter().map(|word| split_safe(word)).collect();
    double_quoted(&words.join(" "))
}

/// Quotes a word so that systemd, splitting `$VARIABLE` at white space, gives it back whole.
///
/// systemd respects quotes while splitting and takes them away (systemd.service(5), "Command lines").
fn split_safe(word: &str) -> String {
    let plain = !word.is_empty()
        && !word.contains(|c: char| c.is_whitespace() || matches!(c, '"' | '\'' | '\\'));
    if plain {
        return word.to_owned();
    }
    let escaped = word.replace('\\', "\\\\").replace('"', "\\\"");
    format!("\"{escaped}\"")
}

/// A value of an environment file in double quotes: read the same by systemd and by a shell that sources it.
pub fn double_quoted(value: &str) -> String {
    let mut quoted = String::with_capacity(value.len() + 2);
    quoted.push('"');
    for character in value.chars() {
        if matches!(character, '"' | '\\' | '$' | '`') {
            quoted.push('\\');
        }
        quoted.push(character);
    }
    quoted.push('"');
    quoted
}

/// A word of a shell command, quoted only where the shell would change it.
pub fn shell_word(word: &str) -> String {
    let plain = !word.is_empty()
        && word
            .chars()
            .all(|c| c.is_ascii_alphanumeric() || "-_=./:,@%+".contains(c));
    if plain {
        return word.to_owned();
    }
    format!("'{}'", word.replace('\'', "'\\''"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Reads a double-quoted value as an environment file does.
    fn read_environment(quoted: &str) -> String {
        let inner = &quoted[1..quoted.len() - 1];
        unescape(inner, |_| true)
    }

    fn unescape(text: &str, is_escape: impl Fn(char) -> bool) -> String {
        let mut out = String::new();
        let mut characters = text.chars();
        while let Some(character) = characters.next() {
            match character {
                '\\' if is_escape(character) => out.extend(characters.next()),
                other => out.push(other),
            }
        }
        out
    }

    /// Splits a variable's value as systemd does.
    fn split(value: &str) -> Vec<String> {
        let mut words = Vec::new();
        let mut word: Option<String> = None;
        let mut quoted = false;
        let mut characters = value.chars();
        while let Some(character) = characters.next() {
            match character {
                '"' => {
                    quoted = !quoted;
                    word.get_or_insert_default();
                }
                '\\' => word.get_or_insert_default().extend(characters.next()),
                other if other.is_whitespace() && !quoted => words.extend(word.take()),
                other => word.get_or_insert_default().push(other),
            }
        }
        words.extend(word);
        words
    }

    #[test]
    fn ordinary_flags_are_joined_by_blanks_and_sorted() {
        let mut flags =
            FlagSet::from_spec(&[Flag::new("v", "2"), Flag::new("allow-privileged", "true")]);
        flags.set("node-labels", "a=,b=c");
        let wanted = "\"--allow-privileged=true --node-labels=a=,b=c --v=2\"";
        assert_eq!(flags.environment_value(), wanted);
    }

    #[test]
    fn a_flag_that_stands_twice_keeps_its_order() {
        let flags = FlagSet::from_spec(&[
            Flag::new("log-opt", "max-size=10m"),
            Flag::new("ip-masq", "false"),
            Flag::new("log-opt", "max-file=5"),
        ]);
        let wanted = [
            "--ip-masq=false",
            "--log-opt=max-size=10m",
            "--log-opt=max-file=5",
        ];
        assert_eq!(flags.words(), wanted);
    }

    #[test]
    fn a_value_with_blanks_and_quotes_is_one_word_for_a_shell() {
        assert_eq!(shell_word("--a=b c'd"), "'--a=b c'\\''d'");
        assert_eq!(
            shell_word("--etcd-servers=http://127.0.0.1:4001"),
            "--etcd-servers=http://127.0.0.1:4001"
        );
    }

    proptest! {
        #[test]
        fn any_value_reaches_the_program_as_it_was_asked_for(values in prop::collection::vec("[ -~]{0,20}", 1..4)) {
            let flags: Vec<Flag> = values.iter().enumerate()
                .map(|(index, value)| Flag::new(&format!("flag-{index}"), value.clone()))
                .collect();
            let set = FlagSet::from_spec(&flags);
            prop_assert_eq!(split(&read_environment(&set.environment_value())), set.words());
        }
    }
}
