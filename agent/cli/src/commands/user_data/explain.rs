//! `user-data explain`: what a blob is and what is wrong with it, without showing what it holds.

use crate::args::OutputFormat;
use crate::args::user_data::ExplainUserDataArguments;
use crate::commands::running::usage;
use crate::exit;
use crate::output;
use crate::render::user_data::{explanation_json, explanation_text};
use quake_host::imds::decompress;
use quake_model::fault::Class;
use quake_node::user_data::explain::explain;
use std::error::Error;
use std::io::Read;
use std::path::Path;

/// The most that is read; EC2 takes 16 KiB, and base64 and carelessness make it more.
const MOST_BYTES: u64 = 4 << 20;

/// Explains; 0 when nothing is wrong for certain, else the status of a wrong configuration.
pub(super) fn run(arguments: &ExplainUserDataArguments) -> u8 {
    let bytes = match read(&arguments.file) {
        Ok(bytes) => bytes,
        Err(error) => {
            return usage(&format!(
                "{} cannot be read: {error}",
                arguments.file.display()
            ));
        }
    };
    let unpack = |bytes: &[u8]| {
        decompress(bytes.to_vec()).map_err(|error| match error.source() {
            Some(cause) => format!("{error}: {cause}"),
            None => error.to_string(),
        })
    };
    let explanation = explain(&bytes, &unpack);
    match arguments.output {
        OutputFormat::Text => output::text(explanation_text(&explanation)),
        OutputFormat::Json => output::line(explanation_json(&explanation)),
    }
    match explanation.is_broken() {
        true => Class::Invalid.exit_status(),
        false => exit::DONE,
    }
}

fn read(file: &Path) -> std::io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    if file == Path::new("-") {
        std::io::stdin().take(MOST_BYTES).read_to_end(&mut bytes)?;
    } else {
        std::fs::File::open(file)?
            .take(MOST_BYTES)
            .read_to_end(&mut bytes)?;
    }
    Ok(bytes)
}
