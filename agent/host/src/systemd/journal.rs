//! The last journal lines of a unit, read with `journalctl`: no library in Rust alone reads the journal's
//! files and is kept up with their format.

use crate::linux::{Abandon, Program, complaint};
use quake_model::ports::{Condition, PortError};
use quake_model::redact::scrub;
use std::time::Duration;

const JOURNALCTL: Program = Program {
    name: "journalctl",
    package: "systemd",
    // A guess with room to spare: a journal of 4 GiB on a cold disk is read in some seconds.
    deadline: Duration::from_secs(20),
    abandon: Abandon::Kill,
};

/// Reads the last `lines` of a unit in this boot, oldest first, with what looks like a credential masked.
pub(super) async fn read_journal(unit: &str, lines: usize) -> Result<Vec<String>, PortError> {
    let (unit, lines) = (format!("--unit={unit}"), format!("--lines={lines}"));
    let arguments = [
        "--boot",
        "--output=cat",
        "--no-pager",
        "--quiet",
        &unit,
        &lines,
    ];
    let output = JOURNALCTL.run(&arguments).await?;
    if !output.status.success() {
        let summary = format!("journalctl ended with {}", output.status);
        let error = PortError::new(Condition::Io, summary);
        return Err(error.seen("journalctl", complaint(&output)));
    }
    // Scrubbed as one text, for a private key is masked over its lines.
    let text = scrub(&String::from_utf8_lossy(&output.stdout));
    Ok(text.lines().map(str::to_owned).collect())
}
