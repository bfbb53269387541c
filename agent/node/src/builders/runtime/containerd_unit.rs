//! The text of containerd's unit, and of what is added to a distribution's.

use super::containerd::ENVIRONMENT;
use crate::builders::Context;
use crate::builders::layout::CONTAINERD_CONFIG;
use crate::distribution::Packaging;
use quake_formats::unit_text::UnitText;

const RESTORE_RUNC: &str = "/bin/sh -c 'restorecon -v /usr/sbin/runc'";
const RESTORE_CONTAINERD: &str = "/bin/sh -c 'restorecon -v /usr/bin/containerd*'";

pub(super) fn text(context: &Context<'_>) -> String {
    let is_rpm = context.distribution.packaging() == Packaging::Rpm;
    let restores = is_rpm && context.config.containerd.is_set("selinuxEnabled");
    let slice = context.config.kubelet.text("runtimeCgroups");
    let slice = slice.map(|group| format!("{}.slice", group.trim_matches('/')));
    UnitText::new()
        .section("Unit")
        .set("Description", "containerd container runtime")
        .set("Documentation", "https://containerd.io")
        .set("After", "network.target dbus.service")
        .section("Service")
        .set_optional("ExecStartPre", restores.then_some(RESTORE_RUNC))
        .set_optional("ExecStartPre", restores.then_some(RESTORE_CONTAINERD))
        .set("EnvironmentFile", ENVIRONMENT)
        .set("EnvironmentFile", "/etc/environment")
        .comment("The module may be built in.")
        .set("ExecStartPre", "-/sbin/modprobe overlay")
        .comment("systemd takes the quotes off and splits the variable into words.")
        .set(
            "ExecStart",
            &format!("/usr/bin/containerd -c {CONTAINERD_CONFIG} \"$CONTAINERD_OPTS\""),
        )
        .set("Type", "notify")
        .comment("The control groups of containers are containerd's.")
        .set("Delegate", "yes")
        .comment("Containers outlive containerd's own process.")
        .set("KillMode", "process")
        .set("Restart", "always")
        .set("RestartSec", "5")
        .set("LimitNPROC", "infinity")
        .set("LimitCORE", "infinity")
        .set("LimitNOFILE", "1048576")
        .comment("Every process of every container is a task of this unit.")
        .set("TasksMax", "infinity")
        .comment("Without it the kernel may kill the runtime to make room for a container.")
        .set("OOMScoreAdjust", "-999")
        .set_optional("Slice", slice.as_deref())
        .section("Install")
        .set("WantedBy", "multi-user.target")
        .finish()
}

/// What is added to the unit of a distribution that brings containerd.
pub(super) fn drop_in() -> String {
    UnitText::new()
        .section("Service")
        .set("EnvironmentFile", "/etc/environment")
        .comment("The empty one takes back the distribution's own command.")
        .set("ExecStart", "")
        .set(
            "ExecStart",
            &format!("/usr/bin/containerd --config {CONTAINERD_CONFIG}"),
        )
        .finish()
}

#[cfg(test)]
mod tests {
    use crate::builders::sample::Sample;
    use crate::distribution::Project;

    fn text(sample: &Sample) -> String {
        sample.with(super::text)
    }

    #[test]
    fn the_runtime_runs_in_the_slice_that_kubelet_accounts_it_to() {
        let sample = Sample::worker("KubeletConfig: {runtimeCgroups: /podruntime}\n");
        assert!(text(&sample).contains("\nSlice=podruntime.slice\n"));
        assert!(!text(&Sample::worker("")).contains("Slice="));
    }

    #[test]
    fn labels_are_restored_where_selinux_confines_containers() {
        let mut sample = Sample::worker("containerdConfig: {selinuxEnabled: true}\n");
        assert!(!text(&sample).contains("restorecon"), "Debian has none");
        sample = sample.on(Project::AmazonLinux, (2023, 0));
        assert_eq!(text(&sample).matches("restorecon").count(), 2);
    }
}
