//! The CNI directory is emptied on a node that was ready: the agent says so, writes nothing, and says when it is back.

use quake_integration::machine::{Kind, Lab, MachineBackend, OperatorOutput, assert_reported};

/// Asks for readiness; the status is the last line.
const READYZ: &str = "curl -s -w '%{http_code}' --unix-socket /run/quake-agent/quake-agent.sock http://localhost/readyz";

/// The longest between two looks, and some more.
const NEXT_LOOK: u32 = 60;

#[test]
fn network_configuration_gone() {
    let Some(lab) = Lab::open("network-configuration-gone", Kind::Containers) else {
        return;
    };
    let machine = lab.worker(lab.baked());
    machine.becomes_ready(90).expect("a worker becomes ready");
    let before = machine.output("cat /etc/cni/net.d/*");
    machine.output("mkdir /root/away && mv /etc/cni/net.d/* /root/away/");
    let reported = machine.comes_true(&format!("{READYZ} | grep -qx 503"), NEXT_LOOK);
    assert!(reported, "{}", machine.output(READYZ));
    let lost = [
        "ready.cni-missing",
        "/etc/cni/net.d",
        "systemctl restart quake-agent",
    ];
    assert_reported(&machine.output(READYZ), &lost);
    assert_reported(&machine.said(), &lost);
    assert_reported(&machine.console(), &lost);
    assert_eq!(machine.last_event("condition-lost")["phase"], "ready");
    let shown = machine.unit_shows("StatusText");
    assert_reported(&shown, &["not ready: ready.cni-missing"]);
    assert_eq!(
        machine.output("ls /etc/cni/net.d"),
        "",
        "it is not written again behind the operator's back"
    );
    assert!(machine.holds("systemctl is-active --quiet quake-agent.service"));

    machine.output("cp /root/away/* /etc/cni/net.d/");
    let reported = machine.comes_true(&format!("{READYZ} | grep -q 200$"), NEXT_LOOK);
    assert!(reported, "{}", machine.output(READYZ));
    assert_reported(&machine.console(), &["the node is ready again"]);

    machine.output("rm /etc/cni/net.d/*");
    machine.output("systemctl restart quake-agent.service");
    machine.becomes_ready(60).expect("a restart fixes it");
    assert_eq!(machine.output("cat /etc/cni/net.d/*"), before);
    assert_eq!(
        machine.last_event("boot-ready")["changed"],
        1,
        "that file and nothing else"
    );
    assert_reported(&machine.console(), &["quake-agent: READY"]);
}
