//! What runs beside kube-apiserver in its pod: the cluster brings it ready-made.

use crate::builders::Context;
use crate::builders::legacy::Sidecar;
use crate::config::current::Origin;
use quake_formats::yaml;
use quake_model::fault::{Code, Fault};

/// Its key among the static pods of the configuration, also the name of its user and its certificate.
pub(super) const NAME: &str = "kube-apiserver-healthcheck";

/// Containers and volumes of the pod that asks kube-apiserver for its health; `None` where the cluster brings none.
///
/// # Errors
///
/// `config.object-missing`; the YAML fault of the manifest with line and column; `config.object-malformed` where the
/// manifest has no container, for then nothing would answer the probes.
pub(super) fn read(context: &Context<'_>) -> Result<Option<Sidecar>, Fault> {
    let Some(pod) = context.config.static_manifest(NAME) else {
        return Ok(None);
    };
    let Origin::Store(base) = &context.boot.origin else {
        return Err(context.missing("ConfigBase"));
    };
    let location = base.join(&pod.path);
    let source = location.to_string();
    let manifest = yaml::parse_bytes(&source, context.objects.manifest(&location)?)?;
    let list = |key: &str| {
        let items = manifest
            .get("spec")
            .map_or(&[][..], |spec| spec.items_of(key));
        items.iter().map(yaml::Yaml::to_json).collect()
    };
    let sidecar = Sidecar {
        containers: list("containers"),
        volumes: list("volumes"),
    };
    if sidecar.containers.is_empty() {
        let summary = format!("{source} has no container");
        return Err(Fault::new(Code::ConfigObjectMalformed, summary)
            .seen("object", &source)
            .seen("path", "spec.containers"));
    }
    Ok(Some(sidecar))
}
