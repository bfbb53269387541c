//! Bundles that are whole, and bundles that someone had a hand in.

use super::format::{END_BYTES, header, manifest_text, padding};
use super::{Bundled, Loaded, write_bundle};
use crate::hasher::digest_of;
use crate::{AssetSettings, AssetSource, AssetStore, Buckets};
use quake_http::HttpSettings;
use quake_model::digest::Algorithm;
use quake_model::ports::{Condition, PortError};
use quake_model::spec::AssetKind;
use std::path::{Path, PathBuf};

struct Fixture {
    folder: tempfile::TempDir,
}

impl Fixture {
    fn new() -> Self {
        let folder = tempfile::tempdir().expect("a scratch directory");
        Self { folder }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn asset(&self, algorithm: Algorithm, name: &str, bytes: &[u8]) -> (Bundled, PathBuf) {
        let path = self.path(name);
        std::fs::write(&path, bytes).expect("ours");
        let asset = Bundled {
            name: name.to_owned(),
            digest: digest_of(algorithm, bytes).expect("memory reads"),
            kind: AssetKind::Plain,
            size: bytes.len() as u64,
            urls: vec![format!("https://mirror.example/{name}")],
        };
        (asset, path)
    }

    fn assets(&self) -> Vec<(Bundled, PathBuf)> {
        vec![
            self.asset(Algorithm::Sha512, "kubectl", &[7; 3000]),
            self.asset(Algorithm::Sha256, "kubelet", &b"kubelet".repeat(100_000)),
            self.asset(Algorithm::Sha1, "empty", b""),
            self.asset(Algorithm::Sha1, "block", &[1; 512]),
        ]
    }

    fn write(&self, name: &str, assets: Vec<(Bundled, PathBuf)>) -> Vec<u8> {
        let path = self.path(name);
        let file = std::fs::File::create(&path).expect("ours");
        write_bundle(assets, file, &path).expect("the assets are right");
        std::fs::read(path).expect("ours")
    }

    fn store(&self) -> AssetStore {
        AssetStore::open(AssetSettings {
            root: self.path("root"),
            store: self.path("root").join("store"),
            source: AssetSource::Cache,
            verify: false,
            http: HttpSettings::default(),
            buckets: Buckets::default(),
        })
    }

    async fn load(&self, bytes: Vec<u8>) -> (Vec<Loaded>, Result<(), PortError>) {
        let mut loaded = Vec::new();
        let source = std::io::Cursor::new(bytes);
        let ended = self.store().load_bundle(source, &mut loaded).await;
        (loaded, ended)
    }
}

fn open_up(bundle: &[u8]) -> Vec<u8> {
    zstd::decode_all(bundle).expect("it is zstd")
}

fn close_up(tar: &[u8]) -> Vec<u8> {
    zstd::encode_all(tar, 1).expect("memory takes it")
}

#[test]
fn the_same_assets_give_the_same_bytes_in_whatever_order_and_age() {
    let fixture = Fixture::new();
    let first = fixture.write("first", fixture.assets());
    let mut assets = fixture.assets();
    assets.reverse();
    assert_eq!(fixture.write("second", assets), first);
}

#[test]
fn it_is_a_tar_that_any_program_reads_with_the_manifest_first() {
    let fixture = Fixture::new();
    let tar = open_up(&fixture.write("bundle", fixture.assets()));
    let mut archive = tar::Archive::new(tar.as_slice());
    let mut names = Vec::new();
    for entry in archive.entries().expect("a tar") {
        let entry = entry.expect("a tar");
        let header = entry.header();
        assert_eq!(header.mtime().ok(), Some(0));
        assert_eq!((header.uid().ok(), header.gid().ok()), (Some(0), Some(0)));
        names.push(entry.path().expect("a name").display().to_string());
    }
    assert_eq!(names[0], "manifest.json");
    assert_eq!(names.len(), 5);
    assert!(names.is_sorted_by(|a, b| b.starts_with("assets/") && (a == "manifest.json" || a < b)));
}

#[tokio::test]
async fn what_is_loaded_is_in_the_store_and_once_more_is_nothing_new() {
    let fixture = Fixture::new();
    let bundle = fixture.write("bundle", fixture.assets());
    let (first, ended) = fixture.load(bundle.clone()).await;
    assert_eq!(ended, Ok(()));
    assert!(first.len() == 4 && first.iter().all(|it| !it.was_held));
    let (second, ended) = fixture.load(bundle).await;
    assert_eq!(ended, Ok(()));
    assert!(second.len() == 4 && second.iter().all(|it| it.was_held));
    assert_eq!(fixture.store().list().await.map(|it| it.len()), Ok(4));
}

#[test]
fn a_file_that_is_not_what_its_digest_says_is_not_bundled() {
    let fixture = Fixture::new();
    let assets = fixture.assets();
    let forged = &assets[0].1;
    std::fs::write(forged, [8; 3000]).expect("ours");
    let path = fixture.path("bundle");
    let file = std::fs::File::create(&path).expect("ours");
    let error = write_bundle(assets, file, &path).expect_err("it was forged");
    assert_eq!(error.condition, Condition::DigestMismatch);
}

/// A bundle of one asset, put together from its parts.
fn assembled(parts: &[Vec<u8>]) -> Vec<u8> {
    let mut tar: Vec<u8> = parts.concat();
    tar.resize(tar.len() + usize::try_from(END_BYTES).expect("few"), 0);
    close_up(&tar)
}

fn member(name: &str, said: u64, bytes: &[u8]) -> Vec<u8> {
    let mut all = header(name, said);
    all.extend_from_slice(bytes);
    let zeros = usize::try_from(padding(bytes.len() as u64)).expect("few");
    all.resize(all.len() + zeros, 0);
    all
}

/// The parts of a good bundle of one asset.
struct Parts {
    asset: Bundled,
    other: Bundled,
    size: u64,
    manifest: Vec<u8>,
    good: Vec<u8>,
}

const BYTES: &[u8] = b"the bytes of an asset";

impl Parts {
    fn new() -> Self {
        let fixture = Fixture::new();
        let (asset, _) = fixture.asset(Algorithm::Sha256, "tool", BYTES);
        let (other, _) = fixture.asset(Algorithm::Sha256, "other", b"another");
        let size = BYTES.len() as u64;
        Self {
            manifest: manifest_of(std::slice::from_ref(&asset)),
            good: member(&asset.member(), size, BYTES),
            asset,
            other,
            size,
        }
    }

    fn with(&self, name: &str, said: u64, bytes: &[u8]) -> Vec<u8> {
        assembled(&[self.manifest.clone(), member(name, said, bytes)])
    }

    fn and(&self, more: Vec<u8>) -> Vec<u8> {
        assembled(&[self.manifest.clone(), self.good.clone(), more])
    }
}

fn manifest_of(assets: &[Bundled]) -> Vec<u8> {
    let text = manifest_text(assets).expect("small");
    member("manifest.json", text.len() as u64, &text)
}

/// Whether each is refused for this reason, with nothing kept but what came whole before.
async fn are_refused(condition: Condition, cases: Vec<(&str, Vec<u8>)>) {
    let parts = Parts::new();
    for (name, bundle) in cases {
        let fixture = Fixture::new();
        let (_, ended) = fixture.load(bundle).await;
        let error = ended.expect_err(name);
        assert_eq!(error.condition, condition, "{name}: {error:?}");
        let kept = fixture.store().list().await.expect("it can be read");
        let is_proven = |it: &crate::Entry| it.digest == parts.asset.digest;
        assert!(kept.iter().all(is_proven), "{name}");
    }
}

#[tokio::test]
async fn members_that_are_not_those_of_the_manifest_are_refused() {
    let parts = Parts::new();
    let own = parts.asset.member();
    let cases = vec![
        ("none", assembled(std::slice::from_ref(&parts.manifest))),
        ("an unknown one", parts.and(member("extra", 1, b"x"))),
        ("one twice", parts.and(parts.good.clone())),
        (
            "another name",
            parts.with("../../etc/passwd", parts.size, BYTES),
        ),
        ("a size that lies", parts.with(&own, parts.size + 1, BYTES)),
        (
            "another in its place",
            parts.with(&parts.other.member(), 7, b"another"),
        ),
    ];
    are_refused(Condition::Malformed, cases).await;
    let forged = vec![("other bytes", parts.with(&own, parts.size, &[b'x'; 21]))];
    are_refused(Condition::DigestMismatch, forged).await;
}

#[tokio::test]
async fn a_manifest_that_would_not_be_written_so_is_refused() {
    let parts = Parts::new();
    let (asset, other) = (parts.asset.clone(), parts.other.clone());
    let more = b"{\"version\":1,\"assets\":[],\"x\":1}";
    let newer = b"{\"version\":2,\"assets\":[]}";
    let cases = vec![
        ("no zstd", b"hello".to_vec()),
        ("nothing", Vec::new()),
        ("none", assembled(std::slice::from_ref(&parts.good))),
        (
            "out of order",
            assembled(&[manifest_of(&[other.clone(), asset, other])]),
        ),
        (
            "with more in it",
            assembled(&[member("manifest.json", more.len() as u64, more)]),
        ),
        (
            "of another version",
            assembled(&[member("manifest.json", newer.len() as u64, newer)]),
        ),
    ];
    are_refused(Condition::Malformed, cases).await;
}

#[tokio::test]
async fn whatever_stands_behind_the_end_is_refused() {
    let parts = Parts::new();
    let whole = assembled(&[parts.manifest, parts.good]);
    let cases = vec![
        ("another file", [whole.clone(), close_up(b"more")].concat()),
        ("a byte", [whole.clone(), vec![0]].concat()),
        (
            "a block",
            close_up(&[open_up(&whole), vec![0; 512]].concat()),
        ),
    ];
    are_refused(Condition::Malformed, cases).await;
}

#[tokio::test]
async fn a_bundle_cut_anywhere_is_refused() {
    let fixture = Fixture::new();
    let bundle = fixture.write("bundle", fixture.assets());
    for length in (0..bundle.len()).step_by(bundle.len() / 40 + 1) {
        let fixture = Fixture::new();
        let (_, ended) = fixture.load(bundle[..length].to_vec()).await;
        let condition = ended.expect_err("it is cut").condition;
        assert_eq!(condition, Condition::Malformed, "cut after {length}");
    }
}

#[tokio::test]
async fn a_flipped_bit_anywhere_is_refused() {
    let fixture = Fixture::new();
    let bundle = fixture.write("bundle", fixture.assets());
    // Behind zstd's own header, a bit of which means nothing (RFC 8878, 3.1.1.1.1.3).
    for at in (6..bundle.len()).step_by(bundle.len() / 60 + 1) {
        let mut flipped = bundle.clone();
        flipped[at] ^= 0x10;
        let fixture = Fixture::new();
        let (_, ended) = fixture.load(flipped).await;
        ended.expect_err("a bit is wrong");
    }
}

#[tokio::test]
async fn a_bundle_in_any_portions_is_the_same_bundle() {
    /// Gives one byte at a time.
    struct Trickle(std::io::Cursor<Vec<u8>>);
    impl std::io::Read for Trickle {
        fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
            let most = buffer.len().min(1);
            self.0.read(&mut buffer[..most])
        }
    }
    let fixture = Fixture::new();
    let bundle = fixture.write("bundle", fixture.assets());
    let mut loaded = Vec::new();
    let source = Trickle(std::io::Cursor::new(bundle));
    let ended = fixture.store().load_bundle(source, &mut loaded).await;
    assert_eq!(ended.map(|()| loaded.len()), Ok(4));
    let left = crate::find_leftovers(Path::new(&fixture.path("root/store")));
    assert_eq!(left, []);
}
