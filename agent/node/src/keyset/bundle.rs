//! All generations of a keypair, and which one is in use.

use super::{generations, malformed, serial_order};
use crate::plan_inputs::Keypair;
use quake_formats::yaml::{self, Yaml};
use quake_model::fault::{Code, Fault};
use std::collections::BTreeMap;

/// A keyset: generations of one keypair by their ids, which are decimal numbers larger than any machine word.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeyBundle {
    source: String,
    generations: BTreeMap<String, Keypair>,
    primary: String,
}

impl KeyBundle {
    /// Reads a `keyset.yaml` of kops 1.9 or newer, of any API version from `v1alpha1` to `v1alpha3`. The generation in use is
    /// the one named as primary, else the one with the highest id.
    ///
    /// # Errors
    ///
    /// `credentials.malformed` for what is no Keyset, holds no key, or names a primary that it does not hold; or the YAML
    /// fault with line and column.
    pub fn read(source: &str, text: &str) -> Result<Self, Fault> {
        let document = yaml::parse(source, text)?;
        let malformed = |what: &str| malformed(source, what);
        let is_keyset = document.text_of("kind").is_none_or(|kind| kind == "Keyset");
        let spec = document.get("spec").filter(|_| is_keyset);
        let spec = spec.ok_or_else(|| malformed("is no Keyset"))?;
        let trusted = spec.items_of("keys").iter();
        let trusted = trusted.filter(|item| !is_distrusted(item));
        let generations = BTreeMap::from_iter(generations(source, trusted)?);
        let newest = generations
            .keys()
            .max_by(|a, b| serial_order(a, b))
            .cloned();
        let newest = newest.ok_or_else(|| malformed("holds no key"))?;
        // v1alpha1 and v1alpha3 spell it one way, v1alpha2 the other.
        let named = spec.text_of("primaryID");
        let named = named.or_else(|| spec.text_of("primaryId"));
        let primary = named.map_or(newest, str::to_owned);
        if !generations.contains_key(&primary) {
            return Err(malformed("does not hold the key that it calls primary"));
        }
        Ok(Self {
            source: source.to_owned(),
            generations,
            primary,
        })
    }

    /// A keyset of one generation.
    pub fn of_one(source: &str, id: &str, keypair: Keypair) -> Self {
        Self {
            source: source.to_owned(),
            generations: BTreeMap::from([(id.to_owned(), keypair)]),
            primary: id.to_owned(),
        }
    }

    /// The generation with this id.
    ///
    /// # Errors
    ///
    /// `credentials.missing`: the keyset was changed after the instance's configuration was made.
    pub fn generation(&self, id: &str) -> Result<&Keypair, Fault> {
        self.generations.get(id).ok_or_else(|| {
            let summary = format!("{} holds no key with the id {id}", self.source);
            Fault::new(Code::CredentialsMissing, summary)
                .seen("source", &self.source)
                .seen("id", id)
        })
    }

    /// The generation in use.
    pub fn primary(&self) -> &Keypair {
        // Reading made sure that it is there.
        &self.generations[&self.primary]
    }

    /// The certificates of all generations to trust, PEM, the one in use first.
    pub fn certificates(&self) -> String {
        let others = self
            .generations
            .iter()
            .filter(|(id, _)| **id != self.primary);
        let others = others.map(|(_, keypair)| keypair);
        let all = std::iter::once(self.primary()).chain(others);
        all.map(|keypair| format!("{}\n", keypair.certificate.trim_end()))
            .collect()
    }

    /// The ids of all generations.
    pub fn ids(&self) -> impl Iterator<Item = &str> {
        self.generations.keys().map(String::as_str)
    }
}

/// Whether a generation must not be trusted any more.
fn is_distrusted(item: &Yaml) -> bool {
    item.get("distrustTimestamp").is_some()
}

/// Older names of keysets in a state store, where the newer is not there (kops 1.19 renamed them).
pub fn fallback_name(name: &str) -> Option<&'static str> {
    match name {
        "service-account" => Some("master"),
        "kubernetes-ca" => Some("ca"),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn keyset(version: &str, primary: &str) -> String {
        format!(
            "apiVersion: kops.k8s.io/{version}\nkind: Keyset\nspec:\n  {primary}\n  type: Keypair\n  keys:\n  \
             - id: \"9\"\n    publicMaterial: b2xk\n    privateMaterial: a2V5\n  - id: \"6980187172486667078076483355\"\n    \
             publicMaterial: bmV3\n"
        )
    }

    #[test]
    fn every_version_of_a_keyset_names_its_primary_in_its_own_way() {
        for (version, key) in [
            ("v1alpha1", "primaryID"),
            ("v1alpha2", "primaryId"),
            ("v1alpha3", "primaryID"),
        ] {
            let text = keyset(version, &format!("{key}: \"9\""));
            let bundle = KeyBundle::read("x", &text).expect("it reads");
            assert_eq!(bundle.primary().certificate, "old", "{version}");
        }
        let bundle = KeyBundle::read("x", &keyset("v1alpha2", "type2: x")).expect("it reads");
        assert_eq!(
            bundle.primary().certificate,
            "new",
            "without a primary the newest"
        );
    }

    #[test]
    fn a_generation_is_found_by_its_id_or_named_as_missing() {
        let bundle =
            KeyBundle::read("x", &keyset("v1alpha2", "primaryId: \"9\"")).expect("it reads");
        let newer = bundle.generation("6980187172486667078076483355");
        assert_eq!(newer.map(|keypair| keypair.certificate.as_str()), Ok("new"));
        let fault = bundle.generation("8").expect_err("there is none");
        assert_eq!(fault.code, Code::CredentialsMissing);
        assert_eq!(fault.evidence_named("id"), Some("8"));
    }

    #[test]
    fn what_is_no_keyset_is_malformed() {
        for text in [
            "kind: Secret\nspec: {keys: [{id: \"1\"}]}",
            "kind: Keyset\nspec: {}",
            "kind: Keyset\nspec: {primaryId: \"2\", keys: [{id: \"1\"}]}",
            "kind: Keyset\nspec: {keys: [{id: \"1\", publicMaterial: \"%\"}]}",
        ] {
            let fault = KeyBundle::read("x", text).expect_err(text);
            assert_eq!(fault.code, Code::CredentialsMalformed, "{text}");
        }
    }
}
