//! The add-ons of a cluster that is named by its state store, in the place of its channel.

use crate::lab::{Lab, copy};
use quake_apisim::ApiServer;
use quake_integration::agent;
use quake_integration::skip::conformance;
use std::path::{Path, PathBuf};

/// Clusters whose stores hold add-ons.
const CLUSTERS: [&str; 3] = ["minimal-1.35", "ha", "privatecalico"];

/// The store, the bucket's directory in it, and the cluster's directory in that.
fn shapes(store: &Path) -> Vec<PathBuf> {
    let mut shapes = vec![store.to_owned()];
    for _ in 0..2 {
        let last = shapes.last().expect("there is one");
        let entries = std::fs::read_dir(last).expect("it can be listed");
        let below = entries.flatten().map(|entry| entry.path()).next();
        shapes.push(below.expect("it holds one directory"));
    }
    shapes
}

#[test]
fn add_ons_are_listed_planned_and_applied_by_the_store_alone() {
    for case in CLUSTERS {
        let Some(cases) = conformance("kops/cases") else {
            return;
        };
        let Some(lab) = Lab::with_stand_in(case, ApiServer::new("v1.35.0")) else {
            return;
        };
        let copied = tempfile::tempdir().expect("a temporary directory");
        copy(&cases.join(case).join("statestore"), copied.path());
        let kubeconfig = lab.kubeconfig();
        let kubeconfig = kubeconfig.to_str().expect("a plain path");
        for shape in shapes(copied.path()) {
            let store = shape.to_str().expect("a plain path");
            let at = ["--kubeconfig", kubeconfig, "--state-store", store];
            for (verb, status) in [(&["list"][..], 0), (&["plan", "--detailed-exitcode"], 2)] {
                let words = [&["addons"], verb, &at].concat();
                let ended = agent::run(&words);
                assert_eq!(ended.status, status, "{case} {verb:?}: {}", ended.text());
                assert!(ended.stdout.contains("coredns"), "{}", ended.stdout);
            }
        }
        let store = copied.path().to_str().expect("a plain path");
        let words = ["addons", "apply", "--all", "--kubeconfig", kubeconfig];
        let applied = agent::run(&[&words[..], &["--state-store", store]].concat());
        assert_eq!(applied.status, 0, "{case}: {}", applied.text());
        let words = ["addons", "list", "--kubeconfig", kubeconfig];
        let unknown = ["--state-store", store, "--cluster", "none.example"];
        let ended = agent::run(&[&words[..], &unknown].concat());
        assert_eq!(ended.status, 64, "{}", ended.text());
    }
}
