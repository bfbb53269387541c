//! A machine that was ready boots again, with a new kernel: it is ready again, and no file of the node is written. What
//! changes is what a new kernel has lost: kubelet, which the agent starts, what is below `/run`, and a control plane's mounts.

use quake_integration::machine::{Emulated, Hardware, Kind, Lab, MachineBackend, OperatorOutput};
use std::collections::BTreeSet;

/// What the node is, for other programs; `/run` begins empty.
const ENVIRONMENT: &str = "config:/run/quake-agent/node.env";

/// Boots a ready machine again; the steps that changed something then.
fn changed_by_reboot(machine: &mut Emulated) -> BTreeSet<String> {
    machine.becomes_ready(60).expect("it becomes ready");
    let (before, kernel) = (machine.node_files(), boot_id(machine));
    assert!(before.len() > 20, "the node has files: {before:?}");
    machine.reboot().expect("it boots again");
    machine.becomes_ready(60).expect("it is ready again");
    assert_ne!(boot_id(machine), kernel, "by another kernel");
    let after = machine.node_files();
    let differs = |path: &&String| before.get(*path) != after.get(*path);
    let written: BTreeSet<&String> = before.keys().chain(after.keys()).filter(differs).collect();
    assert!(written.is_empty(), "no file is written again: {written:?}");
    let changed = machine.changed_steps();
    let counted = &machine.last_event("boot-ready")["changed"];
    assert_eq!(*counted, changed.len(), "{changed:?}");
    let said = machine.console_of_agent();
    let verdicts = said.iter().filter(|line| line.starts_with("READY "));
    assert_eq!(verdicts.count(), 2, "each boot ends with its: {said:?}");
    changed.into_iter().collect()
}

fn boot_id(machine: &Emulated) -> String {
    machine.output("cat /proc/sys/kernel/random/boot_id")
}

fn set<const N: usize>(steps: [&str; N]) -> BTreeSet<String> {
    steps.map(str::to_owned).into()
}

#[test]
fn reboot_worker() {
    let Some(lab) = Lab::open("reboot-worker", Kind::Emulated) else {
        return;
    };
    let facts = lab.cluster().launch("workers");
    let mut machine = lab.emulated(&facts, lab.baked(), Hardware::default());
    let changed = changed_by_reboot(&mut machine);
    let wanted = [ENVIRONMENT, "services:kubelet.service"];
    assert_eq!(changed, set(wanted));
}

#[test]
fn reboot_control_plane() {
    let Some(lab) = Lab::open("reboot-control-plane", Kind::Emulated) else {
        return;
    };
    let cluster = lab.cluster();
    let volumes = cluster.add_volumes();
    let facts = cluster.launch("control-plane");
    let mut machine = lab.emulated(&facts, lab.baked(), Hardware::default());
    let changed = changed_by_reboot(&mut machine);
    let wanted = [
        ENVIRONMENT,
        "services:kubelet.service",
        "storage:mount/events/a",
        "storage:mount/main/a",
    ];
    assert_eq!(changed, set(wanted));
    for volume in volumes.values() {
        let kind = machine.output(&format!("findmnt -n -o FSTYPE /mnt/master-{volume}"));
        assert_eq!(kind.trim(), "ext4");
    }
    let calls = lab.vpc().ec2().calls(&facts.instance);
    assert_eq!(calls["AttachVolume"], 2, "both by the first boot");
}
