//! The EC2 port keeps the contract of every cloud, on EC2 as moto plays it and a proxy that adds what moto lacks.

mod node;

use node::{aws_at, serve};
use quake_host::aws::Ec2;
use quake_integration::ec2::{Ec2 as Region, Rules};
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
    let server = serve(move |request| answering.answer(&caller, request));
    let (aws, _imds) = aws_at(&server.base(), &ours);
    let ec2 = Ec2::new(aws);
    let kept = contract::cloud(&ec2, &volume, &ours, &other).await;
    assert_eq!(kept, Ok(()));
    assert_eq!(contract::consoles(&ec2, &ours).await, Ok(()));
}
