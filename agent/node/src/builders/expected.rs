//! What differs in what a node of this kops generation is expected to have, drawn from its items.

use super::expected_etcd;
use crate::steps;
use quake_model::expected::Expected;
use quake_model::item::{Item, Source};
use quake_model::spec::{NodeSpec, Role};

/// The API server of a node that has one.
const OWN: &str = "https://127.0.0.1";

/// Completes what the node is expected to have.
pub(crate) fn expect(expected: &mut Expected, spec: &NodeSpec) {
    if !spec.bootstrap_servers.is_empty() {
        // It reads nothing of the state store.
        expected.config_base.clear();
        expected
            .bootstrap_servers
            .clone_from(&spec.bootstrap_servers);
    }
    if spec.role == Role::Bastion {
        return;
    }
    expected.static_pods = steps::static_pods(spec);
    expected_etcd::complete(&mut expected.etcd, spec);
    if let Some(server) = api_server(spec) {
        expected.api_servers = vec![server.to_owned()];
        if server == OWN {
            expected.names.clear();
        }
    }
    for asset in &mut expected.assets {
        asset.paths = placed(spec, &asset.digest);
    }
}

fn api_server(spec: &NodeSpec) -> Option<&str> {
    match &spec.file_at(&spec.kubelet.kubeconfig_path)?.source {
        Source::Kubeconfig(kubeconfig) => Some(&kubeconfig.server),
        Source::Bytes(_) | Source::Issued { .. } => None,
    }
}

/// Where an asset that is one file is placed.
fn placed(spec: &NodeSpec, digest: &str) -> Vec<String> {
    let places = spec.items.iter().filter_map(|item| match item {
        Item::Program(place) if place.member.is_none() => Some(place),
        _ => None,
    });
    places
        .filter(|place| place.asset.to_string() == digest)
        .map(|place| place.path.clone())
        .collect()
}
