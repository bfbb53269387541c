//! A disk that fails while a boot writes to it: the boot ends with the kernel's error and the path, and once the disk is fixed
//! the next one completes it.

use crate::machine::Machine;
use crate::node::{Node, undisturbed};
use quake_integration::agent::{self, Ended, Running};
use quake_integration::http::Server;
use quake_integration::mirror::{self, Manners};
use quake_integration::node::Mirrored;
use quake_integration::skip::{SetUpError, unless_missing};
use quake_integration::store::wrong_in_store;
use quake_integration::tree::Tree;
use quake_integration::waiting::wait_until;
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::ScopedJoinHandle;
use std::time::Duration;

/// Shuts an ext4 filesystem down: from then on all is EIO (`EXT4_IOC_SHUTDOWN`, without flushing its log).
const SHUT_DOWN: &str = "import fcntl, os, struct, sys
fcntl.ioctl(os.open(sys.argv[1], os.O_RDONLY), 0x8004587d, struct.pack('I', 2))";

/// The asset store below a root.
const STORE: &str = "var/lib/quake-agent/store";

/// Where the disk is mounted when all of the node is on it.
const DISK: &str = "/mnt/disk";

/// What happens to the disk, once a download is under way.
#[derive(Debug, Clone, Copy)]
enum Failure {
    /// Every read and write is EIO.
    Gone,
    /// The kernel found an error, and made the filesystem read-only.
    ReadOnly,
    /// It is taken from its place; what is open stays.
    Unmounted,
    /// There is no room below the filesystem, so that what was taken is lost: EIO at the flush.
    Thin,
}

/// What is on the disk.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Part {
    Node,
    Store,
}

/// When it fails.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum When {
    /// Before the agent starts, on a disk that was good once.
    Before,
    /// Once a download is under way.
    InTheMiddle,
}

/// The code, the exit status and the kernel's words; `None` where the boot gets ready all the same.
type Expected = Option<(&'static str, i32, &'static str)>;

/// When and what fails, on what, and how the boot ends.
type Row = (When, Failure, Part, Expected);

const EIO: &str = "Input/output error";
const EROFS: &str = "Read-only file system";

const STORE_EIO: Expected = Some(("assets.store-failed", 77, EIO));
const STORE_EROFS: Expected = Some(("assets.store-failed", 77, EROFS));
const ROOT_EIO: Expected = Some(("files.write-failed", 77, EIO));
const ROOT_EROFS: Expected = Some(("files.write-failed", 77, EROFS));
const STORE_NOT_THERE: Expected = Some(("assets.store-failed", 77, "No such file"));

const ROWS: &[Row] = &[
    (When::InTheMiddle, Failure::Gone, Part::Store, STORE_EIO),
    (When::InTheMiddle, Failure::Gone, Part::Node, STORE_EIO),
    (
        When::InTheMiddle,
        Failure::ReadOnly,
        Part::Store,
        STORE_EROFS,
    ),
    (
        When::InTheMiddle,
        Failure::ReadOnly,
        Part::Node,
        STORE_EROFS,
    ),
    (
        When::InTheMiddle,
        Failure::Unmounted,
        Part::Store,
        STORE_NOT_THERE,
    ),
    // Nothing is flushed before a node is ready: the next boot finds what was lost.
    (When::InTheMiddle, Failure::Thin, Part::Store, None),
    (When::Before, Failure::Gone, Part::Store, STORE_EIO),
    (When::Before, Failure::Gone, Part::Node, ROOT_EIO),
    (When::Before, Failure::ReadOnly, Part::Store, STORE_EROFS),
    (When::Before, Failure::ReadOnly, Part::Node, ROOT_EROFS),
];

/// A disk in a machine, and a node that boots onto it.
struct Fixture {
    machine: Machine,
    device: String,
    part: Part,
    node: Node,
    mirror: Server,
    /// From then on the mirror answers at full speed.
    has_failed: Arc<AtomicBool>,
}

impl Fixture {
    fn make(failure: Failure, part: Part, files: &Mirrored) -> Result<Self, SetUpError> {
        let machine = Machine::make()?;
        let folder = machine.scratch().join("backing");
        std::fs::create_dir(&folder).map_err(|error| error.to_string())?;
        let image = folder.join("image");
        if matches!(failure, Failure::Thin) {
            // Room for the filesystem's own structures, and for some of the assets.
            let place = folder.to_str().expect("a plain name");
            machine.run("mount", &["-t", "tmpfs", "-o", "size=3m", "tmpfs", place]);
        }
        let plain = image.to_str().expect("a plain name");
        machine.run("truncate", &["--size=64M", plain]);
        let device = machine.attach(&image, &[]);
        let options = ["-q", "-E", "nodiscard,lazy_itable_init=1", "-J", "size=1"];
        machine.run("mkfs.ext4", &[&options[..], &[&device]].concat());
        // Slow enough that the disk fails in the middle of a download, on a busy machine too.
        let has_failed = Arc::new(AtomicBool::new(false));
        let seen = has_failed.clone();
        let manner = Box::new(move |_| match seen.load(Ordering::SeqCst) {
            false => Manners::Paced(Duration::from_millis(80)),
            true => Manners::Right,
        });
        let mirror = mirror::start(files.clone(), manner).map_err(|error| error.to_string())?;
        let fixture = Self {
            node: Node::new(files, &[mirror.base()]),
            machine,
            device,
            part,
            mirror,
            has_failed,
        };
        fixture.mount();
        Ok(fixture)
    }

    /// Where the node's files are, as the agent sees it.
    fn root(&self) -> PathBuf {
        match self.part {
            Part::Node => PathBuf::from(DISK),
            Part::Store => self.machine.scratch().join("root"),
        }
    }

    fn place(&self) -> String {
        let place = match self.part {
            Part::Node => self.root(),
            Part::Store => self.root().join(STORE),
        };
        place.to_str().expect("a plain name").to_owned()
    }

    fn mount(&self) {
        let place = self.place();
        self.machine.run("mkdir", &["-p", &place]);
        let options = ["-t", "ext4", "-o", "errors=remount-ro"];
        self.machine
            .run("mount", &[&options[..], &[&self.device, &place]].concat());
    }

    fn fail(&self, failure: Failure) {
        let place = self.place();
        match failure {
            Failure::Gone => drop(self.machine.run("python3", &["-c", SHUT_DOWN, &place])),
            Failure::ReadOnly => {
                let name = self.device.trim_start_matches("/dev/");
                let trigger = format!("/sys/fs/ext4/{name}/trigger_fs_error");
                self.machine
                    .run("sh", &["-c", "echo abuse > \"$1\"", "sh", &trigger]);
                // Newer kernels show it as an option of its own.
                let is_so = |line: &String| {
                    line.contains(&place) && (line.contains(" ro") || line.contains("emergency_ro"))
                };
                assert!(self.machine.mounts().iter().any(is_so));
            }
            Failure::Unmounted => drop(self.machine.run("umount", &["--lazy", &place])),
            Failure::Thin => {}
        }
        self.has_failed.store(true, Ordering::SeqCst);
    }

    /// Makes the disk whole again; what it had not taken until then is lost.
    fn repair(&self, failure: Failure) {
        if !matches!(failure, Failure::Unmounted) {
            self.machine.run("umount", &[&self.place()]);
        }
        if matches!(failure, Failure::Thin) {
            let folder = self.machine.scratch().join("backing");
            let folder = folder.to_str().expect("a plain name");
            self.machine
                .run("mount", &["-o", "remount,size=100m", folder]);
        }
        // 1 says that errors were fixed.
        let checked = self.machine.try_run(
            "sh",
            &[
                "-c",
                "fsck.ext4 -fy \"$1\" || test $? -eq 1",
                "sh",
                &self.device,
            ],
        );
        assert!(checked.is_ok(), "{checked:?}");
        self.mount();
    }

    fn start(&self) -> Running {
        let mut command = self.node.command(&self.root());
        command.args(["--deadline", "40s"]);
        Running::start(self.machine.inside(&command))
    }
}

/// What is wrong with a boot whose disk fails, and with the one after it.
fn finding(row: &Row, files: &Mirrored, whole: &Tree) -> Result<Vec<String>, SetUpError> {
    let (when, failure, part, expected) = *row;
    let fixture = Fixture::make(failure, part, files)?;
    if when == When::Before {
        fixture.fail(failure);
    }
    let running = fixture.start();
    if when == When::InTheMiddle {
        wait_until(agent::LIMIT, || !fixture.mirror.seen().is_empty());
        fixture.fail(failure);
    }
    let ended = running.end(agent::LIMIT);
    let mut found = wrong_end(&ended, &fixture.place(), expected);
    fixture.repair(failure);
    let again = fixture.start().end(agent::LIMIT);
    if again.status != 0 {
        found.push(format!("then: exit {}: {}", again.status, again.text()));
    }
    let root = fixture.root();
    let plain = root.to_str().expect("a plain name");
    let verify = agent::command(&["store", "verify", "--root", plain]);
    let verified = agent::run_command(fixture.machine.inside(&verify));
    if verified.status != 0 {
        found.push(format!("store verify: {}", verified.text()));
    }
    let outside = fixture.machine.at(plain);
    found.extend(wrong_in_store(&outside));
    let mut tree = Tree::of_node(&outside).expect("the tree can be read");
    tree.forget("lost+found");
    found.extend(whole.differences(&tree));
    Ok(found)
}

fn wrong_end(ended: &Ended, place: &str, expected: Expected) -> Vec<String> {
    // Before there is a root there is no boot, whose summary has the fault: standard error has it then.
    let fault = match &ended.summary()["fault"] {
        Value::Null => ended.stderr.clone(),
        fault => fault.to_string(),
    };
    let is_well = match expected {
        None => ended.status == 0,
        Some((code, status, words)) => {
            let is_reported = [code, words, place].iter().all(|part| fault.contains(part));
            ended.status == status && is_reported
        }
    };
    let is_well = is_well && !ended.text().contains("panicked");
    let found = format!("exit {}: {fault}", ended.status);
    (!is_well).then_some(found).into_iter().collect()
}

#[test]
fn a_disk_that_fails_in_the_middle_is_named_with_the_kernels_error_and_mended_it_is_enough() {
    let files = mirror::large(1).expect("memory takes it");
    let whole = undisturbed(&files);
    let found: Vec<_> = std::thread::scope(|scope| {
        let rows: Vec<_> = ROWS
            .iter()
            .map(|row| scope.spawn(|| finding(row, &files, &whole)))
            .collect();
        let ended = rows.into_iter().map(ScopedJoinHandle::join);
        ended
            .map(|found| found.expect("it does not panic"))
            .collect()
    });
    let mut complaints = Vec::new();
    for (row, found) in ROWS.iter().zip(found) {
        let Some(found) = unless_missing(found) else {
            return;
        };
        let what = format!("{:?} {:?} {:?}", row.0, row.1, row.2);
        complaints.extend(found.iter().map(|line| format!("{what}: {line}")));
    }
    assert!(complaints.is_empty(), "{}", complaints.join("\n"));
}

/// A directory that nobody may change, root neither; open to its owner again with its value.
struct Immutable(PathBuf);

impl Immutable {
    fn make(path: &Path) -> Result<Self, SetUpError> {
        let changed = Command::new("chattr").arg("+i").arg(path).output();
        match changed {
            Ok(output) if output.status.success() => Ok(Self(path.to_owned())),
            _ => {
                let what = "a directory that nobody may change: this needs root, chattr and a filesystem that has such";
                Err(SetUpError::Missing(what.to_owned()))
            }
        }
    }
}

impl Drop for Immutable {
    fn drop(&mut self) {
        // Nothing else can be done about it.
        let _ = Command::new("chattr").arg("-i").arg(&self.0).status();
    }
}

/// Boots with `store` mounted as the asset store of `root`, which the boot alone sees.
fn boot_on_store(node: &Node, root: &Path, store: &Path) -> Ended {
    let boot = node.command(root);
    let mut command = Command::new("unshare");
    agent::clean(&mut command);
    command
        .args(["--mount", "sh", "-c"])
        .arg(r#"mount --bind "$1" "$2" || exit 99; shift 2; exec "$@""#)
        .arg("sh")
        .args([store, &root.join(STORE)])
        .arg(boot.get_program())
        .args(boot.get_args());
    agent::run_command(command)
}

#[test]
fn a_store_that_nobody_may_change_is_named_and_is_used_once_it_may_be() {
    let files = mirror::large(1).expect("memory takes it");
    let good = mirror::start(files.clone(), Box::new(|_| Manners::Right)).expect("a free port");
    let node = Node::new(&files, &[good.base()]);
    let [root, store] = [(); 2].map(|()| tempfile::tempdir().expect("a temporary directory"));
    std::fs::create_dir_all(root.path().join(STORE)).expect("ours");
    let Some(closed) = unless_missing(Immutable::make(store.path())) else {
        return;
    };
    let ended = boot_on_store(&node, root.path(), store.path());
    drop(closed);
    let place = root.path().join(STORE);
    let place = place.to_str().expect("a plain name");
    let expected = Some(("assets.store-failed", 77, "Operation not permitted"));
    assert_eq!(wrong_end(&ended, place, expected), Vec::<String>::new());
    let again = boot_on_store(&node, root.path(), store.path());
    assert_eq!(again.status, 0, "{}", again.text());
}
