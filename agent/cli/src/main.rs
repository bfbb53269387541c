//! The binary: arguments in, exit status out. Everything else is in the library.

// As the library has it, whose futures are laid out here.
#![recursion_limit = "256"]

use std::process::ExitCode;

fn main() -> ExitCode {
    ExitCode::from(quake_agent::run(std::env::args_os()))
}
