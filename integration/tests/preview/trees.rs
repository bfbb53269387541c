//! The files that a preview lists are those in which two rehearsed trees differ.

use crate::stores::{Pair, upgrade};
use crate::{ids, preview};
use quake_integration::agent;
use quake_integration::kops_copy::copy;
use quake_integration::skip::conformance;
use quake_integration::tree::Tree;
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// A line of a difference: `+`, `-` or `!`, and a path relative to the root.
type Line = (char, String);

/// Rehearses a node of this group; its tree, without the agent's own files.
fn rehearsed(store: &Path, group: Option<&str>, root: &Path) -> Tree {
    let [store, root_text] = [store, root].map(|path| path.to_str().expect("a plain path"));
    let mut line = vec!["rehearse", store, "--root", root_text];
    line.extend(["--exit-when-ready", "--listen", "off", "--output", "json"]);
    if let Some(group) = group {
        line.extend(["--instance-group", group]);
    }
    let ended = agent::run(&line);
    assert_eq!(ended.status, 0, "{line:?}\n{}", ended.text());
    Tree::of_node(root).expect("the tree can be read")
}

/// In what two trees differ, directories apart: those above a new file are no part of what was asked for.
fn lines(old: &Tree, new: &Tree) -> BTreeSet<Line> {
    let files: BTreeSet<&Path> = old.files().into_iter().chain(new.files()).collect();
    let differences = old.differences(new).into_iter();
    let lines = differences.filter_map(|line| {
        let (mark, rest) = line.split_once(' ')?;
        let path = rest.split(": ").next()?.to_owned();
        let is_file = files.contains(Path::new(&path));
        is_file.then(|| (mark.chars().next().unwrap_or(' '), path))
    });
    lines.collect()
}

/// The lines of a preview of one group.
fn previewed(old: &Path, new: &Path, words: &[&str]) -> BTreeSet<Line> {
    let (_, answer) = preview(old, new, words);
    let groups = answer["groups"].as_array().expect("a list");
    assert_eq!(groups.len(), 1, "{answer}");
    let files = groups[0]["files"].as_array().expect("a list").iter();
    let files = files.filter(|file| file["kind"] != "directory");
    files
        .map(|file| {
            let mark = match file["becomes"].as_str() {
                Some("added") => '+',
                Some("removed") => '-',
                _ => '!',
            };
            let path = file["path"].as_str().expect("a path");
            (mark, path.trim_start_matches('/').to_owned())
        })
        .collect()
}

/// Compares the preview with the rehearsed trees; how many files differ.
fn compare(pair: &Pair, group: Option<&str>) -> usize {
    let name = group.unwrap_or("node");
    let root = |side: &str| pair.scratch(&format!("{side}-{name}"));
    let old = rehearsed(&pair.old, group, &root("old"));
    let again = rehearsed(&pair.old, group, &root("again"));
    let new = rehearsed(&pair.new, group, &root("new"));
    // Keys and certificates are made anew by every rehearsal.
    let unstable = lines(&old, &again);
    let mut wanted = lines(&old, &new);
    wanted.retain(|line| !unstable.contains(line));
    let words: Vec<&str> = group.map_or_else(Vec::new, |group| vec!["--instance-group", group]);
    assert_eq!(previewed(&pair.old, &pair.new, &words), wanted, "{name}");
    wanted.len()
}

#[test]
fn the_files_of_three_upgraded_clusters_are_those_in_which_rehearsed_trees_differ() {
    for case in ["minimal-1.34", "minimal-aws", "apiservernodes"] {
        let Some(pair) = Pair::of(case) else {
            return;
        };
        upgrade(&pair.new);
        for group in pair.groups() {
            let differing = compare(&pair, Some(&group));
            assert!(differing >= 2, "{case} {group}: {differing}");
        }
        let (ended, answer) = preview(&pair.old, &pair.new, &[]);
        assert_eq!(ended.status, 1, "{}", ended.text());
        // Two minor versions at once.
        assert!(
            ids(&answer).contains(&"kubernetes.minor-skipped"),
            "{answer}"
        );
    }
}

#[test]
fn the_files_of_a_changed_spec_are_those_in_which_rehearsed_trees_differ() {
    let Some(pair) = Pair::of("minimal-1.34") else {
        return;
    };
    crate::stores::edit_groups(&pair.new, &|text| {
        text.replace("  logLevel: 2\n", "  logLevel: 4\n")
            .replace("clusterDomain: cluster.local", "clusterDomain: c.local")
            .replace("UpdatePolicy: automatic", "UpdatePolicy: external")
            .replace("  version: 2.2.4\n", "  version: 2.3.4\n")
    });
    for group in pair.groups() {
        assert!(compare(&pair, Some(&group)) >= 2, "{group}");
    }
}

#[test]
fn the_files_of_a_recorded_boot_of_kops_legacy_are_those_in_which_rehearsed_trees_differ() {
    let Some(boots) = conformance("kube_env/boots") else {
        return;
    };
    for boot in [
        "seed-1.8.1-master",
        "kops-1.15.0-minimal-cloudformation-nodes",
    ] {
        let pair = Pair::of_folder(&boots.join(boot), "boot");
        for name in ["cluster_spec.yaml", "kube_env.yaml"] {
            crate::stores::edit_file(&pair.new.join(name), &|text| {
                text.replace("logLevel: 2", "logLevel: 5")
                    .replace("v1.8.7", "v1.8.15")
            });
        }
        assert!(compare(&pair, None) >= 1, "{boot}");
    }
}

#[test]
fn the_files_of_a_store_of_kops_legacy_are_those_in_which_rehearsed_trees_differ() {
    let pair = Pair::of_kops_legacy();
    crate::stores::edit_file(&pair.new.join("cluster.spec"), &|text| {
        text.replace("logLevel: 2", "logLevel: 5")
    });
    for group in ["control-plane", "workers"] {
        assert!(compare(&pair, Some(group)) >= 1, "{group}");
    }
}

#[test]
fn nothing_changes_between_a_store_and_its_copy() {
    let Some(pair) = Pair::of("ha") else {
        return;
    };
    let older = Pair::of_kops_legacy();
    for pair in [pair, older] {
        let (ended, answer) = preview(&pair.old, &pair.new, &["--detailed-exitcode"]);
        assert_eq!(
            (ended.status, &answer["changes"]),
            (0, &false.into()),
            "{answer}"
        );
        let [old, new] = [&pair.old, &pair.new].map(|path| path.to_str().expect("plain"));
        let said = agent::run(&["preview", old, new]);
        assert!(
            said.stdout.starts_with("nothing changes"),
            "{}",
            said.text()
        );
    }
}

#[test]
fn fifty_groups_take_ten_seconds_at_most() {
    let Some(pair) = Pair::of("minimal-1.34") else {
        return;
    };
    for base in [&pair.old, &pair.new] {
        let groups = base.join("igconfig/node");
        for number in 0..49 {
            copy(
                &groups.join("nodes"),
                &groups.join(format!("nodes-{number}")),
            );
        }
    }
    upgrade(&pair.new);
    let began = Instant::now();
    let (_, answer) = preview(&pair.old, &pair.new, &["--all"]);
    let took = began.elapsed();
    assert_eq!(answer["groups"].as_array().map(Vec::len), Some(51));
    println!("51 groups in {took:?}");
    assert!(took < Duration::from_secs(10), "{took:?}");
}

#[test]
fn no_key_is_shown() {
    let Some(pair) = Pair::of("minimal-1.34") else {
        return;
    };
    let Some(other) = Pair::of("minimal-1.35") else {
        return;
    };
    let keyset = |base: &Path, name: &str| -> PathBuf {
        base.join("pki/private").join(name).join("keyset.yaml")
    };
    let mut secrets = BTreeSet::new();
    for name in ["kubernetes-ca", "service-account", "etcd-clients-ca"] {
        for base in [&pair.old, &other.old] {
            let text = fs::read_to_string(keyset(base, name)).expect("the copy has it");
            let key = text.lines().find(|line| line.contains("privateMaterial"));
            let key = key.expect("it has a key").trim();
            secrets.insert(key[key.len() - 40..].to_owned());
        }
        fs::copy(keyset(&other.old, name), keyset(&pair.new, name)).expect("a copy of ours");
    }
    let [old, new] = [&pair.old, &pair.new].map(|path| path.to_str().expect("plain"));
    for words in [&["--diff"][..], &["--diff", "--output", "json"]] {
        let mut line = vec!["preview", old, new];
        line.extend(words);
        let ended = agent::run(&line);
        let text = ended.text();
        assert!(!text.contains("PRIVATE KEY"), "{text}");
        assert!(secrets.iter().all(|secret| !text.contains(secret.as_str())));
    }
}
