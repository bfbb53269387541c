//! Every file the node is configured by, one topic a file; nothing here reads or writes one.

mod cni;
mod common_files;
pub(crate) mod conditions;
mod containerd;
mod docker;
mod etcd;
mod hooks;
mod kubeconfig;
mod kubelet;
mod logrotate;
pub(crate) mod network;
mod pki;
mod pod;
mod programs;
mod static_pods;
pub(crate) mod units;

pub(crate) use cni::{writer as cni_writer, writes_configuration as writes_cni_configuration};
pub(crate) use containerd::unit_files as containerd_unit_files;
pub(crate) use etcd::{client_port, member_names, own_member_names, own_members, peer_port};
pub(crate) use hooks::distinct as distinct_hooks;
pub(crate) use kubeconfig::server as api_server;
pub(crate) use kubelet::{node_object, runtime_unit};
pub(crate) use logrotate::TIMER as LOG_ROTATION_TIMER;
pub(crate) use pod::{
    CLUSTER_CRITICAL, Command, HostPath, NODE_CRITICAL, Sidecar, StaticPod, variable,
};

use super::layout;
use crate::plan_inputs::PlanInputs;
use quake_model::item::Item;
use quake_model::spec::{NodeSpec, Role, Runtime};
use std::collections::BTreeSet;

/// The files of a node of kops legacy (1.8 to 1.15).
///
/// Files that need an unknown credential are omitted: the credentials phase ends only when all required ones are known.
/// Static pods come last, because a running kubelet starts them at once.
/// A bastion runs no part of the cluster and gets only its own files.
pub(crate) fn items(spec: &NodeSpec, known: &PlanInputs) -> Vec<Item> {
    let mut items = network::files(spec);
    if spec.role != Role::Bastion {
        items.extend(common_files::proxy_environment(spec));
        items.push(common_files::cloud_config(spec));
        items.extend(pki::items(spec, &known.credentials));
        items.extend(cni::items(spec, known));
        items.extend(match &spec.runtime {
            Runtime::Docker(runtime) => docker::items(spec, runtime, known),
            Runtime::Containerd { .. } => containerd::items(spec, known),
        });
        items.extend(kubeconfig::items(spec, &known.credentials));
        items.extend(kubelet::items(spec, known));
    }
    items.extend(logrotate::items(spec));
    items.extend(hooks::items(spec));
    let mut pods = Vec::new();
    if spec.role != Role::Bastion {
        pods.extend(etcd::items(spec, known));
        pods.extend(static_pods::items(spec, known));
    }
    let taken: BTreeSet<String> = items.iter().chain(&pods).map(Item::subject).collect();
    // The operator's files come before the pods that may mount them. A file of the node wins over one at the same path.
    let own = common_files::file_assets(spec).into_iter();
    items.extend(own.filter(|item| !taken.contains(&item.subject())));
    items.extend(pods);
    items
}
