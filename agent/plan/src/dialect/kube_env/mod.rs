//! kops 1.8 to 1.15: `kube_env.yaml`, and the cluster and instance group it points at.

mod additions;
mod asset;
mod cluster;
mod components;
mod documents;
mod drift;
mod duration;
mod environment;
mod fingerprint;
mod flags;
mod kubelet;
mod limits;
mod lower;
mod members;
mod node;
mod recognise;
mod schema;
mod validate;

pub use asset::read_asset_list;
pub use documents::{
    ClusterSpec, Document, Form, InstanceGroupSpec, read_cluster, read_instance_group,
};
pub use environment::{KubeEnv, read_kube_env, read_report_folder};
pub use lower::{Lowered, Sources, lower};
pub use members::{EtcdMembers, read_etcd_members};
pub(crate) use recognise::{check, check_named};
