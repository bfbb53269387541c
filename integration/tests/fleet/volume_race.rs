//! Two instances that may be the same control plane, and one volume for each of etcd's clusters.

use quake_integration::ec2::Rules;
use quake_integration::machine::{Body, Container, Kind, Lab};
use quake_integration::waiting::{pause, wait_until};

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
    let holders = lab.vpc().ec2().holders();
    for volume in volumes.values() {
        assert_eq!(holders.get(volume), Some(&instances[winner].instance));
    }
    let told = machines[loser].ask_agent("/v1/status").to_string();
    assert!(
        told.contains(&instances[winner].instance),
        "the other names the holder: {told}"
    );
}
