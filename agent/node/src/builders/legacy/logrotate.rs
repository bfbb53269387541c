//! Rotation of the components' logs, hourly, because a component may fill a disk in less than a day.

use super::layout;
use quake_formats::unit_text::UnitText;
use quake_model::item::{File, Item};
use quake_model::spec::{NodeSpec, Role};

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

pub(crate) fn items(spec: &NodeSpec) -> Vec<Item> {
    let mut names = EVERYWHERE.to_vec();
    if matches!(spec.role, Role::ControlPlane | Role::ApiServer) {
        names.extend(CONTROL_PLANE);
    }
    let mut items: Vec<Item> = names.into_iter().map(rule).collect();
    let write = |name: &str, text| Item::File(File::plain(&layout::unit(name), text));
    items.push(write(SERVICE, service()));
    items.push(write(TIMER, timer()));
    items
}

fn rule(name: &str) -> Item {
    let log = layout::log(name);
    let text = format!(
        "{log} {{\n  rotate 5\n  copytruncate\n  missingok\n  notifempty\n  delaycompress\n  \
         maxsize 100M\n  daily\n  create 0644 root root\n}}\n"
    );
    let path = format!("/etc/logrotate.d/{name}");
    Item::File(File::plain(&path, text))
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
