//! A user without any right, on a node that is ready and while it boots: whatever they try, the node stays ready, each boot becomes
//! ready, and no file is another. `QUAKE_INTRUDER_SECONDS` says for how long; an hour was tried by hand.

use quake_integration::machine::{Container, Kind, Lab, MachineBackend, OperatorOutput};
use serde_json::Value;
use std::time::Duration;

const INTRUDER: &str = include_str!("../../guest/intruder.py");
const PROGRAM: &str = "/usr/local/sbin/intruder";

/// Runs the intruder as a user to whom nothing belongs; what it tried and what worked.
fn intrude(machine: &Container, seconds: u64) -> Value {
    let script = format!("setpriv --reuid 54321 --regid 54321 --clear-groups {PROGRAM} {seconds}");
    let longest = Duration::from_secs(seconds) + machine.second() * 240;
    let ran = machine.run(&script, longest).expect("the machine answers");
    assert_eq!(ran.status, 0, "{}", ran.stderr);
    let last = ran.stdout.lines().next_back().unwrap_or_default();
    serde_json::from_str(last).expect("it says what it tried")
}

#[test]
fn unprivileged_user() {
    let Some(lab) = Lab::open("unprivileged-user", Kind::Containers) else {
        return;
    };
    let seconds = std::env::var("QUAKE_INTRUDER_SECONDS");
    let seconds = seconds
        .ok()
        .and_then(|text| text.parse().ok())
        .unwrap_or(40);
    let machine = lab.worker(lab.baked().file(PROGRAM, 0o755, INTRUDER));
    machine.becomes_ready(90).expect("a worker becomes ready");
    let before = machine.node_files();
    let found = intrude(&machine, seconds);
    lab.evidence().write("intruder.json", &found.to_string());
    assert_eq!(found["broken"], Value::Array(Vec::new()), "{found}");
    assert_eq!(machine.node_files(), before, "no file is another");
    let reported = machine.output("journalctl -b -u quake-agent --no-pager");
    assert!(
        !reported.contains("condition-lost") && !reported.contains("NOT READY"),
        "{reported}"
    );
    // While it boots: the intruder goes on beside it.
    let beside = format!(
        "systemd-run --quiet --unit=intruder --uid=54321 --gid=54321 {PROGRAM} 30 && systemctl restart quake-agent.service"
    );
    machine.output(&beside);
    machine.becomes_ready(90).expect("it is ready again");
    assert_eq!(machine.changed_steps(), Vec::<String>::new());
    assert_eq!(machine.node_files(), before, "no file is another");
}
