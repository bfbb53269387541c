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
pub(crate) mod node_object;
mod pki;
mod pod;
mod programs;
mod static_pods;
mod tree;
pub(crate) mod units;

pub(crate) use cni::{writer as cni_writer, writes_configuration as writes_cni_configuration};
pub(crate) use containerd::unit_files as containerd_unit_files;
pub(crate) use etcd::{client_port, member_names, own_member_names, own_members, peer_port};
pub(crate) use hooks::distinct as distinct_hooks;
pub(crate) use kubeconfig::server as api_server;
pub(crate) use kubelet::runtime_unit;
pub(crate) use logrotate::TIMER as LOG_ROTATION_TIMER;
pub(crate) use pod::{Command, HostPath, Priority, Sidecar, StaticPod, variable};
pub(crate) use tree::items;

use super::layout;
