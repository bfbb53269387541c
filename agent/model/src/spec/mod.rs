//! What the operator asked for, free of any kops generation: the node in one normal form.

mod assets;
mod cluster;
mod components;
mod images;
mod names;
mod node;

pub use assets::{AssetKind, AssetSpec};
pub use cluster::{EtcdCluster, EtcdMember, EtcdProvider, NetworkMode, Networking};
pub use components::{
    Component, ControlPlane, DockerRuntime, FileAsset, Flag, Hook, HookKind, Kubelet, Runtime,
};
pub use images::{ArchivedImage, ImageRuntime, ImageSpec};
pub use names::{InternalNames, NamesPlace};
pub use node::{AddonsPod, KopsGeneration, KubernetesVersion, NodeObjectSpec, NodeSpec, Role};
