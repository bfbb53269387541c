//! A kubelet that ends as soon as it is started, until the operator has done what the agent says.

use quake_integration::machine::{Kind, Lab, MachineBackend, OperatorOutput, assert_reported};
use quake_integration::waiting::{pause, wait_until};

/// What it says each time.
const LAST_WORDS: &str = "no such feature gate: Imaginary";

/// Of systemd, so that it can stand in an image.
const DROP_IN: &str = "/etc/systemd/system/kubelet.service.d/90-broken.conf";

#[test]
fn kubelet_crash_loop() {
    let Some(lab) = Lab::open("kubelet-crash-loop", Kind::Containers) else {
        return;
    };
    let ends = format!(
        "[Service]\nExecStart=\nExecStart=/bin/sh -c 'echo {LAST_WORDS} >&2; exit 255'\nRestartSec=1\n"
    );
    let machine = lab.worker(lab.baked().file(DROP_IN, 0o644, ends));
    let reported = machine
        .endpoint_says("services.unit-failed", 90)
        .expect("it says so");
    let fix = [
        "journalctl -b -u kubelet.service",
        "systemctl restart kubelet.service",
    ];
    assert_reported(&reported, &[LAST_WORDS, "exit status 255", "restarts"]);
    assert_reported(&reported, &fix);
    let line = ["services.unit-failed", "kubelet.service does not stay up"];
    let ready = machine.run(
        "curl -s --unix-socket /run/quake-agent/quake-agent.sock http://localhost/readyz",
        machine.second() * 10,
    );
    let ready = ready.expect("it answers").stdout;
    for shown in [ready, machine.said()] {
        assert_reported(&shown, &line);
        assert_reported(&shown, &fix);
    }
    let reported = wait_until(machine.second() * 60, || {
        let reported = machine.console().contains("services has waited ");
        if !reported {
            pause(machine.second());
        }
        reported
    });
    assert!(reported, "{}", machine.console());
    assert_reported(&machine.console(), &line);
    assert_reported(&machine.console(), &fix);
    // The boot waits on, and what the operator fixes is enough.
    machine.output("rm -r /etc/systemd/system/kubelet.service.d && systemctl daemon-reload");
    machine
        .becomes_ready(90)
        .expect("ready once kubelet stays up");
}
