//! A machine without memory: the node becomes ready, or the boot ends, however it must, and the next one completes it. And
//! how much memory a boot takes whose assets are large, or have no end.

use crate::node::Node;
use crate::wire::{RawMirror, Wire};
use quake_integration::agent::{self, Ended, Running};
use quake_integration::http::Server;
use quake_integration::machine::program;
use quake_integration::mirror::{self, Manners};
use quake_integration::node::Mirrored;
use quake_integration::skip::{SetUpError, is_root, unless_missing};
use quake_integration::store::wrong_in_store;
use quake_integration::tree::Tree;
use quake_integration::waiting::wait_until;
use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicU32, Ordering};

const MIB: u64 = 1 << 20;

/// The least and the most memory that a control group has, and what is enough for a boot that downloads a few mebibytes.
const GROUPS: [u64; 8] = [4, 6, 8, 12, 16, 24, 64, 128];
const ENOUGH: u64 = 64;

/// How many mebibytes of address space there are beyond what the program takes to show its version.
const BEYOND: [u64; 11] = [0, 1, 2, 3, 4, 6, 8, 10, 12, 16, 24];

/// What is enough beside: threads have stacks, and allocators an arena each.
const ENOUGH_BEYOND: u64 = 1024;

/// The most that a boot may have in memory, in KiB, of which the tests' build takes some 50 MiB for itself.
const MOST_RESIDENT: u64 = 160 << 10;

/// A mirror, and what a boot from it leaves.
struct Fixture {
    node: Node,
    whole: Tree,
    _mirror: Server,
}

impl Fixture {
    fn new(files: &Mirrored) -> Self {
        let well = mirror::start(files.clone(), Box::new(|_| Manners::Right));
        let well = well.expect("a free port");
        let node = Node::new(files, &[well.base()]);
        let root = tempfile::tempdir().expect("a temporary directory");
        let whole = node.ready(root.path());
        Self {
            node,
            whole,
            _mirror: well,
        }
    }

    /// What is wrong after a boot that lacked memory: how it ended, and what the next one makes of it.
    fn finding(&self, root: &Path, ended: &Ended, must_be_ready: bool) -> Vec<String> {
        let text = ended.text();
        let is_named = ended.status == 75 && text.contains("boot.resources-exhausted");
        // The kernel's kill, the abort of an allocation, or a loader that could not map the program.
        let is_killed = ended.status == -1;
        let is_well = ended.status == 0 || (!must_be_ready && (is_named || is_killed));
        println!("exit {} with little memory", ended.status);
        let mut found = Vec::new();
        if !is_well || text.contains("panicked") {
            found.push(format!("exit {}: {text}", ended.status));
        }
        found.extend(self.wrong_afterwards(root));
        found
    }

    fn wrong_afterwards(&self, root: &Path) -> Vec<String> {
        let again = self.node.boot(root);
        if again.status != 0 {
            return vec![format!("then: exit {}: {}", again.status, again.text())];
        }
        let tree = Tree::of_node(root).expect("the tree can be read");
        let mut found = self.whole.differences(&tree);
        found.extend(wrong_in_store(root));
        let root = root.to_str().expect("a plain name");
        let verified = agent::run(&["store", "verify", "--root", root]);
        if verified.status != 0 {
            found.push(format!("store verify: {}", verified.text()));
        }
        found
    }
}

/// The highest value of a line of `/proc/PID/status` while the process runs, in KiB; and how it ended.
fn highest(mut running: Running, label: &str) -> (u64, Ended) {
    let path = format!("/proc/{}/status", running.id());
    let mut highest = 0;
    wait_until(agent::LIMIT, || {
        let text = std::fs::read_to_string(&path).unwrap_or_default();
        let line = text.lines().find_map(|line| line.strip_prefix(label));
        let found = line.and_then(|rest| rest.split_whitespace().next()?.parse().ok());
        highest = highest.max(found.unwrap_or_default());
        running.has_ended()
    });
    (highest, running.end(agent::LIMIT))
}

/// The same command with this much address space.
fn limited(command: &Command, bytes: u64) -> Command {
    let mut limited = Command::new("prlimit");
    limited.arg(format!("--as={bytes}"));
    limited.arg(command.get_program()).args(command.get_args());
    agent::clean(&mut limited);
    limited
}

#[test]
fn a_boot_with_too_little_address_space_ends_and_the_next_one_completes_it() {
    if program("prlimit").is_none() {
        let what = "missing here: prlimit".to_owned();
        unless_missing::<()>(Err(SetUpError::Missing(what)));
        return;
    }
    let fixture = Fixture::new(&mirror::large(1).expect("memory takes it"));
    let least = (8..512).step_by(2).find(|mebibytes| {
        let version = agent::command(&["version"]);
        agent::run_command(limited(&version, mebibytes * MIB)).status == 0
    });
    let least = least.expect("the program starts with half a gibibyte");
    let boot = |beyond: u64, must_be_ready: bool| {
        let root = tempfile::tempdir().expect("a temporary directory");
        let command = fixture.node.command(root.path());
        let ended = agent::run_command(limited(&command, (least + beyond) * MIB));
        fixture.finding(root.path(), &ended, must_be_ready)
    };
    let mut found = at_once(&BEYOND, |beyond| boot(*beyond, false));
    found.extend(boot(ENOUGH_BEYOND, true));
    assert!(found.is_empty(), "{}", found.join("\n"));
}

/// A control group of its own with a limit of memory; deleted with its value.
struct Group(PathBuf);

static NEXT: AtomicU32 = AtomicU32::new(0);

impl Group {
    fn make(bytes: u64) -> Result<Self, SetUpError> {
        let cannot = |why: String| {
            SetUpError::Missing(format!("no control group of memory can be made: {why}"))
        };
        if !is_root() {
            return Err(cannot("this needs root".to_owned()));
        }
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let name = format!("quake-{}-{number}", std::process::id());
        // The first is of version 1, the second of version 2.
        let kinds = [
            ("/sys/fs/cgroup/memory", "memory.limit_in_bytes"),
            ("/sys/fs/cgroup", "memory.max"),
        ];
        let mut why = String::new();
        for (parent, limit) in kinds {
            let group = Self(Path::new(parent).join(&name));
            let made = std::fs::create_dir(&group.0)
                .and_then(|()| std::fs::write(group.0.join(limit), bytes.to_string()));
            match made {
                Ok(()) => return Ok(group),
                Err(error) => why = error.to_string(),
            }
        }
        Err(cannot(why))
    }

    /// The same command, begun in it.
    fn inside(&self, command: &Command) -> Command {
        let mut inside = Command::new("sh");
        let script = r#"echo $$ > "$1/cgroup.procs" || exit 99; shift; exec "$@""#;
        inside.args(["-c", script, "sh"]).arg(&self.0);
        inside.arg(command.get_program()).args(command.get_args());
        agent::clean(&mut inside);
        inside
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        // A process that was killed is in it for a moment.
        wait_until(agent::LIMIT, || {
            std::fs::remove_dir(&self.0).is_ok() || !self.0.exists()
        });
    }
}

#[test]
fn a_boot_in_a_small_control_group_ends_and_the_next_one_completes_it() {
    if unless_missing(Group::make(MIB)).is_none() {
        return;
    }
    let fixture = Fixture::new(&mirror::large(1).expect("memory takes it"));
    let found = at_once(&GROUPS, |mebibytes| {
        let group = Group::make(mebibytes * MIB).expect("one was made before");
        let root = tempfile::tempdir().expect("a temporary directory");
        let command = group.inside(&fixture.node.command(root.path()));
        let ended = agent::run_command(command);
        assert_ne!(ended.status, 99, "{}", ended.text());
        fixture.finding(root.path(), &ended, *mebibytes >= ENOUGH)
    });
    assert!(found.is_empty(), "{}", found.join("\n"));
}

/// Tries all of these, three at once; all that is wrong then.
fn at_once(cases: &[u64], finding: impl Fn(&u64) -> Vec<String> + Sync) -> Vec<String> {
    let mut found = Vec::new();
    for some in cases.chunks(3) {
        found.extend(std::thread::scope(|scope| {
            let running: Vec<_> = some
                .iter()
                .map(|one| (one, scope.spawn(|| finding(one))))
                .collect();
            let ended = running.into_iter().flat_map(|(one, running)| {
                let found = running.join().expect("it does not panic").into_iter();
                found.map(move |line| format!("{one} MiB: {line}"))
            });
            ended.collect::<Vec<_>>()
        }));
    }
    found
}

#[test]
fn a_large_asset_is_not_held_in_memory() {
    let small = mirror::large(1).expect("memory takes it");
    let kubelet = "/bin/linux/amd64/kubelet";
    let of_size = |(path, bytes): (&str, &[u8])| {
        let bytes = match path == kubelet {
            true => bytes.iter().copied().cycle().take(200 << 20).collect(),
            false => bytes.to_vec(),
        };
        (path.to_owned(), bytes)
    };
    let files: Mirrored = small.all().map(of_size).collect();
    let well = mirror::start(files.clone(), Box::new(|_| Manners::Right)).expect("a free port");
    let node = Node::new(&files, &[well.base()]);
    let root = tempfile::tempdir().expect("a temporary directory");
    let (resident, ended) = highest(node.start(root.path()), "VmHWM:");
    println!("200 MiB: {resident} KiB resident at most");
    assert_eq!(ended.status, 0, "{}", ended.text());
    assert!((1..MOST_RESIDENT).contains(&resident), "{resident} KiB");
}

/// Names no length, and never ends.
fn endless(wire: &mut Wire, _: &[u8]) -> io::Result<()> {
    wire.head("200 OK", &["connection: close"])?;
    wire.send_for_ever(&[0; 64 << 10])
}

/// A chunk of exabytes, and bytes without an end.
fn endless_chunk(wire: &mut Wire, _: &[u8]) -> io::Result<()> {
    wire.head("200 OK", &["transfer-encoding: chunked"])?;
    wire.send("7fffffffffffffff\r\n")?;
    wire.send_for_ever(&[0; 64 << 10])
}

#[test]
fn a_body_without_an_end_is_not_held_in_memory() {
    let files = mirror::large(1).expect("memory takes it");
    let good = mirror::start(files.clone(), Box::new(|_| Manners::Right)).expect("a free port");
    for (what, answer) in [
        ("a body", endless as crate::wire::Answer),
        ("a chunk", endless_chunk),
    ] {
        let bad = RawMirror::start(files.clone(), answer).expect("a free port");
        let node = Node::new(&files, &[bad.base(), good.base()]);
        let root = tempfile::tempdir().expect("a temporary directory");
        let (resident, ended) = highest(node.start(root.path()), "VmHWM:");
        println!("{what} without an end: {resident} KiB resident at most");
        assert_eq!(ended.status, 0, "{}", ended.text());
        assert!((1..MOST_RESIDENT).contains(&resident), "{resident} KiB");
        assert_eq!(wrong_in_store(root.path()), Vec::<String>::new());
    }
}
