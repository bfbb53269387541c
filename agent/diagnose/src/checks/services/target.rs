//! `services.target`: whether systemd runs the node's units at all, or holds the host in its rescue or emergency mode
//! (systemd.special(7)), in which it has stopped them.

use crate::checks::check::{Check, Finding, Severity, Source, Verdict};
use crate::checks::node::Node;
use quake_formats::yaml::shorten;
use quake_model::facts::{ActiveState, Unseen};

pub(in crate::checks) const CHECKS: &[Check] = &[Check {
    id: "services.target",
    title: "the host is in no rescue or emergency mode",
    severity: Severity::Critical,
    tags: &["systemd"],
    sources: &[Source::Units, Source::Journals, Source::Files],
    because: &[],
    why: "in these modes systemd stops kubelet, the runtime and all others, and none of them logs an error",
    remedy: "find what changed the mode: journalctl -b -u auditd -u rescue -u emergency; then: systemctl isolate multi-user.target",
    judge,
}];

/// What auditd logs as it does so (audit-userspace, `src/auditd-event.c`).
const BY_AUDITD: &str = "audit daemon is now changing the system to single user mode";

/// What auditd logs before, and the settings that say what it then does (auditd.conf(5)).
const REASONS: &[(&str, &str, &str)] = &[
    (
        "low on disk space",
        "admin_space_left_action",
        "its volume is nearly full",
    ),
    (
        "has no space left",
        "disk_full_action",
        "its volume is full",
    ),
    (
        "error writing an event",
        "disk_error_action",
        "it cannot write to its volume",
    ),
];

const CONFIGURATION: &str = "/etc/audit/auditd.conf";

fn judge(node: &Node<'_>) -> Result<Verdict, Unseen> {
    const TARGETS: &[(&str, &str)] = &[
        ("emergency.target", "emergency mode"),
        ("rescue.target", "single user mode"),
    ];
    let mut unseen = None;
    for (target, mode) in TARGETS {
        match node.unit(target) {
            Ok(Some(unit)) if unit.active == ActiveState::Active => {
                return held(node, target, mode).fail();
            }
            Ok(_) => {}
            Err(why) => unseen = Some(why),
        }
    }
    match unseen {
        Some(why) => Err(why),
        None => Verdict::ok("neither of them"),
    }
}

fn held(node: &Node<'_>, target: &str, mode: &str) -> Finding {
    let journal = node.journal("auditd.service");
    let at = journal.iter().rposition(|line| line.contains(BY_AUDITD));
    let Some(at) = at.filter(|_| target == "rescue.target") else {
        return of_others(target, mode);
    };
    let mut before = journal[..at].iter().rev();
    let reason = before.find_map(|line| {
        let mut rows = REASONS.iter();
        rows.find(|(words, _, _)| line.contains(words))
    });
    let (setting, why) = reason.map_or(("", "its volume is nearly full"), |row| (row.1, row.2));
    let folder = folder(node);
    let left = left(node, &folder);
    let set = match setting {
        "" => format!("an action of {CONFIGURATION} is single"),
        setting => format!("{setting} = single in {CONFIGURATION}"),
    };
    let kept = match value(node, "max_log_file_action") {
        Some("keep_logs") => ", and max_log_file_action = keep_logs keeps every log",
        _ => "",
    };
    let finding = Finding::new(
        format!(
            "auditd put the host into {mode} ({target}), as {why}: {folder}{left} ({set}{kept}); systemd has stopped kubelet, the runtime and all others"
        ),
        remedy(node, &folder),
    );
    finding
        .seen("auditd", shorten(&journal[at], 300))
        .seen(CONFIGURATION, set)
}

/// Where auditd writes.
fn folder(node: &Node<'_>) -> String {
    let file = value(node, "log_file").unwrap_or("/var/log/audit/audit.log");
    let folder = file.rsplit_once('/').map_or("", |(folder, _)| folder);
    folder.to_owned()
}

/// How much is free where it writes.
fn left(node: &Node<'_>, folder: &str) -> String {
    let spaces = node.survey().spaces.ok().into_iter().flatten();
    let mut own = spaces.filter(|space| space.path == folder);
    own.next().map_or(String::new(), |space| {
        let free = space.bytes_free as f64 * 100.0 / space.bytes.max(1) as f64;
        format!(" has {free:.1} % free")
    })
}

/// The value of a key of its configuration.
fn value<'a>(node: &Node<'a>, key: &str) -> Option<&'a str> {
    let text = node.text(CONFIGURATION).ok()??;
    let mut lines = text.lines().map(str::trim);
    lines.find_map(|line| {
        let (name, value) = line.split_once('=')?;
        (name.trim() == key).then_some(value.trim())
    })
}

/// What makes room and keeps auditd from doing it again. Its old logs are moved and not deleted.
fn remedy(node: &Node<'_>, folder: &str) -> String {
    let is_grave = |key: &&str| {
        let action = value(node, key).unwrap_or_default().to_ascii_lowercase();
        matches!(action.as_str(), "single" | "halt")
    };
    let keys = REASONS.iter().map(|(_, key, _)| *key);
    let mut keys: Vec<&str> = keys.filter(is_grave).collect();
    if keys.is_empty() {
        keys.push("admin_space_left_action");
    }
    let keys = keys.join("|");
    format!(
        "by EC2's serial console (SSH is stopped): df -h {folder} /root; where it shows room in /root: mkdir -p /root/audit-old && mv {folder}/audit.log.* /root/audit-old/ (where {folder} is on the same filesystem as /root nothing is freed: move them to another one); sed -i -E 's/^({keys}) *=.*/\\1 = syslog/; s/^max_log_file_action *=.*/max_log_file_action = rotate/' {CONFIGURATION}; systemctl isolate multi-user.target; do the same in the image, and leave containers out of the audit rules (-F auid!=unset); a reboot or systemctl start kubelet alone lasts until auditd does it again"
    )
}

fn of_others(target: &str, mode: &str) -> Finding {
    let service = target.replace(".target", ".service");
    let why = match target {
        "emergency.target" => {
            "systemctl --failed names what it failed by, often a mount of /etc/fstab without nofail"
        }
        _ => "last -x runlevel and journalctl -b -g 'rescue|isolate|single' show who changed it",
    };
    Finding::new(
        format!(
            "the host is in {mode} ({target}): systemd has stopped kubelet, the runtime and all others, or never started them"
        ),
        format!(
            "by EC2's serial console (SSH is stopped): journalctl -b -u {service}; {why}; once that is repaired: systemctl isolate multi-user.target"
        ),
    )
}

#[cfg(test)]
mod tests {
    use crate::checks::Status;
    use crate::checks::node_sample::Sample;
    use crate::checks::surveyed::unit;
    use quake_model::facts::{ActiveState, Seen};

    const ID: &str = "services.target";

    fn held_in(active: &str) -> Sample {
        let mut node = Sample::worker();
        if let Seen::Yes(units) = &mut node.survey.units {
            for name in ["emergency.target", "rescue.target"] {
                let state = match name == active {
                    true => ActiveState::Active,
                    false => ActiveState::Inactive,
                };
                units.push(unit(name, state));
            }
        }
        node
    }

    #[test]
    fn a_host_in_rescue_or_emergency_mode_runs_no_node() {
        held_in("").assert(ID, Status::Ok, "neither");
        held_in("emergency.target").assert(ID, Status::Fail, "emergency mode");
        held_in("rescue.target").assert(ID, Status::Fail, "isolate multi-user.target");
        Sample::worker().assert(ID, Status::Skip, "was not looked at");
    }

    #[test]
    fn auditd_is_named_where_it_did_that() {
        let mut node = held_in("rescue.target");
        node.text(
            "/etc/audit/auditd.conf",
            "max_log_file_action = keep_logs\nadmin_space_left_action = SINGLE\ndisk_full_action = halt\n",
        );
        node.journal(
            "auditd.service",
            &[
                "Audit daemon is low on disk space for logging",
                "The audit daemon is now changing the system to single user mode",
                "The audit daemon is exiting.",
            ],
        );
        node.assert(
            ID,
            Status::Fail,
            "auditd put the host into single user mode",
        );
        node.assert(ID, Status::Fail, "admin_space_left_action = single");
        node.assert(ID, Status::Fail, "keep_logs keeps every log");
        node.assert(
            ID,
            Status::Fail,
            "s/^(admin_space_left_action|disk_full_action)",
        );
    }
}
