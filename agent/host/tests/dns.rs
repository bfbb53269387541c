//! The DNS port keeps the contract of every name service, on Route 53 as moto plays it and a proxy that refuses what moto takes.

use quake_host::aws::{Aws, AwsSettings, Calls, Route53, Surroundings};
use quake_host::imds::{Imds, MetadataEndpoint};
use quake_http::HttpSettings;
use quake_integration::ec2::{Ec2 as Region, Rules};
use quake_integration::http::Server;
use quake_integration::imds::Metadata;
use quake_integration::moto::Moto;
use quake_integration::random::Random;
use quake_integration::skip::unless_missing;
use quake_testkit::contract;

#[tokio::test(flavor = "multi_thread")]
async fn the_real_name_service_keeps_the_contract() {
    let Some(moto) = unless_missing(Moto::start()) else {
        return;
    };
    let id = moto.create_zone("contract.example");
    let id = id.expect("moto makes it");
    let region = Region::before(moto, Rules::default(), Random::from_environment());
    let aws = Server::start(move |request| region.answer("i-0a", request));
    let aws = aws.expect("loopback has free ports");
    let metadata = Metadata::of("i-0123456789abcdef0", "");
    let imds = Server::start(move |request| metadata.answer(request));
    let imds = imds.expect("loopback has free ports");
    let calls = Calls::new();
    let endpoint = MetadataEndpoint::At(imds.base());
    let lookup = |name: &str| (name == "AWS_ENDPOINT_URL").then(|| aws.base());
    let settings = AwsSettings::from_lookup(Surroundings::Node, HttpSettings::default(), lookup);
    let imds = Imds::new(&endpoint, calls.clone());
    let route53 = Route53::new(Aws::new(settings, imds, calls));
    let zone = contract::EmptyZone {
        id: &id,
        name: "contract.example",
    };
    assert_eq!(contract::dns(&route53, &zone).await, Ok(()));
}
