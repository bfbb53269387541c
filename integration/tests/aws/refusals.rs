//! What an operator is told when AWS or the metadata service refuses.

use crate::lab::Lab;
use quake_integration::agent::{Ended, run_command};
use quake_integration::http::{Reply, Request};
use quake_integration::proxy::{Service, refusal};
use quake_integration::skip::{SetUpError, unless_missing};
use serde_json::Value;

const SIMULATED: &str = "cloud,disks,kernel,units,probes";

/// A boot that fails, with nothing leaked; `None` where it cannot be tried.
fn fail(
    lab: Result<Lab, SetUpError>,
    prepare: impl Fn(&mut Lab),
    more: &[&str],
) -> Option<(Ended, Value)> {
    let mut lab = unless_missing(lab)?;
    prepare(&mut lab);
    let mut arguments = vec!["--exit-when-ready"];
    arguments.extend(more);
    let ended = run_command(lab.boot(SIMULATED, &arguments));
    assert_eq!(
        lab.leaks(&[&ended.stdout, &ended.stderr]),
        Vec::<String>::new()
    );
    let fault = ended.summary()["fault"].clone();
    Some((ended, fault))
}

fn instance(lab: &mut Lab) {
    lab.add_instance("i-0123456789abcdef0", "workers", &[]);
}

fn answer_all(status: u16, code: &'static str, message: &'static str) -> Result<Lab, SetUpError> {
    Lab::with_aws(move |request: &Request| refusal(Service::new(request), status, code, message))
}

#[test]
fn a_refused_object_names_the_action_and_the_object() {
    let lab = answer_all(403, "AccessDenied", "Access Denied");
    let Some((ended, fault)) = fail(lab, instance, &["--denied-grace", "1s"]) else {
        return;
    };
    assert_eq!(
        (ended.status, &fault["code"]),
        (77, &"config.store-denied".into()),
        "{fault}"
    );
    let reported = fault.to_string();
    for part in [
        "s3:GetObject",
        "arn:aws:s3:::quake-example-state/demo.quake.example/",
    ] {
        assert!(reported.contains(part), "{part} in {reported}");
    }
}

#[test]
fn a_clock_that_is_off_is_named_and_waited_for() {
    let message = "The difference between the request time and the current time is too large.";
    let lab = answer_all(403, "RequestTimeTooSkewed", message);
    let Some((ended, fault)) = fail(lab, instance, &["--deadline", "4s"]) else {
        return;
    };
    assert_eq!(
        (ended.status, &fault["code"]),
        (75, &"identity.clock-skew".into()),
        "{fault}"
    );
    assert!(
        ended.stdout.contains("\"event\":\"waiting\""),
        "{}",
        ended.text()
    );
}

#[test]
fn a_store_that_only_throttles_is_waited_for_until_the_deadline() {
    let lab = answer_all(503, "SlowDown", "Please reduce your request rate.");
    let Some((ended, fault)) = fail(lab, instance, &["--deadline", "4s"]) else {
        return;
    };
    assert_eq!(
        (ended.status, &fault["code"]),
        (75, &"config.store-unreachable".into()),
        "{fault}"
    );
}

#[test]
fn a_metadata_service_that_is_not_there_is_named() {
    let lab = answer_all(500, "InternalError", "");
    let Some((ended, fault)) = fail(lab, |_| {}, &["--deadline", "5s"]) else {
        return;
    };
    assert_eq!(
        (ended.status, &fault["code"]),
        (75, &"identity.imds-unreachable".into()),
        "{fault}"
    );
    assert!(fault.to_string().contains("169.254.169.254"), "{fault}");
}

#[test]
fn a_metadata_service_that_is_turned_off_is_named_with_the_command_that_turns_it_on() {
    let lab = answer_all(500, "InternalError", "");
    let refuse = |lab: &mut Lab| lab.add_metadata(|_| Reply::new(403, ""));
    let Some((ended, fault)) = fail(lab, refuse, &["--denied-grace", "1s"]) else {
        return;
    };
    assert_eq!(
        (ended.status, &fault["code"]),
        (77, &"identity.imds-disabled".into()),
        "{fault}"
    );
    let remedy = fault["remedy"].as_str().unwrap_or_default();
    assert!(
        remedy.contains("modify-instance-metadata-options"),
        "{fault}"
    );
}
