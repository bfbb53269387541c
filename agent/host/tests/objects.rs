//! The state store keeps the contract of every store of objects, on S3 as moto plays it.

use quake_host::aws::{Aws, AwsSettings, Calls, S3, Surroundings};
use quake_host::imds::{Imds, MetadataEndpoint};
use quake_host::objects::StateStore;
use quake_http::HttpSettings;
use quake_integration::http::Server;
use quake_integration::imds::Metadata;
use quake_integration::moto::Moto;
use quake_integration::skip::unless_missing;
use quake_model::location::Location;
use quake_testkit::contract;

#[tokio::test(flavor = "multi_thread")]
async fn the_bucket_keeps_the_contract() {
    let Some(moto) = unless_missing(Moto::start()) else {
        return;
    };
    for (key, bytes) in [("x/a", b"a"), ("x/b/c", b"c")] {
        let put = moto.put_object("contract", key, bytes);
        put.expect("moto takes it");
    }
    let metadata = Metadata::of("i-0123456789abcdef0", "");
    let imds = Server::start(move |request| metadata.answer(request));
    let imds = imds.expect("loopback has free ports");
    let calls = Calls::new();
    let endpoint = MetadataEndpoint::At(imds.base());
    let aws = format!("http://{}", moto.address());
    let lookup = |name: &str| (name == "AWS_ENDPOINT_URL").then(|| aws.clone());
    let settings = AwsSettings::from_lookup(Surroundings::Node, HttpSettings::default(), lookup);
    let imds = Imds::new(&endpoint, calls.clone());
    let store = StateStore::with_s3(S3::new(Aws::new(settings, imds, calls)));
    let base: Location = "s3://contract".parse().expect("a literal");
    assert_eq!(contract::objects(&store, &base).await, Ok(()));
    assert_eq!(contract::written_objects(&store, &base).await, Ok(()));
}
