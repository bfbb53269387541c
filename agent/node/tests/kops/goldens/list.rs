//! The goldens, and what of them differs for a reason.

use super::cluster::Cluster;
use super::{Accepted, Golden, edits};
use quake_node::distribution::Project;
use serde_json::Value;

/// The boots that a golden's configuration is made of.
const CONTROL_PLANE_1_33: &str = "minimal-1.33/master-us-test-1a";
const CONTROL_PLANE_1_35: &str = "minimal-1.35/master-us-test-1a";
const WORKER: &str = "minimal-1.33/nodes";

const FLATCAR: (Project, (u32, u32)) = (Project::Flatcar, (0, 0));

/// Builders, and what of them differs.
type Builders = (&'static [&'static str], &'static [Accepted]);

/// The pods of a control plane, by the goldens' names for them.
const PODS: [(&str, Builders); 3] = [
    ("kube-apiserver", (API_SERVER, API_SERVER_ACCEPTED)),
    ("kube-controller-manager", (CONTROLLER_MANAGER, &[])),
    ("kube-scheduler", (SCHEDULER, SCHEDULER_ACCEPTED)),
];
const API_SERVER: &[&str] = &["api_server", "api_server_keys", "authenticators"];
const CONTROLLER_MANAGER: &[&str] = &["controller_manager", "controller_manager_keys"];
const SCHEDULER: &[&str] = &["scheduler", "scheduler_keys"];

const NO_CA: &str = "the golden's test has a CA without a certificate";
const API_SERVER_ACCEPTED: &[Accepted] = &[
    (
        "/srv/kubernetes/kube-apiserver/known_tokens.csv",
        None,
        "the golden's test has no secret store",
    ),
    (
        "/srv/kubernetes/kube-apiserver/apiserver-aggregator-ca.crt",
        Some("contents"),
        NO_CA,
    ),
    (
        "/srv/kubernetes/kube-apiserver/etcd-ca.crt",
        Some("contents"),
        NO_CA,
    ),
];
const SCHEDULER_ACCEPTED: &[Accepted] = &[(
    "/var/lib/kube-scheduler/config.yaml",
    Some("mode"),
    "the CLI sends it as a file asset, as in the recorded trees",
)];
const KOPS_CONTROLLER_ACCEPTED: &[Accepted] = &[(
    "/etc/kubernetes/kops-controller/keypair-ids.yaml",
    Some("contents"),
    "the golden's test has ids of two CAs only",
)];
const CHANNELS_ACCEPTED: &[Accepted] = &[(
    "/etc/kubernetes/manifests/kops-channels.manifest",
    Some("contents"),
    "a byte copy of the store's, and the golden's test has a store of its own",
)];

const CONTAINERD: &[&str] = &[
    "containerd",
    "containerd_config",
    "kubenet",
    "operator_tools",
    "registry_hosts",
];
const CONTAINERD_ACCEPTED: &[Accepted] = &[
    (
        "/etc/environment",
        None,
        "containerd's unit fails without it",
    ),
    (
        "/opt/kops/bin/cni-iptables-setup",
        Some("contents"),
        "our own script, to the same effect",
    ),
    (
        "/usr/share/doc/containerd/apache.txt",
        Some("contents"),
        "the licence as 1.36.2 has it; later versions begin with an empty line",
    ),
];

pub(super) fn goldens() -> Vec<Golden> {
    let mut all = control_planes();
    all.extend(containerds());
    all.extend(side_loaded());
    all
}

fn golden(
    file: String,
    boot: &'static str,
    edit: fn(&mut Value),
    (builders, accepted): Builders,
) -> Golden {
    let cluster = Cluster {
        boot,
        edit,
        ..Cluster::default()
    };
    Golden {
        file,
        cluster,
        builders,
        accepted,
        also: None,
    }
}

fn control_planes() -> Vec<Golden> {
    let minimal = |name: &str, builders| {
        let file = format!("golden/minimal/tasks-{name}.yaml");
        golden(file, CONTROL_PLANE_1_33, edits::minimal, builders)
    };
    let mut all: Vec<Golden> = PODS.map(|(name, builders)| minimal(name, builders)).into();
    all.push(minimal(
        "kops-controller",
        (&["kops_controller"], KOPS_CONTROLLER_ACCEPTED),
    ));
    all.push(minimal("secret", (&["certificate_authority"], &[])));
    let mut kubectl = minimal("kubectl", (&["kubectl"], &[]));
    kubectl.cluster.project = FLATCAR;
    let mut channels = minimal("channels", (&["channels"], CHANNELS_ACCEPTED));
    channels.file = "channels/tasks-channels.yaml".to_owned();
    all.extend([kubectl, channels]);
    all
}

fn containerds() -> Vec<Golden> {
    let of = |folder: &str, edit: fn(&mut Value), accepted| {
        let file = format!("containerdbuilder/{folder}/tasks.yaml");
        let mut golden = golden(file, WORKER, edit, (CONTAINERD, accepted));
        golden.cluster.members = true;
        golden
    };
    let mut flatcar = of("flatcar", edits::containerd, CONTAINERD_ACCEPTED);
    flatcar.cluster.project = FLATCAR;
    flatcar.also = Some((
        "unit/containerd.service",
        None,
        "the image's unit, started here and not by restarting the agent",
    ));
    vec![
        of("simple", edits::containerd, CONTAINERD_ACCEPTED),
        of("v3", edits::containerd_v3, CONTAINERD_ACCEPTED),
        of("skipinstall", edits::containerd_skipped, &[]),
        flatcar,
    ]
}

/// The processors that the images of kops' test are renamed for.
fn side_loaded() -> Vec<Golden> {
    let of = |processor: &'static str, (name, builders): (&str, Builders)| {
        let file = format!("golden/side-loading/tasks-{name}-{processor}.yaml");
        let mut golden = golden(file, CONTROL_PLANE_1_35, edits::side_loaded, builders);
        golden.cluster.processor = processor;
        golden
    };
    let processors = ["amd64", "arm64"].into_iter();
    processors
        .flat_map(|it| PODS.map(|pod| of(it, pod)))
        .collect()
}
