//! Whatever an entry of `Assets` says: it is refused at its place, or it is a digest with URLs of a file.

#![no_main]

use libfuzzer_sys::fuzz_target;
use quake_model::fault::{Code, Fault};
use quake_model::spec::AssetSpec;
use quake_node::config::legacy::read_kube_env;
use std::fmt::Write;

fuzz_target!(|bytes: &[u8]| {
    // As YAML of its own, whatever that turns out to be.
    let raw = String::from_utf8_lossy(bytes);
    let _ = read(&raw);
    // As one string: the entry is then exactly these bytes.
    let Ok(text) = std::str::from_utf8(bytes) else {
        return;
    };
    let asset = match read(&quoted(text)) {
        Ok(asset) => asset,
        Err(fault) => {
            let expected = [
                Code::ConfigAssetMalformed,
                Code::ConfigDigestRefused,
                Code::ConfigYamlSyntax,
                Code::ConfigYamlTooLarge,
            ];
            assert!(expected.contains(&fault.code), "{fault:?}");
            return;
        }
    };
    assert!(!asset.urls.is_empty());
    assert!(!asset.name.contains('/') && !matches!(asset.name.as_str(), "" | "." | ".."));
    for url in &asset.urls {
        assert!(
            url.starts_with("https://") || url.starts_with("http://"),
            "{url}"
        );
        assert!(
            !url.chars().any(|c| c.is_control() || c.is_whitespace()),
            "{url}"
        );
    }
    let again = format!("{}@{}", asset.digest, asset.urls.join(","));
    assert_eq!(read(&quoted(&again)), Ok(asset), "written and read again");
});

/// Reads a document with this one entry.
fn read(entry: &str) -> Result<AssetSpec, Fault> {
    let document =
        format!("ConfigBase: s3://bucket/cluster\nInstanceGroupName: nodes\nAssets:\n- {entry}\n");
    let (environment, _) = read_kube_env("kube_env.yaml", &document)?;
    let first = environment.assets.into_iter().next();
    first.ok_or_else(|| Fault::new(Code::ConfigAssetMalformed, "no entry"))
}

/// A YAML string of exactly this text.
fn quoted(text: &str) -> String {
    let mut quoted = String::from("\"");
    for character in text.chars() {
        match character {
            ' '..='~' if !matches!(character, '"' | '\\') => quoted.push(character),
            other => {
                let _ = write!(quoted, "\\U{:08x}", u32::from(other));
            }
        }
    }
    quoted.push('"');
    quoted
}
