//! A machine apart: a mount namespace with its own `/dev`, `/mnt` and `/var/tmp`, and loop devices in it.

use quake_integration::skip::{SetUpError, is_root};
use quake_integration::waiting::wait_until;
use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;
use tempfile::TempDir;

/// Makes the machine, waits for the end of its input, and takes everything away again: so nothing stays, whatever
/// end the test finds. Its `/dev` is not the host's, where links and devices would be seen by everyone.
const HOLDER: &str = r#"
set -e
trap '' HUP INT TERM
dev="$1/dev"
mkdir "$dev"
mount -t tmpfs tmpfs "$dev"
mkdir -p "$dev/disk/by-id"
mknod "$dev/null" c 1 3
mknod "$dev/zero" c 1 5
mknod "$dev/random" c 1 8
mknod "$dev/urandom" c 1 9
mknod "$dev/loop-control" c 10 237
number=0
while [ $number -lt 128 ]; do
  mknod "$dev/loop$number" b 7 $((number << $2))
  number=$((number + 1))
done
mount --move "$dev" /dev
for place in /mnt /var/tmp /usr/local/sbin; do mount -t tmpfs tmpfs $place; done
echo ready
cat > /dev/null
set +e
for place in /mnt/*; do umount --lazy "$place"; done 2> /dev/null
for file in /sys/block/loop*/loop/backing_file; do
  name=${file#/sys/block/}
  case "$(cat "$file" 2> /dev/null)" in "$1"/*) losetup --detach "/dev/${name%%/*}" ;; esac
done
"#;

/// How long the machine may take to be made or taken away.
const LIMIT: Duration = Duration::from_secs(20);

/// A machine; gone with its value.
#[derive(Debug)]
pub(crate) struct Machine {
    holder: Child,
    scratch: TempDir,
}

impl Machine {
    /// Makes a machine.
    ///
    /// # Errors
    ///
    /// Says what is missing here, or what failed.
    pub(crate) fn make() -> Result<Self, SetUpError> {
        if !is_root() || !Path::new("/dev/loop-control").exists() {
            let what = "loop devices need root and /dev/loop-control";
            return Err(SetUpError::Missing(what.to_owned()));
        }
        let scratch = tempfile::tempdir().map_err(|error| error.to_string())?;
        let mut command = Command::new("unshare");
        command
            .args(["--mount", "--propagation", "private", "--", "sh", "-c"])
            .args([HOLDER, "holder"])
            .arg(scratch.path())
            .arg(minor_shift().to_string())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        let holder = command
            .spawn()
            .map_err(|error| format!("unshare cannot be run: {error}"))?;
        let mut machine = Self { holder, scratch };
        let mut said = String::new();
        if let Some(output) = machine.holder.stdout.take() {
            // An error is an end, as of a holder that failed.
            let _ = BufReader::new(output).read_line(&mut said);
        }
        if said.trim() == "ready" {
            return Ok(machine);
        }
        if let Some(mut errors) = machine.holder.stderr.take() {
            let _ = errors.read_to_string(&mut said);
        }
        let what = "a mount namespace with its own /dev cannot be made";
        Err(SetUpError::new(format!("{what}: {}", said.trim())))
    }

    /// A directory for the test's files, the same inside and outside.
    pub(crate) fn scratch(&self) -> &Path {
        self.scratch.path()
    }

    /// Where a path of the machine is, seen from outside.
    pub(crate) fn at(&self, path: &str) -> PathBuf {
        PathBuf::from(format!("/proc/{}/root{path}", self.holder.id()))
    }

    /// The same command, run inside.
    pub(crate) fn inside(&self, command: &Command) -> Command {
        let mut inside = Command::new("nsenter");
        inside
            .arg(format!("--mount=/proc/{}/ns/mnt", self.holder.id()))
            .arg("--")
            .arg(command.get_program())
            .args(command.get_args());
        quake_integration::agent::clean(&mut inside);
        inside
    }

    /// Runs a program inside, which must succeed; what it wrote.
    pub(crate) fn run(&self, program: &str, arguments: &[&str]) -> String {
        let ran = self.try_run(program, arguments);
        assert!(ran.is_ok(), "{program} {arguments:?}: {ran:?}");
        ran.unwrap_or_default()
    }

    /// Runs a program inside.
    ///
    /// # Errors
    ///
    /// Returns what it said when it failed.
    pub(crate) fn try_run(&self, program: &str, arguments: &[&str]) -> Result<String, String> {
        let mut command = Command::new(program);
        command.args(arguments);
        let output = self.inside(&command).stdin(Stdio::null()).output();
        let output = output.map_err(|error| error.to_string())?;
        let said = [&output.stdout, &output.stderr].map(|bytes| String::from_utf8_lossy(bytes));
        match output.status.success() {
            true => Ok(said[0].trim().to_owned()),
            false => Err(said.concat()),
        }
    }

    /// A loop device over a file.
    pub(crate) fn attach(&self, backing: &Path, options: &[&str]) -> String {
        let backing = backing
            .to_str()
            .expect("a temporary directory has a plain name");
        let arguments = [options, &["--find", "--show", backing]].concat();
        self.run("losetup", &arguments)
    }

    /// Every line of its mount table.
    pub(crate) fn mounts(&self) -> Vec<String> {
        let table = format!("/proc/{}/mountinfo", self.holder.id());
        let text = std::fs::read_to_string(table).expect("the holder lives");
        text.lines().map(str::to_owned).collect()
    }
}

impl Drop for Machine {
    fn drop(&mut self) {
        drop(self.holder.stdin.take());
        let holder = &mut self.holder;
        wait_until(LIMIT, || !matches!(holder.try_wait(), Ok(None)));
        // Gone already, unless it hangs.
        let _ = self.holder.kill();
        let _ = self.holder.wait();
    }
}

/// By how many bits a loop device's minor number is its own number shifted: room for its partitions.
fn minor_shift() -> u32 {
    let text = std::fs::read_to_string("/sys/module/loop/parameters/max_part").unwrap_or_default();
    let partitions: u32 = text.trim().parse().unwrap_or_default();
    u32::BITS - partitions.leading_zeros()
}
