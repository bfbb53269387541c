//! The unit that nodeup's user data has it install, as it is where the agent stands in nodeup's place: what is in it, in
//! the file of variables beside it, and whether a unit that is there already is the one that was asked for.
//!
//! Names and places are nodeup's (kops 1.32 to 1.37, `nodeup/pkg/bootstrap/install.go`), so that each of the two programs
//! finds, and writes over, what the other left.

use quake_formats::flags::double_quoted;
use quake_formats::unit_text::command_line;
use quake_model::facts::{ActiveState, UnitFacts};
use std::fmt::Write;

pub use quake_model::boot::CONFIGURATION_UNIT as UNIT;

/// The variables that it is started with.
pub const ENVIRONMENT: &str = "/etc/sysconfig/kops-configuration";

/// The unit's template; `@COMMAND@` and `@LIMIT@` stand for what differs.
const TEMPLATE: &str = include_str!("configuration_unit.service");

/// Within how many seconds the tries of a node are counted that may be tried only so often. A guess: longer than a boot's
/// own patience, shorter than an operator's.
const TRIES_COUNTED_SECONDS: u32 = 3_600;

/// What the unit runs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Command {
    /// The program and its arguments.
    pub words: Vec<String>,
    /// How often a boot that failed is begun again; `None` for ever.
    pub retries: Option<u32>,
}

/// The text of the unit.
pub fn unit_text(command: &Command) -> String {
    let limit = match command.retries {
        None => "StartLimitIntervalSec=0".to_owned(),
        Some(retries) => format!(
            "StartLimitIntervalSec={TRIES_COUNTED_SECONDS}\nStartLimitBurst={}",
            retries.saturating_add(1)
        ),
    };
    TEMPLATE
        .replace("@COMMAND@", &command_line(&command.words))
        .replace("@LIMIT@", &limit)
}

/// The variables of kops' user data that a boot needs, in one order. The keys of a store of the operator's own come only
/// with its endpoint, as nodeup has them.
///
/// # Errors
///
/// The name of a variable that no line can hold.
pub fn environment_text(set: impl Fn(&str) -> Option<String>) -> Result<String, &'static str> {
    let set = |name: &str| set(name).filter(|value| !value.is_empty());
    let mut names = vec!["AWS_REGION"];
    if set("S3_ENDPOINT").is_some() {
        names.extend([
            "S3_ENDPOINT",
            "S3_REGION",
            "S3_ACCESS_KEY_ID",
            "S3_SECRET_ACCESS_KEY",
        ]);
    }
    let mut text = String::new();
    for name in names {
        let value = set(name).unwrap_or_default();
        if value.contains(['\n', '\r', '\0']) {
            return Err(name);
        }
        if !value.is_empty() {
            let _ = writeln!(text, "{name}={}", assigned(&value));
        }
    }
    Ok(text)
}

/// A value as systemd.exec(5) reads it back from an `EnvironmentFile=`.
fn assigned(value: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./:=,@+%".contains(c);
    if value.chars().all(plain) {
        return value.to_owned();
    }
    double_quoted(value)
}

/// What runs, beside what is installed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Running {
    /// When the newest of the unit and its variables was written, in microseconds since the epoch.
    pub written_us: u64,
    /// Whether the main process is the program that was asked for; `None` where it cannot be told.
    pub is_this_program: Option<bool>,
}

/// What is asked of systemd.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Start {
    /// A start: it does not run.
    Start,
    /// A restart: what runs is older than what is installed.
    Restart,
    /// Nothing: what runs is what is installed.
    Leave,
}

/// Decides what is asked of systemd for the unit to run as it is installed.
///
/// It follows from what is there and from nothing remembered, so an installation that ended half-way is completed by the
/// next one. What systemd is about to start again by itself starts as it is installed.
pub fn decide_start(unit: &UnitFacts, running: Running) -> Start {
    match unit.active {
        ActiveState::Inactive | ActiveState::Failed | ActiveState::Deactivating => Start::Start,
        ActiveState::Active | ActiveState::Activating | ActiveState::Reloading => {
            let runs = unit.main_started_us > 0 && unit.main_ended.is_none();
            let is_older = unit.main_started_us < running.written_us;
            if runs && (is_older || running.is_this_program == Some(false)) {
                Start::Restart
            } else {
                Start::Leave
            }
        }
    }
}

#[cfg(test)]
mod tests;
