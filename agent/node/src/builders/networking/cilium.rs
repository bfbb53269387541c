//! The filesystems that Cilium's agent keeps its state in, mounted before it and so kept when it restarts.

use crate::builders::Context;
use crate::config::current::Provider;
use quake_formats::unit_text::UnitText;
use quake_model::fault::Fault;
use quake_model::item::{Item, Unit};

/// The filesystem of BPF, unless the distribution mounts it (systemd from version 238 on, and then refuses a unit for it),
/// and a control group's of Cilium's own.
pub(super) fn build(context: &Context<'_>) -> Result<Vec<Item>, Fault> {
    if !matches!(context.config.network.provider, Provider::Cilium { .. }) {
        return Ok(Vec::new());
    }
    let mut items = Vec::new();
    if !context.machine.has_bpf_filesystem {
        items.push(Item::Unit(mount(
            context,
            "sys-fs-bpf.mount",
            ["bpffs", "/sys/fs/bpf", "bpf"],
        )));
    }
    items.push(Item::Unit(mount(
        context,
        "run-cilium-cgroupv2.mount",
        ["cgroup2", "/run/cilium/cgroupv2", "cgroup2"],
    )));
    Ok(items)
}

fn mount(context: &Context<'_>, name: &str, [what, place, kind]: [&str; 3]) -> Unit {
    let text = UnitText::new()
        .section("Unit")
        .set("Description", &format!("{place} for Cilium"))
        .comment("Mounted as early as the other filesystems, and unmounted as late.")
        .set("DefaultDependencies", "no")
        .set("Before", "local-fs.target umount.target kubelet.service")
        .section("Mount")
        .set("What", what)
        .set("Where", place)
        .set("Type", kind)
        .section("Install")
        .set("WantedBy", "multi-user.target")
        .finish();
    let unit = context.unit(name, text);
    Unit {
        // To mount again what is mounted would take away what the agent keeps there.
        inputs: Vec::new(),
        ..unit
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::builders::sample::Sample;

    #[test]
    fn what_the_distribution_mounts_is_left_to_it() {
        let mut sample = Sample::worker("Networking: {cilium: {}}\n");
        let both = ["sys-fs-bpf.mount", "run-cilium-cgroupv2.mount"];
        assert_eq!(sample.subjects(build), both);
        sample.machine.has_bpf_filesystem = true;
        assert_eq!(sample.subjects(build), ["run-cilium-cgroupv2.mount"]);
    }

    #[test]
    fn a_mount_is_never_made_again_while_it_is_used() {
        for unit in Sample::worker("Networking: {cilium: {}}\n").all(build, Item::unit) {
            assert_eq!(unit.inputs, [""; 0], "{}", unit.name);
        }
    }

    #[test]
    fn other_networks_have_no_mounts() {
        assert_eq!(
            Sample::worker("Networking: {calico: {}}\n").subjects(build),
            [""; 0]
        );
    }
}
