//! The software bill of materials: every crate whose code is linked into the binary, as CycloneDX 1.5.
//!
//! It is made from what cargo resolved and holds no time and no serial number, so that two builds of
//! one commit give the same bytes.

use crate::error::TaskError;
use crate::program::{capture, cargo, spell};
use crate::workspace::Workspace;
use serde::Deserialize;
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

/// The crates of the whole workspace, and who uses whom once resolved.
#[derive(Debug, Deserialize)]
struct Metadata {
    packages: Vec<Package>,
    resolve: Resolve,
}

#[derive(Debug, Deserialize)]
struct Package {
    id: String,
    name: String,
    version: String,
    license: Option<String>,
}

#[derive(Debug, Deserialize)]
struct Resolve {
    nodes: Vec<Node>,
}

#[derive(Debug, Deserialize)]
struct Node {
    id: String,
    deps: Vec<Edge>,
}

#[derive(Debug, Deserialize)]
struct Edge {
    pkg: String,
    dep_kinds: Vec<EdgeKind>,
}

#[derive(Debug, Deserialize)]
struct EdgeKind {
    kind: Option<String>,
}

/// Writes the bill of materials of the agent as built for `target`.
///
/// # Errors
///
/// Fails when cargo cannot resolve the workspace, or the file cannot be written.
pub(super) fn write(workspace: &Workspace, target: &str, path: &Path) -> Result<(), TaskError> {
    let mut metadata = read_metadata(workspace, target)?;
    let compiled = list_compiled(workspace, target)?;
    metadata.keep_compiled(&compiled);
    let text = format!("{:#}\n", bill(&metadata, super::PACKAGE));
    std::fs::write(path, text).map_err(TaskError::path(path))
}

fn read_metadata(workspace: &Workspace, target: &str) -> Result<Metadata, TaskError> {
    let mut command = cargo();
    command
        .args(["metadata", "--format-version", "1", "--locked"])
        .args(["--filter-platform", target])
        .current_dir(&workspace.root);
    let output = capture(&mut command)?;
    serde_json::from_slice(&output).map_err(|source| TaskError::Output {
        command: spell(&command),
        source,
    })
}

/// Lists what a build of the agent compiles, one `name vVERSION …` a line.
///
/// `cargo metadata` alone says too much: it counts an optional dependency as used once any feature
/// speaks of it, even one that only holds if something else turned it on.
fn list_compiled(workspace: &Workspace, target: &str) -> Result<String, TaskError> {
    let output = capture(
        cargo()
            .args(["tree", "--locked", "--package", super::PACKAGE])
            .args(["--edges", "normal", "--target", target])
            .args(["--prefix", "none", "--format", "{p}"])
            .current_dir(&workspace.root),
    )?;
    Ok(String::from_utf8_lossy(&output).into_owned())
}

impl Metadata {
    /// Drops the packages that `compiled` does not list.
    fn keep_compiled(&mut self, compiled: &str) {
        let listed: BTreeSet<(&str, &str)> = compiled
            .lines()
            .filter_map(|line| {
                let mut words = line.split_whitespace();
                Some((words.next()?, words.next()?.strip_prefix('v')?))
            })
            .collect();
        self.packages
            .retain(|package| listed.contains(&(package.name.as_str(), package.version.as_str())));
    }
}

/// The bill of the package called `root`: itself, and every crate it reaches by normal dependencies.
fn bill(metadata: &Metadata, root: &str) -> Value {
    let packages: BTreeMap<&str, &Package> = metadata
        .packages
        .iter()
        .map(|package| (package.id.as_str(), package))
        .collect();
    let edges = normal_edges(&metadata.resolve);
    let start = metadata
        .packages
        .iter()
        .find(|package| package.name == root);
    let mut linked: Vec<&Package> = start
        .map(|package| reach(&package.id, &edges))
        .unwrap_or_default()
        .iter()
        .filter_map(|id| packages.get(id).copied())
        .collect();
    linked.sort_by(|a, b| (&a.name, &a.version).cmp(&(&b.name, &b.version)));
    let components: Vec<Value> = linked
        .iter()
        .filter(|package| package.name != root)
        .map(|package| component(package, "library"))
        .collect();
    let dependencies: Vec<Value> = linked
        .iter()
        .map(|package| {
            let used = edges.get(package.id.as_str()).into_iter().flatten();
            let used: BTreeSet<String> = used
                .filter_map(|id| packages.get(id))
                .map(|package| reference(package))
                .collect();
            json!({ "ref": reference(package), "dependsOn": used })
        })
        .collect();
    json!({
        "bomFormat": "CycloneDX",
        "specVersion": "1.5",
        "version": 1,
        "metadata": { "component": start.map(|package| component(package, "application")) },
        "components": components,
        "dependencies": dependencies,
    })
}

fn normal_edges(resolve: &Resolve) -> BTreeMap<&str, Vec<&str>> {
    let is_normal = |edge: &&Edge| edge.dep_kinds.iter().any(|kind| kind.kind.is_none());
    resolve
        .nodes
        .iter()
        .map(|node| {
            let edges = node.deps.iter().filter(is_normal);
            (
                node.id.as_str(),
                edges.map(|edge| edge.pkg.as_str()).collect(),
            )
        })
        .collect()
}

fn reach<'a>(start: &'a str, edges: &BTreeMap<&'a str, Vec<&'a str>>) -> BTreeSet<&'a str> {
    let mut reached = BTreeSet::new();
    let mut open = vec![start];
    while let Some(id) = open.pop() {
        if reached.insert(id) {
            open.extend(edges.get(id).into_iter().flatten());
        }
    }
    reached
}

fn component(package: &Package, kind: &str) -> Value {
    // Older manifests separate alternatives by a slash, which is no SPDX expression.
    let licenses: Vec<Value> = package
        .license
        .iter()
        .map(|license| {
            license
                .split('/')
                .map(str::trim)
                .collect::<Vec<_>>()
                .join(" OR ")
        })
        .map(|expression| json!({ "expression": expression }))
        .collect();
    json!({
        "type": kind,
        "bom-ref": reference(package),
        "name": package.name,
        "version": package.version,
        "licenses": licenses,
        "purl": reference(package),
    })
}

/// The package URL, which also names the component within the bill.
fn reference(package: &Package) -> String {
    format!("pkg:cargo/{}@{}", package.name, package.version)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `agent` uses `b` and `a`, is tested with `t`, and is built with `cc`; `other` is not its business.
    fn metadata() -> Metadata {
        let package = |name: &str| json!({ "id": format!("id-{name}"), "name": name, "version": "1.0.0", "license": "MIT/Apache-2.0" });
        let edge = |name: &str, kind: Option<&str>| json!({ "pkg": format!("id-{name}"), "dep_kinds": [{ "kind": kind }] });
        let names = ["agent", "b", "a", "t", "cc", "other"];
        let value = json!({
            "packages": names.map(package),
            "resolve": { "nodes": [
                { "id": "id-agent", "deps": [edge("b", None), edge("t", Some("dev")), edge("cc", Some("build"))] },
                { "id": "id-b", "deps": [edge("a", None)] },
                { "id": "id-a", "deps": [] },
            ]},
        });
        serde_json::from_value(value).expect("it has the shape of cargo's metadata")
    }

    fn names(bill: &Value) -> Vec<&str> {
        let components = bill["components"].as_array().expect("a list");
        components
            .iter()
            .filter_map(|component| component["name"].as_str())
            .collect()
    }

    #[test]
    fn only_what_is_linked_into_the_binary_is_on_the_bill() {
        assert_eq!(names(&bill(&metadata(), "agent")), ["a", "b"]);
    }

    #[test]
    fn a_crate_that_no_feature_turned_on_is_not_on_the_bill() {
        let mut metadata = metadata();
        metadata.keep_compiled("agent v1.0.0 (/somewhere)\nb v1.0.0 (proc-macro)\na v2.0.0\n");
        assert_eq!(names(&bill(&metadata, "agent")), ["b"]);
    }

    #[test]
    fn the_order_of_cargos_packages_does_not_matter() {
        let mut reversed = metadata();
        reversed.packages.reverse();
        reversed.resolve.nodes.reverse();
        assert_eq!(bill(&reversed, "agent"), bill(&metadata(), "agent"));
    }

    #[test]
    fn a_component_has_version_licence_expression_and_package_url() {
        let bill = bill(&metadata(), "agent");
        let first = &bill["components"][0];
        assert_eq!(first["version"], "1.0.0");
        assert_eq!(first["licenses"][0]["expression"], "MIT OR Apache-2.0");
        assert_eq!(first["purl"], "pkg:cargo/a@1.0.0");
    }

    #[test]
    fn the_bill_is_about_the_agent_and_says_who_uses_whom() {
        let bill = bill(&metadata(), "agent");
        assert_eq!(
            bill["metadata"]["component"]["purl"],
            "pkg:cargo/agent@1.0.0"
        );
        assert_eq!(bill["dependencies"][1]["ref"], "pkg:cargo/agent@1.0.0");
        assert_eq!(
            bill["dependencies"][1]["dependsOn"],
            json!(["pkg:cargo/b@1.0.0"])
        );
    }
}
