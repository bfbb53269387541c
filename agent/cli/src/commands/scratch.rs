//! The scratch root of a rehearsal, and the simulated region that goes with it from run to run.

use super::below::below;
use super::running::usage;
use quake_host::clock::SystemClock;
use quake_model::facts::InstanceFacts;
use quake_model::ports::Clock;
use quake_testkit::region::Region;
use quake_testkit::{SimHost, Timing};
use serde::Serialize;
use std::fs::{DirBuilder, OpenOptions};
use std::io::Write;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Where the region is kept below the scratch root: what is attached, mounted and started there.
const REGION: &str = "var/lib/quake-agent/rehearsal/region.json";

/// A name that nobody knows before, from the kernel (random(4)).
const FRESH_NAME: &str = "/proc/sys/kernel/random/uuid";

/// A fresh scratch root, for this user alone. Everybody may write where it stands, so its name is not foreseeable, and what
/// stands there already, be it a link, is never used.
pub(crate) fn root() -> Result<PathBuf, u8> {
    let cannot = |path: &Path, error: std::io::Error| {
        let shown = path.display();
        usage(&format!("{shown} cannot be made: {error}"))
    };
    let parent = std::env::temp_dir();
    let name = std::fs::read_to_string(FRESH_NAME).map_err(|error| cannot(&parent, error))?;
    let root = parent.join(format!("quake-agent-rehearsal-{}", name.trim()));
    // Unlike for a directory with its parents, one that exists is an error here.
    let made = DirBuilder::new().mode(0o700).create(&root);
    made.map_err(|error| cannot(&root, error))?;
    Ok(root)
}

/// Whether what happens in the region is kept for the next run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Keep {
    Yes,
    No,
}

/// The simulated region of this root: as it was left, or new with this instance.
pub(crate) fn region(
    root: &Path,
    instance: InstanceFacts,
    cluster: &str,
    keep: Keep,
) -> Result<Arc<SimHost>, u8> {
    let path = below(root, REGION)?;
    let region = match std::fs::read(&path) {
        Ok(bytes) => serde_json::from_slice(&bytes).map_err(|error| {
            usage(&format!(
                "{} is not a simulated region: {error}",
                path.display()
            ))
        })?,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            Region::with_instance(instance, cluster)
        }
        Err(error) => {
            return Err(usage(&format!(
                "{} cannot be read: {error}",
                path.display()
            )));
        }
    };
    let host = SimHost::new(region, Timing::default(), SystemClock.now());
    let save = move |region: &Region| {
        // A region that cannot be kept only costs the next run its memory of this one.
        let _ = write(&path, region);
    };
    Ok(Arc::new(match keep {
        Keep::Yes => host.reporting_to(Box::new(save)),
        Keep::No => host,
    }))
}

/// A root belongs to the instance it was first booted as.
///
/// # Errors
///
/// Prints both instances when they differ.
pub(crate) fn same_instance(
    root: &Path,
    kept: &Region,
    instance: &InstanceFacts,
) -> Result<(), u8> {
    let id = |facts: &InstanceFacts| format!("{} in {}", facts.instance_id, facts.zone);
    if kept.instance == *instance {
        return Ok(());
    }
    let (was, is) = (id(&kept.instance), id(instance));
    let shown = root.display();
    Err(usage(&format!(
        "{shown} was booted as {was}, not as {is}; take another --root"
    )))
}

/// Keeps a value below the scratch root, for whoever runs the rehearsal.
///
/// # Errors
///
/// The error of the directory or the file that cannot be written.
pub(super) fn write(path: &Path, value: &impl Serialize) -> std::io::Result<()> {
    let parent = path.parent().unwrap_or(path);
    std::fs::create_dir_all(parent)?;
    let temporary = path.with_extension("json.tmp");
    let mut options = OpenOptions::new();
    let mut file = options
        .write(true)
        .create(true)
        .truncate(true)
        .mode(0o600)
        .open(&temporary)?;
    file.write_all(&serde_json::to_vec(value)?)?;
    std::fs::rename(&temporary, path)
}
