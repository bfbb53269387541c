//! What kubelet is started with, as far as the node's own files and the record tell.

use super::node::Node;
use quake_formats::yaml;

/// The value of a flag of kubelet, `fail-swap-on`: from the file it is started with, else from the record.
pub(super) fn kubelet_flag(node: &Node<'_>, name: &str) -> Option<String> {
    let files = ["/etc/sysconfig/kubelet", "/etc/default/kubelet"];
    let texts = files.iter().filter_map(|path| node.text(path).ok()?);
    let started = texts.flat_map(|text| {
        text.split(|c: char| c.is_whitespace() || c == '"')
            .filter_map(|word| word.strip_prefix("--")?.split_once('='))
    });
    let expected = node.expected().ok();
    let recorded = expected
        .iter()
        .flat_map(|expected| &expected.kubelet_flags)
        .filter_map(|flag| flag.split_once('='));
    let mut flags = started.chain(recorded);
    let found = flags.find(|(flag, _)| *flag == name);
    found.map(|(_, value)| value.trim_matches('\'').to_owned())
}

/// Where kubelet's configuration file may be: kops 1.32 and newer call it as the second.
pub(super) const KUBELET_CONFIGURATIONS: [&str; 2] = [
    "/var/lib/kubelet/config.yaml",
    "/var/lib/kubelet/kubelet.conf",
];

/// Which of them kubelet reads: the one that its flag names.
pub(super) fn kubelet_configuration(node: &Node<'_>) -> &'static str {
    let by_flag = kubelet_flag(node, "config");
    let is_by_flag = |path: &&&str| by_flag.as_deref() == Some(**path);
    KUBELET_CONFIGURATIONS
        .iter()
        .find(is_by_flag)
        .copied()
        .unwrap_or(KUBELET_CONFIGURATIONS[0])
}

/// Where operators lay settings of their own, which kubelet takes over those of its file, in this order.
const KUBELET_SETTINGS: &str = "/etc/kubernetes/kubelet.conf.d";

/// The value of a key of kubelet's configuration, `failSwapOn`: from an operator's own file, else from
/// kubelet's.
pub(super) fn kubelet_key(node: &Node<'_>, key: &str) -> Option<String> {
    let mut texts = kubelet_texts(node).into_iter();
    texts.find_map(|(path, text)| {
        let parsed = yaml::parse(&path, text).ok()?;
        parsed.text_of(key).map(str::to_owned)
    })
}

/// A setting of kubelet, by its flag or by the key of its configuration.
pub(super) fn kubelet_setting(node: &Node<'_>, flag: &str, key: &str) -> Option<String> {
    kubelet_flag(node, flag).or_else(|| kubelet_key(node, key))
}

/// The files of kubelet's configuration with their paths, the one that counts most first.
pub(super) fn kubelet_texts<'a>(node: &Node<'a>) -> Vec<(String, &'a str)> {
    let own = node.list(KUBELET_SETTINGS);
    let own = own.iter().rev().filter(|(name, _)| name.ends_with(".conf"));
    let own = own.map(|(name, _)| format!("{KUBELET_SETTINGS}/{name}"));
    let last_first = own.chain([kubelet_configuration(node).to_owned()]);
    last_first
        .filter_map(|path| {
            let text = node.text(&path).ok()??;
            Some((path, text))
        })
        .collect()
}

/// The name server that kubelet gives pods.
pub(super) fn cluster_dns(node: &Node<'_>) -> Option<String> {
    if let Some(flag) = kubelet_flag(node, "cluster-dns") {
        return flag.split(',').next().map(str::to_owned);
    }
    let mut texts = kubelet_texts(node).into_iter();
    texts.find_map(|(_, text)| {
        let (_, rest) = text.split_once("clusterDNS:")?;
        let first = rest.lines().map(str::trim).find(|line| !line.is_empty())?;
        Some(
            first
                .trim_start_matches("- ")
                .trim_matches(['"', '[', ']'])
                .to_owned(),
        )
    })
}

/// Kubernetes' minor version, 27 of `1.27.3`; `None` while it is not known or where none runs.
pub(super) fn kubernetes_minor(node: &Node<'_>) -> Option<u32> {
    let spec = node.survey().record.as_ref()?.spec.as_ref()?;
    if spec.role == "bastion" {
        return None;
    }
    let mut parts = spec.kubernetes.trim_start_matches('v').split('.');
    let (_major, minor) = (parts.next()?, parts.next()?);
    minor.parse().ok()
}

/// The minor version of the kubelet that runs, where the API server shows it; else that of the spec.
pub(super) fn running_minor(node: &Node<'_>) -> Option<u32> {
    let object = node.survey().node.ok().and_then(Option::as_ref);
    let running = object.and_then(|object| {
        let mut parts = object.kubelet_version.split('.');
        parts.nth(1)?.parse().ok()
    });
    running.or_else(|| kubernetes_minor(node))
}

/// Whether the node is known to run Kubernetes.
pub(super) fn runs_kubernetes(node: &Node<'_>) -> bool {
    node.role().is_some_and(|role| role != "bastion")
}
