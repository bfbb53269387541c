//! Tags that come after the boot began: those of the instance, and that of a volume. The agent waits, says for what, and
//! becomes ready once they are there, with nothing done before.

use quake_integration::ec2::Rules;
use quake_integration::machine::{Container, Kind, Lab, MachineBackend, OperatorOutput, ZONE};
use quake_integration::node::CLUSTER;
use quake_integration::waiting::{pause, wait_until};
use std::collections::BTreeMap;
use std::time::{Duration, Instant};

/// How late an instance's tags are.
const LATE: Duration = Duration::from_secs(90);

/// How late a volume's is: a volume that is not there when nothing has changed for ninety seconds is called missing, and
/// the unit starts the agent again; this is well before.
const VOLUME_LATE: Duration = Duration::from_secs(30);

/// The agent waits with this fault, and says so where an operator looks.
fn waits(machine: &Container, code: &str) {
    assert!(machine.journal_says(code, 60), "{}", machine.said());
    assert!(machine.said().contains(code), "{}", machine.said());
    let unit = machine.unit_shows("StatusText");
    assert!(unit.contains(code), "the unit says why it waits: {unit}");
    assert_eq!(machine.unit_shows("ActiveState"), "activating");
}

fn becomes_ready(lab: &Lab, machine: &Container, volumes: &BTreeMap<&'static str, String>) {
    machine.becomes_ready(120).expect("then it becomes ready");
    for volume in volumes.values() {
        assert!(machine.holds(&format!("findmnt /mnt/master-{volume}")));
    }
    assert_eq!(lab.vpc().ec2().attached().len(), 2);
    assert_eq!(machine.unit_shows("NRestarts"), "0", "in the same boot");
    let said = machine.console_of_agent();
    let verdict = said.last().cloned().unwrap_or_default();
    assert!(verdict.starts_with("READY "), "{said:?}");
}

#[test]
fn instance_tag_late() {
    let rules = Rules {
        tags_after: LATE,
        ..Rules::default()
    };
    let Some(lab) = Lab::with("machine", "instance-tag-late", Kind::Containers, rules) else {
        return;
    };
    let cluster = lab.cluster();
    let volumes = cluster.add_volumes();
    let facts = cluster.launch("control-plane");
    let shown = Instant::now() + LATE;
    let machine = lab.container(&facts, lab.baked());
    waits(&machine, "identity.tags-pending");
    becomes_ready(&lab, &machine, &volumes);
    let asks = lab.vpc().ec2().asks(&facts.instance);
    assert!(
        asks.iter().all(|at| *at >= shown),
        "no volume before its tags"
    );
    let said = machine.console_of_agent();
    let reported =
        |line: &String| line.contains("has waited") && line.contains("identity.tags-pending");
    assert!(said.iter().any(reported), "{said:?}");
}

#[test]
fn volume_tag_late() {
    let Some(lab) = Lab::open("volume-tag-late", Kind::Containers) else {
        return;
    };
    let cluster = lab.cluster();
    let events = cluster.add_volume("events", "a", &["a"]);
    let owned = format!("kubernetes.io/cluster/{CLUSTER}");
    let tags = [
        ("KubernetesCluster", CLUSTER),
        (owned.as_str(), "owned"),
        ("k8s.io/role/master", "1"),
    ];
    let ec2 = lab.vpc().ec2();
    let main = ec2.create_volume(ZONE, &tags);
    let facts = cluster.launch("control-plane");
    let machine = lab.container(&facts, lab.baked());
    let booted = Instant::now();
    waits(&machine, "storage.volume-missing");
    assert!(machine.said().contains("main/a"), "{}", machine.said());
    // In what is left of it nothing may happen, least of all half a member.
    wait_until(VOLUME_LATE.saturating_sub(booted.elapsed()), || {
        pause(Duration::from_secs(1));
        !ec2.attached().is_empty()
    });
    assert_eq!(ec2.attached(), [], "nothing is taken meanwhile");
    assert_eq!(
        machine.unit_shows("ActiveState"),
        "activating",
        "it waits on"
    );
    ec2.tag(&main, "k8s.io/etcd/main", "a/a");
    becomes_ready(&lab, &machine, &[("main", main), ("events", events)].into());
}
