//! Two instances that may be the same control plane, and one volume for each of etcd's clusters.

use quake_integration::ec2::Rules;
use quake_integration::machine::{Container, Kind, Lab, MachineBackend, OperatorOutput};
use quake_integration::waiting::{pause, wait_until};
use std::collections::BTreeMap;

#[test]
fn volume_race() {
    let Some(lab) = Lab::with("fleet", "volume-race", Kind::Containers, Rules::default()) else {
        return;
    };
    let cluster = lab.cluster();
    let volumes = cluster.add_volumes();
    let instances = [(); 2].map(|()| cluster.launch("control-plane"));
    let machines = instances
        .each_ref()
        .map(|facts| lab.container(facts, lab.baked()));
    let is_ready = |machine: &Container| machine.ask_agent("/v1/status")["ready"] == true;
    let second = machines[0].second();
    let decided = wait_until(second * 90, || {
        pause(second / 2);
        machines.iter().any(is_ready)
    });
    assert!(decided, "one becomes ready: {}", machines[0].console());
    let ready: Vec<bool> = machines.iter().map(is_ready).collect();
    assert_eq!(ready.iter().filter(|ready| **ready).count(), 1, "{ready:?}");
    let (winner, loser) = if ready[0] { (0, 1) } else { (1, 0) };
    let ec2 = lab.vpc().ec2();
    let (peer, holders) = (&instances[winner].instance, ec2.holders());
    for volume in volumes.values() {
        assert_eq!(holders.get(volume), Some(peer));
    }
    stands_by(&machines[loser], &volumes, peer);
    assert_eq!(ec2.attached().len(), 2, "the other got nothing");
}

/// The machine waits for this peer to go, says so, and has done nothing with the volumes.
fn stands_by(machine: &Container, volumes: &BTreeMap<&'static str, String>, peer: &str) {
    // Seeing that it has lost takes it a look or two more.
    let code = "storage.volume-held";
    assert!(machine.journal_says(code, 30), "{}", machine.said());
    let reported = machine.said();
    assert!(
        reported.contains(code) && reported.contains(peer),
        "{reported}"
    );
    assert_eq!(machine.unit_shows("ActiveState"), "activating");
    for volume in volumes.values() {
        assert!(!machine.holds(&format!("findmnt /mnt/master-{volume}")));
    }
    assert!(
        !machine.holds("systemctl is-active --quiet kubelet.service"),
        "nothing starts without its data"
    );
}
