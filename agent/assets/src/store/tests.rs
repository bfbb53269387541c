//! The store against local mirrors.

mod cancelled;
mod claims;
mod keeping;
mod mirrors;
mod offline;
mod requests;
mod transport;

use super::*;
use crate::hasher::digest_of;
use flate2::Compression;
use flate2::write::GzEncoder;
use quake_http::testing::{Reply, Seen, Server, closed_port};
use quake_model::digest::Algorithm;
use quake_model::ports::Arriving;
use std::io::Write;
use std::time::Duration;

struct Fixture {
    root: tempfile::TempDir,
}

impl Fixture {
    fn new() -> Self {
        Self {
            root: tempfile::tempdir().expect("a scratch root"),
        }
    }

    fn store(&self, source: AssetSource) -> AssetStore {
        AssetStore::open(AssetSettings {
            root: self.root.path().to_owned(),
            store: self.root.path().join("var/lib/store"),
            source,
            verify: false,
            http: HttpSettings::default(),
            buckets: Buckets::default(),
        })
    }

    /// How many files are on their way.
    fn staged(&self) -> usize {
        let files = self.files();
        files.iter().filter(|path| path.contains("staging")).count()
    }

    /// Every file below the root, without the lock, which always stays.
    fn files(&self) -> Vec<String> {
        let mut found = Vec::new();
        let mut folders = vec![self.root.path().to_owned()];
        while let Some(folder) = folders.pop() {
            for entry in std::fs::read_dir(&folder).expect("ours").flatten() {
                let path = entry.path();
                if path.is_dir() {
                    folders.push(path);
                } else if !path.ends_with("staging.lock") {
                    let path = path.strip_prefix(self.root.path()).expect("it is below");
                    found.push(path.display().to_string());
                }
            }
        }
        found.sort();
        found
    }
}

fn sha256(bytes: &[u8]) -> Digest {
    digest_of(Algorithm::Sha256, bytes).expect("memory reads")
}

fn plain(bytes: &[u8], urls: Vec<String>) -> AssetSpec {
    AssetSpec {
        name: "kubelet".to_owned(),
        digest: sha256(bytes),
        urls,
        kind: AssetKind::Plain,
    }
}

fn archive(files: &[(&str, &[u8])]) -> Vec<u8> {
    let mut builder = tar::Builder::new(GzEncoder::new(Vec::new(), Compression::fast()));
    for (path, bytes) in files {
        let mut header = tar::Header::new_gnu();
        header.set_size(bytes.len() as u64);
        header.set_mode(0o755);
        builder
            .append_data(&mut header, path, *bytes)
            .expect("memory takes it");
    }
    let encoder = builder.into_inner().expect("memory takes it");
    encoder.finish().expect("memory takes it")
}

fn archived(bytes: &[u8], urls: Vec<String>) -> AssetSpec {
    AssetSpec {
        name: "cni-plugins.tgz".to_owned(),
        kind: AssetKind::Archive,
        ..plain(bytes, urls)
    }
}

fn key(asset: &AssetSpec) -> Key {
    (asset.digest.clone(), asset.kind)
}

async fn fetch(store: &AssetStore, asset: &AssetSpec) -> Result<AssetFetched, PortError> {
    store.fetch_asset(asset, &|_| {}).await
}

fn place_at(path: &str, asset: &AssetSpec, member: Option<&str>) -> Place {
    Place {
        asset: asset.digest.clone(),
        member: member.map(str::to_owned),
        path: path.to_owned(),
        mode: 0o755,
    }
}
