//! A node of this kops generation as the engine knows it: documents, objects and machine, from which its items follow.

use super::control_plane::{addons_pod, manifest_path};
use super::etcd::etcd_clusters;
use super::take_over::{TAKEN_OVER, node_object, obstacle};
use super::{Built, Context, Machine, Objects, build, node_name};
use crate::config::current::{BootConfig, NodeupConfig, lower};
use crate::distribution::Distribution;
use crate::steps::conditions;
use quake_model::digest::Digest;
use quake_model::facts::InstanceFacts;
use quake_model::fault::{Code, Fault};
use quake_model::item::{Item, RetiredPod};
use quake_model::spec::{Flag, NodeSpec};
use std::collections::BTreeMap;

/// kubelet's flag for the node's name.
const NAME_FLAG: &str = "hostname-override";

/// Everything that was read and observed of a node.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Node {
    /// `kube_env.yaml`.
    pub boot: BootConfig,
    pub config: NodeupConfig,
    /// What was read from the state store, or sent by kops-controller.
    pub objects: Objects,
    pub machine: Machine,
    pub distribution: Distribution,
    /// Whether the agent applies the cluster's add-ons in the place of the pod kops-channels.
    pub takes_over_addons: bool,
}

impl Node {
    /// What the node is to be; `members` are the base names of the files in each archive of the store, none before the
    /// archives are there.
    ///
    /// # Errors
    ///
    /// The first fault of a builder; `config.item-conflict` where two of them want different things in one place.
    pub fn spec(
        &self,
        instance: &InstanceFacts,
        members: &BTreeMap<Digest, Vec<String>>,
    ) -> Result<NodeSpec, Fault> {
        let context = Context {
            boot: &self.boot,
            config: &self.config,
            instance,
            machine: &self.machine,
            distribution: self.distribution,
            objects: &self.objects,
            members,
            node_name: node_name(&self.config, instance)?,
        };
        let items = merged(build(&context)?)?;
        let mut spec = lower(&self.boot, &self.config, items);
        spec.etcd = etcd_clusters(&context)?;
        let mut taken_over = BTreeMap::new();
        if let Some((pod, channels)) = addons_pod(&context) {
            spec.channels = channels;
            let is_able = pod.name == TAKEN_OVER && obstacle(&spec.channels).is_none();
            if self.takes_over_addons && is_able {
                let manifest = manifest_path(TAKEN_OVER);
                spec.items.retain(|item| item.subject() != manifest);
                // nodeup or an earlier boot may have laid it down.
                spec.items.push(Item::RetiredPod(RetiredPod {
                    path: manifest,
                    name: pod.name,
                }));
                taken_over = pod.labels;
            } else {
                spec.addons_pod = Some(pod);
            }
        }
        // The pod that applies the add-ons labels the nodes; without it the agent does.
        let is_agents = spec.is_control_plane() && spec.addons_pod.is_none();
        spec.node_object = is_agents.then(|| node_object(taken_over));
        // The name that kubelet is told, which is made of the instance's facts and not of the configuration.
        spec.kubelet.flags.retain(|flag| flag.name != NAME_FLAG);
        let flag = Flag::new(NAME_FLAG, &context.node_name);
        let at = spec.kubelet.flags.partition_point(|other| *other < flag);
        spec.kubelet.flags.insert(at, flag);
        spec.ready_conditions = conditions(&spec);
        Ok(spec)
    }

    /// Why the node of this spec leaves its add-ons to the pod kops-channels, though its agent was told to take over from it.
    pub fn not_taken_over(&self, spec: &NodeSpec) -> Option<Fault> {
        let pod = spec.addons_pod.as_ref();
        let is_meant = self.takes_over_addons && pod.is_some_and(|pod| pod.name == TAKEN_OVER);
        is_meant.then(|| obstacle(&spec.channels)).flatten()
    }
}

/// The items of all builders. What two of them want alike is wanted once; what they want differently is what the operator asks
/// for over what the node needs, such as a file asset at the path of a file of kubelet's, and which is meant nobody knows.
/// nodeup ends there, too.
fn merged(built: Vec<Built>) -> Result<Vec<Item>, Fault> {
    let mut items: Vec<Item> = Vec::new();
    let mut places: BTreeMap<String, (usize, &'static str)> = BTreeMap::new();
    for Built {
        builder,
        items: wanted,
    } in built
    {
        for item in wanted {
            let subject = item.subject().trim_end_matches('/').to_owned();
            match places.get(&subject) {
                None => {
                    places.insert(subject, (items.len(), builder));
                    items.push(item);
                }
                Some((at, _)) if items.get(*at) == Some(&item) => {}
                Some((_, other)) => return Err(conflict(&subject, other, builder)),
            }
        }
    }
    Ok(items)
}

fn conflict(subject: &str, one: &str, other: &str) -> Fault {
    let who = match one == other {
        true => format!("twice by {one}"),
        false => format!("by {one} and {other}"),
    };
    let summary = format!("{subject} is wanted differently {who}");
    Fault::new(Code::ConfigItemConflict, summary)
        .seen("item", subject)
        .seen("builders", format!("{one}, {other}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use quake_model::item::{Directory, File};

    fn built(builder: &'static str, items: Vec<Item>) -> Built {
        Built { builder, items }
    }

    fn file(path: &str, text: &str) -> Item {
        Item::File(File::plain(path, text))
    }

    #[test]
    fn what_two_builders_want_alike_is_wanted_once() {
        let folder = |path: &str| Item::Directory(Directory::plain(path));
        let found = merged(vec![
            built("a", vec![file("/etc/x", "1"), folder("/d")]),
            built("b", vec![file("/etc/x", "1"), folder("/d")]),
        ]);
        assert_eq!(found.map(|items| items.len()), Ok(2));
    }

    #[test]
    fn two_items_of_one_subject_that_differ_are_refused_and_both_are_named() {
        for other in [
            file("/etc/x", "2"),
            Item::Directory(Directory::plain("/etc/x/")),
        ] {
            let fault = merged(vec![
                built("containerd_config", vec![file("/etc/x", "1")]),
                built("file_assets", vec![other]),
            ])
            .expect_err("they differ");
            assert_eq!(fault.code, Code::ConfigItemConflict);
            let wanted = "/etc/x is wanted differently by containerd_config and file_assets";
            assert_eq!(fault.summary, wanted);
        }
    }
}
