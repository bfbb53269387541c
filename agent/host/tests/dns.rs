//! The DNS port keeps the contract of every name service, on Route 53 as moto plays it and a proxy that refuses what moto takes.

mod node;

use node::{aws_at, serve};
use quake_host::aws::Route53;
use quake_integration::ec2::{Ec2 as Region, Rules};
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
    let server = serve(move |request| region.answer("i-0a", request));
    let (aws, _imds) = aws_at(&server.base(), "i-0123456789abcdef0");
    let route53 = Route53::new(aws);
    let zone = contract::EmptyZone {
        id: &id,
        name: "contract.example",
    };
    assert_eq!(contract::dns(&route53, &zone).await, Ok(()));
}
