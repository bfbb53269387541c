//! `install`: this binary and its units, on a machine or into an image. One file is then all that has to be delivered.

use super::below::{below, entry_below};
use super::generate::shared_files;
use super::running::usage;
use super::write_file::{Laid, Written, link_to, write_file};
use crate::args::install::InstallArguments;
use crate::exit;
use crate::output;
use quake_formats::unit_text::UnitText;
use quake_host::systemd::Systemd;
use quake_model::fault::Class;
use quake_model::ports::{PortError, Units};
use quake_tree::{Last, locate};
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};

/// Where the unit expects the binary.
const BINARY: &str = "usr/local/bin/quake-agent";
/// Where locally installed units are (systemd.unit(5)); /etc is left to the administrator, whose files win.
const UNITS: &str = "usr/local/lib/systemd/system";
/// Gives the agent's service the variables of the startup taint.
const DROP_IN: &str = "usr/local/lib/systemd/system/quake-agent.service.d/10-startup-taint.conf";
/// Where a machine's own manual and completions are (hier(7)).
const SHARE: &str = "usr/local/share";
/// The unit whose start brings everything up.
const READY: &str = "quake-ready.target";

const FILES: &[(&str, &str)] = &[
    (
        "usr/local/lib/systemd/system/quake-agent.service",
        include_str!("../../../../systemd/quake-agent.service"),
    ),
    (
        "usr/local/lib/systemd/system/quake-ready.target",
        include_str!("../../../../systemd/quake-ready.target"),
    ),
    (
        "usr/local/lib/systemd/system-preset/90-quake-agent.preset",
        include_str!("../../../../systemd/90-quake-agent.preset"),
    ),
    (
        "usr/local/lib/tmpfiles.d/quake-agent.conf",
        include_str!("../../../../systemd/quake-agent.conf"),
    ),
];

/// What `[Install]` of both units asks for.
const ENABLED: &[&str] = &["quake-agent.service", READY];
const WANTS: &str = "etc/systemd/system/multi-user.target.wants";

/// Installs; the exit status.
pub(crate) async fn run(arguments: &InstallArguments) -> u8 {
    let is_machine = arguments.root == Path::new("/");
    if arguments.start && !is_machine {
        output::error_line("error: an image cannot be started: leave out --start or --root");
        return exit::USAGE;
    }
    if let Err(wrong) = arguments.startup_taint.requested(|_| None) {
        return usage(&wrong);
    }
    let more = extras(arguments).into_iter().chain(drop_in(arguments));
    let changed = match install(&arguments.root, more.collect()) {
        Ok(changed) => changed,
        Err(status) => return status,
    };
    warn_of_others(&arguments.root);
    // As sd_booted(3): an image is also installed into from inside, where no systemd runs.
    let is_booted = is_machine && Path::new("/run/systemd/system").is_dir();
    if !is_booted {
        return exit::DONE;
    }
    match bring_up(changed, arguments.start).await {
        Ok(()) => exit::DONE,
        Err(error) => {
            output::error_line(format_args!(
                "error: the files are installed, but systemd could not start the agent: {error}\n  fix: systemctl daemon-reload; systemctl start --no-block {READY}"
            ));
            Class::Transient.exit_status()
        }
    }
}

/// Writes what is not there yet; whether there was anything.
fn install(root: &Path, extras: Vec<(PathBuf, Vec<u8>)>) -> Result<bool, u8> {
    let mut laid = Laid::default();
    let mut note = |path: &Path, written| {
        let noted = laid.note(path, written);
        noted.map_err(|(path, error)| cannot(&path, &error))
    };
    let binary = entry_below(root, BINARY)?;
    note(&binary, install_binary(&binary, &below(root, BINARY)?))?;
    for (path, text) in FILES {
        let path = entry_below(root, path)?;
        note(&path, write_file(&path, text.as_bytes(), 0o644))?;
    }
    for (path, content) in extras {
        let path = entry_below(root, path)?;
        note(&path, write_file(&path, &content, 0o644))?;
    }
    for unit in ENABLED {
        let link = entry_below(root, Path::new(WANTS).join(unit))?;
        let unit = Path::new("/").join(UNITS).join(unit);
        note(&link, link_to(&link, &unit))?;
    }
    Ok(laid.changed)
}

/// The manual and completions, where they are wanted: an image for nodes alone has no use for them.
fn extras(arguments: &InstallArguments) -> Vec<(PathBuf, Vec<u8>)> {
    if !arguments.extras {
        return Vec::new();
    }
    let files = shared_files().into_iter();
    let below = |(path, content)| (Path::new(SHARE).join(path), content);
    files.map(below).collect()
}

/// The drop-in that hands the startup taint to each boot; what an operator sets in the unit's file of variables wins.
fn drop_in(arguments: &InstallArguments) -> Option<(PathBuf, Vec<u8>)> {
    let variables = arguments.startup_taint.variables();
    if variables.is_empty() {
        return None;
    }
    let text = UnitText::new().section("Service");
    let text = variables.iter().fold(text, |text, (name, value)| {
        text.set("Environment", &format!("{name}={value}"))
    });
    Some((PathBuf::from(DROP_IN), text.finish().into_bytes()))
}

/// Copies this program, unless it is the one that is there: `followed` is where a link in its place leads.
fn install_binary(target: &Path, followed: &Path) -> io::Result<Written> {
    let own = std::fs::canonicalize("/proc/self/exe")?;
    if std::fs::canonicalize(followed).is_ok_and(|there| there == own) {
        return Ok(Written::Same);
    }
    write_file(target, &std::fs::read(own)?, 0o755)
}

/// Units of the same name in /etc win, be they older copies or meant so.
fn warn_of_others(root: &Path) {
    for unit in ENABLED {
        let other = Path::new("etc/systemd/system").join(unit);
        let Ok(other) = locate(root, other, Last::Kept) else {
            continue;
        };
        if std::fs::symlink_metadata(&other).is_ok() {
            output::error_line(format_args!(
                "warning: {} is there and wins over the unit that was installed",
                other.display()
            ));
        }
    }
}

async fn bring_up(changed: bool, start: bool) -> Result<(), PortError> {
    let systemd = Systemd::new();
    if changed {
        systemd.reload_units().await?;
    }
    if start {
        systemd.queue_start(READY).await?;
        output::line("started; `quake-agent wait --for=ready` waits for the node");
    }
    Ok(())
}

/// Prints what cannot be written; the exit status for it.
pub(super) fn cannot(path: &Path, error: &io::Error) -> u8 {
    output::error_line(format_args!(
        "error: {} cannot be written: {error}",
        path.display()
    ));
    match error.kind() {
        ErrorKind::PermissionDenied | ErrorKind::ReadOnlyFilesystem => Class::Denied.exit_status(),
        _ => Class::Transient.exit_status(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::args::conditions::StartupTaintArguments;

    #[test]
    fn an_image_gets_the_binary_its_units_and_their_links_and_the_second_time_nothing() {
        let folder = tempfile::tempdir().expect("a directory");
        let root = folder.path();
        assert_eq!(install(root, Vec::new()).ok(), Some(true));
        assert!(root.join(BINARY).is_file());
        for unit in ENABLED {
            let link = std::fs::read_link(root.join(WANTS).join(unit)).expect("a link");
            assert_eq!(link, Path::new("/usr/local/lib/systemd/system").join(unit));
            assert!(root.join(UNITS).join(unit).is_file());
        }
        assert_eq!(install(root, Vec::new()).ok(), Some(false));
    }

    #[test]
    fn the_unit_starts_the_binary_where_it_is_installed() {
        let (_, unit) = FILES[0];
        assert!(unit.contains(&format!("\nExecStart=/{BINARY} boot\n")));
    }

    #[test]
    fn an_image_gets_the_manual_and_completions_only_when_they_are_asked_for() {
        let folder = tempfile::tempdir().expect("a directory");
        let arguments = InstallArguments {
            root: folder.path().to_owned(),
            extras: true,
            startup_taint: StartupTaintArguments::default(),
            start: false,
        };
        assert_eq!(install(folder.path(), Vec::new()).ok(), Some(true));
        let share = folder.path().join(SHARE);
        assert!(!share.exists());
        assert_eq!(install(folder.path(), extras(&arguments)).ok(), Some(true));
        for file in [
            "man/man1/quake-agent.1",
            "man/man1/quake-agent-boot.1",
            "bash-completion/completions/quake-agent",
            "zsh/site-functions/_quake-agent",
            "fish/vendor_completions.d/quake-agent.fish",
        ] {
            assert!(share.join(file).is_file(), "{file}");
        }
        assert_eq!(install(folder.path(), extras(&arguments)).ok(), Some(false));
    }
}
