//! The flags of a program, from the environment file that its unit reads.

/// Flags, in their order.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Flags(Vec<(String, String)>);

impl Flags {
    /// These flags, each as `name=value`.
    pub(super) fn of_pairs(pairs: &[String]) -> Self {
        let pairs = pairs.iter().filter_map(|flag| flag.split_once('='));
        let owned = pairs.map(|(name, value)| (name.to_owned(), value.to_owned()));
        Self(owned.collect())
    }

    /// The flags that `variable` has in the text of an environment file; none where it is not set.
    pub(super) fn of_variable(text: &str, variable: &str) -> Self {
        let set = |line: &'_ str| -> Option<String> {
            let value = line.trim().strip_prefix(variable)?.strip_prefix('=')?;
            Some(unquoted(value))
        };
        let value = text.lines().rev().find_map(set);
        Self(of_words(split(&value.unwrap_or_default())))
    }

    /// The value of a flag; of several the last counts.
    pub(super) fn get(&self, name: &str) -> Option<&str> {
        self.all(name).last()
    }

    /// Every value of a flag.
    pub(super) fn all(&self, name: &str) -> impl Iterator<Item = &str> {
        let of_name = self.0.iter().filter(move |(flag, _)| flag == name);
        of_name.map(|(_, value)| value.as_str())
    }

    /// The names of all flags.
    pub(super) fn names(&self) -> impl Iterator<Item = &str> {
        self.0.iter().map(|(name, _)| name.as_str())
    }
}

fn of_words(words: Vec<String>) -> Vec<(String, String)> {
    let mut flags = Vec::new();
    let mut words = words.into_iter().peekable();
    while let Some(word) = words.next() {
        let Some(flag) = word.strip_prefix("--").or_else(|| word.strip_prefix('-')) else {
            continue;
        };
        let pair = match flag.split_once('=') {
            Some((name, value)) => (name.to_owned(), value.to_owned()),
            None => {
                let value = words.next_if(|next| !next.starts_with('-'));
                (flag.to_owned(), value.unwrap_or_else(|| "true".to_owned()))
            }
        };
        flags.push(pair);
    }
    flags
}

/// A value of an environment file without its quotes (systemd.exec(5), `EnvironmentFile=`).
fn unquoted(value: &str) -> String {
    let value = value.trim();
    let Some(inner) = value
        .strip_prefix('"')
        .and_then(|rest| rest.strip_suffix('"'))
    else {
        return value.trim_matches('\'').to_owned();
    };
    let mut out = String::with_capacity(inner.len());
    let mut characters = inner.chars();
    while let Some(character) = characters.next() {
        match character {
            '\\' => out.extend(characters.next()),
            other => out.push(other),
        }
    }
    out
}

/// Words as systemd splits a variable: at white space outside of quotes, which it takes away.
fn split(value: &str) -> Vec<String> {
    let mut words = Vec::new();
    let mut word: Option<String> = None;
    let mut quote: Option<char> = None;
    let mut characters = value.chars();
    while let Some(character) = characters.next() {
        match character {
            '\\' => word.get_or_insert_default().extend(characters.next()),
            found if quote == Some(found) => quote = None,
            '"' | '\'' if quote.is_none() => {
                quote = Some(character);
                word.get_or_insert_default();
            }
            blank if blank.is_whitespace() && quote.is_none() => words.extend(word.take()),
            other => word.get_or_insert_default().push(other),
        }
    }
    words.extend(word);
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn flags_are_read_as_systemd_and_kubelet_read_them() {
        let text = "HOME=\"/root\"\nDAEMON_ARGS=\"--v=2 --config /x.yaml --register-node \
                    \\\"--node-labels=a=b,c= d\\\" --v=4\"\n";
        let flags = Flags::of_variable(text, "DAEMON_ARGS");
        for (name, value) in [
            ("v", Some("4")),
            ("config", Some("/x.yaml")),
            ("register-node", Some("true")),
            ("node-labels", Some("a=b,c= d")),
            ("cgroup-driver", None),
        ] {
            assert_eq!(flags.get(name), value, "{name}");
        }
        assert_eq!(
            Flags::of_variable("# nothing\n", "DAEMON_ARGS"),
            Flags::default()
        );
    }
}
