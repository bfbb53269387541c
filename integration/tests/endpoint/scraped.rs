//! `/metrics`, as scrapers ask for it.

use crate::fixtures::Waiting;
use quake_integration::agent;
use quake_integration::http::{Endpoint, get_with};
use quake_integration::metrics::{Format, lint};
use quake_integration::skip::skipped;
use std::io::Write;
use std::process::{Command, Stdio};

/// What Prometheus sends.
const SCRAPER: &str =
    "application/openmetrics-text;version=1.0.0;q=0.5,text/plain;version=0.0.4;q=0.3,*/*;q=0.2";

/// The answer to who accepts this, and its media type.
fn scrape(endpoint: &Endpoint, accepts: &str) -> (String, String) {
    let answer = get_with(endpoint, "/metrics", &[("accept", accepts)]).expect("it answers");
    let kind = answer.header("content-type").unwrap_or_default().to_owned();
    (answer.text(), kind)
}

#[test]
fn metrics_keep_the_rules_of_either_format_at_every_stage() {
    let mut boot = Waiting::start();
    boot.until_it_waits();
    let keeps_the_rules = |endpoint: &Endpoint| {
        let (text, kind) = scrape(endpoint, "*/*");
        assert_eq!(kind, "text/plain; version=0.0.4; charset=utf-8");
        assert_eq!(lint(&text, Format::Text), Vec::<String>::new(), "{text}");
        let (text, kind) = scrape(endpoint, SCRAPER);
        let wanted = "application/openmetrics-text; version=1.0.0; charset=utf-8";
        assert_eq!(kind, wanted);
        assert_eq!(
            lint(&text, Format::OpenMetrics),
            Vec::<String>::new(),
            "{text}"
        );
    };
    keeps_the_rules(&boot.tcp);
    boot.until_it_is_ready();
    keeps_the_rules(&boot.unix);
}

#[test]
fn promtool_finds_nothing_amiss() {
    let mut promtool = Command::new("promtool");
    agent::clean(&mut promtool);
    promtool.args(["check", "metrics"]).stdin(Stdio::piped());
    let spawned = promtool
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn();
    let Ok(mut promtool) = spawned else {
        skipped("there is no promtool on the path");
        return;
    };
    let mut boot = Waiting::start();
    boot.until_it_waits();
    boot.until_it_is_ready();
    let (text, _) = scrape(&boot.tcp, "text/plain");
    let given = promtool
        .stdin
        .take()
        .map(|mut input| input.write_all(text.as_bytes()));
    assert!(
        given.is_some_and(|given| given.is_ok()),
        "it reads its input"
    );
    let ended = promtool.wait_with_output().expect("it ends");
    let said = [ended.stdout, ended.stderr].concat();
    let said = String::from_utf8_lossy(&said);
    assert!(
        ended.status.success() && said.trim().is_empty(),
        "{said}{text}"
    );
}
