//! Spells a command line of nodeup's as the other commands' are: Go takes `-conf x`, `--conf=x` and `-v 8`, and takes what
//! follows a flag as its value whatever it looks like.

use crate::args::Arguments;
use clap::CommandFactory;
use std::ffi::OsString;
use std::path::Path;

/// The name that the program is also started by, and the command that this is.
const NAME: &str = "nodeup";

/// What a flag takes.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Takes {
    /// A value after `=`, or none.
    Perhaps,
    /// A value after `=`, or in the next word.
    Always,
}

/// The words as the parser of all commands reads them, where they are a command line of nodeup's; `None` where they are
/// another's. Under the name `nodeup` the first word may be another command, for there may be no other name of the program
/// on a node.
pub(crate) fn spelled(words: &[OsString]) -> Option<Vec<OsString>> {
    let program = words.first()?;
    let is_nodeup = Path::new(program).file_name()? == NAME;
    let first = words.get(1).and_then(|word| word.to_str()).unwrap_or("-");
    let (own, rest): (&[&str], &[OsString]) = match (is_nodeup, first) {
        (_, NAME) => (&["quake-agent", NAME], words.get(2..)?),
        (false, _) => return None,
        (true, first) if is_command(first) => (&["quake-agent"], words.get(1..)?),
        (true, _) => (&["quake-agent", NAME], words.get(1..)?),
    };
    let own: Vec<OsString> = own.iter().map(OsString::from).collect();
    let rest = match own.len() {
        2 => with_two_dashes(rest),
        _ => rest.to_vec(),
    };
    Some([own, rest].concat())
}

fn is_command(word: &str) -> bool {
    let command = Arguments::command();
    word == "help" || command.find_subcommand(word).is_some()
}

/// Gives every flag two dashes, and joins it to its value.
fn with_two_dashes(words: &[OsString]) -> Vec<OsString> {
    let mut words = words.iter();
    let mut spelled = Vec::new();
    while let Some(word) = words.next() {
        let Some(flag) = word.to_str().and_then(flag_of) else {
            // What follows is no flag to Go either.
            spelled.push(word.clone());
            spelled.extend(words.by_ref().cloned());
            break;
        };
        let mut whole = OsString::from(format!("--{flag}"));
        if takes(flag) == Some(Takes::Always)
            && let Some(value) = words.next()
        {
            whole.push("=");
            whole.push(value);
        }
        spelled.push(whole);
    }
    spelled
}

/// A flag without its dashes; `None` for `--`, `-h`, which every command has, and what is none.
fn flag_of(word: &str) -> Option<&str> {
    let flag = word.strip_prefix("--").or_else(|| word.strip_prefix('-'))?;
    (!flag.is_empty() && flag != "h").then_some(flag)
}

/// What a flag without `=` takes; `None` for one that has its value already, or that nobody knows.
fn takes(flag: &str) -> Option<Takes> {
    let command = Arguments::command();
    let nodeup = command.find_subcommand(NAME)?;
    let found = nodeup
        .get_arguments()
        .find(|argument| argument.get_long() == Some(flag))?;
    Some(match found.is_require_equals_set() {
        true => Takes::Perhaps,
        false => Takes::Always,
    })
}
