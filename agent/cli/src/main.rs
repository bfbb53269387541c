//! The binary: arguments in, exit status out. Everything else is in the library.

use std::process::ExitCode;

fn main() -> ExitCode {
    ExitCode::from(quake_agent::run(std::env::args_os()))
}
