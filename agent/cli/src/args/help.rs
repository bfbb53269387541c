//! Help as it is printed. clap wraps all of it; examples are commands, and a wrapped command cannot be copied.

use clap::Command;

/// The help that clap rendered, with the examples of its command as they are written.
pub(crate) fn with_plain_examples(rendered: &str, command: &Command) -> String {
    find(rendered, command).unwrap_or_else(|| rendered.to_owned())
}

fn find(rendered: &str, command: &Command) -> Option<String> {
    let own = command
        .get_after_help()
        .and_then(|after| replaced(rendered, &after.to_string()));
    own.or_else(|| command.get_subcommands().find_map(|it| find(rendered, it)))
}

/// The text with its end replaced, if the end is `after` but for where its lines break.
fn replaced(rendered: &str, after: &str) -> Option<String> {
    let at = rendered.rfind(after.lines().next()?)?;
    let (before, end) = rendered.split_at(at);
    let is_same = end.split_whitespace().eq(after.split_whitespace());
    is_same.then(|| format!("{before}{after}\n"))
}

#[cfg(test)]
mod tests {
    use super::with_plain_examples;
    use crate::args::Arguments;
    use clap::CommandFactory;

    #[test]
    fn examples_are_printed_as_they_are_written_on_a_narrow_terminal() {
        let command = Arguments::command();
        for name in ["boot", "install", "rehearse"] {
            let help = ["quake-agent", name, "--help"];
            let narrow = command.clone().term_width(50);
            let error = narrow.try_get_matches_from(help).expect_err(name);
            let rendered = error.render().to_string();
            let own = command.find_subcommand(name).expect(name);
            let examples = own.get_after_help().expect(name).to_string();
            assert!(!rendered.contains(&examples), "{name} is not wrapped");
            let printed = with_plain_examples(&rendered, &command);
            assert!(printed.ends_with(&format!("{examples}\n")), "{printed}");
        }
    }
}
