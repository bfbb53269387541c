//! `cni.ready`: the pod of the `DaemonSet` that brings the network.

use super::autodetected::of_another_interface;
use super::configuration::candidates;
use super::conflicting::{conflicting_pod, deletion, files_removed, has_device};
use super::encryption::wireguard;
use super::killed::{killed, killed_behind_plugin};
use crate::checks::check::{Certainty, Finding, Verdict};
use crate::checks::exec_format::emptied;
use crate::checks::innermost::{innermost, meaning};
use crate::checks::logs::{is_fatal, last_error, last_word};
use crate::checks::named::{completed, remedy};
use crate::checks::node::Node;
use crate::checks::stage;
use crate::checks::static_pods::known_in;
use quake_model::facts::{PodSeen, Unseen};
use quake_model::phase::Phase;
use quake_model::pod_networks::{Network, of_file, of_pod, of_word};

/// So many starts are no accident any more.
const MANY: u32 = 3;

pub(super) fn judge(node: &Node<'_>) -> Result<Verdict, Unseen> {
    let expected = stage::kubernetes(node)?;
    if let Some(finding) = killed_behind_plugin(node) {
        return finding.fail();
    }
    if expected.network.writer != "daemon-set" {
        return match broken(node) {
            Some(pod) => broken_pod(pod, node).fail(),
            None => Verdict::skip("no DaemonSet brings the network"),
        };
    }
    let Some(network) = of_word(&expected.network.name) else {
        return Verdict::skip(format!(
            "the pods of {} are not known",
            expected.network.name
        ));
    };
    stage::done(node, Phase::Services)?;
    let is_configured = candidates(node)?
        .iter()
        .any(|file| network.has_file(file.name));
    let runtime = node.survey().runtime.get()?;
    let why = || Unseen::NotTaken("the runtime's pods were not listed".to_owned());
    let pods = runtime.pods.as_ref().ok_or_else(why)?;
    let of_network = |network: &'static Network| -> Vec<&PodSeen> {
        let pods = pods.iter();
        pods.filter(|pod| network.has_pod(&pod.name)).collect()
    };
    let mut own = of_network(network);
    // The cluster may have got another network after the boot, which is not ready either.
    let other = pods.iter().find_map(|pod| of_pod(&pod.name));
    let is_other = own.is_empty() && !is_configured && other_network(pods, node)?.is_none();
    if let Some(other) = other.filter(|_| is_other) {
        own = of_network(other);
    }
    if let Some(broken) = own.iter().find(|pod| is_broken(pod, &own)) {
        return broken_pod(broken, node).fail();
    }
    match (own.is_empty(), is_configured) {
        (false, true) => Verdict::ok(format!("{} runs", own[0].name)),
        (true, true) => Verdict::ok("the network is configured; no pod has its usual name"),
        (false, false) => waiting(&own).warn(),
        (true, false) => match other_network(pods, node)? {
            Some(pod) => Verdict::ok(format!(
                "{} runs; the cluster had {} when this node booted",
                pod.name, expected.network.name
            )),
            None => missing(node, network),
        },
    }
}

/// The pod of another network that runs here and whose configuration counts: the cluster got that network after the boot.
pub(super) fn other_network<'a>(
    pods: &'a [PodSeen],
    node: &Node<'_>,
) -> Result<Option<&'a PodSeen>, Unseen> {
    let files = candidates(node)?;
    let Some(network) = files.first().and_then(|file| of_file(file.name)) else {
        return Ok(None);
    };
    let mut running = pods.iter().filter(|pod| pod.state == "running");
    Ok(running.find(|pod| network.has_pod(&pod.name)))
}

/// A container of any network's pod on this node that ends again and again.
pub(in crate::checks) fn broken<'a>(node: &Node<'a>) -> Option<&'a PodSeen> {
    let runtime = node.survey().runtime.ok()?;
    let pods = runtime.pods.iter().flatten();
    let of_networks: Vec<&PodSeen> = pods.filter(|pod| of_pod(&pod.name).is_some()).collect();
    let mut broken = of_networks.iter().filter(|pod| pod.restarts >= MANY);
    broken.find(|pod| is_broken(pod, &of_networks)).copied()
}

/// Whether a log has the last words of several runs, the latest of them near its end.
fn ends_often(log: &[String]) -> bool {
    const NEAR: usize = 8;
    let near = log.len().saturating_sub(NEAR);
    let ends = log.iter().filter(|line| is_fatal(line)).count();
    ends > 1 && log[near..].iter().any(|line| is_fatal(line))
}

/// A container that ended badly, and of which no other run goes on or ended well.
fn is_broken(pod: &PodSeen, own: &[&PodSeen]) -> bool {
    let went_well = |other: &&&PodSeen| {
        other.container == pod.container
            && other.name == pod.name
            && (other.exit_code == Some(0) || (other.state == "running" && other.restarts < MANY))
    };
    let is_bad = pod.state != "running" && pod.exit_code.is_some_and(|code| code != 0);
    let is_looping = pod.state == "running"
        && pod.restarts >= MANY
        && (pod.exit_code.is_some_and(|code| code != 0) || ends_often(&pod.log));
    (is_bad || is_looping) && !own.iter().any(|other| went_well(&other))
}

fn broken_pod(pod: &PodSeen, node: &Node<'_>) -> Finding {
    if let Some(finding) = killed(node, pod) {
        return finding;
    }
    let ended = match pod.exit_code {
        Some(code) => format!("ended with {code}"),
        None => "ends again and again".to_owned(),
    };
    let how = format!(
        "the container {} of {} {ended}, started {} times",
        pod.container,
        pod.name,
        pod.restarts + 1
    );
    let more = format!(
        "tail -n 50 /var/log/pods/{0}_{1}_*/{2}/*.log; from elsewhere: kubectl -n {0} logs {1} -c {2} --previous",
        pod.namespace, pod.name, pod.container
    );
    if let Some(finding) = of_another_interface(node, pod, &how, &more) {
        return finding;
    }
    let last = pod.log.last().map_or("", String::as_str);
    if let Some((means, fix, sign)) = emptied(node, last, &pod.image) {
        return Finding::new(format!("{how}: {means}"), format!("{fix}; {more}"))
            .or_else("the image is for another processor")
            .seen("log", last)
            .seen("image", &pod.image)
            .seen("kernel log", sign);
    }
    let mut lines = pod.log.iter().rev();
    let of_wireguard = lines.find_map(|line| Some((wireguard(node, line)?, line)));
    if let Some(((means, fix, kernel), line)) = of_wireguard {
        return Finding::new(format!("{how}: {means}"), format!("{fix}; {more}"))
            .by(Certainty::Likely)
            .seen("log", quake_formats::yaml::shorten(line, 300))
            .seen("kernel", kernel)
            .seen("image", &pod.image);
    }
    let finding = match cause(pod) {
        Some(Cause { means, fix, line }) => {
            let texts = &node.survey().texts;
            let fix = match fix {
                Some(fix) => Some(completed(fix, line, &pod.container, texts)),
                None => remedy(&means, &pod.container, texts),
            };
            let fix = fix.map(|fix| match conflict(node, pod, line) {
                Some((first, then)) => format!("{first}; then: {fix}; {then}"),
                None => fix,
            });
            let fix = fix.map_or_else(|| more.clone(), |fix| format!("{fix}; {more}"));
            Finding::new(format!("{how}: {means}"), fix)
                .by(Certainty::Likely)
                .seen("log", quake_formats::yaml::shorten(line, 300))
        }
        None => Finding::new(how, more).by(Certainty::Possible),
    };
    let mut finding = finding.seen("image", &pod.image);
    let said = |line: &&String| {
        line.contains("cni plugin not initialized") || line.contains("cni config uninitialized")
    };
    if let Some(line) = node.journal("kubelet.service").iter().rev().find(said) {
        finding = finding.seen("journal", quake_formats::yaml::shorten(line, 300));
    }
    finding
}

/// What is to do before and after the remedy where another network, which still runs and left its file or device on the node,
/// holds the VXLAN port that a network's pod wants. Of other ports nothing says that a network has them.
fn conflict(node: &Node<'_>, pod: &PodSeen, line: &str) -> Option<(String, String)> {
    let line = line.to_ascii_lowercase();
    let is_taken = line.contains("vxlan") && line.contains("address already in use");
    // Of two networks the cluster's own stays.
    let wanted = of_word(&stage::kubernetes(node).ok()?.network.name)?;
    let own = of_pod(&pod.name).filter(|own| is_taken && own.word() == wanted.word())?;
    let (other, network) = conflicting_pod(node, own)?;
    let removed = files_removed(node, network);
    if removed.is_none() && !has_device(node, network) {
        return None;
    }
    let mut then = removed.map_or(String::new(), |rm| format!("{rm}; "));
    let (namespace, name) = (&pod.namespace, &pod.name);
    then.push_str(&format!(
        "kubectl -n {namespace} delete pod {name}, and delete the pods that got their addresses from {}",
        network.word()
    ));
    Some((deletion(other), then))
}

/// Why a container ended.
struct Cause<'a> {
    means: String,
    fix: Option<&'static str>,
    line: &'a str,
}

/// What the last run of a container said of its end: a line that is known, else its last error.
fn cause(pod: &PodSeen) -> Option<Cause<'_>> {
    let previous = pod.previous.iter().map(|previous| &previous.log);
    let logs = || std::iter::once(&pod.log).chain(previous.clone());
    let known = logs().find_map(|log| known_in(log));
    if let Some((_, _, line)) =
        known.filter(|known| known.2.contains("signed by unknown authority"))
    {
        return Some(Cause {
            means: "the API server's certificate is of another CA than the pod's service account has: the cluster's CA was replaced".to_owned(),
            fix: Some("compare openssl x509 -noout -fingerprint -in /srv/kubernetes/ca.crt with kubectl -n kube-system get configmap kube-root-ca.crt; delete the Secrets of type kubernetes.io/service-account-token in kube-system, which have the earlier CA; then delete the pod"),
            line,
        });
    }
    if let Some((means, fix, line)) = known {
        return Some(Cause {
            means: meaning(means, fix, line),
            fix: Some(fix),
            line,
        });
    }
    let line = logs().find_map(|log| last_error(log));
    let line = line.or_else(|| logs().find_map(|log| last_word(log)))?;
    Some(Cause {
        means: innermost(line),
        fix: None,
        line,
    })
}

/// A pod that runs and has written no configuration yet, and the last error that it logged.
fn waiting(own: &[&PodSeen]) -> Finding {
    let (namespace, name) = (&own[0].namespace, &own[0].name);
    let what = format!("the pod {name} runs and has written no configuration yet");
    let more = format!("kubectl -n {namespace} logs {name} --all-containers");
    let error = own.iter().find_map(|pod| {
        let line = last_error(&pod.log)?;
        let known = known_in(std::slice::from_ref(
            pod.log.iter().find(|one| *one == line)?,
        ));
        Some((line, known))
    });
    match error {
        Some((line, Some((means, fix, _)))) => {
            let means = meaning(means, fix, line);
            Finding::new(format!("{what}: {means}"), format!("{fix}; {more}"))
                .by(Certainty::Likely)
                .seen("log", quake_formats::yaml::shorten(line, 300))
        }
        Some((line, None)) => Finding::new(format!("{what}: {}", innermost(line)), more)
            .by(Certainty::Possible)
            .seen("log", quake_formats::yaml::shorten(line, 300)),
        None => Finding::new(what, more).by(Certainty::Possible),
    }
}

fn missing(node: &Node<'_>, network: &Network) -> Result<Verdict, Unseen> {
    let finding = Finding::new(
        format!("no pod of {} came to this node", network.pod()),
        format!(
            "kubectl -n kube-system get daemonset,pods -o wide | grep {}; a DaemonSet that is missing is an add-on that was not applied (kops update cluster --yes)",
            network.pod()
        ),
    )
    .by(Certainty::Possible);
    node.fail_after_boot(finding)
}
