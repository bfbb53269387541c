//! Nodes of the newer kops dialect, rehearsed from the state stores that kops' own tests make: each becomes ready, without a
//! warning, and a second time nothing is changed.

use quake_integration::agent::{self, Ended};
use quake_integration::skip::conformance;
use std::path::{Path, PathBuf};
use std::sync::Mutex;

/// Boots at once: a boot mostly waits for the disk.
const LANES: usize = 3;

fn plain(path: &Path) -> &str {
    path.to_str().expect("a plain path")
}

fn folders(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).expect("the corpus can be listed");
    let mut found: Vec<PathBuf> = entries
        .map(|entry| entry.expect("it can be listed").path())
        .collect();
    found.sort();
    found
}

fn rehearse(corpus: &Path, boot: &Path, root: &Path) -> Ended {
    let store = boot.join("../../statestore");
    let kube_env = boot.join("kube_env.yaml");
    let [identity, assets, authority] =
        ["identity.json", "assets", "ca"].map(|name| corpus.join(name));
    agent::run(&[
        "rehearse",
        plain(&store),
        "--kube-env",
        plain(&kube_env),
        "--identity",
        plain(&identity),
        "--assets-dir",
        plain(&assets),
        "--ca-dir",
        plain(&authority),
        "--root",
        plain(root),
        "--exit-when-ready",
        "--listen",
        "off",
        "--output",
        "json",
    ])
}

/// The case and the group of a boot's folder.
fn name_of(boot: &Path) -> String {
    let group = boot.file_name().unwrap_or_default().to_string_lossy();
    let case = boot.ancestors().nth(2).and_then(Path::file_name);
    format!("{}/{group}", case.unwrap_or_default().to_string_lossy())
}

/// What is not as it should be with one boot.
fn finding(corpus: &Path, boot: &Path) -> Option<String> {
    let name = name_of(boot);
    let root = tempfile::tempdir().expect("a temporary directory");
    let ended = rehearse(corpus, boot, root.path());
    let summary = ended.summary();
    let warns = ended.stdout.contains(r#""event":"warning""#);
    if ended.status != 0 || summary["result"] != "ready" || warns {
        return Some(format!("{name}: exit {}: {}", ended.status, ended.text()));
    }
    let again = rehearse(corpus, boot, root.path()).summary();
    (again["result"] != "ready" || again["writes"] != 0).then(|| {
        format!(
            "{name}: once more: {} {}",
            again["writes"], again["changed"]
        )
    })
}

#[test]
fn every_boot_of_kops_own_clusters_is_ready_and_then_changes_nothing() {
    let Some(corpus) = conformance("kops") else {
        return;
    };
    let cases = folders(&corpus.join("cases"));
    let boots: Vec<PathBuf> = cases
        .iter()
        .flat_map(|case| folders(&case.join("boot")))
        .collect();
    assert!(boots.len() >= 69, "{} boots", boots.len());
    let (waiting, found) = (Mutex::new(boots), Mutex::new(Vec::new()));
    std::thread::scope(|scope| {
        for _ in 0..LANES {
            scope.spawn(|| {
                loop {
                    let next = waiting.lock().expect("no lane panics").pop();
                    let Some(boot) = next else { return };
                    let wrong = finding(&corpus, &boot);
                    found.lock().expect("no lane panics").extend(wrong);
                }
            });
        }
    });
    let found = found.into_inner().expect("no lane panics");
    assert!(found.is_empty(), "{}", found.join("\n"));
}
