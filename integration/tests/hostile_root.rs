//! A root made by somebody else, with symbolic links that lead out of it: every command stays below the root, or
//! refuses and names the link. What is outside stays as it is.

use quake_integration::agent::{self, Ended};
use quake_integration::http::{Reply, Server};
use quake_integration::node::{kube_env, write_state_store};
use quake_integration::tree::Tree;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

/// What is refused (docs/reference/faults.md).
const REFUSED: i32 = 80;

/// Links: where below the root, and where they lead. `{outside}` is a directory of this machine beside the root.
const LINKS: &[(&str, &str)] = &[
    ("etc", "{outside}"),
    ("etc/systemd/system", "{outside}"),
    ("etc/systemd/system/multi-user.target.wants", "{outside}"),
    ("etc/hostname", "{outside}/canary"),
    ("run", "{outside}"),
    ("run/quake-agent", "{outside}"),
    ("run/quake-agent/lock", "{outside}/canary"),
    ("run/quake-agent/status.json", "{outside}/canary"),
    ("run/quake-agent/status.json.tmp", "{outside}/canary"),
    ("usr", "../outside"),
    ("usr/local", "{outside}/absent"),
    ("usr/local/bin", "../../../outside"),
    ("usr/local/bin/quake-agent", "{outside}/canary"),
    ("usr/local/lib/systemd", "../../../../outside"),
    ("var", "chain"),
    ("var/lib", "../../../../../../../..{outside}"),
    ("var/lib/quake-agent", "{outside}"),
    ("var/lib/quake-agent/boots", "{outside}"),
    ("var/lib/quake-agent/rehearsal", "{outside}"),
    (
        "var/lib/quake-agent/rehearsal/region.json",
        "{outside}/canary",
    ),
    (
        "var/lib/quake-agent/rehearsal/region.json.tmp",
        "{outside}/canary",
    ),
    ("var/lib/quake-agent/store", "{outside}"),
    ("var/lib/quake-agent/store-stub", "{outside}"),
    ("var/lib/quake-agent/store/record", "{outside}/canary"),
    ("var/lib/quake-agent/store/sets", "{outside}"),
    ("var/lib/quake-agent/store/sets/lock", "{outside}/canary"),
    ("var/lib/quake-agent/store/sha256", "{outside}"),
    ("var/lib/quake-agent/store/staging", "{outside}"),
    ("var/lib/quake-agent/store/staging.lock", "{outside}/canary"),
    ("var/lib/kubelet", "var"),
    ("var/lib/kubelet/kubeconfig", "{outside}/canary"),
];

/// Whether the root has a directory where the links lead, as seen from it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Inside {
    Nothing,
    Directory,
}

/// A root with one link, and the directory beside it that nothing may touch.
struct Fixture {
    folder: tempfile::TempDir,
}

impl Fixture {
    fn new((link, target): (&str, &str), inside: Inside) -> Self {
        let fixture = Self {
            folder: tempfile::tempdir().expect("a temporary directory"),
        };
        let (root, outside) = (fixture.root(), fixture.outside());
        fs::create_dir_all(&outside).expect("the scene is ours");
        fs::create_dir_all(&root).expect("the scene is ours");
        fs::write(outside.join("canary"), "untouched\n").expect("the scene is ours");
        symlink(&outside, root.join("chain")).expect("the scene is ours");
        let link = root.join(link);
        fs::create_dir_all(link.parent().expect("it is below")).expect("the scene is ours");
        let target = target.replace("{outside}", &outside.display().to_string());
        symlink(target, link).expect("the scene is ours");
        if inside == Inside::Directory {
            // Where absolute links lead in a chroot, and those that climb over the root.
            let seen = outside.strip_prefix("/").expect("it is absolute");
            fs::create_dir_all(root.join(seen)).expect("the scene is ours");
            fs::create_dir_all(root.join("outside")).expect("the scene is ours");
        }
        fixture
    }

    fn root(&self) -> PathBuf {
        self.folder.path().join("root")
    }

    fn outside(&self) -> PathBuf {
        self.folder.path().join("outside")
    }
}

/// Runs one command on every root; what is not as it should be. `answers` are statuses beside success and refusal.
fn findings(command: &str, answers: &[i32], run: impl Fn(&Path) -> Ended) -> Vec<String> {
    let mut findings = Vec::new();
    for link in LINKS {
        for inside in [Inside::Nothing, Inside::Directory] {
            let fixture = Fixture::new(*link, inside);
            let before = Tree::new(&fixture.outside(), &[]).expect("the tree can be read");
            let ended = run(&fixture.root());
            let after = Tree::new(&fixture.outside(), &[]).expect("the tree can be read");
            let what = format!("{command}: {} -> {} ({inside:?})", link.0, link.1);
            for line in before.differences(&after) {
                findings.push(format!("{what}: outside: {line}"));
            }
            let is_named =
                ended.text().contains("files.occupied") && ended.text().contains(" leads to ");
            match ended.status {
                0 => {}
                status if answers.contains(&status) => {}
                REFUSED if is_named => {}
                other => findings.push(format!("{what}: exit {other}: {}", ended.text())),
            }
        }
    }
    findings
}

fn text(path: &Path) -> &str {
    path.to_str()
        .expect("a temporary directory has a plain name")
}

#[test]
fn an_installation_stays_below_its_root() {
    let found = findings("install", &[], |root| {
        agent::run(&["install", "--extras", "--root", text(root)])
    });
    assert!(found.is_empty(), "{found:#?}");
}

#[test]
fn an_installation_follows_links_as_a_chroot_would() {
    for link in ["etc", "etc/systemd/system", "usr", "usr/local/bin"] {
        let fixture = Fixture::new((link, "{outside}"), Inside::Directory);
        let root = fixture.root();
        let ended = agent::run(&["install", "--root", text(&root)]);
        assert_eq!(ended.status, 0, "{link}: {}", ended.text());
        let seen = fixture.outside();
        let seen = root.join(seen.strip_prefix("/").expect("it is absolute"));
        let written = Tree::new(&seen, &[]).expect("the tree can be read");
        assert_ne!(written, Tree::default(), "{link}");
    }
}

#[test]
fn the_commands_of_the_store_stay_below_their_root() {
    // An image that is found wanting is an answer.
    for (words, answers) in [
        (&["store", "list"][..], &[][..]),
        (&["store", "verify"], &[]),
        (&["store", "gc", "--yes"], &[]),
        (&["seed", "verify"], &[1]),
        (&["status"], &[1]),
        (&["timeline"], &[1]),
    ] {
        let found = findings(&words.join(" "), answers, |root| {
            agent::run(&[words, &["--root", text(root)]].concat())
        });
        assert!(found.is_empty(), "{found:#?}");
    }
}

#[test]
fn a_seed_stays_below_its_root() {
    let folder = tempfile::tempdir().expect("a temporary directory");
    let mirror = Server::start(|_| Reply::new(200, "a tool")).expect("loopback has a free port");
    let digest = quake_integration::tree::sha256(b"a tool");
    let list = folder.path().join("list");
    let line = format!("{digest}@{}/tool\n", mirror.base());
    fs::write(&list, line).expect("the directory is ours");
    let found = findings("seed build", &[], |root| {
        agent::run(&[
            "seed",
            "build",
            "--record",
            "--list",
            text(&list),
            "--root",
            text(root),
        ])
    });
    assert!(found.is_empty(), "{found:#?}");
}

/// The state store of a small node.
fn state_store() -> tempfile::TempDir {
    let store = tempfile::tempdir().expect("a temporary directory");
    write_state_store(store.path()).expect("the directory is ours");
    fs::write(store.path().join("kube_env.yaml"), kube_env("workers", &[]))
        .expect("the directory is ours");
    store
}

#[test]
fn a_rehearsal_stays_below_its_root() {
    let store = state_store();
    for (command, more) in [("rehearse", &["--exit-when-ready"][..]), ("plan", &[])] {
        let found = findings(command, &[], |root| {
            let words = [command, text(store.path()), "--root", text(root)];
            let rest = ["--output", "json", "--listen", "off"];
            agent::run(&[&words, &rest, more].concat())
        });
        assert!(found.is_empty(), "{found:#?}");
    }
}

#[test]
fn a_boot_stays_below_its_root() {
    let store = state_store();
    let kube_env = store.path().join("kube_env.yaml");
    // The simulated state store has no cluster, which is found once the agent has its own files.
    let found = findings("boot", &[78], |root| {
        agent::run(&[
            "boot",
            "--kube-env",
            text(&kube_env),
            "--root",
            text(root),
            "--assets",
            "stub",
            "--exit-when-ready",
            "--simulate",
            "metadata,cloud,disks,kernel,units,probes,objects",
            "--stand-in-credentials",
            "--output",
            "json",
            "--listen",
            "off",
        ])
    });
    assert!(found.is_empty(), "{found:#?}");
}
