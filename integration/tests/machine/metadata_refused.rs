//! The metadata service as a container has it behind the default hop limit of one, whose answers never come, and as it is
//! when it is turned off.

use quake_integration::http::Reply;
use quake_integration::machine::{
    Kind, Lab, MachineBackend, OperatorOutput, Place, assert_reported,
};
use quake_integration::waiting::pause;
use std::time::Duration;

#[test]
fn metadata_hop_limit() {
    let Some(lab) = Lab::open("metadata-hop-limit", Kind::Containers) else {
        return;
    };
    // The connection is made, and no answer comes for longer than the agent waits.
    lab.vpc().interpose(Place::Metadata, |_, _| {
        pause(Duration::from_secs(6));
        Some(Reply::nothing())
    });
    let machine = lab.worker(lab.baked());
    machine
        .endpoint_says("identity.imds-unreachable", 60)
        .expect("it says so");
    assert_reported(
        &machine.said(),
        &[
            "identity.imds-unreachable",
            "169.254.169.254",
            "stopped answering",
        ],
    );
    // The remedy is in the record of the wait.
    let status = machine.ask_agent("/v1/status").to_string();
    assert_reported(&status, &["--http-put-response-hop-limit"]);
    assert!(
        !machine.holds("test -e /etc/kubernetes"),
        "nothing is guessed"
    );
    lab.vpc().pass(Place::Metadata);
    machine.becomes_ready(60).expect("ready once it answers");
}

#[test]
fn metadata_turned_off() {
    let Some(lab) = Lab::open("metadata-turned-off", Kind::Containers) else {
        return;
    };
    lab.vpc()
        .interpose(Place::Metadata, |_, _| Some(Reply::new(403, "")));
    let machine = lab.worker(lab.baked().short_grace());
    assert_eq!(machine.agent_fails(60), Ok(77));
    let fix = ["identity.imds-disabled", "modify-instance-metadata-options"];
    assert_reported(&machine.console(), &fix);
    assert_reported(&machine.said(), &fix);
    assert!(
        !machine.holds("test -e /etc/kubernetes"),
        "nothing is guessed"
    );
}

#[test]
fn metadata_behind_a_proxy() {
    let Some(lab) = Lab::open("metadata-behind-a-proxy", Kind::Containers) else {
        return;
    };
    // EC2 does not answer 401 to a request for a token: what stands before it does, and may stand aside.
    lab.vpc()
        .interpose(Place::Metadata, |_, _| Some(Reply::new(401, "")));
    let machine = lab.worker(lab.baked());
    let reported = machine
        .endpoint_says("identity.imds-disabled", 60)
        .expect("it says so");
    assert_reported(
        &reported,
        &[
            "answered 401 to a token request",
            "own service does not answer so",
            "curl -X PUT",
        ],
    );
    lab.vpc().pass(Place::Metadata);
    machine.becomes_ready(60).expect("ready once it answers");
}

#[test]
fn metadata_without_tokens() {
    let Some(lab) = Lab::open("metadata-without-tokens", Kind::Containers) else {
        return;
    };
    lab.vpc()
        .interpose(Place::Metadata, |_, _| Some(Reply::new(404, "")));
    let machine = lab.worker(lab.baked().short_grace());
    assert_eq!(machine.agent_fails(60), Ok(77));
    let reported = ["identity.imds-disabled", "answered 404", "curl -X PUT"];
    assert_reported(&machine.said(), &reported);
    assert_reported(&machine.console(), &["FAILED code=identity.imds-disabled"]);
}
