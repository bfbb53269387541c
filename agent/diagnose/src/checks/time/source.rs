//! What the kernel reads the time from: a slow source makes every program slow, and the clock is still right.

use super::super::check::Finding;
use super::super::host::kernel_log;
use super::super::node::Node;

const CURRENT: &str = "/sys/devices/system/clocksource/clocksource0/current_clocksource";

/// Sources that are read through the hypervisor, by a trap each time (Linux `drivers/clocksource/acpi_pm.c`,
/// `arch/x86/kernel/hpet.c`, `kernel/time/jiffies.c`).
const SLOW: &[&str] = &["acpi_pm", "hpet", "jiffies", "refined-jiffies"];

/// How the kernel says that it changes its source (`kernel/time/clocksource.c`).
const SWITCHED: &str = "Switched to clocksource ";

/// The words of the kernel's command line that choose a source, or take one away.
const CHOOSING: &[&str] = &["clocksource=", "no-kvmclock", "tsc=", "notsc", "nohpet"];

/// The finding of a slow source.
pub(super) fn slow(node: &Node<'_>) -> Option<Finding> {
    let log = kernel_log::lines(node, &[SWITCHED]).unwrap_or_default();
    let logged = log.last().copied();
    let of_log = logged.and_then(|line| line.rsplit_once(SWITCHED));
    let current = node.text(CURRENT).ok().flatten().map(str::trim);
    let source = current.or(of_log.map(|(_, source)| source.trim()))?;
    if !SLOW.contains(&source) {
        return None;
    }
    let of_file = node.text("/proc/cmdline").ok().flatten();
    let booted = kernel_log::lines(node, &["Command line: "]).unwrap_or_default();
    let command_line = of_file.or(booted.last().copied());
    let words = command_line.unwrap_or_default().split_whitespace();
    let chosen: Vec<&str> = words
        .filter(|word| CHOOSING.iter().any(|start| word.starts_with(start)))
        .collect();
    let chosen = chosen.join(" ");
    let what = format!(
        "the kernel reads the time from {source}: each reading goes through the hypervisor, and all programs are slow"
    );
    let finding = match chosen.is_empty() {
        true => Finding::new(
            what,
            "cat /sys/devices/system/clocksource/clocksource0/available_clocksource; echo kvm-clock (tsc on Nitro, xen on Xen) into current_clocksource beside it where it is there; else replace the instance: the kernel gave a source up that was not steady",
        ),
        false => Finding::new(
            format!("{what}; its command line has {chosen}"),
            format!(
                "take {chosen} out of the kernel's command line (GRUB_CMDLINE_LINUX, update-grub, and the image), so that kvm-clock takes over, and reboot or replace the instance; disk, etcd and chrony are not the cause"
            ),
        )
        .seen("command line", chosen),
    };
    let finding = finding.seen("source", source);
    Some(match logged {
        Some(line) => finding.seen("kernel log", line),
        None => finding,
    })
}

#[cfg(test)]
mod tests {
    use crate::checks::report::Status;
    use crate::checks::surveyed::{proves, tree};
    use quake_model::facts::{ClockFacts, Seen};

    #[test]
    fn a_source_that_goes_through_the_hypervisor_is_told_with_what_chose_it() {
        for (source, command_line, status, words) in [
            ("tsc\n", "quiet", Status::Ok, "in step"),
            ("kvm-clock\n", "quiet", Status::Ok, "in step"),
            ("hpet\n", "quiet", Status::Warn, "from hpet"),
            (
                "acpi_pm\n",
                "quiet no-kvmclock clocksource=tsc",
                Status::Warn,
                "has no-kvmclock clocksource=tsc",
            ),
        ] {
            let mut survey = tree(&[(super::CURRENT, source), ("/proc/cmdline", command_line)]);
            survey.clock = Seen::Yes(ClockFacts {
                synchronized: true,
                offset_us: Some(40),
                max_error_us: None,
                ahead_of_server_ms: None,
            });
            proves("time.sync", &survey, status, words);
        }
    }
}
