//! Files and hooks the operator adds to nodes, as nodeup placed them (`nodeup/pkg/model/file_assets.go` and
//! `hooks.go`, 1.8.1 to v1.15.3): the instance group's before the cluster's, the first of a name wins.

use super::documents::{Form, KopsObject, role_named};
use super::fingerprint::is_fingerprint;
use super::node::{Node, unsupported};
use crate::config::node_path::PathKind;
use crate::config::reader::{texts, texts_by_key};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD_NO_PAD;
use quake_formats::yaml::Yaml;
use quake_model::fault::{Code, Fault};
use quake_model::spec::{FileAsset, Hook, HookKind, Role};
use std::collections::BTreeSet;

/// Where nodeup put a file without a path.
const DEFAULT_FOLDER: &str = "/srv/kubernetes/assets";

/// Files and hooks of a node, and findings about those left out.
#[derive(Debug, Default)]
pub(super) struct Additions {
    pub(super) files: Vec<FileAsset>,
    pub(super) hooks: Vec<Hook>,
    /// What was left out, and why.
    pub(super) findings: Vec<Fault>,
}

/// One list of the instance group or the cluster.
struct Given<'a> {
    object: &'a KopsObject,
    of_group: bool,
    items: &'a [Yaml],
}

/// The list at `key` of the instance group, then the cluster's.
fn given<'a>(node: &Node<'a>, key: &str) -> [Given<'a>; 2] {
    [(node.group, true), (node.cluster, false)].map(|(object, of_group)| Given {
        object,
        of_group,
        items: object.spec.items_of(key),
    })
}

/// Lowers the files and hooks that are for this node's role.
pub(super) fn lower_additions(node: &Node<'_>) -> Result<Additions, Fault> {
    let mut additions = Additions::default();
    let mut unknown = Vec::new();
    let mut paths = BTreeSet::new();
    for list in given(node, "fileAssets") {
        for item in list.items.iter().filter(|item| is_for(item, node.role)) {
            let (name, path) = file_place(&list, item)?;
            if !paths.insert(path.clone()) {
                continue;
            }
            match content(&list, item)? {
                Some(content) => additions.files.push(FileAsset {
                    name,
                    path,
                    content,
                }),
                None => unknown.push(path),
            }
        }
    }
    let mut units = BTreeSet::new();
    for list in given(node, "hooks") {
        for (index, item) in list.items.iter().enumerate() {
            if !is_for(item, node.role) {
                continue;
            }
            let unit = unit_name(&list, item, index)?;
            // A disabled hook keeps the cluster's of the same name from running, and runs nothing itself.
            if !units.insert(unit.clone()) || item.boolean_of("disabled") == Some(true) {
                continue;
            }
            match hook_kind(&list, item) {
                Found::Kind(kind) => additions.hooks.push(hook(unit, item, kind)),
                Found::Fingerprint => unknown.push(unit),
                Found::Nothing => additions.findings.push(empty_hook(&list, item, &unit)),
            }
        }
    }
    additions.files.sort_by(|a, b| a.path.cmp(&b.path));
    additions.hooks.sort_by(|a, b| a.unit.cmp(&b.unit));
    additions.findings.extend(left_out(node, &unknown));
    Ok(additions)
}

/// Whether an entry is for `role`; one without roles is for all.
pub(super) fn is_for(item: &Yaml, role: Role) -> bool {
    let roles = item.items_of("roles");
    let named = |name: &Yaml| name.text().and_then(role_named) == Some(role);
    roles.is_empty() || roles.iter().any(named)
}

fn left_out(node: &Node<'_>, unknown: &[String]) -> Option<Fault> {
    if unknown.is_empty() {
        return None;
    }
    let summary = format!(
        "{} files or hooks are known by their fingerprint only, and are left out",
        unknown.len()
    );
    let fault = Fault::new(Code::ConfigObjectMissing, summary)
        .seen("source", &node.cluster.source)
        .seen("left-out", unknown.join(", "));
    Some(fault)
}

fn wrong(list: &Given<'_>, place: &Yaml, path: &str, summary: &str) -> Fault {
    place
        .fault(
            &list.object.source,
            Code::ConfigWrongType,
            format!("{path} {summary}"),
        )
        .seen("path", path)
}

fn file_place(list: &Given<'_>, item: &Yaml) -> Result<(String, String), Fault> {
    let name = item.text_of("name").unwrap_or_default();
    let path = match item.text_of("path") {
        Some(path) => path.to_owned(),
        None => format!("{DEFAULT_FOLDER}/{name}"),
    };
    if !PathKind::File.admits(&path) {
        let place = item.get("path").or(item.get("name")).unwrap_or(item);
        let summary = format!("is {path:?}, and should be the absolute path of a file");
        return Err(wrong(list, place, "fileAssets.path", &summary));
    }
    let name = if name.is_empty() { &path } else { name };
    Ok((name.to_owned(), path))
}

/// The file's content; `None` where only its fingerprint is there.
fn content(list: &Given<'_>, item: &Yaml) -> Result<Option<String>, Fault> {
    let text = item.text_of("content").unwrap_or_default();
    if list.object.form == Form::Inline && is_fingerprint(text) {
        return Ok(None);
    }
    if item.boolean_of("isBase64") != Some(true) {
        return Ok(Some(text.to_owned()));
    }
    let place = item.get("content").unwrap_or(item);
    // nodeup reads base64 without padding and over several lines; padding does no harm.
    let digits: String = text.chars().filter(|c| !c.is_ascii_whitespace()).collect();
    let bytes = STANDARD_NO_PAD.decode(digits.trim_end_matches('='));
    let bytes = bytes.map_err(|_| {
        let summary = "is not base64, as isBase64 says it is";
        wrong(list, place, "fileAssets.content", summary)
    })?;
    String::from_utf8(bytes).map(Some).map_err(|_| {
        let summary = "is not text once it is decoded";
        unsupported(&list.object.source, place, "fileAssets.content", summary)
    })
}

/// The unit's name: the hook's own, or one from its place in the list, as nodeup counted.
fn unit_name(list: &Given<'_>, item: &Yaml, index: usize) -> Result<String, Fault> {
    let suffix = if list.of_group { "-ig" } else { "" };
    let name = match item.text_of("name") {
        Some(name) => name.to_owned(),
        None => format!("kops-hook-{index}{suffix}"),
    };
    let allowed = |c: char| c.is_ascii_alphanumeric() || ":-_.\\@".contains(c);
    if !name.chars().all(allowed) || name.starts_with('.') {
        let place = item.get("name").unwrap_or(item);
        let summary = format!("is {name:?}, which cannot be the name of a unit");
        return Err(wrong(list, place, "hooks.name", &summary));
    }
    if name.ends_with(".service") || name.ends_with(".timer") {
        Ok(name)
    } else {
        Ok(format!("{name}.service"))
    }
}

enum Found {
    Kind(HookKind),
    Fingerprint,
    Nothing,
}

fn hook_kind(list: &Given<'_>, item: &Yaml) -> Found {
    let raw = item.boolean_of("useRawManifest") == Some(true);
    let inline = list.object.form == Form::Inline;
    let container = item.get("execContainer").filter(|_| !raw);
    let Some(container) = container else {
        return match item.text_of("manifest") {
            None => Found::Nothing,
            Some(text) if inline && is_fingerprint(text) => Found::Fingerprint,
            Some(text) => Found::Kind(HookKind::Manifest {
                text: text.to_owned(),
                raw,
            }),
        };
    };
    let command = texts(container, "command");
    if inline && command.iter().any(|word| is_fingerprint(word)) {
        return Found::Fingerprint;
    }
    let image = container
        .text_of("image")
        .map(str::trim)
        .unwrap_or_default();
    if image.is_empty() {
        return Found::Nothing;
    }
    Found::Kind(HookKind::Container {
        image: image.to_owned(),
        command,
        environment: texts_by_key(container, "environment"),
    })
}

fn hook(unit: String, item: &Yaml, kind: HookKind) -> Hook {
    Hook {
        unit,
        before: texts(item, "before"),
        requires: texts(item, "requires"),
        kind,
    }
}

fn empty_hook(list: &Given<'_>, item: &Yaml, unit: &str) -> Fault {
    let summary = format!("the hook {unit} has neither a manifest nor an image, and is left out");
    item.fault(&list.object.source, Code::ConfigMissingKey, summary)
        .seen("path", "hooks")
}
