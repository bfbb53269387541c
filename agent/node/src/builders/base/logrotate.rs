//! Rotation of the components' logs, hourly, because a component may fill a disk in less than a day.

use super::packages::package;
use crate::builders::Context;
use crate::distribution::Packaging;
use quake_formats::unit_text::UnitText;
use quake_model::fault::Fault;
use quake_model::item::{Autostart, File, Item, Unit, UnitState};

/// Components with a log in `/var/log`. Every node has a rule for each: a log that is not there is passed over.
const LOGS: &[&str] = &[
    "docker",
    "kube-addons",
    "kube-apiserver",
    "kube-controller-manager",
    "kube-proxy",
    "kube-scheduler",
    "kubelet",
    "etcd",
    "etcd-events",
    "etcd-leases",
];

const TIMER: &str = "logrotate.timer";
const SERVICE: &str = "logrotate.service";

/// The rules, and the timer that takes the place of the distribution's, which is daily.
pub(super) fn build(context: &Context<'_>) -> Result<Vec<Item>, Fault> {
    let is_image = context.distribution.packaging() == Packaging::Image;
    let cilium = context.config.network.has_cilium_etcd;
    let logs = LOGS.iter().copied();
    let logs = logs.chain(cilium.then_some("etcd-cilium"));
    let mut items: Vec<Item> = logs.map(|name| Item::File(rule(name, is_image))).collect();
    if !is_image {
        items.push(package("logrotate"));
        items.push(Item::Unit(Unit {
            // The timer starts it.
            state: UnitState::Unmanaged,
            ..at_others_will(context.unit(SERVICE, service()))
        }));
    }
    items.push(Item::Unit(at_others_will(context.unit(TIMER, timer()))));
    Ok(items)
}

/// The distribution has the timer start at boot, under the same name; the agent starts it at each boot, too.
fn at_others_will(unit: Unit) -> Unit {
    Unit {
        autostart: Autostart::Unmanaged,
        ..unit.optional()
    }
}

/// What an image brings dates rotated logs by the day, and then can rotate but once a day: the second is added to the name.
fn rule(name: &str, dates_logs: bool) -> File {
    let date = dates_logs.then_some("  dateformat -%Y%m%d-%s\n");
    let date = date.unwrap_or_default();
    let text = format!(
        "# Written by quake-agent; changes are lost at the next boot.\n\
         /var/log/{name}.log{{\n  rotate 5\n  copytruncate\n  missingok\n  notifempty\n  delaycompress\n  \
         maxsize 100M\n{date}  daily\n  create 0644 root root\n}}\n"
    );
    File::plain(&format!("/etc/logrotate.d/{name}"), text)
}

fn service() -> String {
    UnitText::new()
        .section("Unit")
        .set("Description", "Rotation of log files")
        .section("Service")
        .set("ExecStart", "/usr/sbin/logrotate /etc/logrotate.conf")
        .finish()
}

fn timer() -> String {
    UnitText::new()
        .section("Unit")
        .set("Description", "Hourly rotation of log files")
        .section("Timer")
        .set("OnCalendar", "hourly")
        .finish()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::builders::sample::Sample;
    use crate::distribution::Project;

    #[test]
    fn an_image_that_dates_logs_by_the_day_is_told_to_date_them_by_the_second() {
        let mut sample = Sample::worker("");
        let path = "/etc/logrotate.d/kubelet";
        assert!(!sample.file(build, path).contains("dateformat"));
        sample = sample.on(Project::Flatcar, (0, 0));
        assert!(sample.file(build, path).contains("dateformat -%Y%m%d-%s"));
        let found = sample.subjects(build);
        assert!(found.contains(&TIMER.to_owned()));
        for absent in [SERVICE, "package/logrotate"] {
            assert!(!found.contains(&absent.to_owned()), "{absent}");
        }
    }

    #[test]
    fn ciliums_own_etcd_has_a_log_of_its_own() {
        let path = "/etc/logrotate.d/etcd-cilium".to_owned();
        assert!(!Sample::worker("").subjects(build).contains(&path));
        assert!(
            Sample::worker("UseCiliumEtcd: true\n")
                .subjects(build)
                .contains(&path)
        );
    }
}
