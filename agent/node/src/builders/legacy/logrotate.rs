//! Rotation of the components' logs, hourly, because a component may fill a disk in less than a day.

use super::layout;
use quake_formats::unit_text::UnitText;
use quake_model::spec::{NodeSpec, Role};
use quake_model::step::{Action, WriteFile};

/// The components that log on every node, and those of a control plane.
const EVERYWHERE: &[&str] = &["docker", "kube-addons", "kube-proxy", "kubelet"];
const CONTROL_PLANE: &[&str] = &[
    "etcd",
    "etcd-events",
    "kube-apiserver",
    "kube-controller-manager",
    "kube-scheduler",
];

/// The unit that has logs rotated.
pub(crate) const TIMER: &str = "logrotate.timer";

/// The unit that rotates logs.
pub(crate) const SERVICE: &str = "logrotate.service";

/// The files of rotation.
pub(crate) fn items(spec: &NodeSpec) -> Vec<Item> {
    let mut names = EVERYWHERE.to_vec();
    if matches!(spec.role, Role::ControlPlane | Role::ApiServer) {
        names.extend(CONTROL_PLANE);
    }
    let mut actions: Vec<Action> = names.into_iter().map(rule).collect();
    let write =
        |name: &str, text| Action::WriteFile(WriteFile::plain(&layout::unit(name), 0o644, text));
    actions.push(write(SERVICE, service()));
    actions.push(write(TIMER, timer()));
    actions
}

fn rule(name: &str) -> Item {
    let log = layout::log(name);
    let text = format!(
        "{log} {{\n  rotate 5\n  copytruncate\n  missingok\n  notifempty\n  delaycompress\n  \
         maxsize 100M\n  daily\n  create 0644 root root\n}}\n"
    );
    let path = format!("/etc/logrotate.d/{name}");
    Action::WriteFile(WriteFile::plain(&path, 0o644, text))
}

fn service() -> String {
    UnitText::new()
        .section("Unit")
        .set("Description", "Rotate log files")
        .comment("A minimal image may not have it.")
        .set("ConditionPathExists", "/usr/sbin/logrotate")
        .section("Service")
        .set("Type", "oneshot")
        .set("ExecStart", "/usr/sbin/logrotate /etc/logrotate.conf")
        .finish()
}

fn timer() -> String {
    UnitText::new()
        .comment(
            "Of the same name as the distribution's timer, which runs daily: one run at a time.",
        )
        .section("Unit")
        .set("Description", "Hourly rotation of log files")
        .section("Timer")
        .set("OnCalendar", "hourly")
        .section("Install")
        .set("WantedBy", "timers.target")
        .finish()
}
