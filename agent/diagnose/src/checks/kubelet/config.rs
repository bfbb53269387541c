//! `kubelet.config`: kubelet's flags and its configuration, beside its version.

use super::fields;
use super::flags::{ENVIRONMENT, flags};
use crate::checks::changed;
use crate::checks::check::{Finding, Verdict};
use crate::checks::command_flags::Flags;
use crate::checks::kubelet_config::kubelet_configuration;
use crate::checks::node::Node;
use crate::checks::read_error::read_error;
use crate::checks::stage;
use quake_formats::syntax::{self, Misread};
use quake_formats::yaml::Yaml;
use quake_model::facts::Unseen;
use quake_model::phase::Phase;
use quake_model::spec::KubernetesVersion;

/// A flag that is gone, or a value of it.
struct Gone {
    flag: &'static str,
    /// The value that is gone; empty where the flag itself is.
    value: &'static str,
    /// The first minor version without it.
    since: u32,
    instead: &'static str,
}

const fn gone(flag: &'static str, since: u32, instead: &'static str) -> Gone {
    Gone {
        flag,
        value: "",
        since,
        instead,
    }
}

/// Of the change logs of Kubernetes up to 1.35, read in November 2026; only what a cluster spec of kops ever set.
const GONE: &[Gone] = &[
    gone("cadvisor-port", 12, "nothing takes its place"),
    gone("allow-privileged", 15, "the API server alone decides it"),
    gone("containerized", 16, "nothing takes its place"),
    gone(
        "non-masquerade-cidr",
        24,
        "the ip-masq-agent, or the pod network's own configuration",
    ),
    gone(
        "network-plugin",
        24,
        "the container runtime runs the pod network",
    ),
    gone(
        "network-plugin-mtu",
        24,
        "the pod network's configuration has the MTU",
    ),
    gone(
        "network-plugin-dir",
        24,
        "the container runtime's configuration has the directory",
    ),
    gone(
        "cni-bin-dir",
        24,
        "the container runtime's configuration has the directory",
    ),
    gone(
        "cni-conf-dir",
        24,
        "the container runtime's configuration has the directory",
    ),
    gone("cni-cache-dir", 24, "the container runtime keeps it"),
    gone(
        "docker-endpoint",
        24,
        "docker is no runtime of kubelet any more",
    ),
    gone(
        "image-pull-progress-deadline",
        24,
        "containerd's image_pull_progress_timeout",
    ),
    gone("dynamic-config-dir", 24, "nothing takes its place"),
    gone(
        "experimental-kernel-memcg-notification",
        25,
        "kernelMemcgNotification of its configuration",
    ),
    gone(
        "container-runtime",
        27,
        "container-runtime-endpoint alone says it",
    ),
    gone("master-service-namespace", 27, "nothing takes its place"),
    gone("keep-terminated-pod-volumes", 31, "nothing takes its place"),
    gone("iptables-masquerade-bit", 31, "nothing takes its place"),
    gone("iptables-drop-bit", 31, "nothing takes its place"),
    gone("cloud-config", 34, "the cloud controller reads it instead"),
    gone(
        "pod-infra-container-image",
        35,
        "the container runtime's configuration names the image",
    ),
    Gone {
        flag: "cloud-provider",
        value: "aws",
        since: 27,
        instead: "--cloud-provider=external, and a cloud controller in the cluster",
    },
];

/// Where kubelet's own configuration is, and what it is.
enum Reading<'a> {
    Absent,
    Elsewhere(String),
    Missing,
    Broken(&'a str, Misread),
    Read(Yaml),
}

pub(super) fn judge(node: &Node<'_>) -> Result<Verdict, Unseen> {
    stage::kubernetes(node)?;
    let flags = flags(node)?;
    if let Some(version) = stage::version(node)
        && let Some(finding) = flag_that_is_gone(node, &flags, version)
    {
        return finding.fail();
    }
    let config = kubelet_configuration(node);
    match read(node, config, &flags)? {
        Reading::Absent => Verdict::ok(format!("{} flags, no configuration", flags.names().count())),
        Reading::Elsewhere(path) => Verdict::ok(format!("flags only; {path} was not looked at")),
        Reading::Missing if node.has_done(Phase::Files) => Finding::new(
            format!("kubelet is told to read {config}, which is not there"),
            "take --config out of the cluster spec's kubelet section, or let what brings the file bring it",
        )
        .fail(),
        Reading::Missing => Verdict::skip("the boot has not come so far"),
        Reading::Broken(text, misread) => {
            let fix = "fix that line, then: systemctl restart kubelet.service";
            read_error(&misread, config, text, fix).fail()
        }
        Reading::Read(document) => fields::judge(config, &document),
    }
}

fn read<'a>(node: &Node<'a>, config: &str, flags: &Flags) -> Result<Reading<'a>, Unseen> {
    match flags.get("config") {
        None => return Ok(Reading::Absent),
        Some(path) if path != config => return Ok(Reading::Elsewhere(path.to_owned())),
        Some(_) => {}
    }
    let Some(text) = node.text(config)? else {
        return Ok(Reading::Missing);
    };
    Ok(match syntax::yaml(text) {
        Ok(document) => Reading::Read(document),
        Err(misread) => Reading::Broken(text, misread),
    })
}

fn flag_that_is_gone(
    node: &Node<'_>,
    flags: &Flags,
    version: KubernetesVersion,
) -> Option<Finding> {
    let is_set = |gone: &&Gone| {
        let mut values = flags.all(gone.flag);
        version.at_least(1, gone.since)
            && values.any(|value| gone.value.is_empty() || value == gone.value)
    };
    let gone = GONE.iter().find(is_set)?;
    let shown = match gone.value {
        "" => format!("--{}", gone.flag),
        value => format!("--{}={value}", gone.flag),
    };
    let summary = format!(
        "kubelet {version} has no {shown} any more: it is gone since 1.{}",
        gone.since
    );
    // The boot wrote it by the spec, unless somebody came after it.
    let mut by_hand = changed::files(node).into_iter();
    let fix = match by_hand.any(|(path, _)| path == ENVIRONMENT) {
        true => format!(
            "take it out of {ENVIRONMENT} ({}), then: systemctl restart kubelet.service (systemctl restart quake-agent.service writes the file as the spec has it); take it out of the cluster spec's kubelet section too if it is there",
            gone.instead
        ),
        false => format!(
            "take it out of the cluster spec's kubelet section ({}); then: systemctl restart quake-agent.service",
            gone.instead
        ),
    };
    Some(Finding::new(summary, fix).seen("file", ENVIRONMENT))
}

/// kubelet's manager of control groups: a flag, else its configuration, else its default.
pub(in crate::checks) fn cgroup_driver(node: &Node<'_>) -> Result<&'static str, Unseen> {
    let set = setting(node, "cgroup-driver", "cgroupDriver")?;
    match set.as_deref() {
        Some("systemd") => Ok("systemd"),
        Some(_) | None => Ok("cgroupfs"),
    }
}

/// A setting of kubelet: by its flag, else by the field of its configuration.
fn setting(node: &Node<'_>, flag: &str, field: &str) -> Result<Option<String>, Unseen> {
    let flags = flags(node)?;
    if let Some(value) = flags.get(flag) {
        return Ok(Some(value.to_owned()));
    }
    match read(node, kubelet_configuration(node), &flags)? {
        Reading::Read(document) => Ok(document.text_of(field).map(str::to_owned)),
        Reading::Absent => Ok(None),
        Reading::Elsewhere(path) => Err(Unseen::NotTaken(format!("{path} was not looked at"))),
        Reading::Missing | Reading::Broken(..) => Err(Unseen::NotTaken(
            "kubelet's configuration cannot be read".to_owned(),
        )),
    }
}
