//! The arguments of `completions` and `man`.

use clap::{Args, ValueEnum};
use std::path::PathBuf;

/// A shell that completes words.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Shell {
    /// bash, with the package bash-completion
    Bash,
    /// zsh
    Zsh,
    /// fish
    Fish,
}

#[derive(Debug, Clone, Args)]
#[command(after_help = super::examples::COMPLETIONS)]
pub(crate) struct CompletionsArguments {
    /// The shell
    #[arg(value_enum, value_name = "SHELL")]
    pub(crate) shell: Shell,
}

#[derive(Debug, Clone, Args)]
pub(crate) struct ManArguments {
    /// Write one page for each command to this directory [default: print the first page]
    #[arg(long, value_name = "DIR")]
    pub(crate) out: Option<PathBuf>,
}
