//! The pods of etcd-manager, byte for byte as the state store has them.

use super::static_pod;
use crate::kops::Context;
use quake_model::fault::Fault;
use quake_model::item::{File, Item, Source};
use quake_model::location::Location;
use quake_model::step::Contents;

/// The manifests, each named by its object: `main-a.yaml` becomes `etcd-main-a.manifest`.
pub(super) fn build(context: &Context<'_>) -> Result<Vec<Item>, Fault> {
    if !context.runs_etcd() {
        return Ok(Vec::new());
    }
    let manifests = context.config.etcd_manifests.iter();
    manifests
        .map(|location| {
            let bytes = context.objects.manifest(location)?;
            let file = File {
                source: Source::Bytes(Contents(bytes.to_vec())),
                ..File::plain(&manifest_path(location), "")
            };
            Ok(Item::File(file.mode(0o440)))
        })
        .collect()
}

/// Where kubelet reads the manifest from.
pub(in crate::kops) fn manifest_path(location: &Location) -> String {
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
    use crate::kops::sample::Sample;
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
        let wanted = File {
            source: Source::Bytes(Contents(bytes)),
            ..File::plain(path, "")
        };
        assert_eq!(sample.items(build), [Item::File(wanted.mode(0o440))]);
    }
}
