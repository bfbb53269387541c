//! A volume that another instance holds: while that one runs, this one stands by and names it; once it is ended, this one
//! takes the volume with its data.

use quake_integration::ec2::Rules;
use quake_integration::machine::{
    Cluster, Container, Facts, Kind, Lab, MachineBackend, OperatorOutput,
};
use std::collections::BTreeMap;
use std::time::Duration;

const ETCDCTL: &str = "ETCDCTL_API=3 etcdctl --endpoints http://127.0.0.1:4001";

/// How long EC2 takes to end an instance: long enough to be seen, and volumes show `detaching` in its last third.
const ENDING: Duration = Duration::from_secs(12);

type Volumes = BTreeMap<&'static str, String>;

/// A control plane that is ready and has written to etcd.
fn holder(lab: &Lab, cluster: &Cluster) -> (Container, Facts) {
    let facts = cluster.launch("control-plane");
    let machine = lab.container(&facts, lab.baked());
    machine.becomes_ready(90).expect("the first becomes ready");
    machine.output(&format!("{ETCDCTL} put lasting yes"));
    (machine, facts)
}

fn held_by(lab: &Lab, volumes: &Volumes, facts: &Facts) {
    let holders = lab.vpc().ec2().holders();
    for volume in volumes.values() {
        assert_eq!(holders.get(volume), Some(&facts.instance), "{volume}");
    }
}

/// The machine waits with this fault, and says of whom everywhere an operator looks.
pub(crate) fn names(machine: &Container, code: &str, peer: &Facts) {
    assert!(machine.journal_says(code, 60), "{}", machine.said());
    assert!(machine.journal_says(&peer.instance, 1), "the journal");
    let reported = machine.said();
    assert!(
        reported.contains(code) && reported.contains(&peer.instance),
        "{reported}"
    );
    let unit = machine.unit_shows("StatusText");
    assert!(unit.contains(code), "the unit says why it waits: {unit}");
    assert_eq!(machine.unit_shows("ActiveState"), "activating");
    assert_eq!(machine.ask_agent("/v1/status")["ready"], false);
}

fn takes_over(lab: &Lab, machine: &Container, volumes: &Volumes, facts: &Facts) {
    machine.becomes_ready(120).expect("it takes over");
    held_by(lab, volumes, facts);
    for volume in volumes.values() {
        let mount = machine.output(&format!("findmnt -n -o FSTYPE /mnt/master-{volume}"));
        assert_eq!(mount.trim(), "ext4");
    }
    let kept = machine.output(&format!("{ETCDCTL} get lasting"));
    assert_eq!(kept.trim(), "lasting\nyes", "the data is the first's");
    let said = machine.console_of_agent();
    let verdict = said.last().cloned().unwrap_or_default();
    assert!(verdict.starts_with("READY "), "{said:?}");
}

#[test]
fn volume_held_by_running_peer() {
    let case = "volume-held-by-running-peer";
    let Some(lab) = Lab::with("fleet", case, Kind::Containers, Rules::default()) else {
        return;
    };
    let cluster = lab.cluster();
    let volumes = cluster.add_volumes();
    let (first, holder) = holder(&lab, &cluster);
    let facts = cluster.launch("control-plane");
    let machine = lab.container(&facts, lab.baked());
    names(&machine, "storage.volume-held", &holder);
    held_by(&lab, &volumes, &holder);
    assert!(
        lab.vpc().ec2().asks(&facts.instance).is_empty(),
        "it did not ask for what is held"
    );
    assert_eq!(
        first.ask_agent("/v1/status")["ready"],
        true,
        "the holder is undisturbed"
    );
    drop(first);
    lab.vpc().ec2().terminate(&holder.instance);
    takes_over(&lab, &machine, &volumes, &facts);
}

#[test]
fn volume_held_by_terminated_peer() {
    let rules = Rules {
        ending_takes: ENDING,
        ..Rules::default()
    };
    let case = "volume-held-by-terminated-peer";
    let Some(lab) = Lab::with("fleet", case, Kind::Containers, rules) else {
        return;
    };
    let cluster = lab.cluster();
    let volumes = cluster.add_volumes();
    let (first, holder) = holder(&lab, &cluster);
    drop(first);
    lab.vpc().ec2().terminate(&holder.instance);
    let facts = cluster.launch("control-plane");
    let machine = lab.container(&facts, lab.baked());
    names(&machine, "storage.holder-ending", &holder);
    takes_over(&lab, &machine, &volumes, &facts);
}
