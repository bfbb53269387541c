//! The locks of the store: other users cannot hold them, and agents that do are named.

use crate::node::Node;
use quake_integration::agent::{self, Ended, Running};
use quake_integration::http::Server;
use quake_integration::mirror::{self, Manners};
use quake_integration::skip::{is_root, skipped};
use quake_integration::store::wrong_in_store;
use quake_integration::waiting::wait_until;
use std::fs::Permissions;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command};
use std::time::{Duration, Instant};

const STORE: &str = "var/lib/quake-agent/store";

/// The user of nobody on every distribution that kops supports.
const NOBODY: u32 = 65534;

struct Fixture {
    node: Node,
    root: tempfile::TempDir,
    _mirror: Server,
}

/// A process that holds a lock; it ends with its value.
struct Holder(Child);

impl Fixture {
    fn new() -> Self {
        let files = mirror::large(1).expect("memory takes it");
        let well = mirror::start(files.clone(), Box::new(|_| Manners::Right));
        let well = well.expect("a free port");
        let root = tempfile::tempdir().expect("a temporary directory");
        let open = Permissions::from_mode(0o755);
        std::fs::set_permissions(root.path(), open).expect("ours");
        Self {
            node: Node::new(&files, &[well.base()]),
            root,
            _mirror: well,
        }
    }

    /// A lock file as an older agent left it.
    fn exposed(&self, name: &str) -> PathBuf {
        let path = self.root.path().join(STORE).join(name);
        std::fs::create_dir_all(path.parent().expect("it has one")).expect("ours");
        std::fs::write(&path, "").expect("ours");
        std::fs::set_permissions(&path, Permissions::from_mode(0o644)).expect("ours");
        path
    }

    fn boot(&self, deadline: &str) -> Ended {
        let mut arguments: Vec<PathBuf> = vec!["rehearse".into(), self.node.path().to_owned()];
        arguments.extend(["--root".into(), self.root.path().to_owned()]);
        let rest = "--assets fetch --exit-when-ready --output json --listen off --deadline";
        arguments.extend(rest.split(' ').map(PathBuf::from));
        arguments.push(deadline.into());
        Running::start(agent::command(&arguments)).end(agent::LIMIT)
    }
}

impl Holder {
    /// Holds the lock at `path` alone, as this user.
    fn start(path: &Path, user: u32) -> Self {
        let mut command = Command::new("flock");
        command.arg("--exclusive").arg(path).args(["sleep", "100"]);
        let child = command.uid(user).process_group(0).spawn();
        let held = Self(child.expect("util-linux has it"));
        let is_held = || {
            let file = std::fs::File::open(path).expect("ours");
            file.try_lock().is_err()
        };
        assert!(wait_until(Duration::from_secs(10), is_held));
        held
    }
}

impl Drop for Holder {
    fn drop(&mut self) {
        let group = i32::try_from(self.0.id()).unwrap_or_default();
        let group = nix::unistd::Pid::from_raw(group);
        // Gone already, or gone now.
        let _ = nix::sys::signal::killpg(group, nix::sys::signal::Signal::SIGKILL);
        let _ = self.0.wait();
    }
}

fn mode(path: &Path) -> u32 {
    path.metadata().expect("it is there").mode() & 0o777
}

#[test]
fn a_lock_that_another_user_holds_holds_up_nothing() {
    if !is_root() {
        return skipped("another user's processes can be started by root alone");
    }
    for name in ["staging.lock", "sets/lock"] {
        let fixture = Fixture::new();
        let path = fixture.exposed(name);
        let holder = Holder::start(&path, NOBODY);
        let ended = fixture.boot("20s");
        assert_eq!(ended.status, 0, "{name}: {}", ended.text());
        assert_eq!(mode(&path), 0o600, "{name}");
        assert_eq!(wrong_in_store(fixture.root.path()), Vec::<String>::new());
        drop(holder);
    }
}

#[test]
fn a_lock_that_another_agent_holds_is_waited_for_until_the_deadline_and_its_holder_named() {
    for name in ["staging.lock", "sets/lock"] {
        let fixture = Fixture::new();
        let path = fixture.exposed(name);
        let own = nix::unistd::geteuid().as_raw();
        let holder = Holder::start(&path, own);
        let began = Instant::now();
        let ended = fixture.boot("6s");
        assert_eq!(ended.status, 75, "{name}: {}", ended.text());
        assert!(began.elapsed() < Duration::from_secs(30), "{name}");
        let fault = &ended.summary()["fault"];
        assert_eq!(fault["code"], "assets.store-locked", "{name}: {fault}");
        let summary = fault["summary"].as_str().unwrap_or_default();
        let process = format!("process {}", holder.0.id());
        assert!(summary.contains(&process), "{name}: {summary}");
        assert!(summary.contains("flock"), "{name}: {summary}");
        drop(holder);
        let ended = fixture.boot("20s");
        assert_eq!(ended.status, 0, "{name}: {}", ended.text());
    }
}

#[test]
fn the_locks_and_the_folders_of_what_is_on_its_way_are_closed_to_others() {
    let fixture = Fixture::new();
    assert_eq!(fixture.boot("20s").status, 0);
    let store = fixture.root.path().join(STORE);
    for name in ["staging.lock", "sets/lock"] {
        assert_eq!(mode(&store.join(name)), 0o600, "{name}");
    }
    assert_eq!(mode(&store.join("staging")), 0o700);
}
