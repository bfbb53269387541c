//! Checks of container images.

use super::check::{Check, Finding, Severity, Source, Verdict};
use super::journal_reason::{Known, Reason};
use super::node::Node;
use super::runtime::configuration::{Reading, read};
use super::{kubelet, stage, static_pods};
use crate::pod_networks::of_word;
use quake_model::facts::Unseen;
use quake_model::phase::Phase;

pub(super) const CHECKS: &[Check] = &[
    Check {
        id: "images.imported",
        title: "every archive of images that the node has is in the runtime",
        severity: Severity::Warning,
        tags: &["seed"],
        sources: &[Source::Files],
        because: &["host.disk-space", "runtime.alive"],
        why: "an image that is not imported is pulled, which takes time, and a registry",
        remedy: "ask the runtime: ctr --namespace k8s.io images ls, or docker image ls; then start the agent again",
        judge: imported,
    },
    Check {
        id: "images.pull",
        title: "no image is refused or missing that kubelet wants to run",
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
        ],
        why: "a pod whose image cannot be pulled does not start",
        remedy: "pull it by hand and read the answer: crictl pull <image>",
        judge: pull,
    },
    Check {
        id: "images.present",
        title: "the images of static pods and of every pod's sandbox are in the runtime",
        severity: Severity::Warning,
        tags: &["pods"],
        sources: &[Source::Runtime, Source::Files],
        because: &["runtime.alive", "images.pull"],
        why: "an image that is not there must be pulled first, by a node that may have no way to its registry",
        remedy: "crictl pull <image>, or let the image be part of a seed: quake-agent seed --help",
        judge: present,
    },
];

/// What the answers of registries and runtimes mean.
const REASONS: &[Known] = &[
    Known {
        parts: &["no such host"],
        means: "the registry's name does not resolve",
        fix: "getent hosts <registry>; quake-agent diagnose --only dns; or a mirror in /etc/containerd/certs.d",
    },
    Known {
        parts: &["toomanyrequests"],
        means: "the registry's limit of pulls is reached",
        fix: "pull with credentials, or by a mirror (an ECR pull-through cache) in /etc/containerd/certs.d",
    },
    Known {
        parts: &["429 Too Many Requests"],
        means: "the registry's limit of pulls is reached",
        fix: "pull with credentials, or by a mirror (an ECR pull-through cache) in /etc/containerd/certs.d",
    },
    Known {
        parts: &["no basic auth credentials"],
        means: "the registry wants credentials, and there are none",
        fix: "for ECR: allow ecr:GetAuthorizationToken, ecr:BatchGetImage and ecr:GetDownloadUrlForLayer to the node's role, and give kubelet its credential provider",
    },
    Known {
        parts: &["401 Unauthorized"],
        means: "the registry does not accept the credentials",
        fix: "mend /root/.docker/config.json or the pod's imagePullSecrets; for ECR: ecr:GetAuthorizationToken to the node's role",
    },
    Known {
        parts: &["403 Forbidden"],
        means: "the registry refuses this image to the node",
        fix: "for ECR: ecr:BatchGetImage and ecr:GetDownloadUrlForLayer to the node's role, and the repository's own policy; for S3 behind ECR: the gateway endpoint's policy",
    },
    Known {
        parts: &["pull access denied"],
        means: "the image does not exist, or wants credentials",
        fix: "check its name; or give credentials: /root/.docker/config.json or the pod's imagePullSecrets",
    },
    Known {
        parts: &["authorization failed"],
        means: "the registry does not accept the credentials",
        fix: "mend /root/.docker/config.json or the pod's imagePullSecrets",
    },
    Known {
        parts: &["manifest unknown"],
        means: "the registry has no such tag",
        fix: "check the tag, and that a mirror has it too",
    },
    Known {
        parts: &["no match for platform in manifest"],
        means: "the image is not made for this processor",
        fix: "use an image of several architectures, or nodes of the image's own",
    },
    Known {
        parts: &["exec format error"],
        means: "the image is for another processor",
        fix: "use an image of several architectures, or nodes of the image's own",
    },
    Known {
        parts: &["x509:"],
        means: "the registry's certificate is not trusted",
        fix: "give its authority as ca in the registry's hosts.toml, or put it among the system's (update-ca-certificates)",
    },
    Known {
        parts: &["server gave HTTP response to HTTPS client"],
        means: "the registry speaks http",
        fix: "name it with http:// in its hosts.toml",
    },
    Known {
        parts: &["no space left on device"],
        means: "there is no room for it",
        fix: "crictl rmi --prune; or grow the volume",
    },
    Known {
        parts: &["i/o timeout"],
        means: "the registry does not answer",
        fix: "routes, NAT, security groups and the proxy: curl -v https://<registry>/v2/",
    },
    Known {
        parts: &["connection refused"],
        means: "nothing listens at the registry's address",
        fix: "curl -v https://<registry>/v2/; a mirror that is down is taken out of /etc/containerd/certs.d",
    },
    Known {
        parts: &["not found"],
        means: "the registry has no such image",
        fix: "check its name and tag, and that a mirror has it too",
    },
    Known {
        parts: &["image", "ailed"],
        means: "the pull failed",
        fix: "the line says why; crictl pull <image> shows it again",
    },
];

/// Words that a line about a pull that failed has.
const PULLS: &[&str] = &[
    "ErrImagePull",
    "ImagePullBackOff",
    "Failed to pull image",
    "failed to pull image",
    "failed to pull and unpack image",
    "PullImage from image service failed",
    "exec format error",
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
    let is_pull = |line: &&String| PULLS.iter().any(|words| line.contains(words));
    let there = node
        .survey()
        .runtime
        .ok()
        .and_then(|runtime| runtime.images.as_ref());
    let needed = needed(node)?;
    for line in lines.filter(is_pull) {
        let image = image_in(line);
        // A pull that went well later is no trouble any more.
        let came = image
            .zip(there)
            .is_some_and(|(image, there)| has(there, image));
        if came && !line.contains("exec format error") {
            continue;
        }
        let Some(reason) = reason(line) else {
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
        let finding = reason.finding(&what);
        let is_needed = image
            .is_some_and(|image| has(&needed, image) || is_network(image, &expected.network.name));
        return match is_needed {
            true => finding.fail(),
            false => finding.warn(),
        };
    }
    Verdict::ok("the journals tell of no pull that failed")
}

/// A pull that was refused, by a line of a journal.
pub(crate) struct Refused<'a> {
    /// Which image, in words.
    pub(crate) what: String,
    /// What the line means.
    pub(crate) means: &'static str,
    /// What to do.
    pub(crate) fix: &'static str,
    /// The line.
    pub(crate) line: &'a str,
}

/// The latest pull that a journal tells of as refused, among the lines that are about what is asked for.
pub(crate) fn pull_refused(
    journal: &[String],
    is_of: impl Fn(&str) -> bool,
) -> Option<Refused<'_>> {
    let is_pull = |line: &&String| PULLS.iter().any(|words| line.contains(words)) && is_of(line);
    let line = journal.iter().rev().find(is_pull)?;
    let reason = reason(line)?;
    let what = match image_in(line) {
        Some(image) => format!("{image} cannot be pulled"),
        None => "an image cannot be pulled".to_owned(),
    };
    Some(Refused {
        what,
        means: reason.known.means,
        fix: reason.known.fix,
        line: reason.line,
    })
}

fn reason(line: &str) -> Option<Reason<'_>> {
    let fits = |known: &&Known| known.parts.iter().all(|part| line.contains(part));
    let known = REASONS.iter().find(fits)?;
    Some(Reason { known, line })
}

/// Whether an image is one of the pod network's, by its name.
fn is_network(image: &str, network: &str) -> bool {
    of_word(network).is_some_and(|network| network.images.iter().any(|part| image.contains(part)))
}

/// The image that a line is about.
fn image_in(line: &str) -> Option<&str> {
    let starts = [
        "PullImage \\\"",
        "PullImage \"",
        "image=\"",
        "image \\\\\\\"",
        "image \\\"",
        "image \"",
    ];
    let (_, rest) = starts.iter().find_map(|start| line.split_once(start))?;
    let end = rest.find(|c: char| c == '"' || c == '\\' || c.is_whitespace())?;
    let image = &rest[..end];
    (image.contains(['/', ':']) && !image.is_empty()).then_some(image)
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
fn has(there: &[String], image: &str) -> bool {
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

#[cfg(test)]
mod tests;
