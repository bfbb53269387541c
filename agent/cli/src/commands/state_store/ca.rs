//! Reads the cluster's CA from a state store: its certificates, and its key where the copy has it.

use super::read::read_optional;
use quake_host::objects::StateStore;
use quake_model::fault::{Class, Fault};
use quake_model::location::Location;
use quake_node::keyset::KeyBundle;

/// Where a store may have the CA. kops 1.19 renamed it; `pki/issued` is for readers without a right to private keys.
const PLACES: [&str; 4] = [
    "pki/private/kubernetes-ca",
    "pki/issued/kubernetes-ca",
    "pki/private/ca",
    "pki/issued/ca",
];

/// The cluster's CA; `None` where the store has none.
///
/// # Errors
///
/// What reading comes to. A refusal counts only where no other place has the CA.
pub(crate) async fn read_ca(
    objects: &StateStore,
    base: &Location,
) -> Result<Option<KeyBundle>, Fault> {
    let mut refused = None;
    for place in PLACES {
        let location = base.join(place).join("keyset.yaml");
        match read_optional(objects, &location).await {
            Ok(Some(document)) => {
                return KeyBundle::read(&document.source, &document.text).map(Some);
            }
            Ok(None) => {}
            Err(fault) if fault.class() == Class::Denied => refused = Some(fault),
            Err(fault) => return Err(fault),
        }
    }
    refused.map_or(Ok(None), Err)
}
