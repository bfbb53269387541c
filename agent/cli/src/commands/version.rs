//! `version`.

use crate::args::{OutputFormat, VersionArguments};
use crate::exit;
use crate::output;
use serde_json::{Value, json};

/// The kops versions whose nodes the agent makes.
const KOPS_VERSIONS: [&str; 2] = ["1.32 and newer", "1.8 to 1.15 (kops legacy)"];

pub(crate) fn run(arguments: &VersionArguments) -> u8 {
    match arguments.output {
        OutputFormat::Text => {
            output::line(format_args!("quake-agent {}", env!("CARGO_PKG_VERSION")));
            output::line(format_args!(
                "for nodes of kops {}",
                KOPS_VERSIONS.join(", ")
            ));
        }
        OutputFormat::Json => output::line(version_json()),
    }
    exit::DONE
}

pub(crate) fn version_json() -> Value {
    json!({
        "schemaVersion": "quake-agent/version/v1",
        "name": "quake-agent",
        "version": env!("CARGO_PKG_VERSION"),
        "architecture": std::env::consts::ARCH,
        "kopsVersions": KOPS_VERSIONS,
    })
}
