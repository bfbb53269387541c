//! `demo`: rehearses a bundled example cluster on this machine, control plane then worker.

use crate::error::TaskError;
use crate::program::{cargo, run, spell};
use crate::task::{Ending, Example};
use crate::workspace::Workspace;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The instance groups of both examples, in the order they boot.
const CONTROL_PLANE: &str = "control-plane";
const WORKERS: &str = "workers";

/// Boots both nodes of the example into scratch directories; the second stays up unless told to leave.
///
/// The directories are emptied first, so that each run is a first boot, and kept afterwards for a look.
///
/// # Errors
///
/// Fails when the agent cannot be built, or a boot does not end ready.
pub(crate) fn run_example(
    workspace: &Workspace,
    example: Example,
    ending: Ending,
) -> Result<(), TaskError> {
    run(cargo()
        .args(["build", "--package", "quake-agent"])
        .current_dir(&workspace.root))?;
    let agent = workspace.target.join("debug/quake-agent");
    let roots = workspace.target.join("demo");
    if roots.exists() {
        std::fs::remove_dir_all(&roots).map_err(TaskError::path(&roots))?;
    }

    println!("\n== the control plane's first node");
    rehearse(&agent, (example, CONTROL_PLANE), &roots, Ending::Leave)?;
    println!("\n== a worker");
    if ending == Ending::Stay {
        println!(
            "It stays up when it is ready. From another terminal: curl -s 'http://127.0.0.1:9105/readyz?verbose'"
        );
        println!("Ctrl-C ends it.");
    }
    rehearse(&agent, (example, WORKERS), &roots, ending)?;
    println!("\nWhat was written is below {}", roots.display());
    Ok(())
}

fn rehearse(
    agent: &Path,
    (example, group): (Example, &str),
    roots: &Path,
    ending: Ending,
) -> Result<(), TaskError> {
    let root: PathBuf = roots.join(group);
    std::fs::create_dir_all(&root).map_err(TaskError::path(&root))?;
    let mut command = Command::new(agent);
    command
        .args(["rehearse", "--instance-group", group, "--root"])
        .arg(root);
    if example == Example::Legacy {
        command.arg("--legacy-example");
    }
    if ending == Ending::Leave {
        command.arg("--exit-when-ready");
    }
    println!("$ {}", spell(&command));
    run(&mut command)
}
