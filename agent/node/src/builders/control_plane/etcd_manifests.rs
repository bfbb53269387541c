//! The pods of etcd-manager, byte for byte as the state store has them.

use super::static_pod;
use crate::builders::Context;
use quake_model::fault::Fault;
use quake_model::item::{File, Item};
use quake_model::location::Location;
use quake_model::step::Contents;

/// What removes the manifests when the machine starts.
const REMOVED_AT_BOOT: &str = "/etc/tmpfiles.d/quake-agent-etcd.conf";

/// The manifests, each named by its object: `main-a.yaml` becomes `etcd-main-a.manifest`.
pub(super) fn build(context: &Context<'_>) -> Result<Vec<Item>, Fault> {
    if !context.runs_etcd() {
        return Ok(Vec::new());
    }
    let locations = &context.config.etcd_manifests;
    let mut items = Vec::new();
    for location in locations {
        let bytes = context.objects.manifest(location)?;
        let file = File::plain(&manifest_path(location), Contents(bytes.to_vec()));
        items.push(Item::File(file.mode(0o440)));
    }
    if !locations.is_empty() {
        let file = File::plain(REMOVED_AT_BOOT, removals(locations));
        items.push(Item::File(file));
    }
    Ok(items)
}

/// The entries of tmpfiles.d(5) by which a machine that starts has none of the manifests. kubelet is enabled, as nodeup has
/// it, and would start etcd-manager before the volumes are mounted.
fn removals(locations: &[Location]) -> String {
    let lines = locations
        .iter()
        .map(|location| format!("r! {}\n", manifest_path(location)));
    let why = "# etcd-manager attaches what EC2 lists first. Its manifests are written again once its volumes are mounted.\n";
    std::iter::once(why.to_owned()).chain(lines).collect()
}

/// Where kubelet reads the manifest from.
pub(in crate::builders) fn manifest_path(location: &Location) -> String {
    static_pod::manifest_path(&format!("etcd-{}", stem(location)))
}

/// The object's base name without its suffix.
fn stem(location: &Location) -> &str {
    let name = location.key().rsplit('/').next().unwrap_or_default();
    name.rsplit_once('.').map_or(name, |(stem, _)| stem)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::builders::sample::Sample;
    use quake_model::fault::Code;

    const KEYS: &str = "etcdManifests: [s3://b/c/manifests/etcd/main-a.yaml]\n";

    #[test]
    fn a_manifest_is_named_by_its_object_and_keeps_its_bytes() {
        let mut sample = Sample::control_plane(KEYS);
        let fault = sample.try_items(build).expect_err("it was not read");
        assert_eq!(fault.code, Code::ConfigObjectMissing);
        let location = sample.config.etcd_manifests[0].clone();
        let bytes = b"# \xff is no text\n".to_vec();
        sample.objects.manifests.insert(location, bytes.clone());
        let path = "/etc/kubernetes/manifests/etcd-main-a.manifest";
        let wanted = File::plain(path, Contents(bytes));
        let removals = "# etcd-manager attaches what EC2 lists first. Its manifests are written again once its volumes are mounted.\nr! /etc/kubernetes/manifests/etcd-main-a.manifest\n";
        let removals = File::plain(REMOVED_AT_BOOT, removals);
        let wanted = [Item::File(wanted.mode(0o440)), Item::File(removals)];
        assert_eq!(sample.items(build), wanted);
    }
}
