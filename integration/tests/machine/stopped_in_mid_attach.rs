//! The agent is stopped between an attach that EC2 carries out and the device: it ends in order, and the next start goes
//! on from what was done.

use quake_integration::ec2::Rules;
use quake_integration::machine::{Kind, Lab, MachineBackend, OperatorOutput};
use quake_integration::waiting::wait_until;
use std::collections::BTreeSet;
use std::time::Duration;

#[test]
fn stopped_in_mid_attach() {
    let rules = Rules {
        attach_takes: Duration::from_secs(5),
        ..Rules::default()
    };
    let case = "stopped-in-mid-attach";
    let Some(lab) = Lab::with("machine", case, Kind::Containers, rules) else {
        return;
    };
    let cluster = lab.cluster();
    let volumes = cluster.add_volumes();
    let facts = cluster.launch("control-plane");
    let machine = lab.container(&facts, lab.baked());
    let ec2 = lab.vpc().ec2();
    assert!(
        wait_until(Duration::from_secs(60), || !ec2.attached().is_empty()),
        "it asks for a volume"
    );
    machine.output("systemctl stop quake-agent.service");
    assert!(
        !machine.holds("ls /dev/disk/by-id/nvme-*"),
        "the attach still goes on"
    );
    assert_eq!(machine.unit_shows("ExecMainStatus"), "75");
    assert_eq!(
        machine.unit_shows("ExecMainCode"),
        "1",
        "it exited by itself"
    );
    let said = machine.console_of_agent();
    let verdict = "STOPPED code=boot.interrupted exit=75";
    assert_eq!(said.last().map(String::as_str), Some(verdict), "{said:?}");
    assert!(
        machine.said().contains("boot.interrupted"),
        "{}",
        machine.said()
    );
    machine.output("systemctl start --no-block quake-agent.service");
    machine.becomes_ready(90).expect("a later start goes on");
    for volume in volumes.values() {
        let place = format!("/mnt/master-{volume}");
        assert!(machine.holds(&format!("findmnt {place}")), "{place}");
        assert_eq!(ec2.holders().get(volume), Some(&facts.instance));
    }
    let attached = ec2.attached();
    let once: BTreeSet<&String> = attached.iter().map(|it| &it.volume).collect();
    assert_eq!(
        (attached.len(), once.len()),
        (2, 2),
        "each was attached once"
    );
    assert_eq!(
        ec2.calls(&facts.instance)["AttachVolume"],
        2,
        "and asked for once"
    );
}
