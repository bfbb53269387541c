//! Tells which document of this kops generation a file is.

use super::SCHEMA;
use super::documents::{self, Form};
use super::environment;
use quake_formats::yaml::Yaml;
use quake_model::fault::Fault;

/// Everything wrong with a document of this kops generation; `None` for a document that is none.
pub(crate) fn check(source: &str, root: &Yaml) -> Option<Vec<Fault>> {
    let ours = |version: &str| version.starts_with("kops/") || version.starts_with("kops.k8s.io/");
    let object = root.text_of("apiVersion").is_none_or(ours);
    match root.text_of("kind") {
        Some(kind @ ("Cluster" | "InstanceGroup")) if object => {
            return Some(documents::survey(source, root, Form::Stored, kind));
        }
        Some(_) => return None,
        None => {}
    }
    let candidates = [
        ("kube_env.yaml", "KubeEnv"),
        ("cluster_spec.yaml", "InlineClusterSpec"),
        ("ig_spec.yaml", "InlineInstanceGroupSpec"),
    ];
    // The document whose keys it has most of; of two alike the one that has fewer keys.
    let schema = &SCHEMA;
    let score = |shape: &str| {
        let fields = schema.fields(shape);
        let known = fields.iter().filter(|field| root.has(&field.key)).count();
        (known, usize::MAX - fields.len())
    };
    let (name, shape) = candidates
        .into_iter()
        .max_by_key(|(_, shape)| score(shape))?;
    (score(shape).0 > 0).then(|| check_named(source, name, root))
}

/// Everything wrong with the document that user data calls `name`.
pub(crate) fn check_named(source: &str, name: &str, root: &Yaml) -> Vec<Fault> {
    match name {
        "kube_env.yaml" => environment::survey(source, root),
        "cluster_spec.yaml" => documents::survey(source, root, Form::Inline, "Cluster"),
        _ => documents::survey(source, root, Form::Inline, "InstanceGroup"),
    }
}
