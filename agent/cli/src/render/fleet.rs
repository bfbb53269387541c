//! The boots of a cluster, for people and for programs.

use super::table::table;
use super::throttled::throttled_text;
use quake_diagnose::fleet::{Durations, Failures, Fleet, Percentiles};
use quake_model::boot_report::BootReport;
use quake_model::location::Location;
use serde_json::{Value, json};
use std::fmt::Write;

/// How many instances of one failure are named; the rows have all of them.
const NAMED: usize = 8;

/// What is said of no reports. kops gives the roles of its nodes no right to write to the state store.
const NOTHING: &str = "no boot is reported
  kops 1.32 and newer: workers are given no place for reports, and kops' roles may write none into the store
  their consoles say how they booted: quake-agent fleet --from-console --cluster NAME
";

/// The whole answer as one object.
pub(crate) fn fleet_json(fleet: &Fleet, config_base: &Location) -> Value {
    let mut value = json!({
        "schemaVersion": "quake-agent/fleet/v1",
        "stateStore": config_base,
        "allReady": fleet.is_ready(),
    });
    let answer = serde_json::to_value(fleet).unwrap_or_default();
    if let (Some(value), Value::Object(answer)) = (value.as_object_mut(), answer) {
        value.extend(answer);
    }
    value
}

/// Rows, failures, durations, and what could not be read.
pub(crate) fn fleet_text(fleet: &Fleet) -> String {
    let mut text = String::new();
    if !fleet.rows.is_empty() {
        let header = [
            "INSTANCE", "GROUP", "ENDED", "RESULT", "TOOK", "AGENT", "FAULT",
        ];
        text.push_str(&table(header, fleet.rows.iter().map(row).collect()));
        text.push('\n');
    }
    text.push_str(&counts(fleet));
    text.push_str(&details_text(fleet));
    text
}

/// Failures, durations, and what could not be read.
pub(super) fn details_text(fleet: &Fleet) -> String {
    let mut text = String::new();
    if !fleet.failures.is_empty() {
        text.push_str("\nFailures\n");
        fleet
            .failures
            .iter()
            .for_each(|failures| text.push_str(&failures_text(failures)));
    }
    text.push_str(&durations_text(&fleet.durations));
    text.push_str(&throttled_text(&fleet.throttled));
    if !fleet.unreadable.is_empty() {
        text.push_str("\nNot read\n");
        for unread in &fleet.unreadable {
            let _ = writeln!(text, "  {}: {}", unread.location, unread.why);
        }
    }
    text
}

fn row(boot: &BootReport) -> [String; 7] {
    let result = serde_json::to_value(boot.result).unwrap_or_default();
    [
        boot.instance.id.clone(),
        boot.instance_group.clone(),
        boot.ended_at.to_string(),
        result.as_str().unwrap_or_default().to_owned(),
        seconds(boot.took_ms),
        boot.agent.version.clone(),
        fault_cell(boot),
    ]
}

/// What a boot failed of, and where; empty of a ready one.
pub(super) fn fault_cell(boot: &BootReport) -> String {
    let fault = boot.fault.as_ref().map(|fault| match &fault.phase {
        Some(phase) => format!("{} in {phase}", fault.code),
        None => fault.code.clone(),
    });
    fault.unwrap_or_default()
}

fn counts(fleet: &Fleet) -> String {
    if fleet.boots == 0 {
        return NOTHING.to_owned();
    }
    let mut text = format!("{} boots: {} ready", fleet.boots, fleet.ready);
    for (count, what) in [
        (fleet.failed, "failed"),
        (fleet.stopped, "stopped"),
        (fleet.unreadable.len(), "more not read"),
    ] {
        if count > 0 {
            let _ = write!(text, ", {count} {what}");
        }
    }
    text.push('\n');
    text
}

fn failures_text(failures: &Failures) -> String {
    let named = failures.instances.iter().take(NAMED);
    let mut named: Vec<&str> = named.map(String::as_str).collect();
    if failures.instances.len() > NAMED {
        named.push("...");
    }
    let (count, code, class) = (failures.count, &failures.code, &failures.class);
    let mut text = format!("  {count} x {code} ({class}): {}\n", named.join(" "));
    let _ = match failures.remedy {
        Some(remedy) => writeln!(text, "    fix: {remedy}"),
        None => writeln!(
            text,
            "    this code is of a newer agent: ask that one to explain it"
        ),
    };
    text
}

/// Who and what, how many, the middle and the slow end.
fn durations_text(durations: &[Durations]) -> String {
    let mut rows = Vec::new();
    for of_group in durations {
        let group = of_group.instance_group.as_deref().unwrap_or("(all)");
        let mut add = |what: &str, took: Percentiles| {
            let (count, p50, p95) = (took.count, seconds(took.p50_ms), seconds(took.p95_ms));
            rows.push([
                group.to_owned(),
                what.to_owned(),
                count.to_string(),
                p50,
                p95,
            ]);
        };
        if let Some(whole) = of_group.total {
            add("(boot)", whole);
        }
        for phase in &of_group.phases {
            add(&phase.phase, phase.took);
        }
    }
    if rows.is_empty() {
        return String::new();
    }
    let header = ["GROUP", "PHASE", "COUNT", "P50", "P95"];
    format!("\n{}", table(header, rows))
}

pub(super) fn seconds(millis: u64) -> String {
    format!("{}.{}s", millis / 1000, millis % 1000 / 100)
}

#[cfg(test)]
mod tests {
    use super::*;
    use quake_diagnose::fleet::{Found, Question, fleet};

    fn report(id: &str, result: &str, fault: &str) -> Found {
        let text = format!(
            r#"{{"schemaVersion":"quake-agent/boot-report/v1","boot":"b","command":"boot",
            "instance":{{"id":"{id}","type":"m5.large","zone":"z","image":"ami-1"}},
            "instanceGroup":"nodes","agent":{{"version":"0.1.0"}},"result":"{result}",
            "exitStatus":0,"started":0,"ended":61500,"tookMs":61500,
            "phases":[{{"phase":"assets","status":"done","startedMs":5,"tookMs":1250,"retries":0}}],
            "fault":{fault},"warnings":{{}},"bytesFetched":0,"calls":{{}}}}"#
        );
        Found {
            location: format!("s3://store/{id}.json"),
            bytes: Ok(text.into_bytes()),
        }
    }

    fn some() -> Fleet {
        let fault =
            r#"{"phase":"config","code":"config.yaml-syntax","class":"invalid","summary":"x"}"#;
        let gone = Found {
            location: "s3://store/i-3.json".to_owned(),
            bytes: Err("it is gone".to_owned()),
        };
        let found = [
            report("i-1", "ready", "null"),
            report("i-2", "failed", fault),
            gone,
        ];
        fleet(&found, Question::default())
    }

    #[test]
    fn the_text_tells_who_failed_at_what_and_how_long_boots_take() {
        let text = fleet_text(&some());
        for line in [
            "INSTANCE  GROUP  ENDED                     RESULT  TOOK   AGENT  FAULT",
            "i-1       nodes  1970-01-01T00:01:01.500Z  ready   61.5s  0.1.0",
            "i-2       nodes  1970-01-01T00:01:01.500Z  failed  61.5s  0.1.0  config.yaml-syntax in config",
            "2 boots: 1 ready, 1 failed, 1 more not read",
            "  1 x config.yaml-syntax (invalid): i-2",
            "nodes  assets  2      1.2s   1.2s",
            "(all)  (boot)  1      61.5s  61.5s",
            "  s3://store/i-3.json: it is gone",
        ] {
            assert!(text.lines().any(|it| it == line), "{line} in\n{text}");
        }
    }

    #[test]
    fn nothing_reported_is_said() {
        let nothing = fleet(&[], Question::default());
        let text = fleet_text(&nothing);
        assert!(text.starts_with("no boot is reported\n"), "{text}");
        assert!(text.contains("fleet --from-console --cluster"), "{text}");
    }

    #[test]
    fn the_object_has_its_schema_and_everything_of_the_text() {
        let base: Location = "s3://store/c".parse().expect("a literal");
        let value = fleet_json(&some(), &base);
        assert_eq!(value["schemaVersion"], "quake-agent/fleet/v1");
        assert_eq!(
            (&value["allReady"], &value["boots"], &value["failed"]),
            (&json!(false), &json!(2), &json!(1))
        );
        assert_eq!(value["rows"][0]["instance"]["id"], "i-1");
        assert_eq!(value["failures"][0]["code"], "config.yaml-syntax");
        assert_eq!(value["durations"][0]["phases"][0]["p95Ms"], 1250);
        assert_eq!(value["unreadable"][0]["location"], "s3://store/i-3.json");
    }
}
