//! Packages, by the machine's package manager: apt and dpkg where there is dpkg, else dnf and rpm.

use super::programs::{DEADLINE, Programs, complaint};
use quake_model::item::Package;
use quake_model::ports::{Condition, PortError};
use std::process::Output;
use std::time::Duration;

/// How long one run of the package manager may take. A guess: slow mirrors, and a disk that is new.
const INSTALL_DEADLINE: Duration = Duration::from_secs(10 * 60);

/// dnf's status where another holds its lock (dnf(8), exit codes).
const DNF_LOCKED: i32 = 200;

/// What dpkg says after it was killed half-way; it asks for this very command.
const INTERRUPTED: &str = "dpkg was interrupted";

pub(super) async fn missing(
    programs: &Programs,
    packages: &[Package],
) -> Result<Vec<String>, PortError> {
    let mut missing = Vec::new();
    for package in packages {
        let paths = &package.proven_by;
        let is_proven = !paths.is_empty() && paths.iter().all(|path| programs.is_there(path));
        if !is_proven && !is_installed(programs, &package.name).await? {
            missing.push(package.name.clone());
        }
    }
    Ok(missing)
}

async fn is_installed(programs: &Programs, name: &str) -> Result<bool, PortError> {
    if uses_apt(programs) {
        let format = "--showformat=${db:Status-Status}";
        let words = ["dpkg-query", "--show", format, name];
        let requested = programs.run(&words, DEADLINE).await?;
        return Ok(requested.status.success() && requested.stdout == b"installed");
    }
    let requested = programs.run(&["rpm", "--query", name], DEADLINE).await?;
    Ok(requested.status.success())
}

fn uses_apt(programs: &Programs) -> bool {
    programs.has("dpkg-query")
}

pub(super) async fn install(programs: &Programs, names: &[String]) -> Result<(), PortError> {
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    if !uses_apt(programs) {
        // Without this dnf waits for its lock without end, and says of whom to nobody.
        let words = [
            "dnf",
            "install",
            "--assumeyes",
            "--setopt=exit_on_lock=True",
        ];
        return manage(programs, &[&words[..], &names].concat()).await;
    }
    let words = ["apt-get", "install", "--yes", "--no-install-recommends"];
    let words = [&words[..], &names].concat();
    let error = match manage(programs, &words).await {
        Ok(()) => return Ok(()),
        Err(error) if error.condition == Condition::Conflict => return Err(error),
        Err(error) => error,
    };
    let said = error.evidence.iter().find(|piece| piece.name == "said");
    if said.is_some_and(|piece| piece.value.contains(INTERRUPTED)) {
        manage(programs, &["dpkg", "--configure", "-a"]).await?;
    }
    // A new image knows of no packages, or of old ones, until its index is read.
    manage(programs, &["apt-get", "update"]).await?;
    manage(programs, &words).await
}

async fn manage(programs: &Programs, words: &[&str]) -> Result<(), PortError> {
    let ran = programs.run(words, INSTALL_DEADLINE).await?;
    if ran.status.success() {
        return Ok(());
    }
    let error = PortError {
        condition: condition_of(&ran),
        ..complaint(words, &ran)
    };
    let said = String::from_utf8_lossy(&ran.stderr);
    Err(match holder(&said) {
        Some(holder) if error.condition == Condition::Conflict => PortError {
            summary: format!("the package manager's lock is held by {holder}"),
            ..error.seen("holder", &holder)
        },
        _ => error,
    })
}

fn condition_of(ran: &Output) -> Condition {
    if ran.status.code() == Some(DNF_LOCKED) {
        return Condition::Conflict;
    }
    let said = String::from_utf8_lossy(&ran.stderr);
    [
        ("Could not get lock", Condition::Conflict),
        (
            "Unable to acquire the dpkg frontend lock",
            Condition::Conflict,
        ),
        ("Unable to locate package", Condition::Missing),
        ("has no installation candidate", Condition::Missing),
        ("No match for argument", Condition::Missing),
        ("Could not resolve", Condition::Unreachable),
        ("Failed to fetch", Condition::Unreachable),
        ("No space left on device", Condition::NoSpace),
    ]
    .into_iter()
    .find(|(words, _)| said.contains(words))
    .map_or(Condition::Io, |(_, condition)| condition)
}

/// Who holds the lock: apt says `It is held by process 812 (unattended-upgr)`, dnf `another copy is running as pid 812`.
fn holder(said: &str) -> Option<String> {
    if let Some((_, rest)) = said.split_once("held by process ") {
        let (number, rest) = rest.split_once(' ')?;
        let name = rest.strip_prefix('(').and_then(|rest| rest.split_once(')'));
        let name = name.map_or("a process", |(name, _)| name);
        return Some(format!("{name} (process {number})"));
    }
    let (_, rest) = said.split_once("running as pid ")?;
    let number: String = rest.chars().take_while(char::is_ascii_digit).collect();
    Some(format!("process {number}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_holder_of_a_lock_is_named_as_its_manager_says_it() {
        let apt = "E: Could not get lock /var/lib/dpkg/lock-frontend. It is held by process 812 (unattended-upgr)\nN: Be aware";
        assert_eq!(
            holder(apt).as_deref(),
            Some("unattended-upgr (process 812)")
        );
        let dnf =
            "Existing lock /var/cache/dnf/metadata_lock.pid: another copy is running as pid 77.";
        assert_eq!(holder(dnf).as_deref(), Some("process 77"));
        assert_eq!(holder("E: it is broken"), None);
    }
}
