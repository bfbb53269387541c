//! `host.versions`: versions of programs that are known for a fault which no log line names.

mod table;

use crate::checks::check::{Check, Finding, Severity, Source, Verdict};
use crate::checks::kubelet_config::runs_kubernetes;
use crate::checks::node::Node;
use quake_model::facts::Unseen;
use table::{Fault, Harm, ROWS};

pub(in crate::checks) const CHECKS: &[Check] = &[Check {
    id: "host.versions",
    title: "no program has a version that is known for a fault",
    severity: Severity::Warning,
    tags: &["kernel", "containerd", "etcd"],
    sources: &[
        Source::Files,
        Source::Journals,
        Source::Probes,
        Source::Runtime,
    ],
    because: &[],
    why: "such a fault shows no error of its own: pods hang, are slow, or lose data",
    remedy: "install a version with the fix; in an image, then roll the group",
    judge,
}];

fn judge(node: &Node<'_>) -> Result<Verdict, Unseen> {
    if !runs_kubernetes(node) {
        return Verdict::skip("the node is not known to run Kubernetes");
    }
    let versions = versions(node);
    let found = ROWS.iter().filter_map(|row| {
        let is_of = |(program, _): &&(&str, String)| *program == row.program;
        let mut own = versions.iter().filter(is_of).map(|(_, version)| version);
        let version = own.find(|version| is_bad(row.bad, version))?;
        (row.concerns)(node).then_some((row, version))
    });
    let mut found: Vec<(&Fault, &String)> = found.collect();
    found.sort_by_key(|(row, _)| row.harm);
    let mut found = found.into_iter();
    let Some((row, version)) = found.next() else {
        return Verdict::ok(format!("{} versions are known", versions.len()));
    };
    let says = |row: &Fault, version: &str| format!("{} {version}: {}", row.program, row.what);
    let finding = Finding::new(says(row, version), row.fix);
    let finding = match row.harm {
        Harm::Sure => finding,
        Harm::Risk => finding.advice(),
    };
    found
        .fold(finding, |finding, (row, version)| {
            finding.seen("also", format_args!("{}; {}", says(row, version), row.fix))
        })
        .warn()
}

/// Whether a version is in one of the ranges, each from its first version to the first without the fault.
fn is_bad(bad: &[(&str, &str)], version: &str) -> bool {
    let Some(version) = numbers(version) else {
        return false;
    };
    bad.iter().any(|(from, fixed)| {
        let is_from = numbers(from).is_some_and(|from| version >= from);
        is_from && numbers(fixed).is_some_and(|fixed| version < fixed)
    })
}

/// The first three numbers of a version, 1, 7 and 14 of `v1.7.14~ds1`.
fn numbers(version: &str) -> Option<[u64; 3]> {
    let mut parts = version
        .trim_start_matches('v')
        .split(|c: char| !c.is_ascii_digit());
    let mut next = || parts.next().and_then(|part| part.parse().ok());
    let first = next()?;
    Some([first, next().unwrap_or(0), next().unwrap_or(0)])
}

/// The versions that are known, by the program.
fn versions(node: &Node<'_>) -> Vec<(&'static str, String)> {
    let mut all = Vec::new();
    if let Ok(Some(release)) = node.text("/proc/sys/kernel/osrelease") {
        all.push(("Linux", release.trim().to_owned()));
    }
    let runtime = node.survey().runtime.ok();
    all.extend(containerd(node).map(|version| ("containerd", version)));
    all.extend(runtime.and_then(|runtime| Some(("runc", runtime.runc.clone()?))));
    let members = node.survey().etcd.ok().into_iter().flatten();
    let own = members.filter(|member| member.own);
    all.extend(own.filter_map(|member| Some(("etcd", member.status.as_ref()?.version.clone()))));
    all.extend(node.pods().filter_map(|pod| {
        let (name, tag) = pod.image.rsplit('/').next()?.split_once(':')?;
        let program = name.starts_with("etcd-manager").then_some("etcd-manager")?;
        Some((program, tag.to_owned()))
    }));
    all
}

/// containerd's version as it answers, else as it last said at its start.
fn containerd(node: &Node<'_>) -> Option<String> {
    let runtime = node.survey().runtime.ok();
    let runtime = runtime.filter(|runtime| runtime.name == "containerd");
    if let Some(version) = runtime.and_then(|runtime| runtime.version.clone()) {
        return Some(version);
    }
    let mut journal = node.journal("containerd.service").iter().rev();
    let line = journal.find(|line| line.contains("starting containerd"))?;
    let (_, version) = line.split_once("version=")?;
    version.split_whitespace().next().map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::{ROWS, is_bad, numbers};
    use crate::checks::Status;
    use crate::checks::node_sample::Sample;

    const ID: &str = "host.versions";

    #[test]
    fn a_version_is_bad_from_its_first_to_the_one_with_the_fix() {
        let bad: &[(&str, &str)] = &[("1.6.29", "1.6.31"), ("1.7.14", "1.7.15")];
        for (version, wanted) in [
            ("1.6.28", false),
            ("1.6.29", true),
            ("v1.6.30-0ubuntu1", true),
            ("1.6.31", false),
            ("1.7.14~ds1", true),
            ("1.7.15", false),
            ("2", false),
            ("unknown", false),
        ] {
            assert_eq!(is_bad(bad, version), wanted, "{version}");
        }
    }

    #[test]
    fn every_range_of_the_table_has_versions_in_it() {
        for row in ROWS {
            for (from, fixed) in row.bad {
                assert!(
                    numbers(from).is_some() && numbers(from) < numbers(fixed),
                    "{}",
                    row.what
                );
            }
        }
    }

    #[test]
    fn each_program_is_found_where_it_says_its_version() {
        let mut node = Sample::control_plane();
        node.assert(ID, Status::Ok, "versions are known");
        node.runtime().version = Some("1.7.14".to_owned());
        node.assert(ID, Status::Warn, "containerd 1.7.14: exec");
        node.runtime().version = None;
        let start = "level=info msg=\"starting containerd\" revision=0 version=v2.3.0";
        node.journal("containerd.service", &[start]);
        node.assert(ID, Status::Warn, "containerd v2.3.0");
        node.runtime().version = Some("2.3.2".to_owned());
        node.runtime().runc = Some("1.2.8".to_owned());
        node.assert(ID, Status::Warn, "runc 1.2.8");
        node.runtime().runc = Some("1.3.4".to_owned());
        node.pod("etcd-manager", "running").image =
            "docker.io/kopeio/etcd-manager:3.0.20190930".to_owned();
        node.assert(ID, Status::Warn, "etcd-manager 3.0.20190930");
    }

    #[test]
    fn a_kernel_is_judged_with_its_command_line() {
        let mut node = Sample::worker();
        node.text("/proc/sys/kernel/osrelease", "3.10.0-957.el7.x86_64\n");
        node.assert(
            ID,
            Status::Warn,
            "Linux 3.10.0-957.el7.x86_64: memory of control groups",
        );
        node.text("/proc/cmdline", "ro cgroup.memory=nokmem\n");
        node.assert(ID, Status::Warn, "5 seconds");
        node.text("/proc/sys/kernel/osrelease", "6.1.0-28-cloud-amd64\n");
        node.assert(ID, Status::Ok, "known");
    }
}
