//! `fleet --from-console`: how nodes booted that may not leave a report, from what EC2 keeps of their consoles.

use crate::lab::Lab;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use quake_integration::agent::{Ended, run_command};
use quake_integration::http::{Reply, Request};
use quake_integration::moto::Moto;
use quake_integration::proxy::{Service, forward, refusal};
use quake_integration::skip::{SetUpError, is_root, unless_missing};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::net::SocketAddr;

const CLUSTER: &str = "c.example";

/// What EC2 says of an instance's console.
#[derive(Clone)]
enum Said {
    /// This text, at any time.
    Text(String),
    /// This text, and nothing newer: the instance is not on Nitro.
    KeptText(String),
    /// That it may not be read.
    Denied,
}

fn moto() -> Result<Moto, SetUpError> {
    if !is_root() {
        let what = "network namespaces can be made by root alone";
        return Err(SetUpError::Missing(what.to_owned()));
    }
    Moto::start()
}

fn launch(moto: &Moto) -> String {
    let tags = [
        ("KubernetesCluster", CLUSTER),
        ("kops.k8s.io/instancegroup", "nodes"),
    ];
    moto.run_instance(&tags).expect("moto launches it")
}

/// moto, but for consoles, of which it has one text for all instances.
fn answer(server: SocketAddr, consoles: &BTreeMap<String, Said>, request: &Request) -> Reply {
    let body = String::from_utf8_lossy(&request.body).into_owned();
    if !body.contains("Action=GetConsoleOutput") {
        return forward(server, request);
    }
    let is_latest = body.contains("Latest=true");
    let about = consoles
        .iter()
        .find(|(id, _)| body.contains(&format!("InstanceId={id}")));
    let text = match about.map(|(_, said)| said) {
        Some(Said::Text(text)) => text,
        Some(Said::KeptText(text)) if !is_latest => text,
        Some(Said::KeptText(_)) => {
            let message = "This instance type does not support retrieving the latest console logs.";
            return refusal(Service::Ec2, 400, "UnsupportedOperation", message);
        }
        Some(Said::Denied) => {
            let message = "You are not authorized to perform this operation.";
            return refusal(Service::Ec2, 403, "UnauthorizedOperation", message);
        }
        None => return refusal(Service::Ec2, 400, "InvalidInstanceID.NotFound", "gone"),
    };
    let text = STANDARD.encode(text);
    let body = format!(
        "<GetConsoleOutputResponse xmlns=\"http://ec2.amazonaws.com/doc/2016-11-15/\"><output>{text}</output></GetConsoleOutputResponse>"
    );
    Reply::new(200, body).with("content-type", "text/xml")
}

fn fleet(lab: &Lab, more: &[&str]) -> Ended {
    let arguments = [&["fleet", "--from-console", "--cluster", CLUSTER], more].concat();
    run_command(lab.elsewhere(&arguments))
}

fn instances(value: &Value) -> Vec<&str> {
    let all = value.as_array().into_iter().flatten();
    all.filter_map(|one| one["instance"].as_str()).collect()
}

fn ready(id: &str) -> String {
    format!(
        "[    0.000000] Linux version 6.1.0\r\nquake-agent: files done, 3 changed (at 4.0 s)\r\n\
         quake-agent: READY instance={id} cluster={CLUSTER} role=worker elapsed_ms=41234\r\n"
    )
}

#[test]
fn a_fleet_is_read_from_consoles_where_nodes_leave_no_reports() {
    let Some(moto) = unless_missing(moto()) else {
        return;
    };
    let ids: Vec<String> = (0..7).map(|_| launch(&moto)).collect();
    let gone = [("InstanceId.1", ids[6].as_str())];
    let ended = moto.call_ec2("TerminateInstances", &gone);
    ended.expect("moto ends it");
    let failed = "quake-agent: the boot failed in storage: two volumes\r\nquake-agent: fix: x\r\n\
                  quake-agent: FAILED code=storage.volume-conflict phase=storage exit=80\r\n";
    let said = [
        Said::Text(ready(&ids[0])),
        Said::KeptText(ready(&ids[1])),
        Said::Text(failed.to_owned()),
        Said::Text("Debian GNU/Linux 12\r\nlogin: ".to_owned()),
        Said::Text(String::new()),
        Said::Denied,
        Said::Text(ready(&ids[6])),
    ];
    let consoles: BTreeMap<String, Said> = ids.iter().cloned().zip(said).collect();
    let server = moto.address();
    let lab = Lab::with_aws(move |request| answer(server, &consoles, request));
    let Some(lab) = unless_missing(lab) else {
        return;
    };
    let all = fleet(&lab, &["--output", "json"]);
    assert_eq!(all.status, 1, "{}", all.text());
    let reported = all.summary();
    let rows: Vec<&str> = reported["rows"]
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(|row| row["instance"]["id"].as_str())
        .collect();
    assert_eq!(
        rows.len(),
        3,
        "the terminated instance is left out: {reported}"
    );
    assert_eq!(
        (&reported["ready"], &reported["failed"]),
        (&json!(2), &json!(1))
    );
    assert_eq!(reported["failures"][0]["code"], "storage.volume-conflict");
    assert_eq!(instances(&reported["noReport"]), [ids[3].as_str()]);
    assert_eq!(instances(&reported["noOutput"]), [ids[4].as_str()]);
    let why = reported["unreadable"][0]["why"]
        .as_str()
        .unwrap_or_default();
    assert!(why.contains("ec2:GetConsoleOutput"), "{reported}");
    // One instance is asked twice, for it is not on Nitro.
    assert_eq!(reported["calls"]["ec2:GetConsoleOutput"], 7, "{reported}");
    let text = fleet(&lab, &["--limit", "2"]).stdout;
    for wanted in [
        "--limit leaves out 4 more",
        "API calls: ec2:DescribeInstances 1, ec2:GetConsoleOutput ",
    ] {
        assert!(text.contains(wanted), "{text}");
    }
}

#[test]
fn an_operator_who_may_read_no_console_is_told_what_to_allow() {
    let Some(moto) = unless_missing(moto()) else {
        return;
    };
    let consoles = BTreeMap::from([(launch(&moto), Said::Denied)]);
    let server = moto.address();
    let lab = Lab::with_aws(move |request| answer(server, &consoles, request));
    let Some(lab) = unless_missing(lab) else {
        return;
    };
    let ended = fleet(&lab, &[]);
    assert_eq!(ended.status, 77, "{}", ended.text());
    assert!(
        ended.stderr.contains("boot.console-denied"),
        "{}",
        ended.stderr
    );
    assert!(
        ended.stderr.contains("allow ec2:GetConsoleOutput"),
        "{}",
        ended.stderr
    );
    let none =
        run_command(lab.elsewhere(&["fleet", "--from-console", "--cluster", "other.example"]));
    assert_eq!(none.status, 1, "{}", none.text());
    assert!(
        none.stdout
            .starts_with("no instance of the cluster was read"),
        "{}",
        none.stdout
    );
    let nameless = run_command(lab.elsewhere(&["fleet", "--from-console"]));
    assert_eq!(nameless.status, 64, "{}", nameless.text());
}
