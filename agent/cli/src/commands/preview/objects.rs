//! The add-ons of a cluster and the objects that they apply: what kinds of which API versions its API server must serve.

use super::reader::Reader;
use quake_addons::{parse_channel, parse_manifest, select};
use quake_model::fault::Fault;
use quake_model::location::Location;
use quake_model::spec::KubernetesVersion;
use quake_node::preview::ObjectSide;
use std::collections::{BTreeMap, BTreeSet};

/// The list of a cluster's add-ons.
const CHANNEL: &str = "addons/bootstrap-channel.yaml";

/// The add-ons of a cluster.
#[derive(Debug, Default)]
pub(super) struct Addons {
    /// What tells one version of each from another, by their names.
    pub(super) versions: BTreeMap<String, String>,
    pub(super) objects: BTreeSet<ObjectSide>,
}

/// The add-ons that this version gets, and their objects; none where the store has no list of them. A manifest that cannot be
/// read is passed over: `addons plan` is for those.
///
/// # Errors
///
/// What reading the list comes to.
pub(super) async fn read_addons(
    reader: &Reader,
    base: &Location,
    version: KubernetesVersion,
) -> Result<Addons, Fault> {
    let location = base.join(CHANNEL);
    let mut found = Addons::default();
    let Some(document) = reader.read_private(&location).await? else {
        return Ok(found);
    };
    let Ok(channel) = parse_channel(&location, document.text.as_bytes()) else {
        return Ok(found);
    };
    for addon in select(&[channel], version).addons {
        let version = addon.version.to_string();
        found.versions.insert(addon.name.clone(), version);
        let Ok(Some(manifest)) = reader.read_private(&addon.manifest).await else {
            continue;
        };
        let Ok(manifest) = parse_manifest(&addon.manifest, manifest.text.as_bytes()) else {
            continue;
        };
        found.objects.extend(manifest.objects.iter().map(|object| {
            let kind = object.kind();
            ObjectSide {
                api_version: kind.api_version(),
                kind: kind.kind,
                name: object.name().to_owned(),
                source: addon.name.clone(),
            }
        }));
    }
    Ok(found)
}
