//! What the consoles of a cluster say, for people and for programs.

use super::fleet::{details_text, fault_cell, seconds};
use super::table::table;
use quake_diagnose::fleet::{ConsoleFleet, Quiet};
use quake_model::boot_report::BootReport;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::fmt::Write;

/// How many instances that say nothing are named for each reason; the object has all of them.
const NAMED: usize = 50;

/// The whole answer as one object.
pub(crate) fn consoles_json(
    fleet: &ConsoleFleet,
    cluster: &str,
    calls: &BTreeMap<String, u64>,
) -> Value {
    let mut value = json!({
        "schemaVersion": "quake-agent/fleet-consoles/v1",
        "source": "console",
        "cluster": cluster,
        "allReady": fleet.is_ready(),
        "calls": calls,
    });
    let answer = serde_json::to_value(fleet).unwrap_or_default();
    if let (Some(value), Value::Object(answer)) = (value.as_object_mut(), answer) {
        value.extend(answer);
    }
    value
}

/// Rows, counts, failures, durations, and the instances that say nothing.
pub(crate) fn consoles_text(fleet: &ConsoleFleet, calls: &BTreeMap<String, u64>) -> String {
    let mut text = String::new();
    let boots = &fleet.fleet;
    if !boots.rows.is_empty() {
        let header = ["INSTANCE", "GROUP", "LAUNCHED", "RESULT", "TOOK", "FAULT"];
        text.push_str(&table(header, boots.rows.iter().map(row).collect()));
        text.push('\n');
    }
    text.push_str(&counts(fleet));
    text.push_str(&details_text(boots));
    for (title, them) in reasons(fleet) {
        text.push_str(&quiet_text(title, them));
    }
    let calls = calls
        .iter()
        .map(|(action, count)| format!("{action} {count}"));
    let calls = calls.collect::<Vec<_>>().join(", ");
    let _ = writeln!(text, "\nAPI calls: {calls}");
    text
}

/// Why an instance has no row, and those that have none for it.
fn reasons(fleet: &ConsoleFleet) -> [(&'static str, &[Quiet]); 3] {
    [
        ("boot not ended", &fleet.in_progress),
        ("never spoke", &fleet.no_report),
        ("no console output yet", &fleet.no_output),
    ]
}

fn row(boot: &BootReport) -> [String; 6] {
    let result = serde_json::to_value(boot.result).unwrap_or_default();
    // A console has the duration of ready boots alone.
    let took = match boot.took_ms {
        0 => "-".to_owned(),
        known => seconds(known),
    };
    [
        boot.instance.id.clone(),
        boot.instance_group.clone(),
        boot.started_at.to_string(),
        result.as_str().unwrap_or_default().to_owned(),
        took,
        fault_cell(boot),
    ]
}

fn counts(fleet: &ConsoleFleet) -> String {
    let boots = &fleet.fleet;
    let mut text = match fleet.instances {
        0 => "no instance of the cluster was read".to_owned(),
        instances => format!("{instances} instances: {} ready", boots.ready),
    };
    let ended = [
        (boots.failed, "failed"),
        (boots.stopped, "stopped"),
        (boots.unreadable.len(), "not read"),
    ];
    let quiet = reasons(fleet).map(|(title, them)| (them.len(), title));
    for (count, what) in ended.into_iter().chain(quiet) {
        if count > 0 {
            let _ = write!(text, ", {count} {what}");
        }
    }
    if fleet.omitted > 0 {
        let _ = write!(text, "; --limit leaves out {} more", fleet.omitted);
    }
    text.push('\n');
    text
}

fn quiet_text(title: &str, them: &[Quiet]) -> String {
    let mut text = String::new();
    if them.is_empty() {
        return text;
    }
    let mut letters = title.chars();
    let first = letters.next().map(|letter| letter.to_ascii_uppercase());
    let _ = writeln!(text, "\n{}{}", first.unwrap_or_default(), letters.as_str());
    for quiet in them.iter().take(NAMED) {
        let (id, group, launched) = (&quiet.instance, &quiet.instance_group, quiet.launched);
        let _ = write!(text, "  {id} {group} launched {launched}");
        let _ = match quiet.note.as_str() {
            "" => writeln!(text),
            note => writeln!(text, ": {note}"),
        };
    }
    if them.len() > NAMED {
        let _ = writeln!(text, "  and {} more", them.len() - NAMED);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use base64::Engine as _;
    use base64::engine::general_purpose::STANDARD;
    use quake_diagnose::fleet::{Heard, Rows, fleet_of_consoles};
    use quake_model::facts::{InstanceState, InstanceView};
    use quake_model::time::Timestamp;

    fn heard(id: &str, console: Result<&str, &str>) -> Heard {
        let tag = ("kops.k8s.io/instancegroup".to_owned(), "nodes".to_owned());
        Heard {
            instance: InstanceView {
                instance_id: id.to_owned(),
                state: InstanceState::Running,
                launched: Timestamp(61_500),
                zone: "z".to_owned(),
                private_ip: String::new(),
                tags: BTreeMap::from([tag]),
                device_names: Vec::new(),
            },
            console: console
                .map(|text| STANDARD.encode(text))
                .map_err(str::to_owned),
        }
    }

    fn some() -> ConsoleFleet {
        let heard = [
            heard(
                "i-1",
                Ok("quake-agent: READY instance=i-1 elapsed_ms=61500\r\n"),
            ),
            heard(
                "i-2",
                Ok("quake-agent: FAILED code=config.yaml-syntax phase=config exit=78\r\n"),
            ),
            heard(
                "i-3",
                Ok("quake-agent: files done, 3 changed (at 4.0 s)\r\n"),
            ),
            heard("i-4", Ok("login:")),
            heard("i-5", Ok("")),
            heard(
                "i-6",
                Err("boot.console-denied: ec2:GetConsoleOutput answered 403"),
            ),
        ];
        fleet_of_consoles(&heard, 4, Rows::All)
    }

    fn calls() -> BTreeMap<String, u64> {
        let calls = [("ec2:DescribeInstances", 1), ("ec2:GetConsoleOutput", 6)];
        calls
            .map(|(action, count)| (action.to_owned(), count))
            .into()
    }

    #[test]
    fn the_text_tells_of_every_instance_and_of_the_calls_that_it_took() {
        let text = consoles_text(&some(), &calls());
        for line in [
            "INSTANCE  GROUP  LAUNCHED                  RESULT  TOOK   FAULT",
            "i-1       nodes  1970-01-01T00:01:01.500Z  ready   61.5s",
            "i-2       nodes  1970-01-01T00:01:01.500Z  failed  -      config.yaml-syntax in config",
            "6 instances: 1 ready, 1 failed, 1 not read, 1 boot not ended, 1 never spoke, 1 no console output yet; --limit leaves out 4 more",
            "  1 x config.yaml-syntax (invalid): i-2",
            "(all)  (boot)  1      61.5s  61.5s",
            "  console of i-6: boot.console-denied: ec2:GetConsoleOutput answered 403",
            "Boot not ended",
            "  i-3 nodes launched 1970-01-01T00:01:01.500Z: files done, 3 changed (at 4.0 s)",
            "Never spoke",
            "  i-4 nodes launched 1970-01-01T00:01:01.500Z",
            "No console output yet",
            "  i-5 nodes launched 1970-01-01T00:01:01.500Z",
            "API calls: ec2:DescribeInstances 1, ec2:GetConsoleOutput 6",
        ] {
            assert!(text.lines().any(|it| it == line), "{line} in\n{text}");
        }
    }

    #[test]
    fn a_cluster_without_instances_is_said_to_be_one() {
        let nothing = fleet_of_consoles(&[], 0, Rows::All);
        let text = consoles_text(&nothing, &calls());
        assert!(
            text.starts_with("no instance of the cluster was read\n"),
            "{text}"
        );
    }

    #[test]
    fn the_object_has_the_rows_of_reports_and_everything_of_the_text() {
        let value = consoles_json(&some(), "c.example", &calls());
        assert_eq!(value["schemaVersion"], "quake-agent/fleet-consoles/v1");
        assert_eq!(
            (&value["source"], &value["cluster"]),
            (&json!("console"), &json!("c.example"))
        );
        assert_eq!(
            (&value["allReady"], &value["instances"], &value["omitted"]),
            (&json!(false), &json!(6), &json!(4))
        );
        assert_eq!(
            (&value["boots"], &value["ready"], &value["failed"]),
            (&json!(2), &json!(1), &json!(1))
        );
        assert_eq!(value["failures"][0]["code"], "config.yaml-syntax");
        assert_eq!(value["inProgress"][0]["instance"], "i-3");
        assert_eq!(value["noReport"][0]["instance"], "i-4");
        assert_eq!(value["noOutput"][0]["instance"], "i-5");
        assert_eq!(value["unreadable"][0]["location"], "console of i-6");
        assert_eq!(value["calls"]["ec2:GetConsoleOutput"], 6);
    }
}
