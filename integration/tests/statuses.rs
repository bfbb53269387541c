//! Every exit status that `docs/operations.md` lists, from the built binary: a status that the document has and no command
//! line here produces fails this test, and so does one that it lacks.

use quake_integration::agent::{self, Ended};
use quake_integration::http::{Reply, Server};
use quake_integration::node::{kube_env, write_state_store};
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use tempfile::TempDir;

/// What the commands are tried on.
struct Ground {
    folder: TempDir,
    /// A mirror that refuses every file.
    forbidding: Server,
}

impl Ground {
    fn make() -> Self {
        let folder = tempfile::tempdir().expect("a temporary directory");
        let forbidding =
            Server::start(|_| Reply::new(403, "no")).expect("loopback has a free port");
        Self { folder, forbidding }
    }

    fn at(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// A root of the example's worker in which `occupied`, if any, is a directory.
    fn rehearse(&self, root: &str, occupied: Option<&str>, assets: &[&str]) -> Ended {
        let root = self.at(root);
        if let Some(path) = occupied {
            let path = root.join(path).join("of-somebody-else");
            std::fs::create_dir_all(path).expect("the directory is ours");
        }
        let mut words = vec!["rehearse", "--root", plain(&root)];
        words.extend(["--exit-when-ready", "--listen", "off", "--output", "json"]);
        words.extend(assets);
        agent::run(&words)
    }

    /// A state store of one node whose kubelet is at `mirror`.
    fn rehearse_from(&self, root: &str, mirror: &str) -> Ended {
        let store = self.at(&format!("{root}-store"));
        write_state_store(&store).expect("the directory is ours");
        let kubelet = format!("{}@{mirror}/kubelet", "a".repeat(64));
        let text = kube_env("workers", &[kubelet]);
        std::fs::write(store.join("kube_env.yaml"), text).expect("the directory is ours");
        let root = self.at(root);
        let mut words = vec!["rehearse", plain(&store), "--root", plain(&root)];
        words.extend(["--assets", "fetch", "--deadline", "2s", "--denied-grace"]);
        words.extend(["100ms", "--exit-when-ready", "--listen", "off"]);
        agent::run(&words)
    }

    /// What `status` says of a boot that found the agent itself broken: the ledger of one that found something else, with
    /// that code in its place. No input brings such a fault about; if one did, it would be fixed.
    fn status_of_a_bug(&self) -> Ended {
        let ended = self.rehearse_from("bug", &self.forbidding.base());
        assert_eq!(ended.status, 77, "{}", ended.text());
        let root = self.at("bug");
        let boots = root.join("var/lib/quake-agent/boots");
        let ledgers = std::fs::read_dir(boots).expect("a boot leaves a ledger");
        let ledgers = ledgers.map(|entry| entry.expect("it can be listed").path());
        for path in ledgers.chain([root.join("run/quake-agent/status.json")]) {
            // Where no status file is left, the ledger is all there is.
            let Ok(text) = std::fs::read_to_string(&path) else {
                continue;
            };
            let text = text.replace("assets.forbidden", "boot.internal");
            std::fs::write(&path, text).expect("the directory is ours");
        }
        let none = self.at("no-socket");
        agent::run(&["status", "--root", plain(&root), "--socket", plain(&none)])
    }
}

fn plain(path: &Path) -> &str {
    path.to_str()
        .expect("a temporary directory has a plain name")
}

/// The statuses of the document: the last column of the classes' table, and the list below it.
fn documented() -> BTreeSet<i32> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/operations.md");
    let text = std::fs::read_to_string(path).expect("the document is beside");
    let section = text.split("## Classes and exit statuses").nth(1);
    let section = section.expect("it has the section");
    let section = section.split("\nThe unit in").next().unwrap_or_default();
    let rows = section.lines().filter(|line| line.starts_with('|'));
    let classes = rows.filter_map(|row| {
        row.trim_matches('|')
            .rsplit('|')
            .next()?
            .trim()
            .parse()
            .ok()
    });
    let besides = section.split("Besides these:").nth(1).unwrap_or_default();
    let besides = besides
        .split(';')
        .filter_map(|part| part.split_whitespace().next()?.parse().ok());
    classes.chain(besides).collect()
}

#[test]
fn every_exit_status_of_the_document_is_produced_and_no_other() {
    let ground = Ground::make();
    let fresh = ground.at("fresh");
    let nowhere = "http://127.0.0.1:1";
    let bad = ground.at("bad.yaml");
    let text = "apiVersion: kops/v1alpha2\nkind: InstanceGroup\nspec:\n  role: King\n";
    std::fs::write(&bad, text).expect("the directory is ours");
    let ended: [(&str, i32, Ended); 9] = [
        ("done", 0, agent::run(&["version"])),
        (
            "the answer is no",
            1,
            agent::run(&["explain", "storage.no-such-code"]),
        ),
        (
            "changes are pending",
            2,
            agent::run(&["plan", "--detailed-exitcode", "--root", plain(&fresh)]),
        ),
        ("usage", 64, agent::run(&["version", "--colour"])),
        ("bug", 70, ground.status_of_a_bug()),
        (
            "transient",
            75,
            ground.rehearse_from("unreachable", nowhere),
        ),
        (
            "denied",
            77,
            ground.rehearse_from("denied", &ground.forbidding.base()),
        ),
        ("invalid", 78, agent::run(&["check", plain(&bad)])),
        (
            "refused",
            80,
            ground.rehearse("occupied", Some("etc/sysconfig/kubelet"), &[]),
        ),
    ];
    let mut produced = BTreeMap::new();
    for (meaning, status, ended) in &ended {
        assert_eq!(ended.status, *status, "{meaning}: {}", ended.text());
        produced.insert(*status, *meaning);
    }
    let produced: BTreeSet<i32> = produced.into_keys().collect();
    assert_eq!(produced, documented());
}
