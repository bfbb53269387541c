//! What the names in the directory of an algorithm mean, and which of them belong to no asset.

use super::entries::Key;
use super::failure::store_failure;
use super::layout::Layout;
use quake_model::digest::{Algorithm, Digest};
use quake_model::ports::PortError;
use quake_model::spec::AssetKind;
use std::collections::BTreeSet;
use std::io::ErrorKind;
use std::path::PathBuf;

/// What is in the directories of all algorithms.
#[derive(Debug, Default)]
pub(super) struct Named {
    /// The assets: files, and directories of unpacked archives.
    pub(super) keys: BTreeSet<Key>,
    /// Manifests and stamps whose asset is not there, and stamps that were not finished: what a killed agent leaves.
    pub(super) orphans: Vec<PathBuf>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Name<'a> {
    /// An asset of this digest.
    Asset(&'a str, AssetKind),
    /// The manifest or the stamp of one.
    Note(&'a str, AssetKind),
    /// A stamp that was not finished.
    Draft,
    Foreign,
}

impl Named {
    pub(super) fn read(layout: &Layout) -> Result<Self, PortError> {
        let mut named = Self::default();
        let mut notes = Vec::new();
        for algorithm in [Algorithm::Sha1, Algorithm::Sha256, Algorithm::Sha512] {
            let folder = layout.folder().join(algorithm.name());
            let listed = match std::fs::read_dir(&folder) {
                Ok(listed) => listed,
                Err(error) if error.kind() == ErrorKind::NotFound => continue,
                Err(error) => return Err(store_failure(&folder, "read", &error)),
            };
            for entry in listed.flatten() {
                let text = entry.file_name().to_string_lossy().into_owned();
                match name_of(&text) {
                    Name::Asset(hex, kind) => {
                        let digest = Digest::new(algorithm, hex).ok();
                        named.keys.extend(digest.map(|digest| (digest, kind)));
                    }
                    Name::Note(hex, kind) => {
                        let digest = Digest::new(algorithm, hex).ok();
                        notes.extend(digest.map(|digest| ((digest, kind), entry.path())));
                    }
                    Name::Draft => named.orphans.push(entry.path()),
                    Name::Foreign => {}
                }
            }
        }
        let orphans = notes
            .into_iter()
            .filter(|(key, _)| !named.keys.contains(key));
        let orphans: Vec<PathBuf> = orphans.map(|(_, path)| path).collect();
        named.orphans.extend(orphans);
        named.orphans.sort();
        Ok(named)
    }
}

fn name_of(text: &str) -> Name<'_> {
    let (hex, rest) = text.split_once('.').unwrap_or((text, ""));
    match rest {
        "" => Name::Asset(hex, AssetKind::Plain),
        "d" => Name::Asset(hex, AssetKind::Archive),
        "json" | "stamp" => Name::Note(hex, AssetKind::Plain),
        "d.stamp" => Name::Note(hex, AssetKind::Archive),
        _ => match rest.trim_start_matches("d.").strip_prefix("stamp-") {
            Some(process) if process.parse::<u32>().is_ok() => Name::Draft,
            _ => Name::Foreign,
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_name_is_known_for_what_it_is() {
        use AssetKind::{Archive, Plain};
        for (text, expected) in [
            ("ab", Name::Asset("ab", Plain)),
            ("ab.d", Name::Asset("ab", Archive)),
            ("ab.json", Name::Note("ab", Plain)),
            ("ab.stamp", Name::Note("ab", Plain)),
            ("ab.d.stamp", Name::Note("ab", Archive)),
            ("ab.stamp-812", Name::Draft),
            ("ab.d.stamp-812", Name::Draft),
            ("ab.stamp-x", Name::Foreign),
            ("ab.txt", Name::Foreign),
        ] {
            assert_eq!(name_of(text), expected, "{text}");
        }
    }

    #[test]
    fn what_belongs_to_no_asset_is_an_orphan_and_no_asset() {
        let folder = tempfile::tempdir().expect("a scratch directory");
        let layout = Layout::new(folder.path().to_owned());
        let family = folder.path().join("sha256");
        std::fs::create_dir(&family).expect("ours");
        let (whole, half) = ("a".repeat(64), "b".repeat(64));
        for name in ["", ".json", ".stamp", ".stamp-812"] {
            std::fs::write(family.join(format!("{whole}{name}")), "").expect("ours");
        }
        for name in [".json", ".stamp", ".d.stamp"] {
            std::fs::write(family.join(format!("{half}{name}")), "").expect("ours");
        }
        let named = Named::read(&layout).expect("ours");
        let hexes: Vec<&str> = named.keys.iter().map(|(digest, _)| digest.hex()).collect();
        assert_eq!(hexes, [whole.as_str()]);
        let names = named.orphans.iter().filter_map(|path| path.file_name());
        let names: Vec<String> = names.map(|it| it.to_string_lossy().into_owned()).collect();
        let expected = [
            format!("{whole}.stamp-812"),
            format!("{half}.d.stamp"),
            format!("{half}.json"),
            format!("{half}.stamp"),
        ];
        assert_eq!(names, expected);
    }
}
