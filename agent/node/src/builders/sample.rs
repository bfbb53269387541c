//! Nodes for the tests of builders: a configuration in a few lines, on Debian 12.

#[path = "../../tests/common/instance.rs"]
mod instance;

use super::{Context, Machine, Objects, node_name};
use crate::config::current::{BootConfig, NodeupConfig, read_boot_config, read_nodeup_config};
use crate::distribution::{Distribution, Project};
use quake_model::digest::Digest;
use quake_model::facts::InstanceFacts;
use quake_model::fault::{Code, Fault};
use quake_model::item::{File, Item};
use std::collections::BTreeMap;

/// Everything a builder is given; tests change what they are about.
pub(crate) struct Sample {
    pub(crate) boot: BootConfig,
    pub(crate) config: NodeupConfig,
    pub(crate) instance: InstanceFacts,
    pub(crate) machine: Machine,
    pub(crate) distribution: Distribution,
    pub(crate) objects: Objects,
    pub(crate) members: BTreeMap<Digest, Vec<String>>,
}

/// Digests of containerd's archive and of runc.
pub(crate) const ARCHIVE: &str = "8b1e7a8f5e0cf0f0a1a2a3a4a5a6a7a8b1e7a8f5e0cf0f0a1a2a3a4a5a6a7a80";
pub(crate) const RUNC: &str = "9b1e7a8f5e0cf0f0a1a2a3a4a5a6a7a8b1e7a8f5e0cf0f0a1a2a3a4a5a6a7a80";
const KUBELET: &str = "7b1e7a8f5e0cf0f0a1a2a3a4a5a6a7a8b1e7a8f5e0cf0f0a1a2a3a4a5a6a7a80";

type Build = fn(&Context<'_>) -> Result<Vec<Item>, Fault>;

impl Sample {
    /// A worker with these keys beside those that every configuration has.
    pub(crate) fn worker(keys: &str) -> Self {
        let boot = "ClusterName: c.example.com\nInstanceGroupName: nodes\nInstanceGroupRole: Node\nConfigServer:\n  \
                    CACertificates: CA\n  servers: [\"https://kops-controller.internal.c.example.com:3988/\"]\n";
        Self::new(boot, keys)
    }

    /// A worker that pins containerd's archive, runc and kubelet, in this order.
    pub(crate) fn with_runtime(keys: &str) -> Self {
        Self::worker(&format!(
            "Assets:\n  amd64:\n  - {ARCHIVE}@https://a/containerd-2.2.4-linux-amd64.tar.gz\n  \
             - {RUNC}@https://a/runc.amd64\n  - {KUBELET}@https://a/kubelet\n{keys}"
        ))
    }

    /// A control plane with these keys beside those that every configuration has.
    pub(crate) fn control_plane(keys: &str) -> Self {
        let boot = "ClusterName: c.example.com\nInstanceGroupName: master-a\nInstanceGroupRole: ControlPlane\n\
                    ConfigBase: s3://bucket/c.example.com\n";
        Self::new(boot, keys)
    }

    fn new(boot: &str, keys: &str) -> Self {
        let config = format!("ClusterName: c.example.com\nKubernetesVersion: 1.35.0\n{keys}");
        let (boot, _) = read_boot_config("kube_env.yaml", boot).expect("a literal document");
        let (config, findings) =
            read_nodeup_config("nodeupconfig.yaml", &config, "amd64").expect("a literal document");
        assert_eq!(findings, [], "the keys exist");
        Self {
            boot,
            config,
            instance: instance::instance(),
            machine: Machine::default(),
            distribution: Distribution {
                project: Project::Debian,
                version: (12, 0),
            },
            objects: Objects::default(),
            members: BTreeMap::new(),
        }
    }

    /// What a builder yields, or why it cannot.
    pub(crate) fn try_items(&self, build: Build) -> Result<Vec<Item>, Fault> {
        build(&self.context()?)
    }

    /// What `ask` makes of the sample.
    pub(crate) fn with<T>(&self, ask: impl FnOnce(&Context<'_>) -> T) -> T {
        ask(&self.context().expect("a sample is whole"))
    }

    fn context(&self) -> Result<Context<'_>, Fault> {
        Ok(Context {
            boot: &self.boot,
            config: &self.config,
            instance: &self.instance,
            machine: &self.machine,
            distribution: self.distribution,
            objects: &self.objects,
            members: &self.members,
            node_name: node_name(&self.config, &self.instance)?,
        })
    }

    pub(crate) fn items(&self, build: Build) -> Vec<Item> {
        self.try_items(build).expect("it can be built")
    }

    /// What the items are about.
    pub(crate) fn subjects(&self, build: Build) -> Vec<String> {
        self.items(build).iter().map(Item::subject).collect()
    }

    /// The items of one kind, such as [`Item::file`].
    pub(crate) fn all<T: Clone>(&self, build: Build, kind: fn(&Item) -> Option<&T>) -> Vec<T> {
        self.items(build).iter().filter_map(kind).cloned().collect()
    }

    /// The file at `path`, if a builder yields one.
    pub(crate) fn file_at(&self, build: Build, path: &str) -> Option<File> {
        let mut files = self.all(build, Item::file).into_iter();
        files.find(|file| file.path == path)
    }

    /// Checks that nothing can be built, by the fault's code and its evidence.
    pub(crate) fn assert_refused(&self, build: Build, code: Code, (key, value): (&str, &str)) {
        let fault = self.try_items(build).expect_err(value);
        assert_eq!(fault.code, code, "{value}");
        assert_eq!(fault.evidence_named(key), Some(value));
    }

    /// The same node on another distribution.
    pub(crate) fn on(mut self, project: Project, version: (u32, u32)) -> Self {
        self.distribution = Distribution { project, version };
        self
    }

    /// The text of the file, or of the unit's file, at `path`.
    pub(crate) fn file(&self, build: Build, path: &str) -> String {
        let text = self.find(build, path);
        text.unwrap_or_else(|| panic!("nothing is at {path}"))
    }

    /// The same; `None` where a builder yields no such file.
    pub(crate) fn find(&self, build: Build, path: &str) -> Option<String> {
        self.items(build).into_iter().find_map(|item| match item {
            Item::File(file) if file.path == path => match file.text() {
                Some(text) => Some(text.into_owned()),
                None => Some(format!("{:?}", file.source)),
            },
            Item::Unit(unit) => unit
                .file
                .filter(|file| file.path == path)
                .map(|file| file.text),
            _ => None,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn name_of(sample: &Sample) -> Result<String, Fault> {
        Ok(sample.context()?.node_name)
    }

    #[test]
    fn a_node_is_named_by_its_instance_unless_its_address_is_asked_for() {
        let named = name_of(&Sample::worker(""));
        assert_eq!(named.as_deref(), Ok("i-0123456789abcdef0"));
        let mut sample = Sample::worker("useIPBasedNodeNames: true\n");
        let wanted = "ip-10-0-0-10.us-test-1.compute.internal";
        assert_eq!(name_of(&sample).as_deref(), Ok(wanted));
        sample.instance.region = "us-east-1".into();
        assert_eq!(name_of(&sample).as_deref(), Ok("ip-10-0-0-10.ec2.internal"));
        sample.instance.local_hostname = "i-0123456789abcdef0.us-east-1.compute.internal".into();
        let fault = name_of(&sample).expect_err("the subnet names hosts by their instances");
        assert_eq!(fault.code, Code::ConfigUnsupported);
    }
}
