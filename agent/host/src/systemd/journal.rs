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
    Ok(with_times(&text))
}

/// The messages of a journal with their times. They are scrubbed as one text without times: a secret over several lines is
/// known by how its lines follow each other.
fn with_times(text: &str) -> Vec<String> {
    let mut width = 0;
    let entries: Vec<(Option<Timestamp>, String)> = text
        .lines()
        .map(|line| {
            let (at, message) = match header(line) {
                Some((at, message)) => {
                    width = line.len() - message.len();
                    (Some(at), message)
                }
                None => (None, continued(line, width)),
            };
            (at, message.chars().take(LONGEST).collect())
        })
        .collect();
    let entries = last_entries(&entries);
    let messages: Vec<&str> = entries
        .iter()
        .map(|(_, message)| message.as_str())
        .collect();
    let scrubbed = scrub(&messages.join("\n"));
    let lines: Vec<&str> = scrubbed.lines().collect();
    // A mask over several lines takes their breaks with it, and the times no longer belong to the lines.
    if lines.len() != entries.len() {
        return lines.into_iter().map(str::to_owned).collect();
    }
    let times = entries.iter().map(|(at, _)| *at);
    times.zip(lines).map(|(at, line)| timed(at, line)).collect()
}

fn header(line: &str) -> Option<(Timestamp, &str)> {
    let (time, rest) = line.split_once(' ')?;
    let (_, message) = rest.split_once(": ")?;
    Some((Timestamp::parse(time)?, message))
}

/// A line after the first of a message, which journalctl indents to where the message begins.
fn continued(line: &str, width: usize) -> &str {
    match line.get(..width) {
        Some(margin) if width > 0 && margin.trim().is_empty() => &line[width..],
        Some(_) | None => line.trim_start(),
    }
}

/// Of entries the last that fit.
fn last_entries(entries: &[(Option<Timestamp>, String)]) -> &[(Option<Timestamp>, String)] {
    let mut left = MOST;
    let fitting = entries.iter().rev().take_while(|(_, message)| {
        let fits = message.len() < left;
        left = left.saturating_sub(message.len() + 1);
        fits
    });
    &entries[entries.len() - fitting.count()..]
}

/// A message with its time before it, unless it says one itself.
fn timed(at: Option<Timestamp>, message: &str) -> String {
    let bytes = message.as_bytes();
    let is_klog = bytes.len() > 6 && bytes[1..5].iter().all(u8::is_ascii_digit) && bytes[5] == b' ';
    let has_time = is_klog || message.starts_with("time=\"") || message.starts_with('{');
    match at {
        Some(at) if !has_time => format!("{at} {message}"),
        Some(_) | None => message.to_owned(),
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
            assert_eq!(with_times(line), [wanted]);
        }
    }

    #[test]
    fn of_a_journal_that_is_too_large_the_end_is_kept() {
        let lines = vec![(None, "x".repeat(MOST / 3)); 5];
        assert_eq!(last_entries(&lines).len(), 2);
        assert_eq!(last_entries(&lines[..1]).len(), 1);
    }

    #[test]
    fn a_secret_that_its_place_in_a_manifest_tells_of_is_masked_over_entries_and_lines() {
        let start = "2026-11-22T02:31:00.123456+0000 n app[7]: ";
        let margin = " ".repeat(start.len());
        let said = ["kind: Secret", "data:", "  some: aHVudGVyMmh1bnRlcjI="];
        for between in [start, margin.as_str()] {
            let text = format!("{start}{}", said.join(&format!("\n{between}")));
            let shown = with_times(&text).join("\n");
            assert!(!shown.contains("aHVudGVy"), "{shown}");
            assert!(
                shown.starts_with("2026-11-22T02:31:00.123Z kind: Secret"),
                "{shown}"
            );
        }
    }
}
