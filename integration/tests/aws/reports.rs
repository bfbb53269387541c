//! Reports that nodes leave in their state store, and what `fleet` tells of them from elsewhere.

use crate::lab::{ASSETS, BUCKET, KEY, Lab, objects, programs};
use quake_integration::agent::{Ended, run_command};
use quake_integration::http::{Reply, Request};
use quake_integration::moto::Moto;
use quake_integration::proxy::{Service, forward, refusal};
use quake_integration::skip::{SetUpError, is_root, unless_missing};
use serde_json::Value;
use std::net::SocketAddr;

/// What is not real on these nodes.
const SIMULATED: &str = "cloud,disks,kernel,units,probes";

/// The nodes: one that becomes ready, and one that has no usable configuration.
const READY: &str = "i-0aaaaaaaaaaaaaaa1";
const BROKEN: &str = "i-0bbbbbbbbbbbbbbb2";

fn moto() -> Result<Moto, SetUpError> {
    if !is_root() {
        let what = "network namespaces can be made by root alone";
        return Err(SetUpError::Missing(what.to_owned()));
    }
    let moto = Moto::start()?;
    let put = |bucket: &str, key: &str, bytes: &[u8]| {
        let put = moto.put_object(bucket, key, bytes);
        put.map_err(|error| SetUpError::Failed(error.to_string()))
    };
    for (key, bytes) in objects(&["ca", "kubelet", "kube-proxy"]) {
        put(BUCKET, &key, &bytes)?;
    }
    for (path, bytes) in programs().all() {
        put(ASSETS, path.trim_start_matches('/'), bytes)?;
    }
    Ok(moto)
}

/// What AWS answers where nothing may be written.
fn read_only(server: SocketAddr, request: &Request) -> Reply {
    match request.method.as_str() {
        "PUT" => refusal(Service::S3, 403, "AccessDenied", "Access Denied"),
        _ => forward(server, request),
    }
}

fn boot(lab: &Lab, more: &[&str]) -> (Ended, Value) {
    let arguments = [&["--exit-when-ready"], more].concat();
    let ended = run_command(lab.boot(SIMULATED, &arguments));
    let shown = [ended.stdout.as_str(), ended.stderr.as_str()];
    assert_eq!(lab.leaks(&shown), Vec::<String>::new());
    let summary = ended.summary();
    (ended, summary)
}

fn fleet(lab: &Lab, more: &[&str]) -> Ended {
    let store = format!("s3://{BUCKET}/{KEY}");
    let arguments = [&["fleet", "--state-store", &store], more].concat();
    run_command(lab.elsewhere(&arguments))
}

fn warnings(summary: &Value) -> Vec<&Value> {
    let warnings = summary["warnings"].as_array().into_iter().flatten();
    warnings
        .filter(|warning| {
            let code = warning["code"].as_str().unwrap_or_default();
            code.starts_with("boot.report")
        })
        .collect()
}

#[test]
fn nodes_leave_their_reports_and_fleet_tells_of_them_from_elsewhere() {
    let Some(moto) = unless_missing(moto()) else {
        return;
    };
    let server = moto.address();
    let lab = || unless_missing(Lab::with_aws(move |request| forward(server, request)));
    let (Some(mut good), Some(mut bad)) = (lab(), lab()) else {
        return;
    };
    let none = fleet(&good, &[]);
    assert_eq!(none.status, 1, "{}", none.text());
    assert!(
        none.stdout.starts_with("no boot is reported\n"),
        "{}",
        none.text()
    );
    assert!(
        none.stdout.contains("fleet --from-console"),
        "{}",
        none.text()
    );

    let pins = programs().pins(&format!("{}/{ASSETS}", good.endpoint()));
    good.add_instance(READY, "workers", &pins);
    good.plant_region(READY, "workers");
    let (ended, summary) = boot(&good, &[]);
    assert_eq!(
        (ended.status, warnings(&summary).len()),
        (0, 0),
        "{summary}"
    );
    assert_eq!(
        summary["calls"]["s3:PutObject"],
        Value::Null,
        "counted before"
    );
    let one = fleet(&good, &["--output", "json"]);
    assert_eq!(one.status, 0, "{}", one.text());

    let spec = format!("{KEY}/cluster.spec");
    let broken = moto.put_object(BUCKET, &spec, b"spec: [");
    broken.expect("moto takes it");
    bad.add_instance(BROKEN, "workers", &[]);
    let (ended, _) = boot(&bad, &[]);
    assert_eq!(ended.status, 78, "{}", ended.text());
    let both = fleet(&good, &["--output", "json"]);
    assert_eq!(both.status, 1, "{}", both.text());
    check_rows(&both.summary());
    let text = fleet(&good, &["--failed", "--since", "1h"]);
    assert!(
        text.stdout.contains(BROKEN) && !text.stdout.lines().any(|line| line.starts_with(READY))
    );
    assert!(
        text.stdout.contains("2 boots: 1 ready, 1 failed"),
        "{}",
        text.stdout
    );
}

/// What `fleet` says of the two nodes.
fn check_rows(reported: &Value) {
    let rows = reported["rows"].as_array().expect("there are rows");
    let of = |id: &str| rows.iter().find(|row| row["instance"]["id"] == id);
    let (ready, broken) = (of(READY).expect("a row"), of(BROKEN).expect("a row"));
    assert_eq!(
        (&ready["result"], &ready["instanceGroup"], &ready["role"]),
        (&"ready".into(), &"workers".into(), &"worker".into())
    );
    let digest = ready["agent"]["digest"].as_str().unwrap_or_default();
    assert!(digest.starts_with("sha256:"), "{ready}");
    assert!(ready["bytesFetched"].as_u64() > Some(100_000), "{ready}");
    assert_eq!(
        (
            &broken["result"],
            &broken["fault"]["phase"],
            &broken["cluster"]
        ),
        (&"failed".into(), &"config".into(), &Value::Null),
        "{broken}"
    );
}

#[test]
fn a_report_that_may_not_be_written_is_one_warning_and_changes_nothing() {
    let Some(moto) = unless_missing(moto()) else {
        return;
    };
    let server = moto.address();
    let lab = Lab::with_aws(move |request| read_only(server, request));
    let Some(mut lab) = unless_missing(lab) else {
        return;
    };
    let pins = programs().pins(&format!("{}/{ASSETS}", lab.endpoint()));
    lab.add_instance(READY, "workers", &pins);
    lab.plant_region(READY, "workers");
    let (ended, first) = boot(&lab, &[]);
    assert_eq!((ended.status, &first["result"]), (0, &"ready".into()));
    let reported = warnings(&first);
    assert_eq!(reported.len(), 1, "{first}");
    assert_eq!(reported[0]["code"], "boot.report-denied");
    let remedy = reported[0]["remedy"].as_str().unwrap_or_default();
    let object = format!("arn:aws:s3:::{BUCKET}/{KEY}/boot-reports/workers/{READY}.json");
    assert!(
        remedy.contains(&format!("allow s3:PutObject on {object}")),
        "{remedy}"
    );
    let (ended, second) = boot(&lab, &[]);
    assert_eq!((ended.status, warnings(&second).len()), (0, 0), "{second}");
    assert!(
        ended.stdout.contains("\"event\":\"notification-failed\""),
        "the ledger has it"
    );
    let (_, off) = boot(&lab, &["--no-boot-report"]);
    assert_eq!(warnings(&off).len(), 0);
}

#[test]
fn a_store_that_may_not_be_listed_is_an_answer_with_its_own_status() {
    let lab = Lab::with_aws(|_| refusal(Service::S3, 403, "AccessDenied", "Access Denied"));
    let Some(lab) = unless_missing(lab) else {
        return;
    };
    let ended = fleet(&lab, &[]);
    assert_eq!(ended.status, 77, "{}", ended.text());
    assert!(ended.stderr.contains("s3:ListBucket"), "{}", ended.stderr);
    assert_eq!(ended.stdout, "");
}
