//! The tasks of this repository, run as `cargo xtask <task>`: everything a recipe would need an `if` for.
//!
//! It stays light on purpose: it is compiled before anything else on a fresh machine, so it depends on
//! JSON, on none of our crates, and on nothing that talks to a network.

mod bench;
mod demo;
mod dist;
mod error;
mod faults;
mod layers;
mod program;
mod simulate;
mod suite;
mod task;
mod words;
mod workspace;

use error::TaskError;
use std::error::Error;
use std::process::ExitCode;
use task::Task;
use workspace::Workspace;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let task = match Task::parse(&arguments) {
        Ok(task) => task,
        Err(usage) => {
            eprintln!("error: {usage}\n\n{}", task::USAGE);
            return ExitCode::from(64);
        }
    };
    match perform(&task) {
        Ok(status) => status,
        Err(error) => {
            eprintln!("error: {}", chain(&error));
            ExitCode::FAILURE
        }
    }
}

fn perform(task: &Task) -> Result<ExitCode, TaskError> {
    if *task == Task::Help {
        println!("{}", task::USAGE);
        return Ok(ExitCode::SUCCESS);
    }
    let workspace = Workspace::find()?;
    match task {
        Task::Help => {}
        Task::Layers => println!("{}", layers::check(&workspace)?),
        Task::Diagram => layers::write_diagram(&workspace)?,
        Task::Words => println!("{}", words::check(&workspace)?),
        Task::Faults(mode) => println!("{}", faults::generate(&workspace, *mode)?),
        Task::Test(extent) => return suite::run(&workspace, *extent),
        Task::Integration { tier, case } => {
            return suite::integrate(&workspace, *tier, case.as_deref());
        }
        Task::Demo(example, ending) => demo::run_example(&workspace, *example, *ending)?,
        Task::Dist { target } => dist::build(&workspace, target)?,
        Task::Reproduce => dist::reproduce(&workspace, task::DEFAULT_TARGET)?,
        Task::Simulate(words) => simulate::run_worlds(&workspace, words)?,
        Task::Bench { agent, words } => bench::measure(&workspace, agent.as_deref(), words)?,
    }
    Ok(ExitCode::SUCCESS)
}

/// An error and its causes in one line, outermost first; no error here prints its own source.
fn chain(error: &dyn Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(inner) = cause {
        text.push_str(": ");
        text.push_str(&inner.to_string());
        cause = inner.source();
    }
    text
}
