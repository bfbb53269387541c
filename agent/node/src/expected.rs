//! What a booted node is expected to have, drawn from its spec: what `diagnose` compares the machine with.

use crate::builders;
use crate::builders::{layout, legacy};
use quake_model::expected::{
    Expected, ExpectedAsset, ExpectedMember, ExpectedNames, ExpectedNetwork,
};
use quake_model::facts::InstanceFacts;
use quake_model::spec::{NetworkMode, NodeSpec, Role, Runtime};
use quake_model::step::Condition;
use std::collections::BTreeSet;

/// kubelet's flags that say what the machine must be like.
const COMPARED_FLAGS: &[&str] = &[
    "cgroup-driver",
    "cloud-provider",
    "cluster-dns",
    "cluster-domain",
    "config",
    "container-runtime",
    "container-runtime-endpoint",
    "eviction-hard",
    "fail-swap-on",
    "hostname-override",
    "max-pods",
    "network-plugin",
    "pod-infra-container-image",
    "shutdown-grace-period",
];

/// What a node of this spec is expected to have. Nothing of it is secret.
pub fn expected(spec: &NodeSpec, instance: &InstanceFacts) -> Expected {
    let mut expected = Expected {
        generation: Some(spec.generation),
        config_base: spec.config_base.to_string(),
        ..Expected::default()
    };
    if spec.role != Role::Bastion {
        kubernetes(&mut expected, spec, instance);
    }
    expected.assets = assets(spec);
    builders::expect(&mut expected, spec);
    expected.proxied = !spec.proxy.is_empty();
    expected
}

fn kubernetes(expected: &mut Expected, spec: &NodeSpec, instance: &InstanceFacts) {
    expected.node_name = node_name(spec, instance);
    expected.runtime = match spec.runtime {
        Runtime::Docker(_) => "docker",
        Runtime::Containerd { .. } => "containerd",
    }
    .to_owned();
    expected.units = [legacy::runtime_unit(spec), "kubelet.service"]
        .map(str::to_owned)
        .to_vec();
    expected.api_servers = vec![legacy::api_server(spec)];
    expected.names = names(spec);
    expected.published = published(spec);
    expected.network = network(spec);
    expected.kubelet_flags = COMPARED_FLAGS
        .iter()
        .filter_map(|name| Some(format!("{name}={}", spec.kubelet.flag(name)?)))
        .collect();
    expected
        .kubeconfig
        .clone_from(&spec.kubelet.kubeconfig_path);
    expected.manifest_directory = spec.kubelet.manifest_path.trim_end_matches('/').to_owned();
    expected.probes = probes(spec);
    expected.etcd = members(spec);
    expected.backups = spec
        .etcd
        .iter()
        .filter_map(|cluster| cluster.backup_store.as_ref().map(ToString::to_string))
        .collect();
    expected.no_proxy = vec!["169.254.169.254".to_owned(), format!(".{}", spec.cluster)];
}

/// The name kubelet registers with: what the spec says, or with AWS's cloud provider the private name. A bastion has none.
pub(crate) fn node_name(spec: &NodeSpec, instance: &InstanceFacts) -> String {
    match spec.kubelet.flag("hostname-override") {
        _ if spec.role == Role::Bastion => String::new(),
        Some(name) if !name.starts_with('@') => name.to_owned(),
        _ => instance.local_hostname.clone(),
    }
}

/// Names that must resolve: on a worker its API server; a control plane asks itself.
fn names(spec: &NodeSpec) -> Vec<String> {
    match &spec.control_plane {
        Some(_) => Vec::new(),
        None => vec![format!("api.internal.{}", spec.cluster)],
    }
}

/// The names that a control plane publishes. Which member it runs is known only once it has the volume.
fn published(spec: &NodeSpec) -> Vec<ExpectedNames> {
    let Some(names) = &spec.names else {
        return Vec::new();
    };
    let api = names.api.iter().map(|name| vec![name.clone()]);
    let members = spec
        .etcd
        .iter()
        .map(|etcd| legacy::member_names(spec, etcd));
    api.chain(members)
        .filter(|any_of| !any_of.is_empty())
        .map(|any_of| ExpectedNames { any_of })
        .collect()
}

/// The word of the pod network.
pub(crate) fn network_word(spec: &NodeSpec) -> &str {
    match &spec.networking.mode {
        NetworkMode::Kubenet => "kubenet",
        NetworkMode::External => "external",
        NetworkMode::Cni { provider } if provider.is_empty() => "cni",
        NetworkMode::Cni { provider } => provider,
    }
}

fn network(spec: &NodeSpec) -> ExpectedNetwork {
    let (writer, files) = legacy::cni_writer(spec);
    ExpectedNetwork {
        name: network_word(spec).to_owned(),
        writer: writer.to_owned(),
        directory: layout::CNI_CONFIGURATIONS.to_owned(),
        plugins: layout::CNI_PLUGINS.to_owned(),
        files,
    }
}

/// The health checks of the ready phase.
fn probes(spec: &NodeSpec) -> Vec<String> {
    let conditions = spec.ready_conditions.iter();
    let probes = conditions.filter_map(|condition| match condition {
        Condition::Healthy { component, url } => Some(format!("{component} {url}")),
        _ => None,
    });
    probes.collect()
}

fn members(spec: &NodeSpec) -> Vec<ExpectedMember> {
    let clusters = spec.etcd.iter().filter(|_| spec.is_control_plane());
    clusters
        .map(|cluster| ExpectedMember {
            cluster: cluster.name.clone(),
            members: cluster
                .members
                .iter()
                .map(|member| member.name.clone())
                .collect(),
            groups: cluster
                .members
                .iter()
                .map(|member| member.instance_group.clone().unwrap_or_default())
                .collect(),
            hosts: legacy::member_names(spec, cluster),
            peer_ports: legacy::peer_port(cluster).into_iter().collect(),
            ..ExpectedMember::default()
        })
        .collect()
}

fn assets(spec: &NodeSpec) -> Vec<ExpectedAsset> {
    spec.assets
        .iter()
        .map(|asset| ExpectedAsset {
            name: asset.name.clone(),
            digest: asset.digest.to_string(),
            hosts: hosts(&asset.urls),
            paths: Vec::new(),
        })
        .collect()
}

/// The hosts of URLs with their ports, each once, in their order, without user information. A bucket is
/// no host: which endpoint has it is known with its region.
fn hosts(urls: &[String]) -> Vec<String> {
    let mut seen = BTreeSet::new();
    urls.iter()
        .filter_map(|url| {
            let (_, rest) = url
                .split_once("://")
                .filter(|(scheme, _)| *scheme != "s3")?;
            let ca = rest.split(['/', '?', '#']).next()?;
            let host = ca.rsplit('@').next()?;
            (!host.is_empty()).then(|| host.to_owned())
        })
        .filter(|host| seen.insert(host.clone()))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hosts_are_named_once_and_never_with_a_password() {
        let urls = [
            "https://user:pa55@a.example:8443/x",
            "https://a.example:8443/y?sig=1",
            "http://b.example",
            "s3://bucket/z",
        ];
        let urls = urls.map(str::to_owned);
        assert_eq!(hosts(&urls), ["a.example:8443", "b.example"]);
    }
}
