//! Keypairs of the state store as files, for components that sign with a CA's key themselves.

use crate::builders::Context;
use quake_model::fault::{Code, Fault};
use quake_model::item::{File, FileOwner, Item, Source, User};

/// The generation of `keyset` that the node was launched for: its certificate and its private key.
fn material<'a>(context: &Context<'a>, keyset: &str) -> Result<(&'a str, &'a str), Fault> {
    let keypair = context.keypair(keyset)?;
    let key = keypair.key.as_ref().ok_or_else(|| {
        let summary = format!("the keyset {keyset} has no private key in the state store");
        Fault::new(Code::CredentialsMissing, summary).seen("keyset", keyset)
    })?;
    Ok((&keypair.certificate, key.expose()))
}

/// The private key of `keyset` as a file, 0600.
pub(super) fn key(context: &Context<'_>, keyset: &str, path: &str) -> Result<File, Fault> {
    let (_, key) = material(context, keyset)?;
    Ok(File::secret(path, Source::Bytes(key.into())))
}

/// `<base>.crt` and `<base>.key`, both 0600: the certificate is that of the one generation whose key is beside it.
pub(super) fn pair(context: &Context<'_>, keyset: &str, base: &str) -> Result<[File; 2], Fault> {
    let (certificate, _) = material(context, keyset)?;
    let certificate = File::plain(&format!("{base}.crt"), certificate).mode(0o600);
    Ok([certificate, key(context, keyset, &format!("{base}.key"))?])
}

/// The user that a container runs as and whose number it has built in (`pkg/wellknownusers`, kops v1.36.2).
pub(in crate::builders) fn container_user(name: &str, uid: u32, home: &str) -> Item {
    Item::User(User {
        name: name.to_owned(),
        uid,
        home: home.to_owned(),
        shell: "/sbin/nologin".to_owned(),
    })
}

/// The items with their files given to a user and its group.
pub(super) fn given_to(
    user: &str,
    group: &str,
    items: impl IntoIterator<Item = Item>,
) -> Vec<Item> {
    let owner = FileOwner {
        user: user.to_owned(),
        group: group.to_owned(),
    };
    let give = |file| File {
        owner: owner.clone(),
        ..file
    };
    let items = items.into_iter();
    items.map(|item: Item| item.map_file(give)).collect()
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use crate::builders::sample::Sample;
    use crate::keyset::KeyBundle;
    use quake_model::step::Visibility;

    /// Gives the sample a keyset whose generation in use is `7`, and whose newer one is not for this node yet.
    pub(crate) fn with_keyset(mut sample: Sample, name: &str) -> Sample {
        // "old", "old key", "new", "new key".
        let text = "kind: Keyset\nspec:\n  primaryId: \"8\"\n  keys:\n  - {id: \"7\", publicMaterial: b2xk, \
                    privateMaterial: b2xkIGtleQ==}\n  - {id: \"8\", publicMaterial: bmV3, privateMaterial: \
                    bmV3IGtleQ==}\n  - {id: \"9\", publicMaterial: bm9uZQ==}\n";
        let bundle = KeyBundle::read("keyset.yaml", text).expect("a literal document");
        sample.objects.keysets.insert(name.to_owned(), bundle);
        let ids = &mut sample.config.keypair_ids;
        ids.insert(name.to_owned(), "7".to_owned());
        let ca_bundle = &mut sample.config.ca_bundle;
        ca_bundle.insert(name.to_owned(), "old\nnew\n".to_owned());
        sample
    }

    fn build(context: &Context<'_>) -> Result<Vec<Item>, Fault> {
        Ok(pair(context, "an-authority", "/x/ca")?
            .map(Item::File)
            .into())
    }

    #[test]
    fn the_generation_is_the_one_the_node_was_launched_for_and_not_the_newest() {
        let sample = with_keyset(Sample::control_plane(""), "an-authority");
        assert_eq!(sample.file(build, "/x/ca.crt"), "old");
        assert_eq!(sample.file(build, "/x/ca.key"), "old key");
    }

    #[test]
    fn a_key_is_for_its_owner_alone_and_is_never_shown() {
        let sample = with_keyset(Sample::control_plane(""), "an-authority");
        for file in sample.all(build, Item::file) {
            assert_eq!(file.mode, 0o600, "{}", file.path);
            let is_key = file.path.ends_with(".key");
            assert_eq!(file.visibility == Visibility::Secret, is_key);
        }
    }

    #[test]
    fn a_keyset_or_a_key_that_is_not_there_is_named() {
        let mut sample = with_keyset(Sample::control_plane(""), "an-authority");
        let ids = &mut sample.config.keypair_ids;
        ids.insert("an-authority".to_owned(), "9".to_owned());
        let keyless = sample.try_items(build).expect_err("it has no key");
        sample.objects.keysets.clear();
        let absent = sample.try_items(build).expect_err("there is none");
        for fault in [keyless, absent] {
            assert_eq!(fault.code, Code::CredentialsMissing);
            assert_eq!(fault.evidence_named("keyset"), Some("an-authority"));
        }
    }
}
