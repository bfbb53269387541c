//! `staticpods.running`: the containers of the expected pods.

use super::admitted;
use super::denied::denied;
use super::reasons::REASONS;
use crate::checks::check::{Certainty, Finding, Verdict};
use crate::checks::etcd::is_held_back;
use crate::checks::from_journal::QUOTED;
use crate::checks::innermost::{innermost, is_in_line, meaning};
use crate::checks::logs::{is_error, last_error, last_word};
use crate::checks::memory_limit::{self, Kill};
use crate::checks::named;
use crate::checks::node::Node;
use crate::checks::quote::quote;
use crate::checks::stage;
use crate::log_lines;
use quake_formats::journal::latest;
use quake_model::facts::{PodSeen, Unseen};
use quake_model::phase::Phase;

/// So many starts are no accident any more.
const MANY: u32 = 5;

pub(super) fn judge(node: &Node<'_>) -> Result<Verdict, Unseen> {
    let expected = stage::kubernetes(node)?;
    if expected.static_pods.is_empty() {
        return Verdict::skip("no static pod is expected");
    }
    stage::done(node, Phase::Services)?;
    // A container beside the component may be why kubelet kills it.
    if let Some(finding) = denied(node) {
        return finding.fail();
    }
    if let Some(finding) = not_admitted(node, &expected.static_pods) {
        return finding.fail();
    }
    let mut restless = None;
    // Why a pod of etcd is kept back is a question of its volume.
    let pods = expected.static_pods.iter();
    let mut wanted: Vec<&String> = pods.filter(|pod| !is_held_back(node, pod)).collect();
    // The others need it.
    wanted.sort_by_key(|pod| !pod.starts_with("etcd"));
    for component in wanted {
        if let Some(verdict) = trouble_of(node, component)? {
            return Ok(verdict);
        }
        let mut containers = containers_of(node, component)?.into_iter();
        if let Some(up) = containers.find(|one| is_up(one) && one.restarts >= MANY) {
            restless = Some((component, up));
        }
    }
    let Some((component, up)) = restless else {
        return Verdict::ok(expected.static_pods.join(", "));
    };
    Finding::new(
        format!("{component} was started again {} times", up.restarts),
        format!("tail -n 50 /var/log/pods/kube-system_{component}-*/*/*.log (or /var/log/{component}.log): the end of each run says why it ended"),
    )
    .by(Certainty::Possible)
    .warn()
}

/// The first of the components without a container that kubelet did not admit: others fail for want of it.
fn not_admitted(node: &Node<'_>, components: &[String]) -> Option<Finding> {
    let is_absent = |component: &&String| {
        containers_of(node, component).is_ok_and(|containers| containers.is_empty())
    };
    let mut absent = components.iter().filter(is_absent);
    absent.find_map(|component| admitted::refused(node, component))
}

/// What keeps a component from running; `None` where it runs.
///
/// # Errors
///
/// As [`containers_of`].
pub(in crate::checks) fn trouble_of(
    node: &Node<'_>,
    component: &str,
) -> Result<Option<Verdict>, Unseen> {
    let containers = containers_of(node, component)?;
    match containers.last() {
        None => node.fail_after_boot(unstarted(node, component)).map(Some),
        Some(_) if containers.iter().any(|container| is_up(container)) => Ok(None),
        Some(last) if never_ran(last) && why_unstarted(node, component).is_some() => {
            unstarted(node, component).fail().map(Some)
        }
        Some(last) => down(node, component, last).fail().map(Some),
    }
}

/// The containers of a component as the runtime shows them.
///
/// # Errors
///
/// `NotTaken` where the runtime's pods were not listed.
pub(in crate::checks) fn containers_of<'a>(
    node: &Node<'a>,
    component: &str,
) -> Result<Vec<&'a PodSeen>, Unseen> {
    let runtime = node.survey().runtime.get()?;
    let why = || Unseen::NotTaken("the runtime's pods were not listed".to_owned());
    let pods = runtime.pods.as_ref().ok_or_else(why)?;
    let is_own = |pod: &&PodSeen| {
        let rest = pod.name.strip_prefix(component);
        let is_static = rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('-'));
        is_static && (pod.container == component || component.starts_with(&pod.container))
    };
    Ok(pods.iter().filter(is_own).collect())
}

/// Whether a container of a static pod is seen to run.
pub(super) fn runs(node: &Node<'_>, pod: &str, container: &str) -> bool {
    node.pods()
        .any(|one| one.name.starts_with(pod) && one.container == container && is_up(one))
}

/// Whether a container runs.
fn is_up(container: &PodSeen) -> bool {
    container.state == "running"
}

/// Whether the runtime made a container and could not start it: then it has no log, and kubelet's says why.
fn never_ran(container: &PodSeen) -> bool {
    let is_start = matches!(
        container.reason.as_str(),
        "StartError" | "ContainerCannotRun"
    );
    container.log.is_empty() && (is_start || container.state == "created")
}

/// The last line of kubelet's that says why a component does not start. That kubelet waits before it tries again is no cause.
fn why_unstarted<'a>(node: &Node<'a>, component: &str) -> Option<&'a String> {
    let tried = |line: &&String| line.contains(component) && is_error(line);
    let is_cause = |line: &&String| tried(line) && !line.contains("CrashLoopBackOff");
    let lines = node.journal("kubelet.service");
    lines
        .iter()
        .rfind(is_cause)
        .or_else(|| lines.iter().rfind(tried))
}

fn unstarted(node: &Node<'_>, component: &str) -> Finding {
    let line = why_unstarted(node, component);
    let error = line.map(|line| innermost(line));
    let texts = &node.survey().texts;
    let named = error
        .as_ref()
        .and_then(|error| named::remedy(error, "kubelet", texts));
    let named = named.map_or(String::new(), |named| format!("{named}; "));
    let known = line
        .and_then(|line| log_lines::find(line))
        .filter(|row| !row.general && !row.from.is_empty() && !is_in_line(row.fix));
    let named = known.map_or(named, |row| format!("{}; ", row.fix));
    let meaning = known.map_or(String::new(), |row| format!(": {}", row.means));
    let why = error.map_or(String::new(), |error| format!(": {error}")) + &meaning;
    let certainty = match known {
        Some(_) => Certainty::Likely,
        None => Certainty::Possible,
    };
    let finding = Finding::new(
        format!("kubelet has not started {component}{why}"),
        format!(
            "{named}journalctl -b -u kubelet.service | grep {component}; ls -d /var/log/pods/kube-system_{component}-* shows whether kubelet began it"
        ),
    );
    let finding = finding.by(certainty);
    match line {
        Some(line) => finding.seen("journal", quote(line, QUOTED)),
        None => finding,
    }
}

/// Whether the kernel killed a component because the whole host had no memory left, and not its own control group. The kernel
/// shows 15 characters of its name.
fn killed_by_host(node: &Node<'_>, component: &str) -> bool {
    let name = component.get(..15).unwrap_or(component);
    let log = node.survey().kernel_log.ok();
    log.is_some_and(|log| {
        log.iter().any(|line| {
            line.contains("Out of memory: Killed process")
                && !line.contains("Memory cgroup")
                && line.contains(&format!("({name})"))
        })
    })
}

/// How many of a container's last lines are shown.
const LINES: usize = 5;

/// What is known of the last line of a log that says something: what it means, what to do, and the line.
pub(in crate::checks) fn known_in(log: &[String]) -> Option<(&'static str, &'static str, &str)> {
    let own = latest(log, REASONS);
    // Of a line of which these know few words, the tables may know more.
    let own = own.map(|reason| {
        let is_short = reason.known.length() < log_lines::TELLING;
        match log_lines::most_exact(reason.line).filter(|_| is_short) {
            Some(row) => (row.means, row.fix, reason.line),
            None => (reason.known.means, reason.known.fix, reason.line),
        }
    });
    let of_any = || {
        let (line, known) = log_lines::latest(log)?;
        Some((known.means, known.fix, line))
    };
    own.or_else(of_any)
}

/// How a container ended.
fn ending(container: &PodSeen, is_oom: bool, of_host: bool, of_group: Option<&Kill<'_>>) -> String {
    match (container.exit_code, of_group) {
        _ if of_host => "was killed because the host ran out of memory".to_owned(),
        (_, Some(kill)) => format!("was killed beyond {}", memory_limit::figure(kill)),
        _ if is_oom => "was killed beyond its own memory limit (OOMKilled)".to_owned(),
        (Some(137), _) => {
            "was killed (137): by a failing liveness probe, or for want of memory".to_owned()
        }
        (Some(0), _) => "ended with 0: something told it to end".to_owned(),
        (Some(code), _) => format!("ended with {code}"),
        (None, _) => format!("is {}", container.state),
    }
}

/// How to raise the memory limit of a component.
fn raised(component: &str, of_group: Option<&Kill<'_>>) -> String {
    match of_group {
        Some(kill) => memory_limit::raised(kill, component),
        None => format!(
            "raise resources.limits.memory of {component} in the cluster spec, or remove the limit"
        ),
    }
}

fn down(node: &Node<'_>, component: &str, container: &PodSeen) -> Finding {
    // One that ended well was told to: what it logged before is not why.
    let was_told = container.exit_code == Some(0);
    let of_host = killed_by_host(node, component);
    let of_group = memory_limit::kill_of(node, container).filter(|_| !of_host);
    let is_oom = container.reason == "OOMKilled" || of_host || of_group.is_some();
    let how = ending(container, is_oom, of_host, of_group.as_ref());
    let (namespace, pod) = (&container.namespace, &container.name);
    let logs = format!(
        "/var/log/pods/{namespace}_{pod}_*/{}/*.log",
        container.container
    );
    let remedy = match is_oom {
        true if of_host => {
            "change machineType of the instance group to a larger one, or give pods memory limits; dmesg | grep -i oom shows who took it".to_owned()
        }
        true => format!("{}; dmesg | grep -i oom shows what was killed", raised(component, of_group.as_ref())),
        false if was_told => format!(
            "find who ended it: journalctl --since -1h | grep -iE 'sigterm|killing|{component}' (earlyoom, an agent, a liveness probe of kubelet, a job); its log: {logs}"
        ),
        false => format!(
            "tail -n 50 {logs} (or /var/log/{component}.log); then fix the flag, file or peer that its last line names"
        ),
    };
    let mut summary = format!(
        "{component} {how}, started again {} times",
        container.restarts
    );
    let texts = &node.survey().texts;
    let known = known_in(&container.log).filter(|_| !is_oom && !was_told);
    let remedy = match known {
        Some((means, fix, line)) => {
            summary = format!("{summary}: {}", meaning(means, fix, line));
            let fix = named::completed(fix, line, component, texts);
            format!("{fix}; its log: {logs}")
        }
        None => {
            let last = last_error(&container.log).or_else(|| last_word(&container.log));
            let last = last.filter(|_| !is_oom && !was_told);
            let error = last.map(innermost);
            if let Some(error) = &error {
                summary = format!("{summary}: {error}");
            }
            let named = error.and_then(|error| named::remedy(&error, component, texts));
            named.map_or(remedy, |named| format!("{named}; its log: {logs}"))
        }
    };
    let certainty = match (is_oom, known) {
        (true, _) => Certainty::Certain,
        (false, Some(_)) => Certainty::Likely,
        (false, None) => Certainty::Possible,
    };
    let mut finding = Finding::new(summary, remedy).by(certainty);
    let last = container.log.len().saturating_sub(LINES);
    for line in &container.log[last..] {
        finding = finding.seen("log", line);
    }
    if !container.reason.is_empty() {
        finding = finding.seen("reason", &container.reason);
    }
    finding
        .seen("image", &container.image)
        .seen("state", &container.state)
}
