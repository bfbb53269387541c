//! The face of quake-agent: arguments, commands, the HTTP endpoint, rendering and wiring. It decides
//! nothing about a node.

// A boot is one future of many phases, and the compiler looks through all of it at once.
#![recursion_limit = "256"]

mod args;
mod commands;
mod exit;
mod host;
mod limits;
mod output;
mod render;
mod serve;
mod simulated_parts;
mod sinks;

use args::{Arguments, Command};
use clap::error::ErrorKind;
use clap::{CommandFactory, Parser};
use std::ffi::OsString;

/// The threads that have to start for anything to be done: the runtime's, one for work that blocks, and one to spare.
const THREADS: usize = 3;

/// Parses arguments, runs the command, and returns the process's exit status.
pub fn run(arguments: impl IntoIterator<Item = OsString>) -> u8 {
    let mut arguments: Vec<OsString> = arguments.into_iter().collect();
    let spelled = args::nodeup::spelled(&arguments);
    // What starts nodeup knows its status for a wrong command line, which is that of Go's programs.
    let usage = match spelled {
        Some(_) => exit::USAGE_OF_NODEUP,
        None => exit::USAGE,
    };
    if let Some(spelled) = spelled {
        arguments = spelled;
    }
    output::follow_color(&arguments);
    let arguments = match Arguments::try_parse_from(arguments) {
        Ok(arguments) => arguments,
        Err(error) => {
            // Help and version are answers, not mistakes; a closed pipe is nobody's fault.
            if error.kind() == ErrorKind::DisplayHelp {
                let rendered = error.render().ansi().to_string();
                let command = Arguments::command();
                output::text(args::help::with_plain_examples(&rendered, &command));
            } else {
                let _ = error.print();
            }
            return if error.use_stderr() {
                usage
            } else {
                exit::DONE
            };
        }
    };
    start_tracing(&arguments.command);
    limits::name_exhaustion();
    limits::raise_descriptors();
    let runtime = limits::threads_start(THREADS).and_then(|()| {
        tokio::runtime::Builder::new_multi_thread()
            .worker_threads(1)
            .thread_keep_alive(limits::THREADS_LAST)
            .enable_all()
            .build()
    });
    match runtime {
        Ok(runtime) => {
            // Work that blocks waits for a free thread where no further one can be started, so there has to be one.
            drop(runtime.spawn_blocking(|| ()));
            let status = runtime.block_on(dispatch(arguments.command));
            // A blocked reader thread must not hold up the end of the process.
            runtime.shutdown_background();
            status
        }
        Err(error) => {
            let fault = limits::exhausted(
                "the threads of the agent could not be started",
                &error.to_string(),
            );
            output::error_text(render::fault_text("error", &fault));
            fault.class().exit_status()
        }
    }
}

async fn dispatch(command: Command) -> u8 {
    match command {
        Command::Boot(arguments) => commands::boot::run(*arguments).await,
        Command::Rehearse(arguments) => commands::rehearse::run(*arguments).await,
        Command::Plan(arguments) => commands::plan::run(*arguments).await,
        Command::Preview(arguments) => commands::preview::run(*arguments).await,
        Command::Check(arguments) => commands::check::run(&arguments),
        Command::Diagnose(arguments) => commands::diagnose::run(&arguments).await,
        Command::Explain(arguments) => commands::explain::run(&arguments),
        Command::Status(arguments) => commands::status::run(&arguments).await,
        Command::Timeline(arguments) => commands::timeline::run(&arguments).await,
        Command::Wait(arguments) => commands::wait::run(&arguments).await,
        Command::Fleet(arguments) => commands::fleet::run(arguments).await,
        Command::Addons(arguments) => commands::addons::run(arguments).await,
        Command::Conditions(arguments) => commands::conditions::run(&arguments).await,
        Command::Iam(arguments) => commands::iam::run(arguments),
        Command::Volumes(arguments) => commands::volumes::run(*arguments).await,
        Command::Etcd(arguments) => commands::etcd::run(*arguments).await,
        Command::Seed(arguments) => commands::seed::run(*arguments).await,
        Command::Store(arguments) => commands::store::run(arguments).await,
        Command::UserData(arguments) => commands::user_data::run(*arguments).await,
        Command::Install(arguments) => commands::install::run(&arguments).await,
        Command::Nodeup(arguments) => commands::nodeup::run(*arguments).await,
        Command::Completions(arguments) => commands::generate::complete(&arguments),
        Command::Man(arguments) => commands::generate::man(&arguments),
        Command::Version(arguments) => commands::version::run(&arguments),
    }
}

/// Developers' logs go to standard error at the level that `QUAKE_AGENT_LOG` names (`debug`, `trace`), or nodeup's flag for
/// it; operators get events.
fn start_tracing(command: &Command) {
    let set = std::env::var("QUAKE_AGENT_LOG").ok();
    let requested = match command {
        Command::Nodeup(arguments) => commands::nodeup::tracing_level(arguments),
        _ => None,
    };
    if let Some(level) = set.and_then(|level| level.parse().ok()).or(requested) {
        let subscriber = tracing_subscriber::fmt()
            .with_max_level(level)
            .with_writer(std::io::stderr);
        // A second subscriber can only come from a test in the same process.
        let _ = subscriber.try_init();
    }
}
