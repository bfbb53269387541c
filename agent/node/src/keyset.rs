//! Reads keypairs as the state store holds them: a `keyset.yaml` bundle, or one object per serial.

mod bundle;

pub use bundle::{KeyBundle, fallback_name};

use crate::plan_inputs::Keypair;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use quake_formats::yaml::{self, Yaml};
use quake_model::fault::{Code, Fault};
use quake_model::redact::Secret;

/// The certificates of all generations in a bundle, PEM: those retired and those to come too.
///
/// # Errors
///
/// Returns `credentials.malformed`, or the YAML fault with line and column.
pub fn read_ca_bundle(source: &str, text: &str) -> Result<Vec<String>, Fault> {
    let document = yaml::parse(source, text)?;
    let keys = document.get("spec").map(|spec| spec.items_of("keys"));
    let generations = generations(source, keys.into_iter().flatten())?;
    let certificates = generations
        .into_iter()
        .map(|(_, keypair)| keypair.certificate);
    Ok(certificates.filter(|text| !text.is_empty()).collect())
}

fn malformed(source: &str, what: &str) -> Fault {
    let summary = format!("{source} {what}");
    Fault::new(Code::CredentialsMalformed, summary).seen("source", source)
}

/// The generations of a keyset by their ids, in its order.
fn generations<'a>(
    source: &str,
    items: impl Iterator<Item = &'a Yaml>,
) -> Result<Vec<(String, Keypair)>, Fault> {
    let read = |item| {
        read_generation(item).ok_or_else(|| malformed(source, "holds a key that is not base64"))
    };
    items.map(read).collect()
}

fn read_generation(item: &Yaml) -> Option<(String, Keypair)> {
    let decode = |name: &str| -> Option<Option<String>> {
        let Some(text) = item.text_of(name) else {
            return Some(None);
        };
        let folded: String = text.split_whitespace().collect();
        let bytes = STANDARD.decode(folded).ok()?;
        Some(Some(String::from_utf8(bytes).ok()?))
    };
    let keypair = Keypair {
        certificate: decode("publicMaterial")?.unwrap_or_default(),
        key: decode("privateMaterial")?.map(Secret::new),
    };
    Some((item.text_of("id").unwrap_or_default().to_owned(), keypair))
}

/// Reads a secret as the state store holds it: JSON with its bytes as base64 in `Data`.
///
/// # Errors
///
/// Returns `credentials.malformed`; the secret itself is in no text of the fault.
pub fn read_secret(source: &str, text: &str) -> Result<Secret<Vec<u8>>, Fault> {
    let malformed = || malformed(source, "is not a secret (JSON with base64 in Data)");
    let document: serde_json::Value = serde_json::from_str(text).map_err(|_| malformed())?;
    let data = document
        .get("Data")
        .and_then(serde_json::Value::as_str)
        .ok_or_else(malformed)?;
    STANDARD
        .decode(data)
        .map(Secret::new)
        .map_err(|_| malformed())
}

/// Chooses among the names of one-object-per-serial storage (`<serial>.crt`, `<serial>.key`): the highest
/// serial with this suffix.
pub fn newest_serial<'a>(names: &'a [String], suffix: &str) -> Option<&'a str> {
    let serials = names
        .iter()
        .filter_map(|name| Some((name.strip_suffix(suffix)?, name.as_str())));
    serials
        .max_by(|(a, _), (b, _)| serial_order(a, b))
        .map(|(_, name)| name)
}

/// Serials are decimal numbers too large for a machine word; the longer one is the larger.
fn serial_order(a: &str, b: &str) -> std::cmp::Ordering {
    let (a, b) = (a.trim_start_matches('0'), b.trim_start_matches('0'));
    a.len().cmp(&b.len()).then_with(|| a.cmp(b))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_newest_serial_is_the_largest_number_and_not_the_last_text() {
        let names = ["9.crt", "10.crt", "10.key", "keyset.yaml"].map(str::to_owned);
        assert_eq!(newest_serial(&names, ".crt"), Some("10.crt"));
        assert_eq!(newest_serial(&[], ".crt"), None);
    }

    #[test]
    fn the_generation_in_use_is_the_primary_or_the_newest() {
        let in_use = |extra: &str| {
            let text = format!(
                "kind: Keyset\nspec:\n{extra}  keys:\n  - id: \"9\"\n    publicMaterial: b2xk\n  \
                 - id: \"10\"\n    publicMaterial: bmV3\n    privateMaterial: a2V5\n"
            );
            let bundle = KeyBundle::read("keyset.yaml", &text).expect("it reads");
            bundle.primary().clone()
        };
        let newest = in_use("");
        assert_eq!(newest.certificate, "new");
        assert_eq!(
            newest.key.map(|key| key.expose().clone()),
            Some("key".to_owned())
        );
        for spelling in ["primaryID", "primaryId"] {
            let primary = in_use(&format!("  {spelling}: \"9\"\n"));
            assert_eq!(primary.certificate, "old", "{spelling}");
        }
    }

    #[test]
    fn a_secret_is_read_and_a_malformed_one_is_not_shown() {
        let read = read_secret("secrets/kube", r#"{"Data":"cGFzcw=="}"#).expect("it reads");
        assert_eq!(read.expose(), b"pass");
        let fault = read_secret("secrets/kube", r#"{"Data":"%hidden%"}"#).expect_err("not base64");
        assert!(!format!("{fault:?}").contains("hidden"));
    }

    #[test]
    fn a_keyset_that_is_not_base64_is_malformed() {
        let text = "spec:\n  keys:\n  - id: \"1\"\n    publicMaterial: '%%%'\n";
        let fault = read_ca_bundle("keyset.yaml", text).expect_err("it is not base64");
        assert_eq!(fault.code, Code::CredentialsMalformed);
        assert_eq!(KeyBundle::read("keyset.yaml", text), Err(fault));
    }
}
