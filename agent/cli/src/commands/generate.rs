//! `completions` and `man`: made from the same definition as the parser, when they are asked for, so that neither can tell of
//! another version. `install --extras` and the published files take them from here, too.

use super::explain::{STATUSES, names};
use super::running::usage;
use crate::args::Arguments;
use crate::args::generate::{CompletionsArguments, ManArguments, Shell};
use crate::exit;
use crate::output;
use clap::builder::PossibleValuesParser;
use clap::{Arg, Command, CommandFactory};
use quake_diagnose::checks::{Check, all};
use quake_model::phase::PHASES;
use std::collections::BTreeSet;
use std::path::Path;

/// The name under which the agent is called.
const NAME: &str = "quake-agent";

/// The file of a shell, and the directory in which shells look for it below `share`.
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
    match shell {
        Shell::Bash => bash(),
        Shell::Zsh => generate(clap_complete::Shell::Zsh, NAME),
        Shell::Fish => generate(clap_complete::Shell::Fish, NAME),
    }
}

/// Gives the generated function a value as it expects one. To bash `--for=x` is three words, and a list is one: the option
/// is the word before, and only the last name of a list is completed.
const BASH_WORDS: &str = "\
_quake_agent_words() {
    local word=\"$2\" before=\"$3\" list=\"\"
    if [[ \"$word\" == \"=\" ]]; then
        word=\"\"
    elif [[ \"$before\" == \"=\" && \"$COMP_CWORD\" -ge 2 ]]; then
        before=\"${COMP_WORDS[COMP_CWORD-2]}\"
    fi
    if [[ \"$before\" == -* && \"$word\" == *,* ]]; then
        list=\"${word%,*},\"
        word=\"${word##*,}\"
    fi
    _quake_agent \"$1\" \"$word\" \"$before\"
    COMPREPLY=(\"${COMPREPLY[@]/#/$list}\")
}

";

/// Written for a name without a hyphen, and registered under the real one: for a name with a hyphen the generator
/// writes two labels of each command below the first, which never match (clap_complete 4.6).
fn bash() -> Vec<u8> {
    const PLAIN: &str = "quake_agent";
    let text = generate(clap_complete::Shell::Bash, PLAIN);
    let text = String::from_utf8_lossy(&text);
    let lines = text
        .lines()
        .map(|line| match line.trim_start().starts_with("complete ") {
            true => match line.strip_suffix(PLAIN) {
                Some(before) => {
                    let before = before.replace("-F _quake_agent ", "-F _quake_agent_words ");
                    format!("{before}{NAME}\n")
                }
                None => format!("{line}\n"),
            },
            false => format!("{line}\n"),
        });
    [BASH_WORDS.to_owned(), lines.collect()]
        .concat()
        .into_bytes()
}

fn generate(shell: clap_complete::Shell, name: &'static str) -> Vec<u8> {
    let mut command = with_names(Arguments::command()).name(name);
    let mut text = Vec::new();
    clap_complete::generate(shell, &mut command, name, &mut text);
    without_hidden(&String::from_utf8_lossy(&text), &command).into_bytes()
}

/// The generators write options that are hidden, too (clap_complete 4.6): a script without those.
fn without_hidden(script: &str, command: &Command) -> String {
    let (mut hidden, mut shown) = (BTreeSet::new(), BTreeSet::new());
    add_options(command, &mut hidden, &mut shown);
    let hidden: Vec<&String> = hidden.difference(&shown).collect();
    let is_of_one = |line: &str| {
        // A line of zsh, `'*--name=[help]' \\`; and one of fish, `complete … -l name …`.
        let option = line.trim_start().strip_prefix('\'');
        let option = option.and_then(|it| it.trim_start_matches('*').strip_prefix("--"));
        let end = |rest: &str| rest.starts_with(['=', '[']);
        hidden.iter().any(|name| {
            let of_zsh = option.and_then(|it| it.strip_prefix(name.as_str()));
            of_zsh.is_some_and(end) || line.contains(&format!(" -l {name} "))
        })
    };
    let mut text = String::new();
    for line in script.lines().filter(|line| !is_of_one(line)) {
        // A line of bash has all options of a command.
        let line = match line.trim_start().starts_with("opts=\"") {
            false => line.to_owned(),
            true => hidden.iter().fold(line.to_owned(), |line, name| {
                line.replace(&format!(" --{name} "), " ")
            }),
        };
        text.push_str(&line);
        text.push('\n');
    }
    text
}

/// The long options of a command and of those below it: those that are hidden, and those that are shown.
fn add_options(command: &Command, hidden: &mut BTreeSet<String>, shown: &mut BTreeSet<String>) {
    for argument in command.get_arguments() {
        let of = if argument.is_hide_set() {
            &mut *hidden
        } else {
            &mut *shown
        };
        of.extend(argument.get_long().map(str::to_owned));
    }
    for below in command.get_subcommands() {
        add_options(below, hidden, shown);
    }
}

/// The command line with every name that some arguments take, which the parser itself leaves open: codes, checks, areas,
/// tags, conditions, exit statuses.
fn with_names(command: Command) -> Command {
    let checks: Vec<&'static str> = all().iter().map(|check| check.id).collect();
    let mut areas: Vec<&'static str> = all().iter().map(Check::area).collect();
    areas.dedup();
    let of_checks: Vec<&'static str> = areas.into_iter().chain(checks).collect();
    let explained = names().into_iter().chain(STATUSES.iter().copied());
    let explained: Vec<&'static str> = explained.collect();
    let one_of_checks =
        |argument: Arg| argument.value_parser(PossibleValuesParser::new(of_checks.clone()));
    let tags: BTreeSet<&'static str> = all().iter().flat_map(|check| check.tags).copied().collect();
    let conditions = PHASES.iter().map(|row| row.phase.name());
    let conditions: Vec<&'static str> = conditions.collect();
    command
        .mut_subcommand("explain", |explain| {
            explain.mut_arg("words", |words| {
                words.value_parser(PossibleValuesParser::new(explained.clone()))
            })
        })
        .mut_subcommand("diagnose", |diagnose| {
            diagnose
                .mut_arg("only", one_of_checks)
                .mut_arg("skip", one_of_checks)
                .mut_arg("tag", |tag| {
                    tag.value_parser(PossibleValuesParser::new(tags.clone()))
                })
        })
        .mut_subcommand("wait", |wait| {
            wait.mut_arg("conditions", |argument| {
                argument.value_parser(PossibleValuesParser::new(conditions.clone()))
            })
        })
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

    /// What bash offers for a line, by its own completion with our script.
    fn offered(line: &str) -> Option<Vec<String>> {
        let script = "source /dev/stdin; read -r -a COMP_WORDS <<< \"$LINE\"; \
            case \"$LINE\" in *' ') COMP_WORDS+=('');; esac; \
            last=\"${COMP_WORDS[-1]}\"; \
            case \"$last\" in --*=*) \
                unset 'COMP_WORDS[-1]'; COMP_WORDS+=(\"${last%%=*}\" =); \
                [ -z \"${last#*=}\" ] || COMP_WORDS+=(\"${last#*=}\");; esac; \
            COMP_CWORD=$(( ${#COMP_WORDS[@]} - 1 )); \
            function=$(complete -p quake-agent | sed 's/.*-F \\([^ ]*\\).*/\\1/'); \
            \"$function\" quake-agent \"${COMP_WORDS[COMP_CWORD]}\" \"${COMP_WORDS[COMP_CWORD-1]}\"; \
            printf '%s\\n' \"${COMPREPLY[@]}\"";
        let mut process = Process::new("bash");
        process.args(["--norc", "-c", script]).env("LINE", line);
        process.stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = process.spawn().ok()?;
        child
            .stdin
            .take()?
            .write_all(&completions(Shell::Bash))
            .ok()?;
        let printed = child.wait_with_output().ok()?.stdout;
        let printed = String::from_utf8_lossy(&printed);
        Some(printed.lines().map(str::to_owned).collect())
    }

    #[test]
    fn bash_completes_commands_options_and_names() {
        let tagged = all().iter().find(|check| check.tags.contains(&"systemd"));
        assert!(tagged.is_some(), "the tag below is one");
        for (line, wanted) in [
            ("quake-agent di", "diagnose"),
            ("quake-agent diagnose --bun", "--bundle"),
            ("quake-agent volumes p", "pin"),
            ("quake-agent volumes pin --sl", "--slot"),
            ("quake-agent user-data ren", "render"),
            (
                "quake-agent explain storage.volume-he",
                "storage.volume-held",
            ),
            ("quake-agent explain 7", "75"),
            ("quake-agent diagnose --only dns.n", "dns.names"),
            ("quake-agent diagnose --only=dns.n", "dns.names"),
            ("quake-agent diagnose --only net,dns.n", "net,dns.names"),
            ("quake-agent diagnose --skip dn", "dns"),
            ("quake-agent diagnose --tag sys", "systemd"),
            ("quake-agent wait --for ", "ready"),
            ("quake-agent wait --for=", "storage"),
            ("quake-agent wait --for=stor", "storage"),
            ("quake-agent wait --for=storage,as", "storage,assets"),
            ("quake-agent wait --timeout 5m --for cred", "credentials"),
            ("quake-agent boot --assets c", "cache"),
        ] {
            let Some(offered) = offered(line) else {
                println!("skipped: bash is not installed");
                return;
            };
            assert!(
                offered.iter().any(|word| word == wanted),
                "{line}: {offered:?}"
            );
        }
    }

    #[test]
    fn bash_offers_nothing_that_is_for_tests() {
        for line in [
            "quake-agent boot --sim",
            "quake-agent boot --stand",
            "quake-agent boot --assets st",
            "quake-agent volumes list --rec",
            "quake-agent timeline --save",
        ] {
            let Some(offered) = offered(line) else {
                println!("skipped: bash is not installed");
                return;
            };
            let nothing = offered.iter().all(String::is_empty);
            assert!(nothing, "{line}: {offered:?}");
        }
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
            let options = named
                .lines()
                .filter(|line| !line.trim_start().ends_with(')'));
            let mut hidden = options.filter(|line| line.contains("stand-in-credentials"));
            assert_eq!(hidden.next(), None, "{program}");
            match takes(program, &["-n"], &text) {
                None => println!("skipped: {program} is not installed"),
                Some(taken) => assert!(taken, "{program}"),
            }
        }
    }
}
