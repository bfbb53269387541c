//! The CNI directory is emptied on a node that was ready.

use crate::operator::{assert_told, status_command};
use quake_integration::machine::{Body, Kind, Lab};
use quake_integration::waiting::pause;

#[test]
fn network_configuration_gone() {
    let Some(lab) = Lab::open("network-configuration-gone", Kind::Containers) else {
        return;
    };
    let facts = lab.cluster().launch("workers");
    let machine = lab.container(&facts, lab.baked());
    machine.becomes_ready(90).expect("a worker becomes ready");
    let before = machine.output("cat /etc/cni/net.d/*");
    machine.output("rm -r /etc/cni/net.d/*");
    pause(machine.second() * 5);
    // Readiness is what the boot found. From here on kubelet tells of its node, and the agent does not look again.
    assert!(
        machine.holds(
            "curl -sf --unix-socket /run/quake-agent/quake-agent.sock http://localhost/readyz"
        )
    );
    assert_told(&status_command(&machine), &["ready after"]);
    machine.output("systemctl restart quake-agent.service");
    machine.becomes_ready(60).expect("a restart mends it");
    assert_eq!(machine.output("cat /etc/cni/net.d/*"), before);
    assert_eq!(
        machine.last_event("boot-ready")["changed"],
        1,
        "that file and nothing else"
    );
    assert_told(&machine.console(), &["quake-agent: READY"]);
}
