//! Nodes of kops (1.32 and newer), rehearsed from the state stores that kops' own tests make: each becomes ready, without a
//! warning, and a second time nothing is changed; and its tree is the one that a real nodeup wrote, but for a list.

use quake_integration::agent;
use quake_integration::comparer::{Compared, Comparer};
use quake_integration::recorded::{boots, plain, rehearse};
use quake_integration::skip::conformance;
use std::path::Path;
use std::sync::Mutex;

/// Boots at once: a boot mostly waits for the disk.
const LANES: usize = 3;

/// Files that stay different from the recorded ones, as `docs/kops-differences.md` says why. This list may only shrink: a
/// path that no difference needs any more fails the test.
const ACCEPTED: &[&str] = &["/etc/passwd-", "/etc/shadow"];

/// How many files of a hundred are to be as recorded.
const EQUAL: usize = 99;

/// What the lanes find.
#[derive(Default)]
struct Found {
    wrong: Vec<String>,
    compared: Vec<Compared>,
}

/// The case and the group of a boot's directory.
fn name_of(boot: &Path) -> String {
    let group = boot.file_name().unwrap_or_default().to_string_lossy();
    let case = boot.ancestors().nth(2).and_then(Path::file_name);
    format!("{}/{group}", case.unwrap_or_default().to_string_lossy())
}

/// What is not as it should be with one boot.
fn finding(
    corpus: &Path,
    boot: &Path,
    comparer: Option<&Comparer>,
    compared: &mut Option<Compared>,
) -> Option<String> {
    let name = name_of(boot);
    let root = tempfile::tempdir().expect("a temporary directory");
    let ended = rehearse(corpus, boot, root.path());
    let summary = ended.summary();
    let warns = ended.stdout.contains(r#""event":"warning""#);
    if ended.status != 0 || summary["result"] != "ready" || warns {
        return Some(format!("{name}: exit {}: {}", ended.status, ended.text()));
    }
    let expected = boot.join("expected.json");
    *compared = comparer
        .filter(|_| expected.is_file())
        .map(|comparer| comparer.compare(&expected, root.path()));
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
    let boots = boots(&corpus);
    assert!(boots.len() >= 69, "{} boots", boots.len());
    let comparer = Comparer::found();
    let (waiting, found) = (Mutex::new(boots), Mutex::new(Found::default()));
    std::thread::scope(|scope| {
        for _ in 0..LANES {
            scope.spawn(|| {
                loop {
                    let next = waiting.lock().expect("no lane panics").pop();
                    let Some(boot) = next else { return };
                    let mut compared = None;
                    let wrong = finding(&corpus, &boot, comparer.as_ref(), &mut compared);
                    let mut found = found.lock().expect("no lane panics");
                    found.wrong.extend(wrong);
                    found.compared.extend(compared);
                }
            });
        }
    });
    let found = found.into_inner().expect("no lane panics");
    assert!(found.wrong.is_empty(), "{}", found.wrong.join("\n"));
    if comparer.is_some() {
        judge(&found.compared);
    }
}

fn judge(compared: &[Compared]) {
    let equal: usize = compared.iter().map(|one| one.equal).sum();
    let total: usize = compared.iter().map(|one| one.total).sum();
    println!("{equal} of {total} files are as recorded");
    let differences = || compared.iter().flat_map(|one| &one.differences);
    let is_of = |line: &&String, path: &str| line.split(": ").next() == Some(path);
    let other: Vec<&String> = differences()
        .filter(|line| !ACCEPTED.iter().any(|path| is_of(line, path)))
        .collect();
    assert!(other.is_empty(), "{other:#?}");
    for path in ACCEPTED {
        let is_needed = differences().any(|line| is_of(&line, path));
        assert!(
            is_needed,
            "nothing differs in {path}: it is accepted no more"
        );
    }
    assert!(equal * 100 >= total * EQUAL, "{equal} of {total}");
}

/// Karpenter launches these with kops' own script as user data, and takes the taint away once it knows the node.
#[test]
fn a_node_of_karpenter_registers_with_the_taint_that_karpenter_removes() {
    let Some(corpus) = conformance("kops") else {
        return;
    };
    let case = corpus.join("cases/karpenter");
    let below = "statestore/clusters.example.com/minimal.example.com/igconfig/node";
    for group in [
        "karpenter-nodes-default",
        "karpenter-nodes-single-machinetype",
    ] {
        let script = case.join(below).join(group).join("nodeupscript.sh");
        let said = agent::run(&["user-data", "explain", plain(&script)]);
        assert_eq!(said.status, 0, "{}", said.text());
        let named = format!("instance group: {group}");
        assert!(said.stdout.contains(&named), "{}", said.text());
        let root = tempfile::tempdir().expect("a temporary directory");
        let ended = rehearse(&corpus, &case.join("boot").join(group), root.path());
        assert_eq!(ended.status, 0, "{}", ended.text());
        let config = root.path().join("var/lib/kubelet/kubelet.conf");
        let config = std::fs::read_to_string(config).expect("kubelet has a configuration");
        let taint = "registerWithTaints:\n- effect: NoExecute\n  key: karpenter.sh/unregistered\n";
        assert!(config.contains(taint), "{config}");
    }
}

#[test]
fn a_bastion_is_ready_with_nothing_done_and_says_so() {
    let Some(corpus) = conformance("kops") else {
        return;
    };
    let folder = tempfile::tempdir().expect("a temporary directory");
    let kube_env = folder.path().join("kube_env.yaml");
    let text = "CloudProvider: aws\nClusterName: minimal.example.com\nInstanceGroupName: bastions\nInstanceGroupRole: Bastion\n";
    std::fs::write(&kube_env, text).expect("it is written");
    let ended = agent::run(&[
        "rehearse",
        plain(&corpus.join("cases/minimal-1.35/statestore")),
        "--kube-env",
        plain(&kube_env),
        "--identity",
        plain(&corpus.join("identity.json")),
        "--root",
        plain(&folder.path().join("root")),
        "--exit-when-ready",
        "--listen",
        "off",
    ]);
    assert_eq!(ended.status, 0, "{}", ended.text());
    let said = "a bastion runs no part of the cluster; there was nothing to do";
    assert!(ended.stdout.contains(said), "{}", ended.text());
}
