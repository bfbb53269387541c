//! S3 that does not answer for a while.

use quake_integration::http::{Reply, Request};
use quake_integration::machine::{
    Kind, Lab, MachineBackend, OperatorOutput, Place, assert_reported,
};
use quake_integration::proxy::Service;
use quake_integration::waiting::wait_until;

/// How many requests of S3 come to nothing before it answers. At the agent's pauses, which double up to half a minute,
/// these are some ten seconds: a longer outage is more of the same.
const LOST: usize = 10;

#[test]
fn store_unreachable() {
    let Some(lab) = Lab::open("store-unreachable", Kind::Containers) else {
        return;
    };
    lab.vpc().interpose(Place::Aws, |_, request: &Request| {
        (Service::new(request) == Service::S3).then(Reply::nothing)
    });
    let machine = lab.worker(lab.baked());
    let reported = machine
        .endpoint_says("config.store-unreachable", 60)
        .expect("it says so");
    assert_reported(
        &reported,
        &["s3://quake-example-state/", "was not answered"],
    );
    let is_lost = |line: &&String| line.starts_with("Aws ") && line.ends_with(" 0");
    let lost = || lab.vpc().requests().iter().filter(is_lost).count();
    let second = machine.second();
    assert!(
        wait_until(second * 120, || lost() >= LOST),
        "it goes on asking"
    );
    assert_reported(
        &machine.unit_shows("StatusText"),
        &["config waits", "config.store-unreachable"],
    );
    let is_untouched = "! test -e /etc/kubernetes && ! test -e /usr/local/bin/kubelet";
    assert!(machine.holds(is_untouched), "nothing is done meanwhile");
    let unready = machine.run("quake-agent wait --for=ready --timeout 1s", second * 10);
    assert_eq!(unready.map(|ran| ran.status), Ok(1));
    lab.vpc().pass(Place::Aws);
    machine.becomes_ready(120).expect("ready once S3 answers");
    assert_reported(&machine.console(), &["quake-agent: READY"]);
    let restarts = machine.unit_shows("NRestarts");
    assert_eq!(restarts, "0", "one boot waits it out");
}
