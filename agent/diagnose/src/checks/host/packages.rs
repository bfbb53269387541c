//! `host.packages`: packages that replace the node's own programs, and an upgrade that stopped halfway.

use crate::checks::check::{Certainty, Check, Finding, Severity, Source, Verdict};
use crate::checks::node::Node;
use quake_model::facts::Unseen;
use quake_model::time::Timestamp;
use std::collections::BTreeMap;

pub(in crate::checks) const CHECKS: &[Check] = &[Check {
    id: "host.packages",
    title: "no package replaces the node's programs or is only half installed",
    severity: Severity::Warning,
    tags: &["packages"],
    sources: &[Source::Journals],
    because: &[],
    why: "such a package brings another version than the node's, or its files are of two versions, or its service was stopped",
    remedy: "dpkg --configure -a, and apt-get install -f; keep unattended upgrades off nodes",
    judge,
}];

/// An upgrade that wrote something so lately may go on.
const UNDER_WAY_MS: u64 = 10 * 60_000;

/// Where dpkg writes what it does.
const LOG: &str = "/var/log/dpkg.log";

fn judge(node: &Node<'_>) -> Result<Verdict, Unseen> {
    let logs = node.survey().logs.get()?;
    let Some(lines) = logs.get(LOG) else {
        return Verdict::skip("dpkg wrote nothing lately");
    };
    let ahead = ahead_of_utc(node, lines);
    if let Some(finding) = laid_over(node, lines, ahead) {
        return finding.warn();
    }
    let recent = stamp(
        Timestamp(node.taken().0.saturating_sub(UNDER_WAY_MS)),
        ahead,
    );
    if lines.last().is_some_and(|last| *last > recent) {
        return Verdict::ok("dpkg is at work");
    }
    let mut states: BTreeMap<&str, (&str, &str)> = BTreeMap::new();
    for (package, state, line) in lines.iter().filter_map(|line| read(line)) {
        states.insert(package, (state, line));
    }
    let is_half = |state: &str| matches!(state, "unpacked" | "half-installed" | "half-configured");
    let half: Vec<_> = states
        .iter()
        .filter(|(_, (state, _))| is_half(state))
        .collect();
    let Some((package, (state, line))) = half.first() else {
        return Verdict::ok("dpkg finished what it began");
    };
    let names: Vec<&str> = half.iter().map(|(name, _)| **name).collect();
    Finding::new(
        format!("an upgrade stopped halfway: {package} is {state}"),
        format!(
            "dpkg --configure -a; apt-get install -f; systemctl daemon-reload; then restart what it is of ({}); take the package out of unattended upgrades: apt-mark hold",
            names.join(", ")
        ),
    )
    .by(Certainty::Likely)
    .seen(LOG, line)
    .warn()
}

/// Packages of distributions and vendors, a program of each, and how the name of the asset with that program begins.
const OVER: &[(&str, &str, &str)] = &[
    ("containerd", "/usr/bin/containerd", "containerd-"),
    ("containerd.io", "/usr/bin/containerd", "containerd-"),
    ("runc", "/usr/sbin/runc", "runc"),
    ("kubelet", "/usr/bin/kubelet", "kubelet"),
    ("kubernetes-cni", "/opt/cni/bin/bridge", "cni-plugins-"),
];

/// A package that was installed after the boot over a program that the boot had put there.
fn laid_over(node: &Node<'_>, lines: &[String], ahead: i64) -> Option<Finding> {
    let assets = &node.expected().ok()?.assets;
    let booted = stamp(node.record().ok()?.started, ahead);
    let (package, version, asset, line) = lines.iter().rev().find_map(|line| {
        let (package, _, _) = read(line).filter(|(_, state, _)| *state == "installed")?;
        let (_, program, start) = OVER.iter().find(|(name, ..)| *name == package)?;
        // What an archive has is not told apart.
        let has = |paths: &[String]| paths.is_empty() || paths.iter().any(|path| path == program);
        let mut assets = assets.iter();
        let asset = assets.find(|asset| asset.name.starts_with(start) && has(&asset.paths))?;
        let version = line.rsplit(' ').next()?;
        (*line > booted).then_some((package, version, asset, line))
    })?;
    Some(
        Finding::new(
            format!(
                "the package {package} {version} was installed over the node's own program, which is from {}",
                asset.name
            ),
            format!(
                "replace the node; or drain it, apt-get remove {package} and what wanted it (less /var/log/apt/history.log), and: systemctl daemon-reload; systemctl restart {} puts the node's own files back",
                node.agent_unit()
            ),
        )
        .by(Certainty::Likely)
        .seen(LOG, line),
    )
}

/// How far the times in dpkg's log are ahead of UTC, in milliseconds: dpkg writes the time of the host's zone. What is known of
/// a zone here is its name; the log itself was changed when its last line was written, and zones differ by quarters of an hour.
fn ahead_of_utc(node: &Node<'_>, lines: &[String]) -> i64 {
    const QUARTER: i64 = 15 * 60_000;
    const FARTHEST: i64 = 14 * 4;
    let signed = |at: Timestamp| i64::try_from(at.0).unwrap_or(i64::MAX);
    let entry = |path: &str| node.entry(path).ok().flatten();
    let zone = entry("/etc/localtime").and_then(|entry| entry.target.clone());
    let is_utc = |zone: &String| {
        ["/UTC", "/UCT", "/GMT", "/Zulu"]
            .iter()
            .any(|end| zone.ends_with(end))
    };
    if zone.as_ref().is_none_or(is_utc) {
        return 0;
    }
    let written = lines.iter().rev().find_map(|line| {
        let (date, clock) = (line.get(..10)?, line.get(11..19)?);
        Timestamp::parse(&format!("{date}T{clock}Z"))
    });
    let changed = entry(LOG).map(|entry| entry.modified);
    let Some((written, changed)) = written.zip(changed) else {
        return 0;
    };
    let quarters = (signed(written) - signed(changed) + QUARTER / 2).div_euclid(QUARTER);
    match quarters.abs() <= FARTHEST {
        true => quarters * QUARTER,
        // A copy of the log, which tells nothing.
        false => 0,
    }
}

/// A moment as dpkg writes it, on a host whose zone is so far ahead of UTC.
fn stamp(at: Timestamp, ahead: i64) -> String {
    let local = at.0.saturating_add_signed(ahead);
    Timestamp(local).to_string().replace('T', " ")
}

/// Reads `2026-11-22 06:25:01 status half-configured containerd.io:amd64 1.7.27-1` (dpkg(1), `--log`).
fn read(line: &str) -> Option<(&str, &str, &str)> {
    let (_, rest) = line.split_once(" status ")?;
    let mut words = rest.split(' ');
    let state = words.next()?;
    let package = words.next()?.split(':').next()?;
    Some((package, state, line))
}

#[cfg(test)]
mod tests {
    use crate::checks::Status;
    use crate::checks::surveyed::entry;
    use crate::checks::surveyed::{proves, tree};
    use quake_model::facts::{EntryKind, Seen};
    use quake_model::time::Timestamp;

    #[test]
    fn the_log_is_in_the_time_of_the_hosts_zone() {
        // The survey is of 00:00 UTC, and the log was changed at 23:55 of the day before, which it calls 01:55.
        let half = "2026-11-23 01:55:00 status half-configured containerd.io:amd64 1.7.27-1";
        let mut survey = tree(&[]);
        let now = survey.taken.0;
        survey.logs = Seen::Yes([("/var/log/dpkg.log".to_owned(), vec![half.to_owned()])].into());
        let mut log = entry(EntryKind::File, 0o644);
        let mut zone = entry(EntryKind::Link, 0o777);
        zone.target = Some("/usr/share/zoneinfo/Europe/Berlin".to_owned());
        survey.entries.insert("/etc/localtime".to_owned(), zone);
        for (minutes, status, says) in
            [(5, Status::Ok, "at work"), (24 * 60, Status::Ok, "at work")]
        {
            log.modified = Timestamp(now - minutes * 60_000);
            survey
                .entries
                .insert("/var/log/dpkg.log".to_owned(), log.clone());
            proves("host.packages", &survey, status, says);
        }
        let half = half.replace("01:55", "01:25");
        survey.logs = Seen::Yes([("/var/log/dpkg.log".to_owned(), vec![half])].into());
        log.modified = Timestamp(now - 35 * 60_000);
        survey.entries.insert("/var/log/dpkg.log".to_owned(), log);
        proves("host.packages", &survey, Status::Warn, "half-configured");
    }

    #[test]
    fn the_last_state_of_each_package_counts() {
        let half = "2026-11-22 06:25:01 status half-configured containerd.io:amd64 1.7.27-1";
        let whole = "2026-11-22 06:25:02 status installed containerd.io:amd64 1.7.27-1";
        for (lines, status, says) in [
            (vec![half], Status::Warn, "containerd.io is half-configured"),
            (vec![half, whole], Status::Ok, "finished"),
        ] {
            let mut survey = tree(&[]);
            let lines = lines.into_iter().map(str::to_owned).collect();
            survey.logs = Seen::Yes([("/var/log/dpkg.log".to_owned(), lines)].into());
            proves("host.packages", &survey, status, says);
        }
    }
}
