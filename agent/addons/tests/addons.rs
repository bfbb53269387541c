//! The add-on channels of real state stores: all are read, all hashes are understood, all objects have a place in the order.

#![expect(
    clippy::disallowed_methods,
    reason = "a test reads its data; the code under test reads none"
)]

use quake_addons::{
    Addon, Manifest, SelectedAddons, hash_matches, is_same, merge_three_ways, parse_channel,
    parse_manifest, prune_queries, select, to_prune, waves, with_last_applied,
};
use quake_model::cluster_object::ClusterObject;
use quake_model::location::Location;
use quake_model::spec::KubernetesVersion;
use std::fs;
use std::path::{Path, PathBuf};

/// The channels of the corpus: the directory of each cluster's store, and the channel's key in it.
fn channels() -> Vec<PathBuf> {
    let cases =
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/conformance/kops/cases");
    let folders = |path: &Path| -> Vec<PathBuf> {
        let entries = fs::read_dir(path).into_iter().flatten().flatten();
        entries.map(|entry| entry.path()).collect()
    };
    let mut found = Vec::new();
    for case in folders(&cases) {
        for bucket in folders(&case.join("statestore")) {
            for cluster in folders(&bucket) {
                let channel = cluster.join("addons/bootstrap-channel.yaml");
                found.extend(channel.is_file().then_some(channel));
            }
        }
    }
    found.sort();
    if found.is_empty() {
        println!("skipped: no channels in {}", cases.display());
    }
    found
}

fn selected(channel: &Path, server: &str) -> SelectedAddons {
    let location = Location::file(&channel.to_string_lossy());
    let bytes = fs::read(channel).expect("a file that was listed");
    let channel = parse_channel(&location, &bytes).expect("a channel");
    let server: KubernetesVersion = server.parse().expect("a literal");
    select(&[channel], server)
}

fn bytes_of(addon: &Addon) -> Vec<u8> {
    fs::read(format!("/{}", addon.manifest.key())).expect("the manifest that a channel names")
}

fn manifest_of(addon: &Addon) -> Manifest {
    let manifest = parse_manifest(&addon.manifest, &bytes_of(addon));
    manifest.expect("a manifest of kops is one")
}

fn each_manifest(mut see: impl FnMut(&Addon, &Manifest)) {
    for channel in channels() {
        for addon in &selected(&channel, "1.35.0").addons {
            see(addon, &manifest_of(addon));
        }
    }
}

#[test]
fn every_add_on_of_the_corpus_is_chosen_and_nothing_is_strange() {
    for channel in channels() {
        let selected = selected(&channel, "v1.35.0-rc.1");
        assert_eq!(selected.warnings, [], "{}", channel.display());
        assert_eq!(selected.skipped, []);
        assert!(selected.addons.len() >= 9, "{}", channel.display());
    }
}

#[test]
fn every_manifest_has_the_hash_that_its_channel_names() {
    for channel in channels() {
        for addon in &selected(&channel, "1.35.0").addons {
            let bytes = bytes_of(addon);
            // The corpus moved the stores from kops' own test store to S3, in kops-controller's configuration too; the
            // hash is that of what kops wrote.
            let text = String::from_utf8(bytes)
                .expect("a text")
                .replace("s3://", "memfs://");
            assert!(hash_matches(addon, text.as_bytes()), "{}", addon.manifest);
        }
    }
}

#[test]
fn every_object_is_read_and_is_applied_once() {
    each_manifest(|addon, manifest| {
        assert_eq!(manifest.warnings, [], "{}", addon.name);
        assert!(!manifest.objects.is_empty(), "{}", addon.name);
        let mut all = waves(&manifest.objects).concat();
        all.sort_unstable();
        assert_eq!(all, (0..manifest.objects.len()).collect::<Vec<_>>());
    });
}

#[test]
fn what_a_manifest_has_is_never_removed() {
    each_manifest(|addon, manifest| {
        for rule in &addon.prune {
            assert!(to_prune(rule, &manifest.objects, &manifest.objects).is_empty());
        }
    });
}

#[test]
fn every_rule_of_removal_reaches_what_kops_labels_as_the_add_ons() {
    each_manifest(|addon, manifest| {
        for object in &manifest.objects {
            let (of, renamed) = (object.kind(), renamed(object));
            let rule = addon
                .prune
                .iter()
                .find(|rule| rule.group == of.group && rule.kind == of.kind);
            let Some(rule) = rule else {
                continue;
            };
            let listed = [renamed];
            assert_eq!(
                to_prune(rule, &listed, &manifest.objects).len(),
                1,
                "{of} {}",
                object.name()
            );
            let served = quake_model::cluster_object::ServedKind {
                kind: of,
                plural: String::new(),
                namespaced: object.namespace().is_some(),
            };
            assert!(!prune_queries(rule, &served).is_empty());
        }
    });
}

fn renamed(object: &ClusterObject) -> ClusterObject {
    let mut value = object.value().clone();
    value["metadata"]["name"] = "of-an-older-version".into();
    ClusterObject::new(value).expect("an object with another name")
}

#[test]
fn an_object_that_was_applied_needs_no_patch() {
    each_manifest(|_, manifest| {
        for object in &manifest.objects {
            let desired = with_last_applied(object.value());
            let patch = merge_three_ways(Some(object.value()), &desired, &desired);
            assert_eq!(patch, None, "{} {}", object.kind(), object.name());
            let noted = ClusterObject::new(desired).expect("an object with one more annotation");
            assert!(
                is_same(object, &noted),
                "{} {}",
                object.kind(),
                object.name()
            );
        }
    });
}
