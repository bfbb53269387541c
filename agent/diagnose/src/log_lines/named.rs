//! What a row says with the names that its line has: units, policies, objects.

use super::LogLine;
use super::matcher::unescaped;

/// A name is not longer than this.
const LONGEST: usize = 253;

/// Whether a name of a log may stand in a command: a shell reads nothing else in it.
pub(crate) fn is_plain_name(name: &str) -> bool {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "@:._/+-".contains(c);
    !name.is_empty() && name.chars().all(is_plain)
}

impl LogLine {
    /// What a line means and what to do about it. Where the row has places for names, with those of the line; in what to do
    /// only where all are plain.
    pub(crate) fn filled(&self, line: &str) -> (String, String) {
        let line = unescaped(line);
        let names = self.names(&line);
        let fill = |template: Option<&str>, names: Option<&Vec<&str>>, plain: &str| match (
            template, names,
        ) {
            (Some(template), Some(names)) => filled(template, names),
            _ => plain.to_owned(),
        };
        let means = fill(self.named, names.as_ref(), self.means);
        let plain = names.filter(|names| names.iter().all(|name| is_plain_name(name)));
        (means, fill(self.remedy, plain.as_ref(), self.fix))
    }

    /// What a line has between the parts of the row; `None` where they are not there in this order, or no name is between.
    fn names<'a>(&self, line: &'a str) -> Option<Vec<&'a str>> {
        let mut names = Vec::new();
        let mut rest = line;
        for (index, part) in self.parts.iter().enumerate().rev() {
            let (before, after) = rest.rsplit_once(part)?;
            if index + 1 < self.parts.len() {
                let is_edge = |c: char| c.is_whitespace() || matches!(c, '"' | '\'' | ':');
                names.push(after.trim_matches(is_edge));
            }
            rest = before;
        }
        let is_name = |name: &&str| !name.is_empty() && name.len() <= LONGEST;
        names.reverse();
        names.iter().all(is_name).then_some(names)
    }
}

fn filled(template: &str, names: &[&str]) -> String {
    let mut text = template.to_owned();
    for (index, name) in names.iter().enumerate() {
        text = text.replace(&format!("{{{}}}", index + 1), name);
    }
    text
}

#[cfg(test)]
mod tests {
    use crate::log_lines::{all, find, is_plain_name};

    #[test]
    fn names_of_the_line_take_their_places() {
        let line = "Output: Failed to start nfs-x.service: Unit x.socket is masked.";
        let row = find(line).expect("it is known");
        let (means, fix) = row.filled(line);
        assert_eq!(means, "x.socket is masked, so nfs-x.service does not start");
        assert!(
            fix.contains("systemctl unmask x.socket; systemctl start nfs-x.service"),
            "{fix}"
        );
    }

    #[test]
    fn a_name_that_a_shell_reads_is_in_no_command() {
        let line = "Unit x.service;reboot is masked";
        let row = find(line).expect("it is known");
        assert_eq!(row.filled(line).1, row.fix);
        for name in ["", "$(x)", "a b", "`x`", "x'"] {
            assert!(!is_plain_name(name), "{name}");
        }
        assert!(is_plain_name("a-b@c.service") && is_plain_name("s3://b/c+d_e"));
    }

    #[test]
    fn a_shim_that_is_missing_is_named_and_runcs_is_the_agents() {
        let line = |runtime: &str, shim: &str| {
            format!(
                r#"failed to start shim: failed to resolve runtime path: runtime \"{runtime}\" binary not installed \"{shim}\": file does not exist: unknown"#
            )
        };
        let line_of_kata = line("io.containerd.kata.v2", "containerd-shim-kata-v2");
        let row = find(&line_of_kata).expect("it is known");
        let (means, fix) = row.filled(&line_of_kata);
        assert!(means.contains("containerd-shim-kata-v2"), "{means}");
        assert!(
            fix.starts_with("install containerd-shim-kata-v2 in /usr/local/bin"),
            "{fix}"
        );
        let line_of_runc = line("io.containerd.runc.v2", "containerd-shim-runc-v2");
        let row = find(&line_of_runc).expect("it is known");
        assert!(
            row.filled(&line_of_runc)
                .1
                .contains("quake-agent.service installs it")
        );
    }

    #[test]
    fn a_row_without_places_says_what_it_says() {
        let line = "dial tcp 127.0.0.1:2379: connect: connection refused";
        let row = find(line).expect("it is known");
        assert_eq!(row.filled(line), (row.means.to_owned(), row.fix.to_owned()));
    }

    #[test]
    fn no_row_has_a_place_that_nothing_takes() {
        for row in all() {
            for text in [row.named, row.remedy].into_iter().flatten() {
                let line = row.parts.join(" name ");
                let (means, fix) = row.filled(&line);
                assert!(!means.contains('{') && !fix.contains("{1}"), "{text}");
                assert!(!fix.contains("{2}") && !fix.contains("{3}"), "{text}");
            }
            assert!(
                !row.means.contains("{1}") && !row.fix.contains("{1}"),
                "{row:?}"
            );
        }
    }
}
