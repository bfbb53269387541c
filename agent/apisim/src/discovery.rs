//! What the server is and serves.

use crate::failure::Failure;
use crate::kinds::Kind;
use serde_json::{Value, json};

const VERBS: &[&str] = &[
    "create",
    "delete",
    "deletecollection",
    "get",
    "list",
    "patch",
    "update",
    "watch",
];

/// `/version`.
pub(crate) fn version(version: &str, minor: u32) -> Value {
    json!({
        "major": "1", "minor": minor.to_string(), "gitVersion": version, "gitCommit": "0000000000000000000000000000000000000000",
        "gitTreeState": "clean", "buildDate": "2026-01-01T00:00:00Z", "goVersion": "go1.25.0", "compiler": "gc", "platform": "linux/amd64",
    })
}

/// `/api`.
pub(crate) fn core() -> Value {
    json!({
        "kind": "APIVersions", "versions": ["v1"],
        "serverAddressByClientCIDRs": [{ "clientCIDR": "0.0.0.0/0", "serverAddress": "127.0.0.1:6443" }],
    })
}

fn group_of(kinds: &[Kind], group: &str) -> Option<Value> {
    let mut versions: Vec<&str> = Vec::new();
    for kind in kinds.iter().filter(|kind| kind.group == group) {
        if !versions.contains(&kind.version.as_str()) {
            versions.push(&kind.version);
        }
    }
    versions.sort_by_key(|version| rank(version));
    let versions: Vec<Value> = versions
        .into_iter()
        .map(|version| json!({ "groupVersion": format!("{group}/{version}"), "version": version }))
        .collect();
    let first = versions.first()?.clone();
    Some(json!({ "name": group, "versions": versions, "preferredVersion": first }))
}

/// The server likes stable versions first, then later ones: `v2`, `v1`, `v1beta1`.
fn rank(version: &str) -> (u8, std::cmp::Reverse<String>) {
    let rank = match version {
        beta if beta.contains("beta") => 1,
        alpha if alpha.contains("alpha") => 2,
        _ => 0,
    };
    (rank, std::cmp::Reverse(version.to_owned()))
}

/// `/apis`.
pub(crate) fn groups(kinds: &[Kind]) -> Value {
    let mut names: Vec<&str> = Vec::new();
    for kind in kinds.iter().filter(|kind| !kind.group.is_empty()) {
        if !names.contains(&kind.group.as_str()) {
            names.push(&kind.group);
        }
    }
    let groups = names.into_iter().filter_map(|name| group_of(kinds, name));
    let groups: Vec<Value> = groups.collect();
    json!({ "kind": "APIGroupList", "apiVersion": "v1", "groups": groups })
}

/// `/apis/<group>`.
pub(crate) fn group(kinds: &[Kind], name: &str) -> Result<Value, Failure> {
    let mut group = group_of(kinds, name).ok_or_else(Failure::unknown_path)?;
    group["kind"] = json!("APIGroup");
    group["apiVersion"] = json!("v1");
    Ok(group)
}

/// The kinds of a version of a group, with their subresources.
pub(crate) fn kinds(kinds: &[Kind], group: &str, version: &str) -> Result<Value, Failure> {
    let mut resources = Vec::new();
    let served = |kind: &&Kind| kind.group == group && kind.version == version;
    for kind in kinds.iter().filter(served) {
        let mut resource = json!({
            "name": kind.plural, "singularName": kind.singular, "namespaced": kind.namespaced, "kind": kind.kind, "verbs": VERBS,
        });
        if !kind.short.is_empty() {
            resource["shortNames"] = json!(kind.short);
        }
        resources.push(resource);
        if kind.has_status {
            resources.push(json!({
                "name": format!("{}/status", kind.plural), "singularName": "", "namespaced": kind.namespaced,
                "kind": kind.kind, "verbs": ["get", "patch", "update"],
            }));
        }
    }
    if resources.is_empty() {
        return Err(Failure::unknown_path());
    }
    let named = match group {
        "" => version.to_owned(),
        group => format!("{group}/{version}"),
    };
    Ok(
        json!({ "kind": "APIResourceList", "apiVersion": "v1", "groupVersion": named, "resources": resources }),
    )
}
