//! Finds programs of etcd, and runs them with a deadline and without this process' environment:
//! etcd takes each flag from a variable, too.

use crate::linux::{DIRECTORIES, complaint, find_program, not_started, output_within};
use quake_model::ports::{Condition, EtcdTools, PortError};
use std::path::{Path, PathBuf};
use std::process::{Output, Stdio};
use std::time::Duration;
use tokio::process::Command;

/// Where releases are unpacked, one directory a version, as in etcd-manager's images.
const RELEASES: &str = "/opt";

/// How long a program may take to say its version. A guess: it takes a tenth of a second.
const VERSION_DEADLINE: Duration = Duration::from_secs(10);

/// Programs of each version. Directories that a pod can write are never looked into.
pub(super) async fn find(only: Option<&Path>) -> Result<Vec<EtcdTools>, PortError> {
    let directories = match only {
        Some(directory) => vec![directory.to_owned()],
        None => usual_directories(),
    };
    let mut found = Vec::new();
    for directory in directories {
        let server = directory.join("etcd");
        if !server.is_file() {
            continue;
        }
        let output = run(&server, &["--version"], VERSION_DEADLINE).await?;
        let said = String::from_utf8_lossy(&output.stdout);
        let version = said
            .lines()
            .find_map(|line| line.strip_prefix("etcd Version: "));
        let Some(version) = version.filter(|_| output.status.success()) else {
            let summary = format!("{} does not say its version", server.display());
            return Err(PortError::new(Condition::Io, summary).seen("said", complaint(&output)));
        };
        found.push(EtcdTools {
            restorer: restorer(&directory, version.trim()),
            server: server.display().to_string(),
            version: version.trim().to_owned(),
        });
    }
    Ok(found)
}

fn usual_directories() -> Vec<PathBuf> {
    let mut directories: Vec<PathBuf> = DIRECTORIES.iter().map(PathBuf::from).collect();
    let entries = std::fs::read_dir(RELEASES).into_iter().flatten().flatten();
    let releases =
        entries.filter(|entry| entry.file_name().to_string_lossy().starts_with("etcd-v"));
    let mut releases: Vec<PathBuf> = releases.map(|entry| entry.path()).collect();
    releases.sort();
    directories.extend(releases);
    directories
}

/// `etcdutl` where it is there; `etcdctl` restores only before etcd 3.6.
fn restorer(directory: &Path, version: &str) -> Option<String> {
    let at = |name: &str| {
        let path = directory.join(name);
        path.is_file().then(|| path.display().to_string())
    };
    let mut parts = version
        .split('.')
        .map(|part| part.parse::<u32>().unwrap_or(0));
    let is_old = (parts.next(), parts.next()) < (Some(3), Some(6));
    at("etcdutl").or_else(|| at("etcdctl").filter(|_| is_old))
}

/// A command of a program of etcd, whose life ends with this process.
pub(super) fn command(program: &Path) -> Command {
    // The kernel kills it when this process is killed, which can then end nothing itself.
    let mut command = match find_program("setpriv") {
        Some(setpriv) => {
            let mut command = Command::new(setpriv);
            command.args(["--pdeathsig", "KILL", "--"]).arg(program);
            command
        }
        None => Command::new(program),
    };
    command
        .env_clear()
        .env("PATH", DIRECTORIES.join(":"))
        .env("LC_ALL", "C")
        .env("ETCDCTL_API", "3")
        // A fault says what happened: etcd runs on architectures that it asks to be named.
        .env(
            "ETCD_UNSUPPORTED_ARCH",
            std::env::consts::ARCH.replace("aarch64", "arm64"),
        )
        .stdin(Stdio::null())
        .kill_on_drop(true);
    command
}

/// Runs a program of etcd to its end.
pub(super) async fn run(
    program: &Path,
    arguments: &[&str],
    deadline: Duration,
) -> Result<Output, PortError> {
    let name = program.display().to_string();
    let mut command = command(program);
    command.args(arguments);
    let started = command
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn();
    let child = started.map_err(|error| not_started(&name, &error))?;
    output_within(&name, deadline, child.wait_with_output()).await
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    fn program(directory: &Path, name: &str, script: &str) {
        let path = directory.join(name);
        std::fs::write(&path, format!("#!/bin/sh\n{script}\n")).expect("ours");
        std::fs::set_permissions(&path, PermissionsExt::from_mode(0o755)).expect("ours");
    }

    #[tokio::test]
    async fn only_the_named_directory_is_looked_into_and_a_version_decides_what_restores() {
        let directory = tempfile::tempdir().expect("a directory");
        let found = find(Some(directory.path())).await.expect("it is empty");
        assert_eq!(found, []);
        for (version, wanted) in [("3.4.23", Some("etcdctl")), ("3.6.12", None)] {
            program(
                directory.path(),
                "etcd",
                &format!("echo etcd Version: {version}"),
            );
            program(directory.path(), "etcdctl", "exit 0");
            let found = find(Some(directory.path())).await.expect("it is there");
            let restorer = found[0].restorer.as_deref();
            let name = restorer.and_then(|path| path.rsplit('/').next());
            assert_eq!((found[0].version.as_str(), name), (version, wanted));
        }
        program(directory.path(), "etcdutl", "exit 0");
        let found = find(Some(directory.path())).await.expect("it is there");
        assert!(
            found[0]
                .restorer
                .as_deref()
                .is_some_and(|it| it.ends_with("etcdutl"))
        );
    }

    #[tokio::test]
    async fn flags_in_the_environment_reach_no_program_of_etcd() {
        let directory = tempfile::tempdir().expect("a directory");
        program(directory.path(), "etcd", "env");
        let output = run(&directory.path().join("etcd"), &[], Duration::from_secs(20)).await;
        let said = output.expect("it runs").stdout;
        let said = String::from_utf8_lossy(&said);
        assert!(!said.contains("CARGO"), "{said}");
    }

    #[tokio::test]
    async fn a_program_that_does_not_end_is_given_up() {
        let directory = tempfile::tempdir().expect("a directory");
        program(directory.path(), "etcd", "exec sleep 60");
        let program = directory.path().join("etcd");
        let error = run(&program, &[], Duration::from_millis(50)).await;
        let error = error.expect_err("it sleeps");
        assert_eq!(error.condition, Condition::TimedOut);
    }
}
