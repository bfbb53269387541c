//! Keysets for a preview: which CAs are trusted and which sign, and stand-ins for keys that nobody has to have here.

use super::reader::Reader;
use quake_engine::{CredentialReader, find_keypair, find_secret};
use quake_model::fault::Fault;
use quake_model::location::Location;
use quake_model::redact::Secret;
use quake_node::config::current::NodeupConfig;
use quake_node::credentials::{WantedKeypair, WantedSecret, bundle_places};
use quake_node::keyset::{KeyBundle, fallback_name};
use quake_node::plan_inputs::{Credentials, Keypair};
use quake_node::preview::KeySide;
use sha2::Digest as _;
use std::collections::BTreeMap;

/// Keysets that others trust.
fn is_trusted(name: &str) -> bool {
    name == "ca" || name == "service-account" || name.ends_with("-ca") || name.contains("-ca-")
}

/// The cluster's keysets that others trust, by their newer names.
pub(super) async fn read_keys(
    reader: &Reader,
    base: &Location,
) -> Result<BTreeMap<String, KeySide>, Fault> {
    let mut keys = BTreeMap::new();
    for place in bundle_places(true) {
        let folder = base.join(place);
        for name in reader.list(&folder).await? {
            if !is_trusted(&name) {
                continue;
            }
            let location = folder.join(&name).join("keyset.yaml");
            let Some(document) = reader.read_private(&location).await? else {
                continue;
            };
            let bundle = KeyBundle::read(&document.source, &document.text)?;
            let name = match name.as_str() {
                "ca" => "kubernetes-ca".to_owned(),
                _ => name,
            };
            keys.entry(name).or_insert_with(|| key_side(&bundle));
        }
    }
    Ok(keys)
}

fn key_side(bundle: &KeyBundle) -> KeySide {
    let certificates = bundle.certificates();
    let blocks = certificates.split_inclusive("-----END CERTIFICATE-----");
    let trusted = blocks.filter(|block| block.contains("-----BEGIN"));
    let primary = bundle.primary().certificate.as_str();
    KeySide {
        trusted: trusted.map(digest).collect(),
        signs: Some(digest(primary)).filter(|_| !primary.trim().is_empty()),
    }
}

/// The digest of a certificate, whatever white space is around it.
fn digest(text: &str) -> String {
    let digest = sha2::Sha256::digest(text.trim().as_bytes());
    digest.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// A keyset that a node of kops (1.32 and newer) signs with: that of the store, or a stand-in with the certificate that the
/// configuration has of it.
pub(super) async fn keyset_of(
    reader: &Reader,
    config: &NodeupConfig,
    name: &str,
    location: &Location,
) -> Result<KeyBundle, Fault> {
    let older = fallback_name(name).map(|older| {
        let folder = location.parent().parent();
        folder.join(older).join("keyset.yaml")
    });
    for location in [Some(location.clone()), older].into_iter().flatten() {
        if let Some(document) = reader.read_private(&location).await? {
            return KeyBundle::read(&document.source, &document.text);
        }
    }
    let id = config.keypair_ids.get(name).map_or("1", String::as_str);
    let certificate = config.ca_bundle.get(name).cloned();
    let keypair = Keypair {
        certificate: certificate.unwrap_or_else(|| stand_in(name)),
        key: Some(Secret::new(stand_in_key(name))),
    };
    Ok(KeyBundle::of_one(&location.to_string(), id, keypair))
}

/// The credentials of a node of kops legacy (1.8 to 1.15); what the store lacks is stood in for, as in a rehearsal.
pub(super) async fn credentials(
    reader: &Reader,
    base: &Location,
    keypairs: Vec<WantedKeypair>,
    secrets: Vec<WantedSecret>,
) -> Result<Credentials, Fault> {
    let mut found = Credentials::default();
    for wanted in keypairs {
        if let Some(keypair) = keypair(reader, base, &wanted).await? {
            found.keypairs.insert(wanted.name, keypair);
        }
    }
    for wanted in secrets {
        let secret = match find_secret(reader, base, &wanted).await? {
            Some(secret) => Some(secret),
            None => {
                is_required(wanted.need).then(|| Secret::new(stand_in(&wanted.name).into_bytes()))
            }
        };
        if let Some(secret) = secret {
            found.secrets.insert(wanted.name, secret);
        }
    }
    Ok(found)
}

async fn keypair(
    reader: &Reader,
    base: &Location,
    wanted: &WantedKeypair,
) -> Result<Option<Keypair>, Fault> {
    let found = find_keypair(reader, base, wanted).await?;
    Ok(match (found, is_required(wanted.need)) {
        (Some(keypair), _) if !wanted.key || keypair.key.is_some() => Some(keypair),
        (_, false) => None,
        (found, true) => Some(Keypair {
            certificate: found.map_or_else(|| stand_in(&wanted.name), |it| it.certificate),
            key: wanted.key.then(|| Secret::new(stand_in_key(&wanted.name))),
        }),
    })
}

impl CredentialReader for Reader {
    async fn text(&self, location: &Location) -> Result<Option<Secret<String>>, Fault> {
        let read = self.read_private(location).await?;
        Ok(read.map(|document| Secret::new(document.text)))
    }

    async fn names(&self, directory: &Location) -> Result<Vec<String>, Fault> {
        self.list(directory).await
    }
}

/// A text that stands for a certificate or a secret: the one of a rehearsal.
pub(super) fn stand_in(name: &str) -> String {
    format!("stand-in for {name}\n")
}

fn stand_in_key(name: &str) -> String {
    format!("stand-in key of {name}\n")
}

fn is_required(need: quake_model::step::Need) -> bool {
    need == quake_model::step::Need::Required
}

#[cfg(test)]
mod tests {
    use super::*;
    #[test]
    fn keysets_of_cas_and_of_service_accounts_are_trusted_by_others() {
        for (name, trusted) in [
            ("ca", true),
            ("kubernetes-ca", true),
            ("etcd-peers-ca-main", true),
            ("service-account", true),
            ("kubelet", false),
            ("master", false),
        ] {
            assert_eq!(is_trusted(name), trusted, "{name}");
        }
    }
}
