//! The objects that a cluster's add-ons apply: what kinds of which API versions its API server must serve.

use super::reader::Reader;
use quake_addons::{parse_channel, parse_manifest, select};
use quake_model::fault::Fault;
use quake_model::location::Location;
use quake_model::spec::KubernetesVersion;
use quake_node::preview::ObjectSide;
use std::collections::BTreeSet;

/// The list of a cluster's add-ons.
const CHANNEL: &str = "addons/bootstrap-channel.yaml";

/// The objects of the add-ons that this version gets; none where the store has no list of them. A manifest that cannot be
/// read is passed over: `addons plan` is for those.
///
/// # Errors
///
/// What reading the list comes to.
pub(super) async fn read_objects(
    reader: &Reader,
    base: &Location,
    version: KubernetesVersion,
) -> Result<BTreeSet<ObjectSide>, Fault> {
    let location = base.join(CHANNEL);
    let mut objects = BTreeSet::new();
    let Some(document) = reader.read_private(&location).await? else {
        return Ok(objects);
    };
    let Ok(channel) = parse_channel(&location, document.text.as_bytes()) else {
        return Ok(objects);
    };
    for addon in select(&[channel], version).addons {
        let Ok(Some(manifest)) = reader.read_private(&addon.manifest).await else {
            continue;
        };
        let Ok(manifest) = parse_manifest(&addon.manifest, manifest.text.as_bytes()) else {
            continue;
        };
        objects.extend(manifest.objects.iter().map(|object| {
            let kind = object.kind();
            ObjectSide {
                api_version: kind.api_version(),
                kind: kind.kind,
                name: object.name().to_owned(),
                source: addon.name.clone(),
            }
        }));
    }
    Ok(objects)
}
