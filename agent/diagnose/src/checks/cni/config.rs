//! `cni.config`: whether there is a configuration, and whether it can be read.

use super::configuration::{Candidate, DIRECTORY, candidates};
use crate::checks::check::{Certainty, Finding, Verdict};
use crate::checks::node::Node;
use crate::checks::read_error::read_error;
use crate::checks::runtime::configuration::{Reading, read};
use crate::checks::stage;
use quake_model::expected::ExpectedNetwork;
use quake_model::facts::Unseen;
use quake_model::fault::Code;
use quake_model::phase::Phase;
use quake_model::pod_networks::of_word;
use serde_json::Value;

/// The versions of the specification so far.
const VERSIONS: &[&str] = &[
    "0.1.0", "0.2.0", "0.3.0", "0.3.1", "0.4.0", "1.0.0", "1.1.0",
];

pub(super) fn judge(node: &Node<'_>) -> Result<Verdict, Unseen> {
    let expected = stage::kubernetes(node)?;
    let candidates = candidates(node)?;
    if let Some(finding) = elsewhere(node, &expected.runtime)? {
        return finding.fail();
    }
    let Some(winner) = candidates.first() else {
        return absent(node, &expected.network);
    };
    let Some(finding) = unusable(winner, &expected.network) else {
        let programs = winner.programs().join(", ");
        return Verdict::ok(format!("{} ({programs})", winner.name));
    };
    // dockershim goes on to the next file; containerd does not.
    let next = candidates[1..]
        .iter()
        .find(|next| unusable(next, &expected.network).is_none());
    match next.filter(|_| expected.runtime == "docker") {
        Some(next) => finding.seen("counts instead", next.name).warn(),
        None => finding.fail(),
    }
}

/// A containerd that looks for it in another directory.
fn elsewhere(node: &Node<'_>, runtime: &str) -> Result<Option<Finding>, Unseen> {
    let Reading::Read(configuration) = read(node)? else {
        return Ok(None);
    };
    let directory = configuration.network_directory().unwrap_or(DIRECTORY);
    let is_another = directory.trim_end_matches('/') != DIRECTORY;
    Ok((is_another && runtime == "containerd").then(|| {
        Finding::new(
            format!("containerd looks in {directory}, and the pod network is configured in {DIRECTORY}"),
            "systemctl restart quake-agent.service writes containerd's configuration anew; then: systemctl restart containerd.service",
        )
        .seen("conf_dir", directory)
    }))
}

/// Whether containerd was given the template that it is to write the configuration from.
fn has_template(node: &Node<'_>) -> Result<bool, Unseen> {
    Ok(match read(node)? {
        Reading::Read(configuration) => configuration.network_template().is_some(),
        // What is wrong there is told by the check of that file.
        Reading::Absent | Reading::Broken(..) => true,
    })
}

/// What is wrong with a file.
fn unusable(file: &Candidate<'_>, network: &ExpectedNetwork) -> Option<Finding> {
    let path = file.path();
    let fix = fix(&path, network);
    let document = match &file.document {
        Ok(document) => document,
        Err(misread) => return Some(read_error(misread, &path, file.text, fix)),
    };
    let is_list = file.name.ends_with(".conflist");
    let has_plugins = file
        .plugins()
        .iter()
        .any(|plugin| plugin.get("type").is_some());
    let has_name = document
        .get("name")
        .and_then(Value::as_str)
        .is_some_and(|name| !name.is_empty());
    let version = document.get("cniVersion").and_then(Value::as_str);
    let wrong = match version {
        _ if is_list && document.get("plugins").is_none() => "has no list of plugins".to_owned(),
        _ if !has_plugins => "names no plugin".to_owned(),
        _ if is_list && !has_name => "has no name".to_owned(),
        Some(version) if !VERSIONS.contains(&version) => {
            format!(
                "has cniVersion {version:?}, which is no version of the CNI specification: plugins know 0.1.0 to 1.1.0"
            )
        }
        Some(_) | None => return None,
    };
    Some(Finding::new(format!("{path} {wrong}"), fix))
}

fn fix(path: &str, network: &ExpectedNetwork) -> String {
    match network.writer.as_str() {
        "agent" if network.files.iter().any(|file| file == path) => {
            "systemctl restart quake-agent.service writes it anew".to_owned()
        }
        "daemon-set" => match of_word(&network.name) {
            Some(known) => format!(
                "fix or remove it, then delete the pod of {} on this node, which writes it anew",
                known.pod()
            ),
            None => "fix or remove it, then delete the pod that writes it".to_owned(),
        },
        _ => "fix or remove it".to_owned(),
    }
}

/// There is none: who should have written it.
fn absent(node: &Node<'_>, network: &ExpectedNetwork) -> Result<Verdict, Unseen> {
    let none = |who: &str| format!("there is no configuration in {DIRECTORY}: {who}");
    match network.writer.as_str() {
        "agent" => {
            stage::done(node, Phase::Files)?;
            let file = network
                .files
                .first()
                .map(String::as_str)
                .unwrap_or_default();
            Finding::new(
                none(&format!("the agent's own {file} is gone")),
                "systemctl restart quake-agent.service writes it anew",
            )
            .coded(Code::ReadyCniMissing)
            .fail()
        }
        "runtime" => {
            stage::done(node, Phase::Services)?;
            if !has_template(node)? {
                return Finding::new(
                    none("containerd has no conf_template to write it from"),
                    "systemctl restart quake-agent.service writes containerd's configuration anew; then: systemctl restart containerd.service",
                )
                .coded(Code::ReadyCniMissing)
                .fail();
            }
            late(
                node,
                Finding::new(
                    none(
                        "containerd writes it once kubelet tells it the node's range of addresses",
                    ),
                    "kubectl get node <name> -o jsonpath={.spec.podCIDR}: where it is empty, kube-controller-manager must run with --allocate-node-cidrs",
                ),
            )
        }
        _ => brought(node, network),
    }
}

/// There is none that a DaemonSet should have written.
fn brought(node: &Node<'_>, network: &ExpectedNetwork) -> Result<Verdict, Unseen> {
    let none = |who: &str| format!("there is no configuration in {DIRECTORY}: {who}");
    stage::done(node, Phase::Services)?;
    let (who, pod) = match of_word(&network.name) {
        Some(known) => (
            format!("the pod of {} writes it, and has not yet", known.pod()),
            known.pod(),
        ),
        None => (
            format!(
                "the DaemonSet of {} writes it, and has not yet",
                network.name
            ),
            network.name.as_str(),
        ),
    };
    late(
        node,
        Finding::new(
            none(&who),
            format!(
                "kubectl -n kube-system get pods -o wide | grep {pod}; kubectl -n kube-system describe pod and logs of the one on this node"
            ),
        ),
    )
}

/// What comes by itself is late only once the boot ended.
fn late(node: &Node<'_>, finding: Finding) -> Result<Verdict, Unseen> {
    node.fail_after_boot(finding.by(Certainty::Possible).coded(Code::ReadyCniMissing))
}
