//! Who keeps the clock, and why nobody does: a daemon that does not run, one without a source, one that may not step.

use super::super::check::{Certainty, Finding};
use super::super::logs::{KnownOfUnit, known_of_unit};
use super::super::node::Node;
use quake_formats::journal::{KnownLine, latest};
use quake_formats::yaml::shorten;
use quake_model::facts::{ActiveState, UnitFacts};

/// The units that keep a clock in step on the distributions we know.
pub(super) const KEEPERS: &[&str] = &[
    "chrony.service",
    "chronyd.service",
    "systemd-timesyncd.service",
    "ntp.service",
    "ntpd.service",
];

/// What the daemons say, by the program that prints it: chrony (`reference.c`, `sources.c`, `main.c`), systemd-timesyncd
/// (`timesyncd-manager.c`).
const REASONS: &[KnownLine] = &[
    KnownLine {
        parts: &["Another chronyd may already be running"],
        means: "another chronyd runs, which systemd did not start",
        fix: "pgrep -a chronyd; stop it, rm -f /run/chrony/chronyd.pid, then: systemctl restart chrony",
    },
    KnownLine {
        parts: &["Can't synchronise: no selectable sources"],
        means: "it reaches no time source",
        fix: "chronyc sources -v; the server must be 169.254.169.123 (no security group filters it), or UDP port 123 must be open to the one in its configuration",
    },
    KnownLine {
        parts: &["Can't synchronise: no majority"],
        means: "its time sources disagree",
        fix: "chronyc sources -v; leave only 169.254.169.123 in its configuration",
    },
    KnownLine {
        parts: &["No suitable source for synchronisation"],
        means: "it reaches no time source",
        fix: "chronyc sources -v; the server must be 169.254.169.123 (no security group filters it), or UDP port 123 must be open to the one in its configuration",
    },
    KnownLine {
        parts: &["Could not resolve address of"],
        means: "the name of its time source does not resolve",
        fix: "name the server by its address, 169.254.169.123, or repair DNS: resolvectl status",
    },
    KnownLine {
        parts: &["Timed out waiting for reply from"],
        means: "its time source does not answer",
        fix: "set NTP=169.254.169.123 in /etc/systemd/timesyncd.conf, then: systemctl restart systemd-timesyncd",
    },
    KnownLine {
        parts: &["Could not open", "chrony.conf"],
        means: "it cannot read its configuration",
        fix: "ls -l /etc/chrony/chrony.conf /etc/chrony.conf; reinstall its package, then: systemctl restart chrony",
    },
    KnownLine {
        parts: &["adjtimex(", "Operation not permitted"],
        means: "it may not set the clock",
        fix: "take CapabilityBoundingSet and ProtectClock out of its drop-ins; a container may not set the clock of its host",
    },
    KnownLine {
        parts: &["System clock wrong by"],
        means: "it found the clock wrong, and corrects it slowly or not at all",
        fix: "chronyc makestep; set makestep 1.0 -1 in its configuration if this comes back",
    },
];

/// The time services that are installed.
fn known<'a>(node: &Node<'a>) -> Vec<&'a UnitFacts> {
    let units = KEEPERS.iter();
    units
        .filter_map(|name| node.unit(name).ok().flatten())
        .collect()
}

/// Why the clock is not in step.
pub(super) fn unsynchronized(node: &Node<'_>) -> Finding {
    let known = known(node);
    let looked = KEEPERS.iter().any(|name| node.unit(name).is_ok());
    let running: Vec<&&UnitFacts> = known
        .iter()
        .filter(|unit| unit.active == ActiveState::Active)
        .collect();
    match (looked, running.first()) {
        (true, Some(unit)) => with_daemon(node, &unit.name),
        (true, None) => without_daemon(node, &known),
        (false, _) => Finding::new(
            "nothing keeps the clock in step with a time source",
            "systemctl enable --now chrony (chronyd, or systemd-timesyncd), with `server 169.254.169.123 prefer iburst`; then: chronyc makestep",
        )
        .by(Certainty::Likely),
    }
}

/// No time service is active.
pub(super) const NONE: &str = "none is active";

/// The finding where time services were looked for, and none runs.
pub(super) fn stopped(node: &Node<'_>) -> Option<Finding> {
    let known = known(node);
    let runs = known.iter().any(|unit| unit.active == ActiveState::Active);
    (!runs && !known.is_empty()).then(|| without_daemon(node, &known))
}

/// A daemon runs, and the clock is not in step.
fn with_daemon(node: &Node<'_>, unit: &str) -> Finding {
    if let Some((file, key)) = without_source(node, unit) {
        return Finding::new(
            format!(
                "{unit} runs, and {file} names no time source, so nothing keeps the clock in step"
            ),
            format!("add `{key}` to {file}, then: systemctl restart {unit}; chronyc makestep"),
        );
    }
    if let Some(reason) = latest(node.journal(unit), REASONS) {
        let (means, fix) = (reason.known.means, reason.known.fix);
        return Finding::new(
            format!("{unit} runs, and the clock is not in step: {means}"),
            fix,
        )
        .by(Certainty::Likely)
        .seen("journal", shorten(reason.line, 300));
    }
    Finding::new(
        format!("{unit} runs, and has not brought the clock in step"),
        match unit.contains("timesyncd") {
            true => "timedatectl timesync-status; set NTP=169.254.169.123 in /etc/systemd/timesyncd.conf, then: systemctl restart systemd-timesyncd",
            false => "chronyc sources -v and chronyc tracking; its configuration needs `server 169.254.169.123 prefer iburst`; then: systemctl restart the unit, chronyc makestep",
        },
    )
    .by(Certainty::Possible)
    .or_else("it was started a moment ago, and needs some minutes for its first measurements")
    .or_else("a network ACL or a packet filter of the host drops UDP port 123")
}

/// What is known of a daemon that failed, where it is about the clock.
fn reason_of<'a>(node: &Node<'a>, name: &str) -> Option<KnownOfUnit<'a>> {
    known_of_unit(node.journal(name)).filter(|known| known.check == "time.sync")
}

/// No daemon runs: none is installed, or one was stopped or failed.
fn without_daemon(node: &Node<'_>, known: &[&UnitFacts]) -> Finding {
    let what = "no time service runs, so nothing keeps the clock in step";
    let Some(unit) = known.first() else {
        return Finding::new(
            format!("{what}: none is installed"),
            "install chrony, with `server 169.254.169.123 prefer iburst` in its configuration: systemctl enable --now chrony (chronyd)",
        );
    };
    let name = &unit.name;
    let finding = match (unit.active, latest(node.journal(name), REASONS)) {
        (ActiveState::Failed, Some(reason)) => Finding::new(
            format!("{what}: {name} failed: {}", reason.known.means),
            reason.known.fix,
        )
        .seen("journal", shorten(reason.line, 300)),
        (ActiveState::Failed, None) => match reason_of(node, name) {
            Some(known) => Finding::new(
                format!("{what}: {name} failed: {}", known.means),
                format!("{}; then: systemctl restart {name}", known.fix),
            )
            .seen("journal", shorten(known.line, 300)),
            None => Finding::new(
                format!("{what}: {name} failed"),
                format!(
                    "journalctl -b -u {name}; fix what it says, then: systemctl restart {name}"
                ),
            ),
        },
        _ => Finding::new(
            format!("{what}: {name} is not started"),
            format!("systemctl enable --now {name}; then: chronyc makestep"),
        ),
    };
    match unit.enabled {
        true => finding,
        false => finding.seen("enabled", "no"),
    }
}

/// The configuration of a daemon that names no source, and what belongs there. Files that it may include are not looked at:
/// one that includes others is not judged.
fn without_source(node: &Node<'_>, unit: &str) -> Option<(&'static str, &'static str)> {
    const CHRONY: &str = "server 169.254.169.123 prefer iburst minpoll 4 maxpoll 4";
    if !unit.starts_with("chrony") {
        return None;
    }
    let files = ["/etc/chrony/chrony.conf", "/etc/chrony.conf"];
    let (file, text) = files
        .iter()
        .find_map(|file| Some((*file, node.text(file).ok()??)))?;
    let names = |line: &str| {
        let word = line.split_whitespace().next().unwrap_or_default();
        [
            "server",
            "pool",
            "peer",
            "refclock",
            "include",
            "confdir",
            "sourcedir",
        ]
        .contains(&word)
    };
    (!text.lines().any(names)).then_some((file, CHRONY))
}
