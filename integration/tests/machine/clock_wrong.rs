//! A machine whose clock is years ahead, and AWS that compares the time of each request with its own.

use quake_integration::http::{Reply, Request};
use quake_integration::imds::{ACCESS_KEY_ID, ROLE, SECRET_ACCESS_KEY, SESSION_TOKEN};
use quake_integration::machine::{
    Hardware, Kind, Lab, MachineBackend, OperatorOutput, Place, assert_reported,
};
use quake_integration::proxy::{Service, refusal};
use quake_integration::waiting::wait_until;
use std::time::{SystemTime, UNIX_EPOCH};

/// When the machine believes to be. Not in the past: an init that is newer sets the clock to its own birth.
const THEN: &str = "2035-01-01T00:00:00";

/// When the role's credentials end: by the machine's clock they are over before they are read.
const CREDENTIALS_END: &str = "2034-01-01T00:00:00Z";

/// When AWS answers, by its own clock.
const ANSWERED: &str = "Sat, 21 Nov 2026 00:00:00 GMT";

#[test]
fn clock_wrong() {
    let Some(lab) = Lab::open("clock-wrong", Kind::Emulated) else {
        return;
    };
    let facts = lab.cluster().launch("workers");
    lab.vpc().interpose(Place::Aws, |_, it| too_skewed(it));
    lab.vpc()
        .interpose(Place::Metadata, |_, it| credentials(it));
    let hardware = Hardware {
        clock: Some(THEN.to_owned()),
        ..Hardware::default()
    };
    let machine = lab.emulated(&facts, lab.baked(), hardware);
    assert_eq!(machine.output("date +%Y").trim(), "2035");
    let reported = machine
        .endpoint_says("identity.clock-skew", 60)
        .expect("it says so");
    assert_reported(
        &reported,
        &["s3:GetObject", "s ahead of AWS", "chronyc makestep"],
    );
    assert_reported(&machine.said(), &["identity.clock-skew", "s ahead of AWS"]);
    assert_reported(
        &machine.unit_shows("StatusText"),
        &["config waits", "identity.clock-skew"],
    );
    let second = machine.second();
    let on_console = || machine.console().contains("identity.clock-skew");
    assert!(
        wait_until(second * 60, on_console),
        "the console says so: {}",
        machine.console()
    );
    let is_untouched = "! test -e /etc/kubernetes && ! test -e /usr/local/bin/kubelet";
    assert!(machine.holds(is_untouched), "nothing is done meanwhile");
    let now = SystemTime::now().duration_since(UNIX_EPOCH);
    let now = now.expect("it is after 1970").as_secs();
    machine.output(&format!("date --set=@{now}"));
    machine
        .becomes_ready(90)
        .expect("ready once the clock is right");
    assert_reported(&machine.console(), &["quake-agent: READY"]);
    let restarts = machine.unit_shows("NRestarts");
    assert_eq!(restarts, "0", "one boot waits it out");
}

/// What S3 refuses of the machine: it takes fifteen minutes at most, and being right to the year is enough here.
fn too_skewed(request: &Request) -> Option<Reply> {
    let signed = request.header("x-amz-date")?;
    let message = "The difference between the request time and the current time is too large.";
    signed.starts_with("2035").then(|| {
        refusal(Service::new(request), 403, "RequestTimeTooSkewed", message).with("date", ANSWERED)
    })
}

/// Credentials that end some day, as those of a role do.
fn credentials(request: &Request) -> Option<Reply> {
    let path = format!("/latest/meta-data/iam/security-credentials/{ROLE}");
    (request.path() == path).then(|| {
        let document = format!(
            r#"{{"Code":"Success","Type":"AWS-HMAC","AccessKeyId":"{ACCESS_KEY_ID}","SecretAccessKey":"{SECRET_ACCESS_KEY}","Token":"{SESSION_TOKEN}","Expiration":"{CREDENTIALS_END}"}}"#
        );
        Reply::new(200, document)
    })
}
