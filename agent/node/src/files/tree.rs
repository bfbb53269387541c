//! The whole tree of files a node is configured by, in the order they are written.

use super::{
    cloud_config, cni, containerd, docker, etcd, file_assets, hooks, kubeconfig, kubelet,
    logrotate, pki, proxy_environment, static_pods, sysctl,
};
use crate::known::Known;
use quake_model::phase::Phase;
use quake_model::spec::{NodeSpec, Role, Runtime};
use quake_model::step::{Action, Step};

/// A static pod of etcd-manager, as the state store holds it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EtcdManifest {
    /// The object's base name without its suffix: the etcd cluster, such as `main`.
    pub name: String,
    /// The object's bytes.
    pub contents: Vec<u8>,
}

/// Plans the files phase.
///
/// `etcd_manifests` are the objects [`NodeSpec::etcd_manifests`] names; empty unless etcd-manager runs etcd.
/// What depends on a credential that is not known is left out: the credentials phase ends only when all that
/// are required are known. Static pods come last, for a kubelet that runs reads them the moment they appear.
/// A bastion runs no part of the cluster and gets only its own files.
pub fn plan(spec: &NodeSpec, known: &Known, etcd_manifests: &[EtcdManifest]) -> Vec<Step> {
    let mut actions = sysctl::actions(spec);
    if spec.role != Role::Bastion {
        actions.extend(proxy_environment::actions(spec));
        actions.extend(cloud_config::actions(spec));
        actions.extend(pki::actions(spec, &known.credentials));
        actions.extend(cni::actions(spec, known));
        actions.extend(match &spec.runtime {
            Runtime::Docker(runtime) => docker::actions(spec, runtime, known),
            Runtime::Containerd { .. } => containerd::actions(spec, known),
        });
        actions.extend(kubeconfig::actions(spec, &known.credentials));
        actions.extend(kubelet::actions(spec, known));
    }
    actions.extend(logrotate::actions(spec));
    actions.extend(hooks::actions(spec));
    let mut taken: Vec<String> = actions.iter().map(Action::subject).collect();
    let mut pods = Vec::new();
    if spec.role != Role::Bastion {
        pods.extend(etcd::actions(spec, known, etcd_manifests));
        pods.extend(static_pods::actions(spec, known));
    }
    taken.extend(pods.iter().map(Action::subject));
    // The operator's own files come before the pods that may mount them; one that would replace a file of the
    // node's is left out, for the node is what was asked for first.
    let own = file_assets::actions(spec)
        .into_iter()
        .filter(|action| !taken.contains(&action.subject()));
    actions
        .into_iter()
        .chain(own)
        .chain(pods)
        .map(|action| Step::new(Phase::Files, action))
        .collect()
}
