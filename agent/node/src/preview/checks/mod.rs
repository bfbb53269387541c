//! What breaks: each area has functions that say where a change meets its rules.
//!
//! A *state* is wrong whatever was before, such as a flag that the version does not have; what was so before is no finding of a
//! change. A *step* is wrong only between two states, such as another range of pods.

mod access;
mod cluster;
mod containerd;
mod etcd;
mod group;
mod keys;
mod kops;
mod kubernetes;
mod network;
mod programs;
mod runtime;

use super::rule::{Finding, Hit};
use super::side::{ClusterSide, GroupSide};
use super::view::{Aspect, NodeView};
use quake_model::spec::{EtcdCluster, KubernetesVersion, NodeSpec, Runtime};

/// A node of one side.
#[derive(Debug, Clone, Copy)]
pub(super) struct Subject<'a> {
    pub(super) cluster: &'a ClusterSide,
    pub(super) group: &'a GroupSide,
    pub(super) view: Option<&'a NodeView>,
}

impl<'a> Subject<'a> {
    pub(super) fn new(
        cluster: &'a ClusterSide,
        group: &'a GroupSide,
        view: &'a Option<NodeView>,
    ) -> Self {
        Self {
            cluster,
            group,
            view: view.as_ref(),
        }
    }

    /// Its spec; `None` where it cannot be planned.
    fn node(&self) -> Option<&'a NodeSpec> {
        self.group.node.as_ref().ok().map(AsRef::as_ref)
    }

    /// Its clusters of etcd.
    fn etcd(&self) -> &'a [EtcdCluster] {
        self.node().map_or(&[], |node| &node.etcd)
    }

    /// The minor version of its Kubernetes.
    fn minor(&self) -> u32 {
        let cluster = self.cluster.kubernetes.map_or(0, |version| version.minor);
        self.node().map_or(cluster, |node| node.kubernetes.minor)
    }

    fn row(&self, aspect: Aspect, name: &str) -> Option<&'a str> {
        self.view?.row(aspect, name)
    }

    fn flag(&self, name: &str) -> Option<&'a str> {
        self.row(Aspect::Flag, name)
    }

    /// A value of kubelet, by its setting or else by its flag.
    fn kubelet(&self, setting: &str, flag: &str) -> Option<&'a str> {
        let setting = self.row(Aspect::Setting, &format!("KubeletConfiguration {setting}"));
        setting.or_else(|| self.flag(&format!("kubelet {flag}")))
    }

    /// The version of containerd as it is written and read, where it is the runtime and the configuration says it.
    fn containerd(&self) -> Option<(&'a str, KubernetesVersion)> {
        match &self.node()?.runtime {
            Runtime::Containerd { version: text } => {
                let text = text.as_deref()?;
                Some((text, version(text)?))
            }
            Runtime::Docker(_) => None,
        }
    }

    fn rows(&self, aspect: Aspect) -> impl Iterator<Item = (&'a str, &'a str)> {
        let view = self.view.into_iter();
        view.flat_map(move |view| view.rows_of(aspect))
    }
}

/// A node of each side.
#[derive(Debug, Clone, Copy)]
pub(super) struct Pair<'a> {
    pub(super) old: Subject<'a>,
    pub(super) new: Subject<'a>,
}

/// What is wrong with a state.
type State = fn(&Subject<'_>) -> Vec<Hit>;

/// What is wrong with a step.
type Step = fn(&Pair<'_>) -> Vec<Hit>;

const STATES: &[State] = &[
    kubernetes::state,
    access::state,
    programs::state,
    runtime::state,
    containerd::state,
    kops::state,
    group::state,
];

const STEPS: &[Step] = &[
    network::step,
    etcd::step,
    keys::step,
    access::step,
    programs::step,
    group::step,
    runtime::step,
];

/// What breaks on the nodes of a group.
pub(super) fn of_groups(pair: &Pair<'_>) -> Vec<Finding> {
    let states = STATES
        .iter()
        .flat_map(|state| new_hits(&state(&pair.old), state(&pair.new)));
    let steps = STEPS.iter().flat_map(|step| step(pair));
    states
        .chain(steps)
        .filter_map(|hit| hit.finding())
        .collect()
}

/// What is wrong with the nodes of a group that is new.
pub(super) fn of_a_new_group(subject: &Subject<'_>) -> Vec<Finding> {
    let states = STATES.iter().flat_map(|state| state(subject));
    states.filter_map(|hit| hit.finding()).collect()
}

/// What breaks in the cluster itself.
pub(super) fn of_clusters(old: &ClusterSide, new: &ClusterSide) -> Vec<Finding> {
    let mut all = new_hits(&cluster::state(old), cluster::state(new));
    all.extend(cluster::step(old, new));
    all.extend(keys::of_clusters(old, new));
    all.iter().filter_map(Hit::finding).collect()
}

/// What was not so before.
fn new_hits(before: &[Hit], mut now: Vec<Hit>) -> Vec<Hit> {
    now.retain(|hit| !before.iter().any(|known| known.is_like(hit)));
    now
}

/// A version's numbers, of any program.
fn version(text: &str) -> Option<KubernetesVersion> {
    text.parse().ok()
}

/// The value of both sides, where both have one and they differ.
fn differing<'a>(old: Option<&'a str>, new: Option<&'a str>) -> Option<(&'a str, &'a str)> {
    let (old, new) = (old?, new?);
    (old != new).then_some((old, new))
}

#[cfg(test)]
mod tests;
