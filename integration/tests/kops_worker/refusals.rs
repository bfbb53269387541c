//! Workers that kops-controller refuses, or that refuse it.

use crate::lab::{Differs, Lab};
use quake_integration::agent::{Ended, run_command};
use quake_integration::controller::Turn;
use quake_integration::http::Reply;

/// As long as a test can wait for a refusal to stay one.
const SHORT: [&str; 4] = ["--denied-grace", "1s", "--deadline", "4s"];

/// A boot that fails; its code and exit status are these.
fn fails(lab: &Lab, code: &str, status: i32) -> Ended {
    let ended = run_command(lab.boot(&SHORT));
    let summary = ended.summary();
    assert_eq!(summary["fault"]["code"], code, "{}", ended.text());
    assert_eq!(ended.status, status, "{summary}");
    let kept = lab.root().join("var/lib/quake-agent/certificates");
    assert!(!kept.exists(), "{code}: nothing is kept");
    let leaks = lab.leaks(&[&ended.text()]);
    assert!(leaks.is_empty(), "{leaks:?}");
    ended
}

#[test]
fn each_refusal_of_a_real_server_has_its_code() {
    for (status, body, code, exit) in [
        (
            403,
            "failed to verify token",
            "config.controller-denied",
            77,
        ),
        (409, "node already registered", "config.node-exists", 77),
        (500, "internal error", "config.controller-failing", 75),
        (404, "404 page not found", "config.controller-failing", 75),
        (
            400,
            "failed to build node config",
            "config.controller-failing",
            75,
        ),
        (
            400,
            "unexpected APIVersion",
            "config.controller-rejected",
            78,
        ),
        (0, "", "config.controller-unreachable", 75),
    ] {
        let Some(lab) = Lab::open() else { return };
        let turn = Turn::Reply(Reply::new(status, body));
        lab.controller.turn(std::iter::repeat_n(turn, 1000));
        let ended = fails(&lab, code, exit);
        assert!(
            ended.text().contains(body),
            "{status}: it says what was answered"
        );
        let requested = lab.controller.seen().len();
        assert!(
            requested < 40,
            "{status}: asked {requested} times in four seconds"
        );
    }
}

#[test]
fn a_server_that_logs_what_it_was_sent_does_not_make_the_agent_show_it() {
    let Some(lab) = Lab::open() else { return };
    lab.controller.turn(std::iter::repeat_n(Turn::Echo, 1000));
    fails(&lab, "config.controller-denied", 77);
}

#[test]
fn a_server_that_is_not_believed_is_told_of_with_whom_it_is_of() {
    let differs = Differs {
        has_other_ca: true,
        ..Differs::default()
    };
    let Some(lab) = Lab::with(&differs) else {
        return;
    };
    let ended = fails(&lab, "config.controller-untrusted", 77);
    let reported = ended.summary()["fault"]["summary"].to_string();
    assert!(
        reported.contains("signed by CN=kubernetes-ca (key "),
        "{reported}"
    );
    assert!(
        reported.contains("trusted are CN=kubernetes-ca (key "),
        "{reported}"
    );
    assert_eq!(lab.controller.seen().len(), 0, "nothing was sent to it");
}

#[test]
fn an_address_that_stands_for_none_is_waited_out() {
    let differs = Differs {
        address: Some("203.0.113.123"),
        ..Differs::default()
    };
    let Some(lab) = Lab::with(&differs) else {
        return;
    };
    let ended = fails(&lab, "config.controller-unregistered", 75);
    assert!(ended.text().contains("203.0.113.123"), "{}", ended.text());
}

#[test]
fn a_worker_of_another_launch_template_is_told_to_be_replaced() {
    let differs = Differs {
        appended: "packages:\n- jq\n",
        ..Differs::default()
    };
    let Some(lab) = Lab::with(&differs) else {
        return;
    };
    let ended = fails(&lab, "config.hash-mismatch", 78);
    let fault = &ended.summary()["fault"];
    let reported = format!("{fault}");
    assert!(reported.contains("has the hash"), "{reported}");
    assert!(
        !lab.root()
            .join("var/lib/quake-agent/bootstrap.json")
            .exists()
    );
}
