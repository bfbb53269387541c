//! The goldens, and what of them differs for a reason.

use super::cluster::Cluster;
use super::{Accepted, Golden, edits};
use quake_node::distribution::Project;
use serde_json::Value;

/// The boot that a golden's configuration is made of.
const CONTROL_PLANE_1_33: &str = "minimal-1.33/master-us-test-1a";
const CONTROL_PLANE_1_35: &str = "minimal-1.35/master-us-test-1a";
const WORKER: &str = "minimal-1.33/nodes";

/// Where the goldens of the API server are made, on a control plane.
const API_SERVER: &[&str] = &["api_server", "api_server_keys", "authenticators"];

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
const NO_CA: &str = "the golden's test has a CA without a certificate";

fn control_plane(boot: &'static str, edit: fn(&mut Value)) -> Cluster {
    Cluster {
        boot,
        edit,
        ..Cluster::default()
    }
}

pub(super) fn goldens() -> Vec<Golden> {
    let mut all = control_planes();
    all.extend(containerds());
    all.extend(side_loaded());
    all
}

fn one(
    file: &'static str,
    cluster: Cluster,
    builders: &'static [&'static str],
    accepted: &'static [Accepted],
) -> Golden {
    Golden {
        file,
        cluster,
        builders,
        accepted,
        also: None,
    }
}

fn minimal() -> Cluster {
    control_plane(CONTROL_PLANE_1_33, edits::minimal)
}

fn control_planes() -> Vec<Golden> {
    vec![
        one(
            "golden/minimal/tasks-kube-apiserver.yaml",
            minimal(),
            PODS[0].0,
            PODS[0].1,
        ),
        one(
            "golden/minimal/tasks-kube-controller-manager.yaml",
            minimal(),
            PODS[1].0,
            &[],
        ),
        one(
            "golden/minimal/tasks-kube-scheduler.yaml",
            minimal(),
            PODS[2].0,
            SCHEDULER_ACCEPTED,
        ),
        one(
            "golden/minimal/tasks-kops-controller.yaml",
            minimal(),
            &["kops_controller"],
            &[(
                "/etc/kubernetes/kops-controller/keypair-ids.yaml",
                Some("contents"),
                "the golden's test has ids of two CAs only",
            )],
        ),
        one(
            "golden/minimal/tasks-kubectl.yaml",
            Cluster {
                project: (Project::Flatcar, (0, 0)),
                ..minimal()
            },
            &["kubectl"],
            &[],
        ),
        one(
            "golden/minimal/tasks-secret.yaml",
            minimal(),
            &["certificate_authority"],
            &[],
        ),
        one(
            "channels/tasks-channels.yaml",
            minimal(),
            &["channels"],
            &[(
                "/etc/kubernetes/manifests/kops-channels.manifest",
                Some("contents"),
                "a byte copy of the store's, and the golden's test has a store of its own",
            )],
        ),
    ]
}

fn containerd(edit: fn(&mut Value)) -> Cluster {
    Cluster {
        members: true,
        ..control_plane(WORKER, edit)
    }
}

fn containerds() -> Vec<Golden> {
    vec![
        one(
            "containerdbuilder/simple/tasks.yaml",
            containerd(edits::containerd),
            CONTAINERD,
            CONTAINERD_ACCEPTED,
        ),
        one(
            "containerdbuilder/v3/tasks.yaml",
            containerd(edits::containerd_v3),
            CONTAINERD,
            CONTAINERD_ACCEPTED,
        ),
        one(
            "containerdbuilder/flatcar/tasks.yaml",
            Cluster {
                project: (Project::Flatcar, (0, 0)),
                ..containerd(edits::containerd)
            },
            CONTAINERD,
            CONTAINERD_ACCEPTED,
        )
        .but((
            "unit/containerd.service",
            None,
            "the image's unit, started here and not by restarting the agent",
        )),
        one(
            "containerdbuilder/skipinstall/tasks.yaml",
            containerd(edits::containerd_skipped),
            CONTAINERD,
            &[],
        ),
    ]
}

fn side_loaded() -> Vec<Golden> {
    let mut all = Vec::new();
    for (processor, files) in SIDE_LOADED {
        for (file, (builders, accepted)) in files.iter().zip(PODS) {
            let cluster = Cluster {
                processor: *processor,
                ..control_plane(CONTROL_PLANE_1_35, edits::side_loaded)
            };
            all.push(one(file, cluster, builders, accepted));
        }
    }
    all
}

/// The builders of a pod, and what of them differs everywhere.
type Pod = (&'static [&'static str], &'static [Accepted]);

const PODS: [Pod; 3] = [
    (API_SERVER, API_SERVER_ACCEPTED),
    (&["controller_manager", "controller_manager_keys"], &[]),
    (&["scheduler", "scheduler_keys"], SCHEDULER_ACCEPTED),
];

const SCHEDULER_ACCEPTED: &[Accepted] = &[(
    "/var/lib/kube-scheduler/config.yaml",
    Some("mode"),
    "the CLI sends it as a file asset, as in the recorded trees",
)];

/// The processors that the images of kops' test are renamed for, and the goldens in the order of [`PODS`].
type SideLoaded = (&'static str, [&'static str; 3]);

const SIDE_LOADED: &[SideLoaded] = &[
    (
        "amd64",
        [
            "golden/side-loading/tasks-kube-apiserver-amd64.yaml",
            "golden/side-loading/tasks-kube-controller-manager-amd64.yaml",
            "golden/side-loading/tasks-kube-scheduler-amd64.yaml",
        ],
    ),
    (
        "arm64",
        [
            "golden/side-loading/tasks-kube-apiserver-arm64.yaml",
            "golden/side-loading/tasks-kube-controller-manager-arm64.yaml",
            "golden/side-loading/tasks-kube-scheduler-arm64.yaml",
        ],
    ),
];

const CONTAINERD: &[&str] = &[
    "containerd",
    "containerd_config",
    "crictl",
    "kubenet",
    "nerdctl",
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
