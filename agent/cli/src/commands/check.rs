//! `check`: configuration files are read as strictly as can be.

use super::running::usage;
use crate::args::{CheckArguments, OutputFormat};
use crate::exit;
use crate::output;
use crate::render::{fault_json, fault_text};
use quake_model::fault::Code;
use quake_node::config;
use serde_json::json;

/// Checks files; 0 when none has a finding, else the status of the gravest class.
pub(crate) fn run(arguments: &CheckArguments) -> u8 {
    let mut status = exit::DONE;
    for path in &arguments.files {
        let source = path.display().to_string();
        let bytes = match std::fs::read(path) {
            Ok(bytes) => bytes,
            Err(error) => {
                status = status.max(usage(&format!("{source} cannot be read: {error}")));
                continue;
            }
        };
        let bytes = match quake_host::imds::decompress(bytes) {
            Ok(bytes) => bytes,
            Err(error) => {
                status = status.max(usage(&format!("{source} cannot be read: {error}")));
                continue;
            }
        };
        let findings = config::check(&source, &bytes);
        // A weak digest is what old clusters have; it is said, and it is no mistake in the file.
        let is_error = |code| code != Code::ConfigWeakDigest;
        for fault in findings.iter().filter(|fault| is_error(fault.code)) {
            status = status.max(fault.class().exit_status());
        }
        match arguments.output {
            OutputFormat::Json => {
                let findings: Vec<_> = findings.iter().map(fault_json).collect();
                output::line(json!({
                    "schemaVersion": "quake-agent/check/v1",
                    "file": source,
                    "findings": findings,
                }));
            }
            OutputFormat::Text if findings.is_empty() => output::line(format_args!("{source}: ok")),
            OutputFormat::Text => {
                for fault in &findings {
                    let label = if is_error(fault.code) {
                        "error"
                    } else {
                        "warning"
                    };
                    output::text(fault_text(label, fault));
                }
            }
        }
    }
    status
}
