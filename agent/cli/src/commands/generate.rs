//! `completions` and `man`: made from the same definition as the parser, when they are asked for, so that neither can tell of
//! another version. `install --extras` and the published files take them from here, too.

use super::running::usage;
use crate::args::Arguments;
use crate::args::generate::{CompletionsArguments, ManArguments, Shell};
use crate::exit;
use crate::output;
use clap::{Command, CommandFactory};
use std::path::Path;

/// The name under which the agent is called.
const NAME: &str = "quake-agent";

/// The file of a shell, and the folder in which shells look for it below `share`.
const COMPLETIONS: [(Shell, &str); 3] = [
    (Shell::Bash, "bash-completion/completions/quake-agent"),
    (Shell::Zsh, "zsh/site-functions/_quake-agent"),
    (Shell::Fish, "fish/vendor_completions.d/quake-agent.fish"),
];

/// Prints the completions of a shell.
pub(crate) fn complete(arguments: &CompletionsArguments) -> u8 {
    output::text(String::from_utf8_lossy(&completions(arguments.shell)));
    exit::DONE
}

/// Prints the first page, or writes all of them.
pub(crate) fn man(arguments: &ManArguments) -> u8 {
    let pages = pages();
    let Some(folder) = &arguments.out else {
        if let Some((_, page)) = pages.first() {
            output::text(String::from_utf8_lossy(page));
        }
        return exit::DONE;
    };
    for (name, page) in pages {
        let path = folder.join(name);
        if let Err(error) = write(folder, &path, &page) {
            return usage(&format!("{} cannot be written: {error}", path.display()));
        }
        output::line(path.display());
    }
    exit::DONE
}

fn write(folder: &Path, path: &Path, page: &[u8]) -> std::io::Result<()> {
    std::fs::create_dir_all(folder)?;
    std::fs::write(path, page)
}

/// Every file that a system keeps below `share`, by its path there: the pages, and the completions of each shell.
pub(crate) fn shared_files() -> Vec<(String, Vec<u8>)> {
    let pages = pages().into_iter();
    let pages = pages.map(|(name, page)| (format!("man/man1/{name}"), page));
    let shells = COMPLETIONS.iter();
    let shells = shells.map(|(shell, path)| ((*path).to_owned(), completions(*shell)));
    pages.chain(shells).collect()
}

fn completions(shell: Shell) -> Vec<u8> {
    let mut command = Arguments::command();
    let mut text = Vec::new();
    match shell {
        Shell::Bash => generate(clap_complete::Shell::Bash, &mut command, &mut text),
        Shell::Zsh => generate(clap_complete::Shell::Zsh, &mut command, &mut text),
        Shell::Fish => generate(clap_complete::Shell::Fish, &mut command, &mut text),
    }
    text
}

fn generate(shell: clap_complete::Shell, command: &mut Command, text: &mut Vec<u8>) {
    clap_complete::generate(shell, command, NAME, text);
}

/// A page for each command, the agent's own first; named as git and others name theirs.
fn pages() -> Vec<(String, Vec<u8>)> {
    let mut command = Arguments::command().disable_help_subcommand(true);
    command.build();
    let mut pages = Vec::new();
    add_pages(&command, &mut pages);
    pages
}

fn add_pages(command: &Command, pages: &mut Vec<(String, Vec<u8>)>) {
    // Building gave each command below the first a name for show: all names on the way to it, and dashes between.
    let name = command.get_display_name().unwrap_or(NAME);
    let mut page = Vec::new();
    // Writing to memory cannot fail.
    let _ = clap_mangen::Man::new(command.clone())
        .source(concat!("quake-agent ", env!("CARGO_PKG_VERSION")))
        .render(&mut page);
    pages.push((format!("{name}.1"), page));
    for sub in command.get_subcommands() {
        add_pages(sub, pages);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;
    use std::process::{Command as Process, Stdio};

    fn count(command: &Command) -> usize {
        let below = command.get_subcommands().map(count);
        1 + below.sum::<usize>()
    }

    #[test]
    fn every_command_has_a_page_of_its_own_with_its_options_and_examples() {
        let pages = pages();
        assert_eq!(pages.len(), count(&Arguments::command()));
        let page = |name: &str| {
            let found = pages.iter().find(|(page, _)| page == name);
            String::from_utf8_lossy(&found.expect("it has a page").1).into_owned()
        };
        let wait = page("quake-agent-wait.1");
        for part in [".TH", "timeout", "Examples:", "quake\\-agent\\-wait"] {
            assert!(wait.contains(part), "{part} in {wait}");
        }
        assert!(page("quake-agent-volumes-pin.1").contains("slot"));
        assert!(page("quake-agent.1").contains("quake\\-agent\\-boot(1)"));
    }

    /// Gives a text to a program; whether it took it, or `None` where there is no such program.
    fn takes(program: &str, arguments: &[&str], text: &[u8]) -> Option<bool> {
        let mut process = Process::new(program);
        process.args(arguments).stdin(Stdio::piped());
        let mut child = process.spawn().ok()?;
        let mut stdin = child.stdin.take()?;
        stdin.write_all(text).ok()?;
        drop(stdin);
        child.wait().ok().map(|status| status.success())
    }

    #[test]
    fn each_shell_takes_its_completions() {
        for (shell, program) in [
            (Shell::Bash, "bash"),
            (Shell::Zsh, "zsh"),
            (Shell::Fish, "fish"),
        ] {
            let text = completions(shell);
            let named = String::from_utf8_lossy(&text);
            assert!(named.contains("detailed-exitcode"), "{program}");
            match takes(program, &["-n"], &text) {
                None => println!("skipped: {program} is not installed"),
                Some(taken) => assert!(taken, "{program}"),
            }
        }
    }
}
