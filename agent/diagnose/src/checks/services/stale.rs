//! `services.stale`: a service that was started before its configuration changed.

use crate::checks::check::{Check, Finding, Severity, Source, Verdict};
use crate::checks::node::Node;
use quake_model::facts::{ActiveState, UnitFacts, Unseen};
use quake_model::time::Timestamp;

pub(in crate::checks) const CHECKS: &[Check] = &[Check {
    id: "services.stale",
    title: "the runtime and kubelet were started after their configuration was written",
    severity: Severity::Info,
    tags: &["systemd", "configuration"],
    sources: &[Source::Units, Source::Files],
    because: &["services.systemd"],
    why: "a file that was changed later shows at the next start alone, perhaps in the middle of the night",
    remedy: "systemctl restart the unit, one node after the other",
    judge,
}];

/// What each service reads once, at its start. A `/` at the end means all files of the directory.
const READ: &[(&str, &[&str])] = &[
    (
        "containerd.service",
        &[
            "/etc/containerd/config.toml",
            "/etc/containerd/conf.d/",
            "/etc/sysconfig/containerd",
        ],
    ),
    (
        "docker.service",
        &["/etc/docker/daemon.json", "/etc/sysconfig/docker"],
    ),
    (
        "kubelet.service",
        &[
            "/etc/sysconfig/kubelet",
            "/var/lib/kubelet/kubelet.conf",
            "/var/lib/kubelet/config.yaml",
            "/etc/kubernetes/kubelet.conf.d/",
        ],
    ),
];

/// A service reads its files this long after its start at most.
const START_MS: u64 = 10_000;

fn judge(node: &Node<'_>) -> Result<Verdict, Unseen> {
    node.survey().units.get()?;
    let mut seen = 0_usize;
    for (name, files) in READ {
        let Ok(Some(unit)) = node.unit(name) else {
            continue;
        };
        let Some(started) = started(unit) else {
            continue;
        };
        seen += 1;
        if let Some((path, modified)) = newer(node, files, started) {
            return Finding::new(
                format!("{name} runs since {started}, and {path} was changed at {modified}"),
                format!("systemctl restart {name}; where the change was not meant: systemctl restart quake-agent.service writes the agent's own files again"),
            )
            .warn();
        }
    }
    match seen {
        0 => Verdict::skip("nobody looked when the services were started"),
        _ => Verdict::ok("their files are older than they are"),
    }
}

fn started(unit: &UnitFacts) -> Option<Timestamp> {
    let is_up = unit.active == ActiveState::Active && unit.main_started_us > 0;
    is_up.then_some(Timestamp(unit.main_started_us / 1000))
}

/// The file that was written last after a start. One that is newer than the survey was copied with it, and its time is that
/// of the copy.
fn newer<'a>(node: &Node<'a>, files: &[&str], started: Timestamp) -> Option<(&'a str, Timestamp)> {
    let is_surveyed = !node.survey().schema_version.is_empty();
    let entries = node.survey().entries.iter().filter(|_| is_surveyed);
    let is_read = |path: &str| {
        files.iter().any(|file| match file.ends_with('/') {
            true => path.starts_with(file),
            false => path == *file,
        })
    };
    let newer = entries
        .filter(|(path, _)| is_read(path))
        .map(|(path, entry)| (path.as_str(), entry.modified))
        .filter(|(_, at)| at.0 > started.0 + START_MS && at.0 <= node.taken().0);
    newer.max_by_key(|(_, at)| at.0)
}

#[cfg(test)]
mod tests {
    use crate::checks::Status;
    use crate::checks::surveyed::{NOW, proves, tree, unit};
    use quake_model::facts::{ActiveState, Seen};
    use quake_model::time::Timestamp;

    #[test]
    fn a_file_that_changed_after_the_start_is_named() {
        for (before_s, status, says) in [
            (60, Status::Warn, "config.toml was changed"),
            (7_200, Status::Ok, "older"),
        ] {
            let mut survey = tree(&[("/etc/containerd/config.toml", "version = 2")]);
            let entry = survey.entries.get_mut("/etc/containerd/config.toml");
            entry.expect("it is there").modified = Timestamp(NOW.0 - before_s * 1000);
            let mut unit = unit("containerd.service", ActiveState::Active);
            unit.main_started_us = (NOW.0 - 3_600_000) * 1000;
            survey.units = Seen::Yes(vec![unit]);
            proves("services.stale", &survey, status, says);
        }
    }
}
