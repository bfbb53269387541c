//! A disk without room for the assets.

use quake_integration::machine::{Kind, Lab, MachineBackend, OperatorOutput, assert_reported};

/// The agent's directory as a disk of its own that is nearly full from the start.
const SMALL: &str = "[Unit]\nDefaultDependencies=no\nBefore=local-fs.target\n\
    [Mount]\nWhat=tmpfs\nWhere=/var/lib/quake-agent\nType=tmpfs\nOptions=size=512k\n";

/// What of the store is not whole: a file whose name is not its digest, or one that is still on its way.
const NOT_WHOLE: &str = "cd /var/lib/quake-agent/store && find staging partial -type f 2>/dev/null; \
    for it in $(find sha256 -maxdepth 1 -type f -regex '.*/[0-9a-f]*'); do \
    [ \"$(sha256sum < $it)\" = \"${it##*/}  -\" ] || echo $it; done";

#[test]
fn disk_full() {
    let Some(lab) = Lab::open("disk-full", Kind::Containers) else {
        return;
    };
    let layer =
        lab.baked()
            .short_grace()
            .unit("var-lib-quake\\x2dagent.mount", SMALL, "local-fs.target");
    let machine = lab.worker(layer);
    assert_eq!(machine.agent_fails(60), Ok(77));
    assert_reported(
        &machine.console(),
        &["FAILED code=assets.no-space phase=assets exit=77"],
    );
    assert_reported(
        &machine.said(),
        &["assets.no-space", "/var/lib/quake-agent/store has "],
    );
    assert_eq!(machine.output(NOT_WHOLE), "", "nothing is half-written");
    assert!(
        !machine.holds("test -e /opt/cni/bin/bridge"),
        "nothing of it is installed"
    );
    machine.output("mount -o remount,size=256m /var/lib/quake-agent");
    machine.output("systemctl reset-failed quake-agent && systemctl start --no-block quake-agent");
    machine.becomes_ready(60).expect("ready once there is room");
    assert!(machine.holds("test -x /opt/cni/bin/bridge"));
}
