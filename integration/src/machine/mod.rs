//! Machines that really boot, each an EC2 instance as far as it can tell: containers with an init of their own, and
//! emulated machines with a kernel of their own. docs/testing.md says how a case is written.

mod adapt;
mod api_server;
mod aws_names;
mod backend;
mod base;
mod cluster;
mod control_groups;
mod evidence;
mod golden;
mod hardware;
mod kvm_probe;
mod lab;
mod layer;
mod loops;
mod metadata;
mod names;
mod nspawn;
mod operator_output;
mod port;
mod probe;
mod programs;
mod qemu;
mod qmp;
mod slots;
mod vpc;

pub use aws_names::AwsNames;
pub use backend::{MachineBackend, Ran};
pub use base::Base;
pub(crate) use base::sorted;
pub use cluster::{BUCKET, Cluster, KUBELET_STAND_IN, POD_RANGE, changed, example};
pub use evidence::Evidence;
pub use golden::{CONTAINERD, CTR, Golden, KOPS_INSTALL, KOPS_KUBELET, KOPS_UNIT, Nodeup};
pub use hardware::Hardware;
pub use lab::{BAKE, Kind, Lab};
pub use layer::Layer;
pub use metadata::{Facts, REGION, ZONE};
pub use nspawn::Container;
pub use operator_output::{OperatorOutput, assert_reported};
pub use probe::{Accelerator, containers, emulator, program};
pub use programs::{Programs, TRUSTED, WORKLOAD, is_admitted, version_of};
pub use qemu::Emulated;
pub use vpc::{AWS, Interposed, MIRROR, Place, ROUTER, Vpc};
