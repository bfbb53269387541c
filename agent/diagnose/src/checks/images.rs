//! Checks of container images.

use super::check::{Certainty, Check, Finding, Severity, Source, Verdict};
use super::from_journal::{QUOTED, from_journal};
use super::images_credentials::{WITHOUT_CREDENTIALS, unmatched};
use super::innermost::meaning;
use super::named::completed;
use super::node::Node;
use super::quote::quote;
use super::runtime::configuration::{Reading, read};
use super::{kubelet, stage, static_pods};
use crate::log_lines;
use account::other_account;
pub(super) use hosts::UNREACHED;
use hosts::{closed_endpoint, elsewhere};
use quake_formats::image_pull::{image_in, is_pull, reason};
use quake_formats::journal::Reason;
use quake_model::facts::Unseen;
use quake_model::phase::Phase;
use quake_model::pod_networks::of_word;
use refused::refused;

pub(super) const CHECKS: &[Check] = &[
    Check {
        id: "images.imported",
        title: "every archive of images on the node is imported",
        severity: Severity::Warning,
        tags: &["seed"],
        sources: &[Source::Files],
        because: &["host.disk-space", "runtime.alive", "host.jobs"],
        why: "kubelet must pull an image that is not imported; this takes time and needs a registry",
        remedy: "ask the runtime: ctr --namespace k8s.io images ls, or docker image ls; then start the agent again",
        judge: imported,
    },
    Check {
        id: "images.pull",
        title: "kubelet can pull every image that it needs",
        severity: Severity::Critical,
        tags: &["pods", "registry"],
        sources: &[Source::Journals, Source::Runtime, Source::Files],
        because: &[
            "host.disk-space",
            "runtime.config",
            "runtime.alive",
            "runtime.mirrors",
            "dns.names",
            "net.routes",
            "net.proxy",
            "net.ranges",
            "host.ca-bundle",
        ],
        why: "a pod whose image cannot be pulled does not start",
        remedy: "pull it by hand with crictl pull or ctr -n k8s.io images pull, and read the answer",
        judge: pull,
    },
    Check {
        id: "images.present",
        title: "the runtime has the images of static pods and the sandbox image",
        severity: Severity::Warning,
        tags: &["pods"],
        sources: &[Source::Runtime, Source::Files],
        because: &["runtime.alive", "images.pull", "host.jobs"],
        why: "a missing image must be pulled first, and the node may not reach its registry",
        remedy: "pull it by hand, or let the image be part of a seed: quake-agent seed --help",
        judge: present,
    },
];

fn imported(node: &Node<'_>) -> Result<Verdict, Unseen> {
    stage::kubernetes(node)?;
    stage::begun(node, Phase::Services)?;
    let steps = node.record()?.steps.iter();
    let is_import = |step: &str| step.starts_with("services:image/");
    let count = steps
        .filter(|step| step.phase == Phase::Services && is_import(&step.step))
        .count();
    match count {
        0 => Verdict::skip("the node has no archives of images"),
        count => Verdict::ok(format!("{count} archives are in the runtime")),
    }
}

fn pull(node: &Node<'_>) -> Result<Verdict, Unseen> {
    let expected = stage::kubernetes(node)?;
    stage::begun(node, Phase::Services)?;
    let journals = node.survey().journals.get()?;
    let units = ["kubelet.service", "containerd.service", "docker.service"];
    let lines = units
        .iter()
        .filter_map(|unit| journals.get(*unit))
        .flat_map(|lines| lines.iter().rev());
    let runtime = node.survey().runtime.ok();
    let there = runtime.and_then(|runtime| runtime.images.as_ref());
    if let Some(verdict) = there.and_then(|there| refused(node, there)) {
        return verdict;
    }
    let needed = needed(node)?;
    let mut lines: Vec<&String> = lines.filter(|line| is_pull(line)).collect();
    // A line that names its image says more than the one in which kubelet repeats it for the pod.
    lines.sort_by_key(|line| image_in(line).is_none());
    for line in &lines {
        let image = image_in(line);
        // A pull that went well later is no trouble any more.
        let came = image
            .zip(there)
            .is_some_and(|(image, there)| has(there, image));
        if came && !line.contains("exec format error") {
            continue;
        }
        if let Some(finding) = image.and_then(|image| of_sandbox(node, line, image)) {
            return finding.fail();
        }
        if let Some(finding) = image.and_then(|image| unmatched(node, line, image)) {
            return finding.warn();
        }
        let Some(reason) = reason(line).map(|reason| rather(reason, &lines)) else {
            continue;
        };
        let what = match image {
            Some(image) => format!("{image} cannot be pulled"),
            None => "an image cannot be pulled".to_owned(),
        };
        let what = match line.contains("exec format error") {
            true => "a container's program cannot be run".to_owned(),
            false => what,
        };
        let of_hosts = || {
            elsewhere(reason.line, image?, &what)
                .or_else(|| closed_endpoint(reason.line, image?, &what))
                .or_else(|| other_account(node, reason.line, image?, &what))
        };
        let finding = of_inspection(node, &reason, &what)
            .or_else(of_hosts)
            .or_else(|| of_any_table(node, &reason, &what, &lines))
            .unwrap_or_else(|| from_journal(&reason, &what));
        let is_needed = image
            .is_some_and(|image| has(&needed, image) || is_network(image, &expected.network.name));
        return match is_needed {
            true => finding.fail(),
            false => finding.warn(),
        };
    }
    Verdict::ok("the journals tell of no pull that failed")
}

/// What a line says of a pull that failed where it does not say why.
const GENERAL: &str = "the pull failed";

/// The line that says why, where this one does not: an earlier one of the same image, or that kubelet had no credentials
/// where the registry refused.
fn rather<'a>(reason: Reason<'a>, lines: &[&'a String]) -> Reason<'a> {
    const REFUSED: &[&str] = &[
        "no basic auth credentials",
        "401",
        "403",
        "authorization failed",
    ];
    let is_of_image = |line: &&&String| image_in(line) == image_in(reason.line);
    if reason.known.means == GENERAL {
        let reasons = lines.iter().filter(is_of_image);
        let mut reasons = reasons.filter_map(|line| quake_formats::image_pull::reason(line));
        let found = reasons.find(|other| other.known.means != GENERAL);
        // Of lines that say no more the one of the pull itself says most.
        let first = || {
            let mut own = lines.iter().filter(is_of_image);
            let line = own.find(|line| !line.contains(BACK_OFF))?;
            quake_formats::image_pull::reason(line)
        };
        return found.or_else(first).unwrap_or(reason);
    }
    if !REFUSED.iter().any(|words| reason.line.contains(words)) {
        return reason;
    }
    let mut earlier = lines
        .iter()
        .filter(|line| line.contains("credential provider plugin"));
    let found = earlier
        .next()
        .and_then(|line| quake_formats::image_pull::reason(line));
    found.unwrap_or(reason)
}

/// The finding where a registry refuses the sandbox image: containerd pulls it for itself, without what kubelet has for the
/// images of pods (containerd `internal/cri/server/podsandbox`).
fn of_sandbox(node: &Node<'_>, line: &str, image: &str) -> Option<Finding> {
    let is_refused = WITHOUT_CREDENTIALS.iter().any(|words| line.contains(words));
    if !is_refused || !line.contains("failed to get sandbox image") {
        return None;
    }
    let user = match image.contains(".dkr.ecr.") {
        true => "AWS:$(aws ecr get-login-password)",
        false => "USER:PASSWORD",
    };
    let finding = Finding::new(
        format!("{image}, the sandbox image of every pod, cannot be pulled: its registry wants credentials, and containerd pulls this image without those that kubelet has for pods"),
        format!("ctr -n k8s.io images pull --user \"{user}\" {image}; ctr -n k8s.io images label {image} io.cri-containerd.pinned=pinned keeps kubelet from removing it; for good name a sandbox image that wants no login (registry.k8s.io/pause) in containerd's configuration; the node's role and the images of pods are right"),
    )
    .by(Certainty::Likely)
    .seen("journal", quote(line, QUOTED));
    let removal = |line: &&String| line.contains("ImageDelete event") && line.contains(image);
    let removed = node.journal("containerd.service").iter().rfind(removal);
    Some(match removed {
        Some(line) => finding.seen("removed", quote(line, QUOTED)),
        None => finding,
    })
}

/// How kubelet says that it waits with the next pull.
const BACK_OFF: &str = "Back-off pulling";

/// The finding where a proxy or firewall shows a certificate of its own, and the host trusts another CA of the same
/// name: crypto/x509 names the one that it tried.
fn of_inspection(node: &Node<'_>, reason: &Reason<'_>, what: &str) -> Option<Finding> {
    let plain = reason.line.replace('\\', "");
    let (_, rest) = plain.split_once("candidate authority certificate \"")?;
    let (name, _) = rest.split_once('"')?;
    let fix = match trusted_alone(node, &plain) {
        Some(path) => format!(
            "{path} names the file of the CA that this host trusts for that registry: put the present certificate of {name} there (openssl s_client -showcerts -connect REGISTRY:443 shows it, its owner confirms it); containerd reads it at the next pull; and put it where the file comes from (the image, the user data)"
        ),
        None => format!(
            "a proxy or firewall that decrypts TLS signs so, and its present CA is not in the image: ls -l /usr/local/share/ca-certificates /etc/pki/ca-trust/source/anchors shows the old one; put the present certificate of {name} there, update-ca-certificates (or update-ca-trust), then: systemctl restart containerd.service; and put it into the image"
        ),
    };
    let finding = Finding::new(
        format!(
            "{what}: the registry's certificate is not trusted: {name} signed it, and the CA of that name that this host trusts has another key: it was renewed"
        ),
        fix,
    );
    Some(
        finding
            .by(Certainty::Likely)
            .seen("journal", quote(reason.line, QUOTED)),
    )
}

/// The file that gives the registry of a line a CA of its own.
fn trusted_alone<'a>(node: &Node<'a>, line: &str) -> Option<&'a str> {
    let texts = node.survey().texts.iter();
    let mut files = texts.filter_map(|(path, text)| {
        let registry = path
            .strip_prefix("/etc/containerd/certs.d/")?
            .strip_suffix("/hosts.toml")?;
        let names_ca = |line: &str| {
            line.trim_start().starts_with("ca ") || line.trim_start().starts_with("ca=")
        };
        let is_of_line =
            line.contains(&format!("{registry}/")) || line.contains(&format!("{registry}:"));
        (is_of_line && text.ok()?.lines().any(names_ca)).then_some(path.as_str())
    });
    files.next()
}

/// The finding of a pull that failed for a reason of which only the tables of all programs' lines know, or of which they know
/// much more than that the registry answered 401 or 403.
fn of_any_table(
    node: &Node<'_>,
    reason: &Reason<'_>,
    what: &str,
    lines: &[&String],
) -> Option<Finding> {
    let own = reason.known.length();
    let is_refusal = reason.known.parts.iter().any(|part| part.starts_with("40"));
    let least = match reason.known.means == GENERAL {
        true => 0,
        false if is_refusal => 2 * own,
        false => return None,
    };
    let image = image_in(reason.line);
    let of_image = lines
        .iter()
        .filter(|line| image_in(line) == image && !line.contains(BACK_OFF));
    let (line, row) = of_image
        .filter_map(|line| Some((line, log_lines::find(line)?)))
        .find(|(_, row)| row.check == "images.pull" && !row.general && row.length() >= least)?;
    let fix = completed(row.fix, line, "containerd", &node.survey().texts);
    let finding = Finding::new(
        format!("{what}: {}", meaning(row.means, row.fix, line)),
        fix,
    );
    Some(
        finding
            .by(Certainty::Likely)
            .seen("journal", quote(line, QUOTED)),
    )
}

/// Whether an image is one of the pod network's, by its name.
fn is_network(image: &str, network: &str) -> bool {
    of_word(network).is_some_and(|network| network.images.iter().any(|part| image.contains(part)))
}

fn present(node: &Node<'_>) -> Result<Verdict, Unseen> {
    stage::kubernetes(node)?;
    stage::done(node, Phase::Services)?;
    let runtime = node.survey().runtime.get()?;
    let why = || Unseen::NotTaken("the runtime's images were not listed".to_owned());
    let there = runtime.images.as_ref().ok_or_else(why)?;
    let needed = needed(node)?;
    let missing: Vec<&str> = needed
        .iter()
        .map(String::as_str)
        .filter(|image| !has(there, image))
        .collect();
    let Some(first) = missing.first() else {
        return Verdict::ok(format!("{} images of {} there", needed.len(), there.len()));
    };
    let more = match missing.len() {
        1 => String::new(),
        count => format!(" and {} more", count - 1),
    };
    let mut finding = Finding::new(
        format!("{first}{more} is not in the runtime, and must be pulled"),
        format!("crictl pull {first}"),
    );
    for image in &missing[1..] {
        finding = finding.seen("also", image);
    }
    finding.warn()
}

/// The images without which the node's own pods do not run.
fn needed(node: &Node<'_>) -> Result<Vec<String>, Unseen> {
    let mut needed = static_pods::images(node)?;
    let of_containerd = match read(node)? {
        Reading::Read(configuration) => configuration.sandbox_image().map(str::to_owned),
        Reading::Absent | Reading::Broken(..) => None,
    };
    let flags = kubelet::flags(node)?;
    let of_kubelet = flags.get("pod-infra-container-image").map(str::to_owned);
    let is_containerd = stage::kubernetes(node)?.runtime == "containerd";
    needed.extend(if is_containerd {
        of_containerd
    } else {
        of_kubelet
    });
    Ok(needed)
}

/// Whether an image is among those of the runtime, which may give it its whole name.
pub(super) fn has(there: &[String], image: &str) -> bool {
    let wanted = whole_name(image);
    there.iter().any(|name| whole_name(name) == wanted)
}

/// An image's whole name: the host and the path that docker leaves out, and its tag.
fn whole_name(image: &str) -> String {
    let (name, digest) = image
        .split_once('@')
        .map_or((image, None), |(name, digest)| (name, Some(digest)));
    let has_host = name
        .split_once('/')
        .is_some_and(|(first, _)| first.contains(['.', ':']) || first == "localhost");
    let name = match (has_host, name.contains('/')) {
        (true, _) => name.to_owned(),
        (false, true) => format!("docker.io/{name}"),
        (false, false) => format!("docker.io/library/{name}"),
    };
    // A colon before the last slash is that of a port.
    let tag = name
        .rfind(':')
        .filter(|colon| name.rfind('/').is_none_or(|slash| slash < *colon));
    match (digest, tag) {
        (Some(digest), tag) => format!("{}@{digest}", &name[..tag.unwrap_or(name.len())]),
        (None, Some(_)) => name,
        (None, None) => format!("{name}:latest"),
    }
}

mod account;
mod hosts;
mod refused;
#[cfg(test)]
mod tests;
