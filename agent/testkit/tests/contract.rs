//! The simulated host keeps the contract of every host.

use quake_model::digest::Digest;
use quake_model::location::Location;
use quake_model::spec::{AssetKind, AssetSpec};
use quake_model::time::Timestamp;
use quake_testkit::region::{Region, example_instance};
use quake_testkit::{SimHost, Timing, contract};

fn host() -> SimHost {
    let region = Region::with_instance(example_instance("us-test-1a"), "contract.example");
    SimHost::new(region, Timing::default(), Timestamp(0))
}

fn asset(url: &str, digest: Digest) -> AssetSpec {
    AssetSpec {
        name: "tool".into(),
        digest,
        urls: vec![url.into()],
        kind: AssetKind::Plain,
    }
}

#[tokio::test]
async fn the_simulated_files_keep_the_contract() {
    assert_eq!(contract::files(&host()).await, Ok(()));
}

#[tokio::test]
async fn the_simulated_assets_keep_the_contract() {
    let host = host();
    host.serve("https://mirror.example/tool", "tool\n");
    let pinned = asset("https://mirror.example/tool", sha1_of("tool\n"));
    let forged = AssetSpec {
        digest: sha1_of("other\n"),
        ..pinned.clone()
    };
    assert_eq!(contract::assets(&host, &pinned, &forged).await, Ok(()));
}

fn sha1_of(text: &str) -> Digest {
    use sha1::Digest as _;
    Digest::from_bytes(
        quake_model::digest::Algorithm::Sha1,
        &sha1::Sha1::digest(text),
    )
}

#[tokio::test]
async fn the_simulated_objects_keep_the_contract() {
    let host = host();
    host.put_object("s3://bucket/x/a", "a");
    host.put_object("s3://bucket/x/b/c", "c");
    let base: Location = "s3://bucket".parse().expect("a literal");
    assert_eq!(contract::objects(&host, &base).await, Ok(()));
}
