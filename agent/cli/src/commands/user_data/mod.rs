//! `user-data`: makes what an instance is launched with, and explains it.

mod explain;
mod kube_env;
mod render;

use crate::args::user_data::{UserDataArguments, UserDataVerb};

/// Runs a subcommand; the exit status.
pub(crate) async fn run(arguments: UserDataArguments) -> u8 {
    match arguments.verb {
        UserDataVerb::Render(arguments) => match render::run(&arguments).await {
            Ok(status) | Err(status) => status,
        },
        UserDataVerb::Explain(arguments) => explain::run(&arguments),
    }
}
