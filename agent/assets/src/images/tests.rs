//! Lists of images, and archives made here.

use super::*;
use crate::{AssetSettings, AssetSource, Buckets};
use quake_http::HttpSettings;
use quake_model::digest::Algorithm;
use serde_json::json;
use sha2::{Digest as _, Sha256};

fn sha256(bytes: &[u8]) -> Digest {
    Digest::from_bytes(Algorithm::Sha256, &Sha256::digest(bytes))
}

fn tar_of(files: &[(String, Vec<u8>)]) -> Vec<u8> {
    let mut builder = tar::Builder::new(Vec::new());
    for (path, bytes) in files {
        let mut header = tar::Header::new_gnu();
        header.set_size(bytes.len() as u64);
        header.set_mode(0o644);
        let added = builder.append_data(&mut header, path, bytes.as_slice());
        added.expect("memory takes it");
    }
    builder.into_inner().expect("memory takes it")
}

fn blob(bytes: &[u8]) -> (String, Vec<u8>) {
    (
        format!("blobs/sha256/{}", sha256(bytes).hex()),
        bytes.into(),
    )
}

/// A configuration and a manifest of it, whose one layer does not matter here.
fn manifest_of(label: &str) -> (Vec<u8>, Vec<u8>) {
    let config = json!({"os": "linux", "config": {"Labels": {"a": label}}}).to_string();
    let manifest = json!({
        "schemaVersion": 2,
        "config": {"digest": sha256(config.as_bytes()).to_string(), "size": config.len()},
        "layers": [],
    });
    (config.into_bytes(), manifest.to_string().into_bytes())
}

fn oci(name: &str) -> (Vec<u8>, Digest, Digest) {
    let (config, manifest) = manifest_of("a");
    let index = json!({"schemaVersion": 2, "manifests": [{
        "digest": sha256(&manifest).to_string(),
        "annotations": {"org.opencontainers.image.ref.name": name},
    }]});
    let (id, digest) = (sha256(&config), sha256(&manifest));
    let bytes = tar_of(&[
        blob(b"\x1f\x8bnot a document"),
        blob(&config),
        ("./index.json".into(), index.to_string().into()),
        blob(&manifest),
    ]);
    (bytes, digest, id)
}

fn docker(tags: &serde_json::Value) -> (Vec<u8>, Digest) {
    let (config, _) = manifest_of("docker");
    let name = format!("{}.json", sha256(&config).hex());
    let manifest = json!([{"Config": name, "RepoTags": tags, "Layers": []}]);
    let id = sha256(&config);
    let files = [
        (name, config),
        ("manifest.json".into(), manifest.to_string().into()),
    ];
    (tar_of(&files), id)
}

struct Fixture(tempfile::TempDir);

impl Fixture {
    fn new() -> Self {
        Self(tempfile::tempdir().expect("a scratch root"))
    }

    fn store(&self) -> AssetStore {
        AssetStore::open(AssetSettings {
            root: self.0.path().to_owned(),
            store: self.0.path().join("store"),
            source: AssetSource::Cache,
            verify: false,
            http: HttpSettings::default(),
            buckets: Buckets::default(),
        })
    }

    /// Puts an archive into the store.
    async fn put(&self, bytes: &[u8]) -> ImageSpec {
        let archive = AssetSpec {
            name: "pause.tar".into(),
            digest: sha256(bytes),
            urls: vec!["https://user:word@mirror.example/pause.tar?X-Amz-Signature=abc".into()],
            kind: AssetKind::Plain,
        };
        let reader = std::io::Cursor::new(bytes.to_vec());
        let kept = self.store().ingest(&archive, "file:///x", reader).await;
        kept.expect("the digest is right");
        ImageSpec {
            name: "pause".into(),
            archive,
            need: Need::Optional,
        }
    }
}

#[tokio::test]
async fn a_layout_is_known_by_its_manifest_and_its_configuration() {
    let fixture = Fixture::new();
    let (bytes, manifest, id) = oci("registry.example/pause:3.9");
    let image = fixture.put(&bytes).await;
    let found = fixture.store().look_image(&image.archive.digest).await;
    let found = found.expect("it is an image");
    assert_eq!(found.len(), 1);
    assert_eq!(found[0].refs, ["registry.example/pause:3.9"]);
    assert!(found[0].digests.contains(&manifest) && found[0].digests.contains(&id));
}

#[tokio::test]
async fn what_docker_saved_is_known_by_its_configuration() {
    let fixture = Fixture::new();
    for tags in [json!(["pause:3.9"]), json!(null)] {
        let (bytes, id) = docker(&tags);
        let image = fixture.put(&bytes).await;
        let found = fixture.store().look_image(&image.archive.digest).await;
        let found = found.expect("it is an image");
        assert_eq!(found[0].digests, [id]);
        assert_eq!(found[0].refs.len(), tags.as_array().map_or(0, Vec::len));
    }
}

#[tokio::test]
async fn an_index_of_several_processors_is_known_by_any_of_its_manifests() {
    let (config, manifest) = manifest_of("arm");
    let descriptor = |bytes: &[u8]| json!({"digest": sha256(bytes).to_string()});
    let absent = json!({"digest": sha256(b"not in the archive").to_string()});
    let inner = json!({"manifests": [descriptor(&manifest), absent]}).to_string();
    let index = json!({"manifests": [descriptor(inner.as_bytes())]});
    let bytes = tar_of(&[
        ("index.json".into(), index.to_string().into()),
        blob(inner.as_bytes()),
        blob(&manifest),
        blob(&config),
    ]);
    let found = archive::images(bytes.as_slice()).expect("it is an image");
    for wanted in [inner.as_bytes(), &manifest, &config] {
        assert!(found[0].digests.contains(&sha256(wanted)));
    }
}

#[tokio::test]
async fn an_archive_of_something_else_or_with_forged_parts_is_refused() {
    let (_, manifest) = manifest_of("a");
    let index = json!({"manifests": [{"digest": sha256(&manifest).to_string()}]});
    let forged = (blob(&manifest).0, manifest_of("b").1);
    let cases = [
        tar_of(&[("bin/kubelet".into(), b"program".to_vec())]),
        tar_of(&[("index.json".into(), b"{\"manifests\": 1}".to_vec())]),
        tar_of(&[("index.json".into(), index.to_string().into()), forged]),
        b"no archive at all, and longer than one block of a tar".repeat(20),
    ];
    let fixture = Fixture::new();
    for bytes in cases {
        let image = fixture.put(&bytes).await;
        let error = fixture
            .store()
            .seed_image(&image)
            .await
            .expect_err("no image");
        assert_eq!(error.condition, Condition::Malformed);
    }
    assert_eq!(fixture.store().list_images().await, Ok(Vec::new()));
}

#[tokio::test]
async fn a_seeded_archive_is_listed_without_secrets_and_its_list_does_not_depend_on_the_order() {
    let archives = [oci("registry.example/pause:3.9").0, docker(&json!(null)).0];
    let mut texts = Vec::new();
    for order in [[0, 1], [1, 0]] {
        let fixture = Fixture::new();
        for index in order {
            let image = fixture.put(&archives[index]).await;
            fixture.store().seed_image(&image).await.expect("an image");
        }
        let listed = fixture.store().list_images().await.expect("a list");
        assert!(listed.iter().all(|image| image.seeded && image.size > 0));
        let path = fixture.0.path().join("store/images.json");
        texts.push(std::fs::read_to_string(path).expect("ours"));
    }
    assert_eq!(texts[0], texts[1]);
    assert!(!texts[0].contains("word") && !texts[0].contains("Signature"));
}

#[tokio::test]
async fn an_archive_that_was_listed_is_not_read_again() {
    let fixture = Fixture::new();
    let image = fixture.put(&oci("registry.example/pause:3.9").0).await;
    let digest = &image.archive.digest;
    let first = fixture.store().look_image(digest).await.expect("an image");
    std::fs::remove_file(path_of(fixture.store().folder(), digest)).expect("it was there");
    assert_eq!(fixture.store().look_image(digest).await, Ok(first));
    let listed = fixture.store().list_images().await.expect("a list");
    assert!(!listed[0].seeded, "a boot read it, no seed put it there");
    change(fixture.store().folder(), Vec::clear).expect("the directory is ours");
    let error = fixture.store().look_image(digest).await.expect_err("gone");
    assert_eq!(error.condition, Condition::Missing);
}

#[tokio::test]
async fn two_that_add_at_once_lose_nothing() {
    let fixture = Fixture::new();
    let mut images = Vec::new();
    for tag in 0..8 {
        let name = format!("registry.example/pause:{tag}");
        images.push(fixture.put(&oci(&name).0).await);
    }
    let stores: Vec<AssetStore> = images.iter().map(|_| fixture.store()).collect();
    let adding = stores.iter().zip(&images);
    let added = adding.map(|(store, image)| store.seed_image(image));
    for added in futures_util::future::join_all(added).await {
        added.expect("an image");
    }
    let listed = fixture.store().list_images().await.expect("a list");
    assert_eq!(listed.len(), 8);
}

#[tokio::test]
async fn every_compression_is_taken_off_for_the_runtime() {
    let (bytes, ..) = oci("registry.example/pause:3.9");
    let gz = {
        let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        encoder.write_all(&bytes).expect("memory takes it");
        encoder.finish().expect("memory takes it")
    };
    let xz = {
        let mut encoder = liblzma::write::XzEncoder::new(Vec::new(), 1);
        encoder.write_all(&bytes).expect("memory takes it");
        encoder.finish().expect("memory takes it")
    };
    let zstd = zstd::encode_all(bytes.as_slice(), 1).expect("memory takes it");
    let fixture = Fixture::new();
    for packed in [bytes.clone(), gz, xz, zstd] {
        let image = fixture.put(&packed).await;
        let feed = fixture.store().feed_image(&image.archive.digest).await;
        let feed = feed.expect("the store holds it");
        let mut fed = Vec::new();
        feed(&mut fed).expect("memory takes it");
        assert!(fed == bytes);
        let found = fixture.store().look_image(&image.archive.digest).await;
        assert!(found.is_ok_and(|found| found.len() == 1));
    }
}
