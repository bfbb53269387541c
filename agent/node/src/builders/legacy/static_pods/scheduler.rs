//! kube-scheduler.

use super::tree::log_path;
use crate::builders::legacy::conditions::scheduler_probe;
use crate::builders::legacy::layout;
use crate::builders::legacy::pod::{Access, Command, HostPath, Priority, StaticPod, http_liveness};
use crate::builders::legacy::proxy_environment;
use quake_formats::flags::FlagSet;
use quake_model::spec::{ControlPlane, NodeSpec};

const NAME: &str = "kube-scheduler";

pub(super) fn pod(spec: &NodeSpec, control_plane: &ControlPlane) -> StaticPod {
    let component = &control_plane.scheduler;
    let mut flags = FlagSet::from_spec(&component.flags);
    flags.set("kubeconfig", layout::kubeconfig(NAME));
    let command = Command::of_component(spec, NAME, &flags);
    let mut pod = StaticPod::for_component(NAME, component, command, Priority::Cluster);
    pod.default_cpu("100m");
    pod.environment = proxy_environment::variables(spec);
    let probe = scheduler_probe(spec, control_plane);
    pod.liveness = Some(http_liveness(&probe.path, probe.port, probe.tls, 15));
    pod.paths = vec![
        HostPath::new(
            "varlibkubescheduler",
            "/var/lib/kube-scheduler",
            Access::ReadOnly,
        ),
        log_path(NAME),
    ];
    pod
}
