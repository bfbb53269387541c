//! `staticpods.manifests`: the files themselves.

use super::issuer;
use super::manifest::{DIRECTORY, Manifest, manifests};
use super::named_files;
use crate::checks::check::{Finding, Verdict};
use crate::checks::etcd::is_held_back;
use crate::checks::kubelet;
use crate::checks::node::Node;
use crate::checks::read_error::read_error;
use crate::checks::stage;
use crate::checks::wanted;
use quake_model::facts::{EntryKind, Unseen};
use quake_model::phase::Phase;
use std::collections::BTreeMap;

const RESTORE: &str = "systemctl restart quake-agent.service writes the agent's own anew";

pub(super) fn judge(node: &Node<'_>) -> Result<Verdict, Unseen> {
    let expected = stage::kubernetes(node)?;
    let directory = expected.manifest_directory.as_str();
    if directory != DIRECTORY {
        return Err(Unseen::NotTaken(format!("{directory} was not looked at")));
    }
    stage::done(node, Phase::Files)?;
    let manifests = manifests(node)?;
    if let Some(finding) = elsewhere(node)? {
        return finding.fail();
    }
    let wrong = unreadable(&manifests)
        .or_else(|| twice(&manifests))
        .or_else(|| missing(node, &expected.static_pods, &manifests))
        .or_else(|| issuer::of_two_keys(node, &manifests));
    if let Some(finding) = wrong {
        return finding.fail();
    }
    for manifest in &manifests {
        if let Some(finding) = host_path(node, manifest)? {
            return finding.fail();
        }
        if let Some(finding) = named_files::missing(node, manifest)? {
            return finding.fail();
        }
        if let Some(finding) = issuer::changed(manifest).or_else(|| issuer::refused(node, manifest))
        {
            return finding.fail();
        }
    }
    Verdict::ok(format!("{} manifests", manifests.len()))
}

/// A kubelet that reads another directory.
fn elsewhere(node: &Node<'_>) -> Result<Option<Finding>, Unseen> {
    let flags = kubelet::flags(node)?;
    let read = flags
        .get("pod-manifest-path")
        .map(|path| path.trim_end_matches('/'));
    Ok(read
        .filter(|read| !read.is_empty() && *read != DIRECTORY)
        .map(|read| {
            Finding::new(
                format!("kubelet reads {read}, and the manifests are in {DIRECTORY}"),
                RESTORE,
            )
            .seen("file", "/etc/sysconfig/kubelet")
        }))
}

fn unreadable(manifests: &[Manifest<'_>]) -> Option<Finding> {
    manifests.iter().find_map(|manifest| {
        let path = manifest.path();
        let fix = format!("fix or remove it; {RESTORE}");
        match &manifest.document {
            Err(misread) => Some(read_error(misread, &path, manifest.text, fix)),
            Ok(_) if manifest.text.trim().is_empty() => {
                Some(Finding::new(format!("{path} is empty"), fix))
            }
            Ok(document) if document.text_of("kind") != Some("Pod") => {
                let kind = document
                    .text_of("kind")
                    .unwrap_or("nothing that has a kind");
                Some(Finding::new(format!("{path} is no Pod but {kind}"), fix))
            }
            Ok(document) if document.text_of("apiVersion") != Some("v1") => {
                let version = document.text_of("apiVersion").unwrap_or_default();
                Some(Finding::new(
                    format!("{path} is of another version than kubelet knows: apiVersion {version:?}, and a Pod is in v1 alone"),
                    format!("write apiVersion: v1; {RESTORE}"),
                ))
            }
            Ok(_) if manifest.pod().is_none() => {
                Some(Finding::new(format!("{path} has no metadata.name"), fix))
            }
            Ok(_) => None,
        }
    })
}

/// Two files of one pod: kubelet starts both, and they fight over ports and data.
fn twice(manifests: &[Manifest<'_>]) -> Option<Finding> {
    let mut seen: BTreeMap<(&str, &str), &Manifest<'_>> = BTreeMap::new();
    manifests.iter().find_map(|manifest| {
        let pod = manifest.pod()?;
        let first = seen.insert(pod, manifest)?;
        let summary = format!("{} and {} are both the pod {}", first.path(), manifest.name, pod.1);
        let copy = match first.name.len() > manifest.name.len() {
            true => first.path(),
            false => manifest.path(),
        };
        let fix = format!("move the copy out of the directory: mv {copy} /root/; kubelet reads every file but those that begin with a dot");
        Some(Finding::new(summary, fix))
    })
}

fn missing(node: &Node<'_>, pods: &[String], manifests: &[Manifest<'_>]) -> Option<Finding> {
    let is_there = |pod: &&String| {
        manifests
            .iter()
            .any(|manifest| manifest.pod().is_some_and(|(_, name)| name == pod.as_str()))
    };
    let mut absent = pods.iter().filter(|pod| !is_there(pod));
    let pod = absent.find(|pod| !is_held_back(node, pod))?;
    let is_hidden = |name: &&str| name.starts_with('.') && name.contains(pod.as_str());
    let hidden = node
        .list(DIRECTORY)
        .into_iter()
        .map(|(name, _)| name)
        .find(is_hidden);
    let finding = Finding::new(format!("{DIRECTORY} has no manifest of {pod}"), RESTORE);
    Some(match hidden {
        Some(name) => finding.seen("ignored by kubelet for its dot", name),
        None => finding,
    })
}

/// A path of the host that is not there, or where a directory stands for a file: a runtime that finds nothing at a path
/// makes a directory of it.
fn host_path(node: &Node<'_>, manifest: &Manifest<'_>) -> Result<Option<Finding>, Unseen> {
    for (path, kind, line) in manifest.host_paths() {
        if !wanted::is_wanted(path) {
            continue;
        }
        let place = format!("{} line {line}", manifest.path());
        let entry = node.entry(path)?;
        let stands = entry.map(|entry| entry.kind);
        let wrong = match (kind, stands) {
            ("File" | "Directory" | "Socket", None) => "is not there",
            ("File" | "FileOrCreate", Some(EntryKind::Directory)) => {
                "is a directory, and a file is wanted"
            }
            ("Directory" | "DirectoryOrCreate", Some(EntryKind::File)) => {
                "is a file, and a directory is wanted"
            }
            ("", Some(EntryKind::Directory)) if names_file(path) => {
                "is an empty directory that the runtime made, and a file is wanted"
            }
            _ => continue,
        };
        let fix = match stands {
            Some(EntryKind::Directory) => {
                format!("rmdir {path}; {RESTORE}; then delete the pod's containers")
            }
            _ => RESTORE.to_owned(),
        };
        return Ok(Some(Finding::new(
            format!("{path}, which {place} names, {wrong}"),
            fix,
        )));
    }
    Ok(None)
}

/// Whether a path is that of a file, by its name.
fn names_file(path: &str) -> bool {
    let name = path.rsplit('/').next().unwrap_or_default();
    name == "kubeconfig"
        || [".crt", ".key", ".pem", ".csv", ".config"]
            .iter()
            .any(|end| name.ends_with(end))
}
