//! Checks one file, whatever it is: recognises the document and returns all that is wrong with it.

use super::{current, legacy};
use crate::user_data::find_documents;
use quake_formats::yaml::{Yaml, as_text, parse};
use quake_model::fault::{Code, Fault};

/// Returns everything wrong with the file called `source`: errors and findings such as unknown keys.
///
/// Recognised are `kube_env.yaml` of either kops generation, `nodeupconfig.yaml`, the objects `Cluster` and `InstanceGroup` of either
/// (`cluster.spec`, `cluster-completed.spec`, `instancegroup/<name>`), `cluster_spec.yaml` and `ig_spec.yaml` as user data carries them, and user data itself in any of its wrappings. A file that is
/// none of these is one `config.wrong-type`.
pub fn check(source: &str, bytes: &[u8]) -> Vec<Fault> {
    if is_user_data(bytes) {
        return check_user_data(source, bytes);
    }
    let root = as_text(source, bytes).and_then(|text| parse(source, text));
    let is_map = root.as_ref().is_ok_and(|root| !root.entries().is_empty());
    // Base64 is one long word to a YAML reader, and may yet hold user data.
    if !is_map && find_documents(bytes).is_ok() {
        return check_user_data(source, bytes);
    }
    match root {
        Ok(root) => check_document(source, &root),
        Err(fault) => vec![fault],
    }
}

fn is_user_data(bytes: &[u8]) -> bool {
    let start = bytes.trim_ascii_start();
    let head = &start[..start.len().min(64)].to_ascii_lowercase();
    let openings: [&[u8]; 4] = [b"#!", b"content-type:", b"mime-version:", b"#cloud-"];
    openings.iter().any(|opening| head.starts_with(opening))
}

fn check_user_data(source: &str, bytes: &[u8]) -> Vec<Fault> {
    let documents = match find_documents(bytes) {
        Ok(documents) => documents,
        Err(fault) => return vec![fault.seen("source", source)],
    };
    let mut found = Vec::new();
    for (name, text) in documents.texts() {
        let source = format!("{source} ({name})");
        match parse(&source, text) {
            Ok(root) if name == "kube_env.yaml" && current::is_boot_config(&root) => {
                found.extend(check_document(&source, &root));
            }
            Ok(root) => found.extend(legacy::check_named(&source, name, &root)),
            Err(fault) => found.push(fault),
        }
    }
    found
}

fn check_document(source: &str, root: &Yaml) -> Vec<Fault> {
    let is_object = root.text_of("kind").is_some();
    let (newer, older) = (current::check(source, root), legacy::check(source, root));
    let ours = match (newer, older) {
        // kops 1.15 to 1.31 name the API version of either: it is of the generation that knows more of it.
        (Some(newer), Some(older)) if is_object && older.len() < newer.len() => Some(older),
        (newer, older) => newer.or(older),
    };
    ours.unwrap_or_else(|| {
        let found = root.text_of("kind").unwrap_or_default();
        let what = if found.is_empty() {
            "this is no document of a node".to_owned()
        } else {
            format!("a {found} is no document of a node")
        };
        let expected =
            "kube_env.yaml, nodeupconfig.yaml, cluster-completed.spec, a Cluster or InstanceGroup, cluster_spec.yaml or ig_spec.yaml";
        let fault = root.fault(source, Code::ConfigWrongType, what);
        vec![fault.seen("expected", expected)]
    })
}
