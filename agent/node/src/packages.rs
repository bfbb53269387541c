//! Sources of Debian packages: a list of apt's that names the one key it trusts, and that key.
//!
//! Nobody pins the key: kops names a URL. The first one that is read is trusted, and its digest stands in the list; should
//! the file hold another one later, both are written anew.

use crate::managed_files::sha256;
use quake_model::item::PackageSource;
use quake_model::step::WriteFile;

/// Before the key's digest, in the list.
const DIGEST: &str = "# keyring sha256:";

/// The file of the key. apt tells an armoured key from a binary one by the file's name.
pub fn keyring_file(source: &PackageSource, keyring: &[u8]) -> WriteFile {
    let path = keyring_path(source);
    WriteFile::plain(&path, 0o644, quake_model::step::Contents(keyring.to_vec()))
}

fn keyring_path(source: &PackageSource) -> String {
    format!("/etc/apt/keyrings/{}.asc", source.name)
}

/// The list, with the digest of the key.
pub fn source_file(source: &PackageSource, keyring: &[u8]) -> WriteFile {
    let path = format!("/etc/apt/sources.list.d/{}.list", source.name);
    let text = format!("{DIGEST}{}\n{}", sha256(keyring), lines(source));
    WriteFile::plain(&path, 0o644, text)
}

/// The lines of the source, each with the key that signs it.
fn lines(source: &PackageSource) -> String {
    let keyring = keyring_path(source);
    let signed = |line: &String| match line.split_once(' ') {
        Some((kind, rest)) => format!("{kind} [signed-by={keyring}] {rest}\n"),
        None => format!("{line}\n"),
    };
    source.lines.iter().map(signed).collect()
}

/// Whether list and key are those of the source, and the key is the one that was trusted first.
pub fn trusts(source: &PackageSource, list: Option<&[u8]>, keyring: Option<&[u8]>) -> bool {
    let (Some(list), Some(keyring)) = (list, keyring) else {
        return false;
    };
    list == source_file(source, keyring).contents.0
}

#[cfg(test)]
mod tests {
    use super::*;

    fn source() -> PackageSource {
        PackageSource {
            name: "gvisor".to_owned(),
            keyring_url: "https://gvisor.dev/archive.key".to_owned(),
            lines: vec!["deb https://storage.example.com/releases release main".to_owned()],
        }
    }

    #[test]
    fn a_source_trusts_its_own_key_alone() {
        let text = source_file(&source(), b"key").contents.0;
        let text = String::from_utf8_lossy(&text).into_owned();
        let line = "deb [signed-by=/etc/apt/keyrings/gvisor.asc] https://storage.example.com/releases release main";
        assert!(text.lines().any(|found| found == line), "{text}");
    }

    #[test]
    fn a_key_that_became_another_is_not_trusted() {
        let list = source_file(&source(), b"key").contents.0;
        assert!(trusts(&source(), Some(&list), Some(b"key")));
        assert!(!trusts(&source(), Some(&list), Some(b"other")));
        assert!(!trusts(&source(), None, Some(b"key")));
        assert!(!trusts(&source(), Some(&list), None));
        let mut moved = source();
        moved.lines = vec!["deb https://elsewhere.example.com x main".to_owned()];
        assert!(!trusts(&moved, Some(&list), Some(b"key")));
    }
}
