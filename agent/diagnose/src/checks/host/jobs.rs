//! `host.jobs`: what cron, timers, start scripts and units of others do to the node.

mod harms;

use crate::checks::check::{Certainty, Check, Finding, Severity, Source, Verdict};
use crate::checks::kubelet_config::kubelet_setting;
use crate::checks::node::Node;
use harms::{HARMS, Harm, SWAP, TIDIED};
use quake_formats::yaml::shorten;
use quake_model::facts::Unseen;

pub(in crate::checks) const CHECKS: &[Check] = &[Check {
    id: "host.jobs",
    title: "no job of others removes or stops what the node needs",
    severity: Severity::Warning,
    tags: &["cron", "scripts"],
    sources: &[Source::Files],
    because: &[],
    why: "what is repaired by hand is broken again at the next run",
    remedy: "take the command out of the job; for what it did see the other findings",
    judge,
}];

/// Where jobs are. A `/` at the end means all files of the directory.
const PLACES: &[&str] = &[
    "/etc/crontab",
    "/etc/cron.d/",
    "/etc/cron.hourly/",
    "/etc/cron.daily/",
    "/etc/cron.weekly/",
    "/var/spool/cron/",
    "/etc/tmpfiles.d/",
    "/etc/rc.local",
    "/etc/rc.d/rc.local",
    "/etc/systemd/system/",
];

/// Where scripts are that people run by hand, and jobs call.
const SCRIPTS: &[&str] = &["/usr/local/bin/", "/usr/local/sbin/"];

/// Whether a path is of a script that a job calls: by its path, or by its name as a word.
fn is_called(node: &Node<'_>, path: &str) -> bool {
    if !SCRIPTS.iter().any(|place| path.starts_with(place)) {
        return false;
    }
    let name = path.rsplit('/').next().unwrap_or(path);
    let calls = |text: &str| {
        let lines = text.lines().filter(|line| !line.trim().starts_with('#'));
        let is_edge = |c: char| c.is_whitespace() || ";&|()'\"=".contains(c);
        let mut words = lines.flat_map(|line| line.split(is_edge));
        words.any(|word| word == path || word == name)
    };
    let texts = node.survey().texts.iter();
    let mut jobs = texts.filter(|(job, _)| PLACES.iter().any(|place| job.starts_with(place)));
    jobs.any(|(_, text)| text.ok().is_some_and(|text| calls(text)))
}

/// A command of a job that does harm.
struct Found<'a> {
    path: &'a str,
    line: &'a str,
    harm: &'static Harm,
}

fn judge(node: &Node<'_>) -> Result<Verdict, Unseen> {
    let texts = node.survey().texts.iter();
    let is_job = |path: &str| PLACES.iter().any(|place| path.starts_with(place));
    let jobs =
        texts.filter(|(path, _)| (is_job(path) || is_called(node, path)) && !is_ours(node, path));
    let found = jobs.filter_map(|(path, text)| Some((path, text.ok()?)));
    let mut found = found.flat_map(|(path, text)| {
        let lines = text.lines().map(str::trim);
        let commands = lines.filter(|line| is_command(path, line));
        commands.filter_map(move |line| {
            let harm = harm_of(path, line).filter(|harm| !is_allowed(node, harm))?;
            Some(Found { path, line, harm })
        })
    });
    let Some(first) = found.next() else {
        return Verdict::ok("no job is known to do harm");
    };
    let finding = Finding::new(
        format!(
            "{} {}: {}",
            first.path,
            first.harm.does,
            shorten(first.line, 120)
        ),
        format!(
            "take the line out of {}, or keep the job off nodes of the cluster; {}",
            first.path, first.harm.fix
        ),
    )
    .by(Certainty::Likely)
    .seen("line", shorten(first.line, 300));
    let others = found.filter(|other| other.path != first.path).take(3);
    others
        .fold(finding, |finding, other| {
            let (path, does) = (other.path, other.harm.does);
            finding.seen(
                "also",
                format_args!("{path} {does}: {}", shorten(other.line, 200)),
            )
        })
        .warn()
}

/// The harm that a line does. In a file of tmpfiles.d(5) a line has a type in place of a command: `R`, `r` and `D` remove, and
/// `d` and `e` remove what is older than the age in the sixth field.
fn harm_of(path: &str, line: &str) -> Option<&'static Harm> {
    if !path.starts_with("/etc/tmpfiles.d/") {
        return HARMS.iter().find(|harm| harm.is_in(line));
    }
    let words: Vec<&str> = line.split_whitespace().collect();
    let removes = match words.first()?.chars().next()? {
        'R' | 'r' | 'D' => true,
        'd' | 'e' => words.get(5).is_some_and(|age| *age != "-"),
        _ => false,
    };
    let is_of_node = TIDIED
        .objects
        .iter()
        .any(|it| words.get(1).is_some_and(|path| path.starts_with(it)));
    (removes && is_of_node).then_some(&TIDIED)
}

/// Whether this node bears what a command does: swap, where kubelet is configured to.
fn is_allowed(node: &Node<'_>, harm: &Harm) -> bool {
    let fails_on_swap = || kubelet_setting(node, "fail-swap-on", "failSwapOn");
    harm.does == SWAP && fails_on_swap().as_deref() == Some("false")
}

/// Whether a file is of the agent or of kops, which the boot wrote.
fn is_ours(node: &Node<'_>, path: &str) -> bool {
    const UNITS: &[&str] = &[
        "kubelet.service",
        "containerd.service",
        "docker.service",
        "quake-agent.service",
    ];
    let is_unit = UNITS.iter().any(|unit| path.contains(unit)) || path.contains("/kops-");
    let step = format!("files:{path}");
    let written = node
        .record()
        .is_ok_and(|record| record.steps.iter().any(|done| done.step == step));
    is_unit || written
}

/// Whether a line of a job runs something: of a unit its commands alone.
fn is_command(path: &str, line: &str) -> bool {
    match path.starts_with("/etc/systemd/system/") {
        true => line.starts_with("Exec"),
        false => !line.starts_with('#') && !line.starts_with("echo "),
    }
}

#[cfg(test)]
mod tests {
    use crate::checks::Status;
    use crate::checks::surveyed::{proves, tree};

    #[test]
    fn a_job_that_does_harm_is_named_with_its_file() {
        let id = "host.jobs";
        for (path, text, says) in [
            (
                "/etc/cron.d/tidy",
                "*/5 * * * * root iptables -F && iptables -X\n",
                "removes all rules of the packet filter",
            ),
            (
                "/etc/cron.daily/clean",
                "#!/bin/sh\ndocker system prune -af\n",
                "removes containers and images",
            ),
            (
                "/etc/systemd/system/x.service",
                "[Service]\nExecStart=/bin/sh -c 'rm -rf /var/lib/cni/*'\n",
                "removes directories of the node",
            ),
        ] {
            proves(id, &tree(&[(path, text)]), Status::Warn, says);
        }
    }

    #[test]
    fn a_script_is_a_job_where_one_calls_it() {
        let script = (
            "/usr/local/bin/nightly.sh",
            "systemctl restart containerd\n",
        );
        proves("host.jobs", &tree(&[script]), Status::Ok, "no job");
        for cron in [
            "0 3 * * * root /usr/local/bin/nightly.sh\n",
            "0 3 * * * root nightly.sh >/dev/null\n",
        ] {
            let survey = tree(&[script, ("/etc/cron.d/nightly", cron)]);
            proves("host.jobs", &survey, Status::Warn, "stops or restarts");
        }
    }

    #[test]
    fn swap_does_no_harm_to_a_kubelet_that_bears_it() {
        let job = ("/etc/cron.d/swap", "@reboot root swapon /swapfile\n");
        proves("host.jobs", &tree(&[job]), Status::Warn, "turns swap on");
        let kubelet = (
            "/etc/sysconfig/kubelet",
            "DAEMON_ARGS=\"--fail-swap-on=false\"\n",
        );
        proves("host.jobs", &tree(&[job, kubelet]), Status::Ok, "no job");
    }

    #[test]
    fn jobs_of_distributions_are_no_trouble() {
        let id = "host.jobs";
        for (path, text) in [
            (
                "/etc/cron.d/e2scrub_all",
                "30 3 * * 0 root test -e /run/systemd/system || SERVICE_MODE=1 /usr/lib/x86_64-linux-gnu/e2fsprogs/e2scrub_all_cron\n",
            ),
            (
                "/etc/cron.daily/dpkg",
                "#!/bin/sh\n/usr/libexec/dpkg/dpkg-db-backup\n",
            ),
            (
                "/etc/crontab",
                "17 * * * * root cd / && run-parts --report /etc/cron.hourly\n# rm -rf /var/lib/docker\n",
            ),
            (
                "/etc/systemd/system/hook.service",
                "[Service]\nExecStart=/usr/bin/true\n# iptables -F\n",
            ),
        ] {
            proves(id, &tree(&[(path, text)]), Status::Ok, "no job");
        }
    }
}
