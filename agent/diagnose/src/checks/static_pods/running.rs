//! `staticpods.running`: the containers of the expected pods.

use crate::checks::check::{Finding, Verdict};
use crate::checks::etcd::is_held_back;
use crate::checks::node::Node;
use crate::checks::stage;
use crate::log_lines;
use quake_model::facts::{PodSeen, Unseen};
use quake_model::phase::Phase;
use quake_model::record::BootState;

/// So many starts are no accident any more.
const MANY: u32 = 5;

pub(super) fn judge(node: &Node<'_>) -> Result<Verdict, Unseen> {
    let expected = stage::kubernetes(node)?;
    if expected.static_pods.is_empty() {
        return Verdict::skip("no static pod is expected");
    }
    stage::done(node, Phase::Services)?;
    let mut restless = None;
    // Why a pod of etcd is kept back is a question of its volume.
    let pods = expected.static_pods.iter();
    let wanted: Vec<&String> = pods.filter(|pod| !is_held_back(node, pod)).collect();
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
        format!("crictl logs --previous of its container, or: less /var/log/{component}.log"),
    )
    .warn()
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
        None => unstarted(node, component).map(Some),
        Some(_) if containers.iter().any(|container| is_up(container)) => Ok(None),
        Some(latest) => down(component, latest).fail().map(Some),
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

/// Whether a container runs.
fn is_up(container: &PodSeen) -> bool {
    container.state == "running"
}

fn unstarted(node: &Node<'_>, component: &str) -> Result<Verdict, Unseen> {
    let finding = Finding::new(
        format!("kubelet has not started {component}"),
        format!(
            "journalctl -b -u kubelet.service | grep {component}; crictl pods --name {component}"
        ),
    );
    match node.record()?.state {
        BootState::Ready | BootState::Failed | BootState::Stopped => finding.fail(),
        BootState::Starting
        | BootState::Configuring
        | BootState::Preparing
        | BootState::Joining => finding.warn(),
    }
}

/// How many of a container's last lines are shown.
const LINES: usize = 5;

fn down(component: &str, container: &PodSeen) -> Finding {
    let is_oom = container.reason == "OOMKilled";
    let how = match container.exit_code {
        _ if is_oom => "was killed for want of memory (OOMKilled)".to_owned(),
        Some(137) => {
            "was killed (137): by a failing liveness probe, or for want of memory".to_owned()
        }
        Some(code) => format!("ended with {code}"),
        None => format!("is {}", container.state),
    };
    let (namespace, pod) = (&container.namespace, &container.name);
    let logs = format!(
        "/var/log/pods/{namespace}_{pod}_*/{}/*.log",
        container.container
    );
    let remedy = match is_oom {
        true => format!(
            "raise the memory limit of {component}, or take a larger instance; dmesg | grep -i oom shows what was killed"
        ),
        false => format!(
            "tail -n 50 {logs} (or /var/log/{component}.log); then fix the flag, file or peer that its last line names"
        ),
    };
    let mut summary = format!(
        "{component} {how}, started again {} times",
        container.restarts
    );
    let known = log_lines::latest(&container.log).filter(|_| !is_oom);
    let remedy = match known {
        Some((_, known)) => {
            summary = format!("{summary}: {}", known.means);
            format!("{}; its log: {logs}", known.fix)
        }
        None => remedy,
    };
    let mut finding = Finding::new(summary, remedy);
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
