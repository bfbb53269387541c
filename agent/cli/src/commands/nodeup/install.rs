//! The installer of kops' user data: the unit, its variables and the link that enables it, then a start that is not waited
//! for. Each file is written whole, what is asked of systemd follows from what is there, and so an installation that was
//! killed is completed by the next; one that is complete writes and starts nothing.

use super::{Place, place};
use crate::args::nodeup::NodeupArguments;
use crate::commands::install::cannot;
use crate::commands::running::{fail, usage};
use crate::commands::service::UNIT as OWN_UNIT;
use crate::commands::write_file::{Laid, Written, link_to, name_file, write_file};
use crate::exit;
use crate::output;
use quake_host::linux::{NodeFiles, OwnerPolicy};
use quake_host::systemd::Systemd;
use quake_model::fault::Class;
use quake_model::ports::{Files, PortError, Units};
use quake_node::configuration_unit::{
    Command, ENVIRONMENT, Running, Start, UNIT, decide_start, environment_text, unit_text,
};
use quake_node::distribution::Distribution;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// This process's own program.
const OWN_PROGRAM: &str = "/proc/self/exe";

/// Where `systemctl enable` links units.
const LINKS: &str = "/etc/systemd/system";

/// Where a unit of the agent's own may be, from an image or an installation.
const OWN_UNITS: [&str; 4] = [
    "/etc/systemd/system",
    "/usr/local/lib/systemd/system",
    "/usr/lib/systemd/system",
    "/run/systemd/system",
];

/// Installs; the exit status.
pub(super) async fn run(arguments: &NodeupArguments) -> u8 {
    let wanted = match Wanted::new(arguments).await {
        Ok(wanted) => wanted,
        Err(status) => return status,
    };
    let changed = match wanted.lay_down() {
        Ok(changed) => changed,
        Err((path, error)) => return cannot(&path, &error),
    };
    // As sd_booted(3): where no systemd runs there is nothing to start.
    if !Path::new("/run/systemd/system").is_dir() {
        output::error_line("warning: systemd does not run here: nothing was started");
        return exit::DONE;
    }
    match wanted.bring_up(changed).await {
        Ok(()) => {
            output::line("service installed");
            exit::DONE
        }
        Err(error) => {
            output::error_line(format_args!(
                "error: the files are installed, but systemd could not start the agent: {error}\n  fix: systemctl daemon-reload; systemctl start --no-block {UNIT}"
            ));
            Class::Transient.exit_status()
        }
    }
}

struct Wanted {
    program: PathBuf,
    unit: PathBuf,
    text: String,
    environment: String,
    /// Where operators call the agent by its own name.
    name: PathBuf,
}

impl Wanted {
    async fn new(arguments: &NodeupArguments) -> Result<Self, u8> {
        let files = NodeFiles::new(PathBuf::from("/"), OwnerPolicy::of_this_process());
        let os = files.read_os().await;
        let os = os.map_err(|error| usage(&format!("which distribution this is: {error}")))?;
        let distribution = Distribution::identify(&os).map_err(|fault| fail(&fault))?;
        let program = std::fs::canonicalize(OWN_PROGRAM)
            .map_err(|error| usage(&format!("{OWN_PROGRAM} leads nowhere: {error}")))?;
        let environment = environment_text(|name| std::env::var(name).ok());
        let environment =
            environment.map_err(|name| usage(&format!("{name} has more than one line")))?;
        let command = Command {
            words: words(&program, arguments)?,
            retries: arguments.tries_again(),
        };
        Ok(Self {
            unit: Path::new(distribution.units()).join(UNIT),
            text: unit_text(&command),
            environment,
            name: Path::new(distribution.operator_programs()).join("quake-agent"),
            program,
        })
    }

    /// Writes what is not there yet; whether there was anything that systemd must read.
    fn lay_down(&self) -> Result<bool, (PathBuf, io::Error)> {
        let mut laid = Laid::default();
        let environment = Path::new(ENVIRONMENT);
        // An operator's shell has none of the variables that kops' script exports; what that wrote then stays.
        let written = match self.environment.is_empty() && environment.is_file() {
            true => Ok(Written::Same),
            // It may hold the keys of a store of objects.
            false => write_file(environment, self.environment.as_bytes(), 0o600),
        };
        laid.note(environment, written)?;
        laid.note(
            &self.unit,
            write_file(&self.unit, self.text.as_bytes(), 0o644),
        )?;
        let enabled = Path::new(LINKS).join("multi-user.target.wants").join(UNIT);
        laid.note(&enabled, link_to(&enabled, &self.unit))?;
        // The name by which remedies and operators know the service of the agent; it shadows no unit that is there.
        let alias = Path::new(LINKS).join(OWN_UNIT);
        match own_unit() {
            None => laid.note(&alias, link_to(&alias, &self.unit))?,
            Some(other) => output::error_line(format_args!(
                "warning: {} is there as well: disable it, for two agents cannot look after one node",
                other.display()
            )),
        }
        // Without it the node comes up all the same.
        if let Err(error) = name_file(&self.program, &self.name) {
            output::error_line(format_args!(
                "warning: {} cannot be made: {error}",
                self.name.display()
            ));
        }
        Ok(laid.changed)
    }

    async fn bring_up(&self, changed: bool) -> Result<(), PortError> {
        let systemd = Systemd::new();
        let mut unit = systemd.look_unit(UNIT).await?;
        if changed || unit.needs_reload || !unit.found {
            systemd.reload_units().await?;
            unit = systemd.look_unit(UNIT).await?;
        }
        let running = Running {
            written_us: written_us(&self.unit).max(written_us(Path::new(ENVIRONMENT))),
            is_this_program: is_this_program(systemd.main_process(UNIT).await?),
        };
        match decide_start(&unit, running) {
            Start::Start => systemd.queue_start(UNIT).await,
            Start::Restart => systemd.queue_restart(UNIT).await,
            Start::Leave => Ok(()),
        }
    }
}

/// The command that the unit runs: what this process was asked for, less the installation.
fn words(program: &Path, arguments: &NodeupArguments) -> Result<Vec<String>, u8> {
    let conf = match place(&arguments.conf)? {
        // A unit runs in another directory than whoever installs it.
        Place::File(path) => std::path::absolute(&path)
            .map_err(|error| usage(&format!("--conf: {}: {error}", path.display())))?
            .display()
            .to_string(),
        Place::Object(location) => location.to_string(),
    };
    let mut words = vec![program.display().to_string()];
    if program.file_name().is_none_or(|name| name != "nodeup") {
        words.push("nodeup".to_owned());
    }
    words.extend(arguments.of_unit(&conf));
    Ok(words)
}

/// A unit of the agent's own name that leads to another file than ours.
fn own_unit() -> Option<PathBuf> {
    let paths = OWN_UNITS.map(|folder| Path::new(folder).join(OWN_UNIT));
    paths.into_iter().find(|path| {
        let leads_to_ours = std::fs::read_link(path)
            .is_ok_and(|target| target.file_name().is_some_and(|name| name == UNIT));
        std::fs::symlink_metadata(path).is_ok() && !leads_to_ours
    })
}

/// When a file was written, in microseconds since the epoch; zero where there is none.
fn written_us(path: &Path) -> u64 {
    let found = std::fs::metadata(path);
    found.map_or(0, |found| {
        let seconds = u64::try_from(found.mtime()).unwrap_or_default();
        let nanoseconds = u64::try_from(found.mtime_nsec()).unwrap_or_default();
        seconds * 1_000_000 + nanoseconds / 1_000
    })
}

/// Whether a process runs this very program; `None` where there is no process.
fn is_this_program(process: Option<u32>) -> Option<bool> {
    let file_of = |path: &str| {
        let found = std::fs::metadata(path).ok()?;
        Some((found.dev(), found.ino()))
    };
    let theirs = file_of(&format!("/proc/{}/exe", process?))?;
    Some(theirs == file_of(OWN_PROGRAM)?)
}
