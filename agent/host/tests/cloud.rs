//! The EC2 port keeps the contract of every cloud, on EC2 as moto plays it and a proxy that adds what moto lacks.

use quake_host::aws::{Aws, AwsSettings, Calls, Ec2, Surroundings};
use quake_host::imds::{Imds, MetadataEndpoint};
use quake_http::HttpSettings;
use quake_integration::ec2::{Ec2 as Region, Rules};
use quake_integration::http::Server;
use quake_integration::imds::Metadata;
use quake_integration::moto::Moto;
use quake_integration::random::Random;
use quake_integration::skip::unless_missing;
use quake_testkit::contract;
use std::sync::Arc;
use std::time::Duration;

/// A launch without any tag is refused by moto.
const TAGS: [(&str, &str); 1] = [("Name", "contract")];

#[tokio::test(flavor = "multi_thread")]
async fn the_real_cloud_keeps_the_contract() {
    let Some(moto) = unless_missing(Moto::start()) else {
        return;
    };
    // Pages of one volume, and an attach that is not done at once: both are within the contract.
    let rules = Rules {
        attach_takes: Duration::from_millis(500),
        page: 1,
        ..Rules::default()
    };
    let region = Arc::new(Region::before(moto, rules, Random::from_environment()));
    let (ours, other) = (region.launch(&TAGS), region.launch(&TAGS));
    let volume = region.create_volume("us-east-1a", &TAGS);
    let (caller, answering) = (ours.clone(), Arc::clone(&region));
    let aws = Server::start(move |request| answering.answer(&caller, request));
    let aws = aws.expect("loopback has free ports");
    let metadata = Metadata::of(&ours, "");
    let imds = Server::start(move |request| metadata.answer(request));
    let imds = imds.expect("loopback has free ports");
    let calls = Calls::new();
    let endpoint = MetadataEndpoint::At(imds.base());
    let lookup = |name: &str| (name == "AWS_ENDPOINT_URL").then(|| aws.base());
    let settings = AwsSettings::from_lookup(Surroundings::Node, HttpSettings::default(), lookup);
    let imds = Imds::new(&endpoint, calls.clone());
    let ec2 = Ec2::new(Aws::new(settings, imds, calls));
    let kept = contract::cloud(&ec2, &volume, &ours, &other).await;
    assert_eq!(kept, Ok(()));
}
