//! The last journal lines of a unit, with or without their times, read with `journalctl`: no library in Rust alone reads the journal's
//! files and is kept up with their format.

use crate::linux::{Abandon, Program, complaint};
use quake_model::ports::{Condition, PortError};
use quake_model::redact::scrub;
use quake_model::time::Timestamp;
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
    let text = read(unit, lines, "--output=cat").await?;
    // Scrubbed as one text, for a private key is masked over its lines.
    Ok(scrub(&text).lines().map(str::to_owned).collect())
}

/// The longest line that is kept, in characters, and how much of a journal is, in bytes.
const LONGEST: usize = 2000;
const MOST: usize = 128 << 10;

/// Like [`read_journal`]; a line that says no time itself begins with the journal's, and what is longer than anybody reads is
/// cut.
pub(super) async fn read_timed_journal(unit: &str, lines: usize) -> Result<Vec<String>, PortError> {
    let text = read(unit, lines, "--output=short-iso-precise").await?;
    let lines: Vec<String> = text.lines().map(timed).collect();
    let text = scrub(&last_bytes(&lines).join("\n"));
    Ok(text.lines().map(str::to_owned).collect())
}

/// Of lines the last that fit.
fn last_bytes(lines: &[String]) -> &[String] {
    let mut left = MOST;
    let fitting = lines.iter().rev().take_while(|line| {
        let fits = line.len() < left;
        left = left.saturating_sub(line.len() + 1);
        fits
    });
    &lines[lines.len() - fitting.count()..]
}

/// A line of the journal without host and program, and without its time where the program said one.
fn timed(line: &str) -> String {
    let whole = || line.trim_start().chars().take(LONGEST).collect();
    let Some((time, rest)) = line.split_once(' ') else {
        return whole();
    };
    let Some((at, (_, message))) = Timestamp::parse(time).zip(rest.split_once(": ")) else {
        return whole();
    };
    let message: String = message.chars().take(LONGEST).collect();
    let bytes = message.as_bytes();
    let is_klog = bytes.len() > 6 && bytes[1..5].iter().all(u8::is_ascii_digit) && bytes[5] == b' ';
    match is_klog || message.starts_with("time=\"") || message.starts_with('{') {
        true => message,
        false => format!("{at} {message}"),
    }
}

async fn read(unit: &str, lines: usize, form: &str) -> Result<String, PortError> {
    let (unit, lines) = (format!("--unit={unit}"), format!("--lines={lines}"));
    let arguments = ["--boot", form, "--no-pager", "--quiet", &unit, &lines];
    let output = JOURNALCTL.run(&arguments).await?;
    if !output.status.success() {
        let summary = format!("journalctl ended with {}", output.status);
        let error = PortError::new(Condition::Io, summary);
        return Err(error.seen("journalctl", complaint(&output)));
    }
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_begins_with_the_journals_time_unless_it_has_its_own() {
        for (line, wanted) in [
            (
                "2026-11-22T02:31:00.123456+0000 n systemd[1]: kubelet.service: Failed with result 'exit-code'.",
                "2026-11-22T02:31:00.123Z kubelet.service: Failed with result 'exit-code'.",
            ),
            (
                "2026-11-22T02:31:00.123456+00:00 n kubelet[1201]: E1122 02:31:00.1 1201 x.go:1] y: z",
                "E1122 02:31:00.1 1201 x.go:1] y: z",
            ),
            (
                "2026-11-22T02:31:00.123456+0000 n containerd[7]: time=\"2026-11-22T02:31:00Z\" level=error",
                "time=\"2026-11-22T02:31:00Z\" level=error",
            ),
            (
                "        a second line of a message",
                "a second line of a message",
            ),
        ] {
            assert_eq!(timed(line), wanted);
        }
    }

    #[test]
    fn of_a_journal_that_is_too_large_the_end_is_kept() {
        let lines = vec!["x".repeat(MOST / 3); 5];
        assert_eq!(last_bytes(&lines).len(), 2);
        assert_eq!(last_bytes(&lines[..1]).len(), 1);
    }
}
