//! A machine that was ready boots again, with a new kernel: it is ready again, and no file of the node is written. What
//! changes is what a new kernel has lost: kubelet, which the agent starts, what is below `/run`, and a control plane's mounts.

use quake_integration::machine::{Emulated, MachineBackend, OperatorOutput};
use std::collections::BTreeSet;

/// What the node is, for other programs; `/run` begins empty.
pub(crate) const ENVIRONMENT: &str = "config:/run/quake-agent/node.env";

/// Boots a ready machine again, without cloud-init, which does nothing on a second boot; the steps that changed something
/// then. Files that another hand writes at each boot are `others`.
pub(crate) fn changed_by_reboot(machine: &mut Emulated, others: &[&str]) -> BTreeSet<String> {
    machine.output("mkdir -p /etc/cloud && touch /etc/cloud/cloud-init.disabled");
    let (before, kernel) = (machine.node_files(), boot_id(machine));
    assert!(before.len() > 20, "the node has files: {before:?}");
    let verdicts = verdicts(machine);
    machine.reboot().expect("it boots again");
    machine.becomes_ready(60).expect("it is ready again");
    assert_ne!(boot_id(machine), kernel, "by another kernel");
    let after = machine.node_files();
    let is_others = |path: &str| others.iter().any(|other| path.starts_with(other));
    let differs = |path: &&String| before.get(*path) != after.get(*path) && !is_others(path);
    let written: BTreeSet<&String> = before.keys().chain(after.keys()).filter(differs).collect();
    assert!(written.is_empty(), "no file is written again: {written:?}");
    let changed = machine.changed_steps();
    let counted = &machine.last_event("boot-ready")["changed"];
    assert_eq!(*counted, changed.len(), "{changed:?}");
    let now = self::verdicts(machine);
    assert_eq!(now.len(), verdicts.len() + 1, "it ends with one: {now:?}");
    assert!(now.last().is_some_and(|line| line.starts_with("READY ")));
    changed.into_iter().collect()
}

/// How each boot ended, as the console has it.
pub(crate) fn verdicts(machine: &Emulated) -> Vec<String> {
    let mut lines = machine.console_of_agent();
    let words = ["READY ", "FAILED ", "STOPPED "];
    lines.retain(|line| words.iter().any(|word| line.starts_with(word)));
    lines
}

fn boot_id(machine: &Emulated) -> String {
    machine.output("cat /proc/sys/kernel/random/boot_id")
}

/// Names of steps.
pub(crate) fn steps<const N: usize>(steps: [&str; N]) -> BTreeSet<String> {
    steps.map(str::to_owned).into()
}
