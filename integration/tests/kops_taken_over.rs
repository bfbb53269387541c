//! A control plane whose add-ons the agent takes over from the pod `kops-channels`, rehearsed on real files: the pod's manifest
//! goes and comes back, and what is not the pod's stays.

use quake_integration::agent::{self, Ended};
use quake_integration::skip::conformance;
use std::path::Path;

const MANIFEST: &str = "etc/kubernetes/manifests/kops-channels.manifest";

const TAKE_OVER: &[&str] = &["--take-over-addons"];

/// Rehearses, or plans, the control plane below `root`.
fn run(corpus: &Path, command: &str, root: &Path, more: &[&str]) -> Ended {
    let case = corpus.join("cases/minimal-1.35");
    let kube_env = case.join("boot/master-us-test-1a/kube_env.yaml");
    let (identity, assets) = (corpus.join("identity.json"), corpus.join("assets"));
    let (store, ca) = (case.join("statestore"), corpus.join("ca"));
    let named = [
        ("--kube-env", &kube_env),
        ("--identity", &identity),
        ("--assets-dir", &assets),
        ("--ca-dir", &ca),
    ];
    let plain = |path: &Path| path.to_str().expect("a plain path").to_owned();
    let mut words = vec![command.to_owned(), plain(&store)];
    for (flag, path) in named {
        words.extend([flag.to_owned(), plain(path)]);
    }
    words.extend(["--root".to_owned(), plain(root)]);
    words.extend(["--output", "json"].map(str::to_owned));
    words.extend(more.iter().map(|&word| word.to_owned()));
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    agent::run(&words)
}

fn boot(corpus: &Path, root: &Path, more: &[&str]) -> Ended {
    let more = [&["--exit-when-ready", "--listen", "off"], more].concat();
    let ended = run(corpus, "rehearse", root, &more);
    assert_eq!(ended.summary()["result"], "ready", "{}", ended.text());
    ended
}

#[test]
fn the_pods_manifest_goes_when_the_agent_takes_over_and_comes_back_when_it_does_not() {
    let Some(corpus) = conformance("kops") else {
        return;
    };
    let folder = tempfile::tempdir().expect("a temporary directory");
    let root = folder.path();
    let manifest = root.join(MANIFEST);
    boot(&corpus, root, &[]);
    let before = std::fs::read(&manifest).expect("it is laid down");

    let planned = run(
        &corpus,
        "plan",
        root,
        &[TAKE_OVER, &["--detailed-exitcode"]].concat(),
    );
    assert_eq!(planned.status, 2, "{}", planned.text());
    let wanted = "the pod kops-channels is laid down, and is removed";
    assert!(planned.stdout.contains(wanted), "{}", planned.text());
    assert!(manifest.exists(), "a plan removes nothing");

    let removed = boot(&corpus, root, TAKE_OVER);
    assert!(!manifest.exists());
    let step = format!(r#""step":"files:/{MANIFEST}","outcome":"changed""#);
    assert!(removed.stdout.contains(&step), "{}", removed.text());
    let again = boot(&corpus, root, TAKE_OVER).summary();
    assert_eq!(again["writes"], 0, "{}", again["changed"]);

    boot(&corpus, root, &[]);
    let after = std::fs::read(&manifest).expect("it is laid down again");
    assert!(before == after, "it is the same pod");

    let own = "apiVersion: v1\nkind: Pod\nmetadata: {name: my-channels}\n";
    std::fs::write(&manifest, own).expect("it can be written");
    let warned = boot(&corpus, root, TAKE_OVER);
    assert!(
        warned.stdout.contains("addons.pod-foreign"),
        "{}",
        warned.text()
    );
    assert_eq!(
        std::fs::read_to_string(&manifest).ok().as_deref(),
        Some(own)
    );
}
