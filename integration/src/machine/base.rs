//! The base system: made once by `images/local/build.sh`, and kept by its content.

use super::probe::program;
use crate::skip::SetUpError;
use crate::tree::sha256;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::OnceLock;
use std::time::{Instant, SystemTime};

/// The directory of the image recipes.
pub(super) const IMAGES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../images");

/// The directory of the units.
pub(super) const UNITS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../systemd");

/// How many of a kind are kept: a few checkouts may each have a recipe and an agent of their own.
const KEPT: usize = 3;

/// A base system that is there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Base {
    folder: PathBuf,
}

impl Base {
    /// The base system of this recipe and of the package versions of today; made where it is not kept.
    ///
    /// # Errors
    ///
    /// Says what is missing here, or what the recipe said at its end.
    pub fn get() -> Result<Self, SetUpError> {
        static FOUND: OnceLock<Result<Base, SetUpError>> = OnceLock::new();
        FOUND.get_or_init(find_or_build).clone()
    }

    /// Where everything of it is kept.
    pub(super) fn folder(&self) -> &Path {
        &self.folder
    }

    /// The root of the system; nothing may be written there.
    pub fn root(&self) -> PathBuf {
        self.folder.join("root")
    }

    /// The same as an ext4 filesystem; nothing may be written there.
    pub fn disk(&self) -> PathBuf {
        self.folder.join("root.ext4")
    }

    /// Its kernel.
    pub fn kernel(&self) -> PathBuf {
        self.folder.join("vmlinuz")
    }

    /// What [`IMAGES`]' provisioning step adds to it when it installs this binary and the units: a directory to lay over
    /// its root. Kept as well.
    ///
    /// # Errors
    ///
    /// Says what the provisioning step said.
    pub fn provisioned(&self, agent: &Path) -> Result<PathBuf, String> {
        let script = Path::new(IMAGES).join("provision.sh");
        let mut content = identity(agent)?;
        content.push_str(&text(&script)?);
        for unit in sorted(Path::new(UNITS)) {
            content.push_str(&text(&unit)?);
        }
        let name = format!("agent-{}", &sha256(content.as_bytes())[..16]);
        let kept = self.folder.join(&name);
        let _one_at_a_time = Lock::on(&self.folder.join("agent.lock"))?;
        if !kept.is_dir() {
            remove_old(&self.folder, "agent-");
            let making = self.folder.join("agent.new");
            provision(self, agent, &script, &making)?;
            std::fs::rename(making.join("upper"), &kept).map_err(|error| error.to_string())?;
        }
        touch(&kept);
        Ok(kept)
    }

    /// The agent without what only a debugger reads: a guest's emulated processor has to read all of it.
    ///
    /// # Errors
    ///
    /// Says that there is no agent.
    pub fn agent(&self) -> Result<PathBuf, String> {
        let whole = crate::agent::binary()?;
        let name = format!("stripped-{}", &sha256(identity(&whole)?.as_bytes())[..16]);
        let kept = self.folder.join(&name);
        let _one_at_a_time = Lock::on(&self.folder.join("agent.lock"))?;
        if !kept.is_dir() {
            remove_old(&self.folder, "stripped-");
            let making = self.folder.join("stripped.new");
            remove(&making);
            std::fs::create_dir(&making).map_err(|error| error.to_string())?;
            let agent = making.join("quake-agent");
            let mut strip = Command::new("strip");
            if ran(strip.arg("-o").arg(&agent).arg(&whole)).is_err() {
                std::fs::copy(&whole, &agent).map_err(|error| error.to_string())?;
            }
            std::fs::rename(&making, &kept).map_err(|error| error.to_string())?;
        }
        touch(&kept);
        Ok(kept.join("quake-agent"))
    }
}

/// An exclusive lock on a file, which other processes respect; let go with its value.
#[derive(Debug)]
struct Lock(#[expect(dead_code, reason = "the lock is held for as long as the file is open")] File);

impl Lock {
    fn on(path: &Path) -> Result<Self, String> {
        let wrong = |error: std::io::Error| format!("{} cannot be locked: {error}", path.display());
        let file = File::create(path).map_err(wrong)?;
        file.lock().map_err(wrong)?;
        Ok(Self(file))
    }
}

fn find_or_build() -> Result<Base, SetUpError> {
    let cache = cache()?;
    let folder = cache.join(format!("base-{}", &sha256(content()?.as_bytes())[..16]));
    let base = Base { folder };
    if base.disk().is_file() {
        touch(&base.folder);
        return Ok(base);
    }
    let missing = ["mmdebstrap", "mkfs.ext4"]
        .into_iter()
        .find(|name| program(name).is_none());
    if let Some(missing) = missing {
        let what = format!("missing here: {missing}, to make the base system");
        return Err(SetUpError::Missing(what));
    }
    let _one_at_a_time = Lock::on(&cache.join("lock"))?;
    if base.disk().is_file() {
        return Ok(base);
    }
    let begun = Instant::now();
    let making = cache.join("making");
    remove(&making);
    println!("the base system is made; this takes a minute or two");
    ran(Command::new(Path::new(IMAGES).join("local/build.sh")).arg(&making))?;
    remove_old(&cache, "base-");
    std::fs::rename(&making, &base.folder).map_err(|error| error.to_string())?;
    println!("the base system was made in {:.0?}", begun.elapsed());
    Ok(base)
}

/// `QUAKE_IMAGE_CACHE`, else a directory below the home.
fn cache() -> Result<PathBuf, String> {
    let folder = match (
        std::env::var_os("QUAKE_IMAGE_CACHE"),
        std::env::var_os("HOME"),
    ) {
        (Some(named), _) => PathBuf::from(named),
        (None, Some(home)) => PathBuf::from(home).join(".cache/quake-agent-images"),
        (None, None) => std::env::temp_dir().join("quake-agent-images"),
    };
    std::fs::create_dir_all(&folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    Ok(folder)
}

/// Everything the base system follows from: the recipe, and the versions of its packages.
fn content() -> Result<String, String> {
    let local = Path::new(IMAGES).join("local");
    let mut content = text(&Path::new(IMAGES).join("provision.sh"))?;
    for file in sorted(&local) {
        content.push_str(&text(&file)?);
    }
    let packages = text(&local.join("packages.txt"))?;
    let packages = packages
        .lines()
        .filter(|line| !line.starts_with('#') && !line.is_empty());
    let policy = Command::new("apt-cache")
        .arg("policy")
        .args(packages)
        .output();
    // Without apt there are no packages either; the recipe alone then names what is kept.
    let policy = policy.map(|output| output.stdout).unwrap_or_default();
    let policy = String::from_utf8_lossy(&policy);
    let reported = policy
        .lines()
        .filter(|line| !line.starts_with(' ') || line.contains("Candidate:"));
    content.extend(reported);
    Ok(content)
}

/// Runs the provisioning step in a root that is the base system with a writable directory over it.
fn provision(base: &Base, agent: &Path, script: &Path, making: &Path) -> Result<(), String> {
    remove(making);
    for folder in ["upper", "work", "root"] {
        std::fs::create_dir_all(making.join(folder)).map_err(|error| error.to_string())?;
    }
    // In a mount namespace of its own, so that nothing stays mounted whatever happens.
    let steps = r#"set -eu
mount -t overlay overlay -o "lowerdir=$1,upperdir=$2/upper,workdir=$2/work" "$2/root"
mount -t tmpfs tmpfs "$2/root/tmp"
cp "$3" "$2/root/tmp/provision.sh"
cp "$4" "$2/root/tmp/quake-agent"
cp -r "$5" "$2/root/tmp/units"
chroot "$2/root" /bin/sh /tmp/provision.sh --agent /tmp/quake-agent --units /tmp/units"#;
    let mut command = in_own_mounts(steps);
    command
        .arg(base.root())
        .arg(making)
        .arg(script)
        .arg(agent)
        .arg(UNITS);
    ran(&mut command)
}

/// Steps for a shell, whose mounts nobody else sees and which end with it. What is added to the command are its `$1`
/// and on.
pub(super) fn in_own_mounts(steps: &str) -> Command {
    let mut command = Command::new("unshare");
    command.args(["--mount", "--propagation", "private"]);
    command.args(["sh", "-c", steps, "sh"]);
    command
}

/// Runs a command that has to succeed.
pub(super) fn ran(command: &mut Command) -> Result<(), String> {
    let spelled = command.get_program().to_string_lossy().into_owned();
    let output = command.stdin(Stdio::null()).output();
    let output = output.map_err(|error| format!("{spelled} cannot be run: {error}"))?;
    if output.status.success() {
        return Ok(());
    }
    let reported = String::from_utf8_lossy(&output.stderr).into_owned()
        + &String::from_utf8_lossy(&output.stdout);
    let last: Vec<&str> = reported.lines().rev().take(12).collect();
    let last: Vec<&str> = last.into_iter().rev().collect();
    Err(format!("{spelled} says: {}", last.join(" / ")))
}

/// What tells a binary from another one without reading it: its place, length and time.
fn identity(file: &Path) -> Result<String, String> {
    let found = file
        .metadata()
        .map_err(|error| format!("{}: {error}", file.display()))?;
    let written = found.modified().map_err(|error| error.to_string())?;
    Ok(format!("{} {} {written:?}", file.display(), found.len()))
}

fn text(file: &Path) -> Result<String, String> {
    std::fs::read_to_string(file).map_err(|error| format!("{}: {error}", file.display()))
}

/// Every file below a directory, in one order.
pub(crate) fn sorted(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let mut files: Vec<PathBuf> = entries
        .flat_map(|entry| match entry.path() {
            path if path.is_dir() => sorted(&path),
            path => vec![path],
        })
        .collect();
    files.sort();
    files
}

/// Removes all but the last ones that were used: another checkout may have a recipe of its own. What cannot be
/// removed only takes room.
fn remove_old(folder: &Path, prefix: &str) {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let named = entries.filter(|entry| entry.file_name().to_string_lossy().starts_with(prefix));
    let mut found: Vec<_> = named
        .map(|entry| entry.path())
        .filter_map(|path| Some((path.metadata().ok()?.modified().ok()?, path)))
        .collect();
    found.sort_by(|left, right| right.cmp(left));
    found.iter().skip(KEPT).for_each(|(_, path)| remove(path));
}

/// Notes that something kept is in use.
fn touch(path: &Path) {
    // A time that cannot be set makes it be removed, and made again.
    let _ = File::open(path).and_then(|file| file.set_modified(SystemTime::now()));
}

fn remove(path: &Path) {
    let _ = std::fs::remove_dir_all(path);
    let _ = std::fs::remove_file(path);
}
