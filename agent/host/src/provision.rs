//! The distribution's own programs: dpkg and apt, or rpm and dnf; useradd; and commands that follow a change.

use quake_model::item::{Package, User};
use quake_model::ports::{Condition, PortError, Provision};
use std::path::Path;
use std::process::{Output, Stdio};
use std::time::Duration;
use tokio::process::Command;

/// Where programs of the node are, whatever this process was started with.
const PATH: &str = "/usr/local/sbin:/usr/sbin:/sbin:/usr/local/bin:/usr/bin:/bin";

/// How long one run of the package manager may take. A guess: slow mirrors, and a disk that is new.
const INSTALL_DEADLINE: Duration = Duration::from_secs(10 * 60);

/// How long any other command may take. A guess.
const DEADLINE: Duration = Duration::from_secs(2 * 60);

/// As many characters of what a program said as are told.
const TOLD: usize = 400;

/// This machine's programs.
#[derive(Debug, Clone, Copy, Default)]
pub struct SystemPrograms;

impl Provision for SystemPrograms {
    async fn missing_packages(&self, packages: &[Package]) -> Result<Vec<String>, PortError> {
        let mut missing = Vec::new();
        for package in packages {
            let paths = &package.proven_by;
            let is_proven = !paths.is_empty() && paths.iter().all(|path| Path::new(path).exists());
            if !is_proven && !is_installed(&package.name).await? {
                missing.push(package.name.clone());
            }
        }
        Ok(missing)
    }

    async fn install_packages(&self, names: &[String]) -> Result<(), PortError> {
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        if !uses_apt() {
            let words = [&["dnf", "install", "--assumeyes"][..], &names].concat();
            return install(&words).await;
        }
        let words = [
            &["apt-get", "install", "--yes", "--no-install-recommends"][..],
            &names,
        ]
        .concat();
        match install(&words).await {
            // A new image knows of no packages, or of old ones, until its index is read.
            Err(error) if error.condition != Condition::Conflict => {
                install(&["apt-get", "update"]).await?;
                install(&words).await
            }
            installed => installed,
        }
    }

    async fn make_user(&self, user: &User) -> Result<(), PortError> {
        let number = user.uid.to_string();
        let group = ["groupadd", "--system", "--gid", &number, &user.name];
        let made = run(&group, DEADLINE).await?;
        // 9: the group is there; useradd says whether it is the right one.
        if !made.status.success() && made.status.code() != Some(9) {
            return Err(complaint(&group, &made));
        }
        let words = [
            "useradd",
            "--system",
            "--uid",
            &number,
            "--gid",
            &number,
            "--home-dir",
            &user.home,
            "--no-create-home",
            "--shell",
            &user.shell,
            &user.name,
        ];
        let made = run(&words, DEADLINE).await?;
        match made.status.code() {
            Some(0) => Ok(()),
            // 4: the number is another's; 9: the name is.
            Some(4 | 9) => Err(PortError {
                condition: Condition::Occupied,
                ..complaint(&words, &made)
            }),
            _ => Err(complaint(&words, &made)),
        }
    }

    async fn run_command(&self, words: &[String]) -> Result<(), PortError> {
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        let ran = run(&words, DEADLINE).await?;
        match ran.status.success() {
            true => Ok(()),
            false => Err(complaint(&words, &ran)),
        }
    }
}

fn uses_apt() -> bool {
    Path::new("/usr/bin/dpkg-query").exists()
}

async fn is_installed(name: &str) -> Result<bool, PortError> {
    if uses_apt() {
        let words = [
            "dpkg-query",
            "--show",
            "--showformat=${db:Status-Status}",
            name,
        ];
        let asked = run(&words, DEADLINE).await?;
        return Ok(asked.status.success() && asked.stdout == b"installed");
    }
    let asked = run(&["rpm", "--query", name], DEADLINE).await?;
    Ok(asked.status.success())
}

async fn install(words: &[&str]) -> Result<(), PortError> {
    let ran = run(words, INSTALL_DEADLINE).await?;
    if ran.status.success() {
        return Ok(());
    }
    let error = complaint(words, &ran);
    let said = String::from_utf8_lossy(&ran.stderr);
    let condition = [
        ("Could not get lock", Condition::Conflict),
        ("Unable to locate package", Condition::Missing),
        ("No match for argument", Condition::Missing),
        ("Could not resolve", Condition::Unreachable),
        ("Failed to fetch", Condition::Unreachable),
    ]
    .into_iter()
    .find(|(words, _)| said.contains(words))
    .map_or(Condition::Io, |(_, condition)| condition);
    Err(PortError { condition, ..error })
}

async fn run(words: &[&str], deadline: Duration) -> Result<Output, PortError> {
    let Some((name, arguments)) = words.split_first() else {
        return Err(PortError::new(Condition::Missing, "a command has no words"));
    };
    let mut command = Command::new(name);
    command
        .args(arguments)
        .env("PATH", PATH)
        .env("LC_ALL", "C")
        .env("DEBIAN_FRONTEND", "noninteractive")
        .stdin(Stdio::null());
    match tokio::time::timeout(deadline, command.output()).await {
        Ok(Ok(output)) => Ok(output),
        Ok(Err(error)) => {
            let condition = match error.kind() {
                std::io::ErrorKind::NotFound => Condition::Missing,
                _ => Condition::Io,
            };
            Err(PortError::new(condition, format!("{name} cannot be run")).because(&error))
        }
        Err(_) => {
            let summary = format!("{name} did not end within {} s", deadline.as_secs());
            Err(PortError::new(Condition::TimedOut, summary))
        }
    }
}

fn complaint(words: &[&str], output: &Output) -> PortError {
    let said = String::from_utf8_lossy(&output.stderr);
    let said = said.trim();
    let start = said.len().saturating_sub(TOLD);
    let end: String = said.chars().skip(start).collect();
    let summary = format!("{} ended with {}", words.join(" "), output.status);
    PortError::new(Condition::Io, summary).seen("said", end)
}
