//! Looks for a node's keypairs and secrets in a state store: in one order, whoever reads.

use quake_model::fault::Fault;
use quake_model::location::Location;
use quake_model::redact::Secret;
use quake_node::credentials::{
    SERIAL_CERTIFICATES, SERIAL_KEYS, WantedKeypair, WantedSecret, bundle_places,
};
use quake_node::keyset::{self, KeyBundle};
use quake_node::plan_inputs::Keypair;
use std::future::Future;

/// Reads credentials of one state store.
pub trait CredentialReader {
    /// An object as text; `None` where there is none.
    fn text(
        &self,
        location: &Location,
    ) -> impl Future<Output = Result<Option<Secret<String>>, Fault>>;

    /// The names directly below a directory.
    fn names(&self, directory: &Location) -> impl Future<Output = Result<Vec<String>, Fault>>;
}

/// The keypair as the store has it, which may be without the key that is wanted; `None` where it has none.
///
/// # Errors
///
/// What reading comes to.
pub async fn find_keypair<R: CredentialReader>(
    reader: &R,
    base: &Location,
    wanted: &WantedKeypair,
) -> Result<Option<Keypair>, Fault> {
    let mut found = None;
    for place in bundle_places(wanted.key) {
        let directory = base.join(place).join(&wanted.name);
        if let Some(text) = reader.text(&directory.join("keyset.yaml")).await? {
            let bundle = KeyBundle::read(&directory.to_string(), text.expose())?;
            found = Some(bundle.primary().clone());
            break;
        }
    }
    let mut keypair = match found {
        Some(keypair) => keypair,
        None => match newest(reader, base, &wanted.name, SERIAL_CERTIFICATES).await? {
            Some(certificate) => Keypair {
                certificate: certificate.expose().clone(),
                key: None,
            },
            None => return Ok(None),
        },
    };
    if wanted.key && keypair.key.is_none() {
        keypair.key = newest(reader, base, &wanted.name, SERIAL_KEYS).await?;
    }
    Ok(Some(keypair))
}

/// The secret; `None` where the store has none.
///
/// # Errors
///
/// What reading comes to.
pub async fn find_secret<R: CredentialReader>(
    reader: &R,
    base: &Location,
    wanted: &WantedSecret,
) -> Result<Option<Secret<Vec<u8>>>, Fault> {
    let location = base.join("secrets").join(&wanted.name);
    match reader.text(&location).await? {
        Some(text) => keyset::read_secret(&location.to_string(), text.expose()).map(Some),
        None => Ok(None),
    }
}

async fn newest<R: CredentialReader>(
    reader: &R,
    base: &Location,
    name: &str,
    (place, ending): (&str, &str),
) -> Result<Option<Secret<String>>, Fault> {
    let directory = base.join(place).join(name);
    let names = reader.names(&directory).await?;
    match keyset::newest_serial(&names, ending) {
        Some(name) => reader.text(&directory.join(name)).await,
        None => Ok(None),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use quake_model::step::Need;
    use std::collections::BTreeMap;
    use std::sync::Mutex;

    /// A store of a few objects, and what was read of it.
    #[derive(Default)]
    struct Store {
        objects: BTreeMap<String, String>,
        requested: Mutex<Vec<String>>,
    }

    impl Store {
        fn of(objects: &[(&str, &str)]) -> Self {
            let objects = objects.iter();
            Self {
                objects: objects
                    .map(|(key, text)| ((*key).to_owned(), (*text).to_owned()))
                    .collect(),
                requested: Mutex::default(),
            }
        }

        fn note(&self, key: &str) {
            self.requested
                .lock()
                .expect("no test panics with it")
                .push(key.to_owned());
        }
    }

    impl CredentialReader for Store {
        async fn text(&self, location: &Location) -> Result<Option<Secret<String>>, Fault> {
            self.note(location.key());
            Ok(self.objects.get(location.key()).cloned().map(Secret::new))
        }

        async fn names(&self, directory: &Location) -> Result<Vec<String>, Fault> {
            let below = format!("{}/", directory.key());
            self.note(&below);
            let names = self.objects.keys();
            Ok(names
                .filter_map(|key| key.strip_prefix(&below).map(str::to_owned))
                .collect())
        }
    }

    fn bundle(certificate: &str, key: Option<&str>) -> String {
        use base64::Engine as _;
        let encode = |text: &str| base64::engine::general_purpose::STANDARD.encode(text);
        let private = key.map(|key| format!("    privateMaterial: {}\n", encode(key)));
        format!(
            "spec:\n  keys:\n  - id: \"1\"\n    publicMaterial: {}\n{}",
            encode(certificate),
            private.unwrap_or_default()
        )
    }

    async fn find(store: &Store, key: bool) -> Option<(String, Option<String>)> {
        let base: Location = "s3://b".parse().expect("a literal");
        let wanted = WantedKeypair {
            name: "x".to_owned(),
            key,
            need: Need::Required,
        };
        let found = find_keypair(store, &base, &wanted).await;
        let found = found.expect("it reads")?;
        let key = found.key.map(|key| key.expose().clone());
        Some((found.certificate, key))
    }

    #[tokio::test]
    async fn a_bundle_comes_before_serials_and_who_needs_no_key_asks_for_none() {
        let store = Store::of(&[
            ("pki/issued/x/keyset.yaml", bundle("c", None).as_str()),
            ("pki/issued/x/9.crt", "other"),
            ("pki/private/x/keyset.yaml", bundle("c", Some("k")).as_str()),
        ]);
        assert_eq!(find(&store, false).await, Some(("c".to_owned(), None)));
        let requested = store
            .requested
            .lock()
            .expect("no test panics with it")
            .clone();
        assert_eq!(requested, ["pki/issued/x/keyset.yaml"]);
        let with_key = Some(("c".to_owned(), Some("k".to_owned())));
        assert_eq!(find(&store, true).await, with_key);
    }

    #[tokio::test]
    async fn the_newest_serial_counts_and_completes_a_bundle_without_a_key() {
        let serials = [
            ("pki/issued/x/9.crt", "c9"),
            ("pki/issued/x/10.crt", "c10"),
            ("pki/private/x/10.key", "k10"),
        ];
        let with_key = |certificate: &str| Some((certificate.to_owned(), Some("k10".to_owned())));
        assert_eq!(find(&Store::of(&serials), true).await, with_key("c10"));
        let bundled = bundle("c", None);
        let mut objects = serials.to_vec();
        objects.push(("pki/issued/x/keyset.yaml", bundled.as_str()));
        assert_eq!(find(&Store::of(&objects), true).await, with_key("c"));
        assert_eq!(find(&Store::of(&[]), true).await, None);
    }
}
