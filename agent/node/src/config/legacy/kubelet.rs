//! kubelet: its flags, labels and taints, as nodeup put them together (`nodeup/pkg/model/kubelet.go`,
//! 1.8.1 to v1.15.3).

use super::SCHEMA;
use super::node::Node;
use crate::config::flags::{flags_of, overlay, sort};
use crate::config::reader::{kubelet_paths, texts, texts_by_key};
use quake_formats::yaml::{Value, Yaml};
use quake_model::fault::{Code, Fault};
use quake_model::spec::{Flag, Kubelet, Role};
use std::collections::BTreeMap;

/// The label with the node's instance group.
pub(crate) const GROUP_LABEL: &str = "kops.k8s.io/instancegroup";
pub(crate) const ROLE_LABEL: &str = "kubernetes.io/role";
pub(crate) const MASTER_LABEL: &str = "node-role.kubernetes.io/master";
const NODE_LABEL: &str = "node-role.kubernetes.io/node";

/// The kubelet section of this node: the cluster's for its role, with the instance group's laid over it.
pub(super) fn kubelet_section(node: &Node<'_>) -> Result<Yaml, Fault> {
    let key = if node.runs_control_plane() {
        "masterKubelet"
    } else {
        "kubelet"
    };
    let empty = node.cluster.spec.with(Value::Map(Vec::new()));
    let base = match node.section(key) {
        Some(section) => section,
        None if node.role == Role::Bastion => &empty,
        None => return Err(node.missing(key)),
    };
    let over = node.group.spec.get("kubelet");
    Ok(over.map_or_else(|| base.clone(), |over| overlay(base, over)))
}

/// Lowers the section; the fault is a finding about its labels.
pub(super) fn lower_kubelet(
    node: &Node<'_>,
    section: &Yaml,
) -> Result<(Kubelet, Option<Fault>), Fault> {
    let mut flags = flags_of(&SCHEMA, section, "KubeletConfigSpec");
    flags.retain(|flag| !matches!(&*flag.name, "node-labels" | "register-with-taints"));
    if node.runs_control_plane() {
        // A control plane makes its own credentials; it has nothing to bootstrap from.
        flags.retain(|flag| flag.name != "bootstrap-kubeconfig");
    }
    if node.version.at_least(1, 6) {
        // From 1.6 on taints decide what is scheduled, whatever the spec says here.
        flags.retain(|flag| flag.name != "register-schedulable");
        flags.push(Flag::new("register-schedulable", "true"));
    }
    if node.version.at_least(1, 11) {
        rename_sysctls(&mut flags);
    }
    substitute_hostname(node, section, &mut flags)?;
    if uses_secondary_addresses(node) && !flags.iter().any(|flag| flag.name == "node-ip") {
        flags.push(Flag::new("node-ip", &node.instance.private_ip));
    }
    sort(&mut flags);
    let (labels, finding) = labels(node, section);
    let (kubeconfig_path, manifest_path) = kubelet_paths(section);
    let kubelet = Kubelet {
        flags,
        labels,
        taints: taints(node, section),
        startup_taint: None,
        kubeconfig_path,
        manifest_path,
    };
    Ok((kubelet, finding))
}

/// Whether pods have addresses of the instance's own network: kubelet must then be told which is the node's.
fn uses_secondary_addresses(node: &Node<'_>) -> bool {
    let networking = node.section("networking");
    networking.is_some_and(|networking| {
        let cni = networking.get("cni");
        networking.get("amazonvpc").is_some()
            || cni.is_some_and(|cni| cni.boolean_of("usesSecondaryIP") == Some(true))
    })
}

/// The flag lost its `experimental` in Kubernetes 1.11; both lists hold.
fn rename_sysctls(flags: &mut Vec<Flag>) {
    let old = "experimental-allowed-unsafe-sysctls";
    let Some(at) = flags.iter().position(|flag| flag.name == old) else {
        return;
    };
    let mut value = flags.remove(at).value;
    let new = "allowed-unsafe-sysctls";
    if let Some(at) = flags.iter().position(|flag| flag.name == new) {
        value = format!("{value},{}", flags.remove(at).value);
    }
    flags.push(Flag::new(new, value));
}

/// Puts the instance's own name where the spec says `@aws`, and nothing where it says `@hostname`.
pub(super) fn substitute_hostname(
    node: &Node<'_>,
    section: &Yaml,
    flags: &mut Vec<Flag>,
) -> Result<(), Fault> {
    let Some(at) = flags
        .iter()
        .position(|flag| flag.name == "hostname-override")
    else {
        return Ok(());
    };
    match flags[at].value.trim().to_ascii_lowercase().as_str() {
        "@hostname" => {
            flags.remove(at);
        }
        "@aws" => flags[at].value.clone_from(&node.instance.local_hostname),
        other if other.starts_with('@') => {
            let place = section.get("hostnameOverride").unwrap_or(section);
            let summary = format!("is {other}, which is no name on AWS");
            return Err(node.unsupported(place, "hostnameOverride", &summary));
        }
        _ => {}
    }
    Ok(())
}

/// The section's labels, under those of the role, under those of the instance group.
fn labels(node: &Node<'_>, section: &Yaml) -> (BTreeMap<String, String>, Option<Fault>) {
    let mut labels = texts_by_key(section, "nodeLabels");
    let (role, label) = if node.runs_control_plane() {
        ("master", MASTER_LABEL)
    } else {
        ("node", NODE_LABEL)
    };
    labels.insert(ROLE_LABEL.to_owned(), role.to_owned());
    labels.insert(label.to_owned(), String::new());
    labels.extend(texts_by_key(&node.group.spec, "nodeLabels"));
    if !node.version.at_least(1, 16) {
        return (labels, None);
    }
    // Those that a control plane's agent sets through the API instead.
    let is_agents = |label: &str| {
        node.runs_control_plane() && [GROUP_LABEL, MASTER_LABEL, ROLE_LABEL].contains(&label)
    };
    let refused: Vec<String> = labels
        .keys()
        .filter(|label| !may_kubelet_set(label) && !is_agents(label))
        .cloned()
        .collect();
    labels.retain(|label, _| may_kubelet_set(label));
    if refused.is_empty() {
        return (labels, None);
    }
    let summary = format!(
        "kubelet {} may not set labels of the node itself",
        node.version
    );
    let finding = Fault::new(Code::ConfigUnsupported, summary)
        .seen("source", &node.group.source)
        .seen("labels", refused.join(", "))
        .remedied_by("set the labels through the API: kubectl label node <name> <label>=<value>");
    (labels, Some(finding))
}

/// Whether kubelet from 1.16 on starts with this label: those of Kubernetes' own names are refused but for a
/// few (`pkg/kubelet/apis/well_known_labels.go` of Kubernetes v1.16).
fn may_kubelet_set(label: &str) -> bool {
    const ALLOWED: [&str; 10] = [
        "kubernetes.io/hostname",
        "kubernetes.io/os",
        "kubernetes.io/arch",
        "beta.kubernetes.io/os",
        "beta.kubernetes.io/arch",
        "beta.kubernetes.io/instance-type",
        "failure-domain.beta.kubernetes.io/zone",
        "failure-domain.beta.kubernetes.io/region",
        "topology.kubernetes.io/zone",
        "topology.kubernetes.io/region",
    ];
    let Some((namespace, _)) = label.split_once('/') else {
        return true;
    };
    let within = |suffix: &str| {
        namespace == suffix
            || namespace
                .strip_suffix(suffix)
                .is_some_and(|rest| rest.ends_with('.'))
    };
    let reserved = within("kubernetes.io") || within("k8s.io");
    let open = within("kubelet.kubernetes.io") || within("node.kubernetes.io");
    !reserved || open || ALLOWED.contains(&label)
}

/// The section's taints, then the instance group's; a control plane without any repels workloads.
fn taints(node: &Node<'_>, section: &Yaml) -> Vec<String> {
    let mut taints = texts(section, "taints");
    if node.version.at_least(1, 6) {
        taints.extend(texts(&node.group.spec, "taints"));
        if taints.is_empty() && node.role == Role::ControlPlane {
            taints.push(format!("{MASTER_LABEL}=:NoSchedule"));
        }
    }
    taints
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kubelet_may_set_its_own_labels_and_those_of_others() {
        for (label, may) in [
            ("team", true),
            ("example.com/team", true),
            ("notkubernetes.io/x", true),
            ("kubernetes.io/hostname", true),
            ("node.kubernetes.io/pool", true),
            ("x.kubelet.kubernetes.io/y", true),
            ("kubernetes.io/role", false),
            ("node-role.kubernetes.io/master", false),
            ("kops.k8s.io/instancegroup", false),
        ] {
            assert_eq!(may_kubelet_set(label), may, "{label}");
        }
    }
}
