//! Which configuration of the pod network counts, as containerd and kubelet's dockershim choose it: of the files that
//! end in `.conf`, `.conflist` or `.json` the first by its name (go-cni's `loadFromConfDir`, dockershim's
//! `getDefaultCNINetwork`).

use crate::checks::node::Node;
use crate::checks::stage;
use quake_formats::syntax::{self, Misread};
use quake_model::facts::{EntryKind, Unseen};
use serde_json::Value;

/// Where a survey looks at configurations.
pub(in crate::checks) const DIRECTORY: &str = "/etc/cni/net.d";

/// A file that may count.
#[derive(Debug)]
pub(super) struct Candidate<'a> {
    /// Its name in the directory.
    pub(super) name: &'a str,
    pub(super) text: &'a str,
    /// What is in it, or where it is no JSON.
    pub(super) document: Result<Value, Misread>,
}

/// The files that may count, the one that does first.
///
/// # Errors
///
/// `NotTaken` where the network's directory is another than the one that is looked at; as the files when they cannot
/// be read.
pub(super) fn candidates<'a>(node: &Node<'a>) -> Result<Vec<Candidate<'a>>, Unseen> {
    let directory = &stage::kubernetes(node)?.network.directory;
    if directory.trim_end_matches('/') != DIRECTORY {
        return Err(Unseen::NotTaken(format!("{directory} was not looked at")));
    }
    if let Some(why) = node.survey().unreadable.get(DIRECTORY) {
        return Err(Unseen::Failed(format!("{DIRECTORY}: {why}")));
    }
    let mut found = Vec::new();
    for (name, entry) in node.list(DIRECTORY) {
        let is_file = matches!(entry.kind, EntryKind::File | EntryKind::Link);
        let counts = [".conf", ".conflist", ".json"]
            .iter()
            .any(|end| name.ends_with(end));
        if !is_file || !counts {
            continue;
        }
        if let Some(text) = node.text(&format!("{DIRECTORY}/{name}"))? {
            let document = syntax::json(text);
            found.push(Candidate {
                name,
                text,
                document,
            });
        }
    }
    Ok(found)
}

impl Candidate<'_> {
    /// Its path.
    pub(super) fn path(&self) -> String {
        format!("{DIRECTORY}/{}", self.name)
    }

    /// The plugins of a list, or the one of a file that is no list.
    pub(super) fn plugins(&self) -> Vec<&Value> {
        let Ok(document) = &self.document else {
            return Vec::new();
        };
        match document.get("plugins").and_then(Value::as_array) {
            Some(plugins) => plugins.iter().collect(),
            None if document.get("type").is_some() => vec![document],
            None => Vec::new(),
        }
    }

    /// The programs that it has run: the plugins, and those that hand out addresses.
    pub(super) fn programs(&self) -> Vec<&str> {
        let mut programs = Vec::new();
        for plugin in self.plugins() {
            programs.extend(plugin.get("type").and_then(Value::as_str));
            programs.extend(
                plugin
                    .get("ipam")
                    .and_then(|ipam| ipam.get("type")?.as_str()),
            );
        }
        programs
    }
}

/// The range that the node's pods get their addresses from, where the configuration that counts says it.
///
/// # Errors
///
/// As the files when they cannot be read.
pub(in crate::checks) fn pod_range(node: &Node<'_>) -> Result<Option<String>, Unseen> {
    let candidates = candidates(node)?;
    let plugins = candidates
        .first()
        .map(Candidate::plugins)
        .unwrap_or_default();
    let range = plugins.iter().find_map(|plugin| {
        let ipam = plugin.get("ipam")?;
        let first = || ipam.get("ranges")?.get(0)?.get(0)?.get("subnet")?.as_str();
        ipam.get("subnet").and_then(Value::as_str).or_else(first)
    });
    Ok(range.filter(|range| range.contains('/')).map(str::to_owned))
}
