//! `host.packages`: an upgrade of packages that stopped halfway.

use crate::checks::check::{Certainty, Check, Finding, Severity, Source, Verdict};
use crate::checks::node::Node;
use quake_model::facts::Unseen;
use std::collections::BTreeMap;

pub(in crate::checks) const CHECKS: &[Check] = &[Check {
    id: "host.packages",
    title: "no package is installed by half",
    severity: Severity::Warning,
    tags: &["packages"],
    sources: &[Source::Journals],
    because: &[],
    why: "the files of such a package are of two versions, or its service was stopped and not started again",
    remedy: "dpkg --configure -a, and apt-get install -f; keep unattended upgrades off nodes",
    judge,
}];

/// Where dpkg writes what it does.
const LOG: &str = "/var/log/dpkg.log";

fn judge(node: &Node<'_>) -> Result<Verdict, Unseen> {
    let logs = node.survey().logs.get()?;
    let Some(lines) = logs.get(LOG) else {
        return Verdict::skip("dpkg wrote nothing lately");
    };
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
    use crate::checks::surveyed::{proves, tree};
    use quake_model::facts::Seen;

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
