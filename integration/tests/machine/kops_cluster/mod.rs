//! A cluster of kops current with real programs: Kubernetes, etcd under etcd-manager, kops-controller, the
//! pod that applies add-ons, containerd and runc. Each node is booted by kops' own user data, in which only
//! nodeup's URL and hash are others. What is run is given by the environment; docs/testing.md has it.
//!
//! Two parts of a cluster are not given, and the case does what they would do: the cloud controller, and
//! the pod network (see `stand_ins`). Machines are containers, so some checks of the kernel fail here
//! ([`OF_THE_LAB`]).

mod later;
mod stand_ins;
mod workload;

use quake_integration::machine::{
    AwsNames, Container, Facts, Golden, Kind, Lab, Layer, MachineBackend, Programs, TRUSTED,
};
use quake_integration::skip::unless_missing;
use std::collections::BTreeSet;
use std::path::Path;
use std::time::Instant;
use tempfile::TempDir;

const CASE: &str = "minimal-1.35";
const CLUSTER: &str = "minimal.example.com";
const CONTROL_PLANE: &str = "master-us-test-1a";
const WORKERS: &str = "nodes";
const API: &str = "api.internal.minimal.example.com";
const CONTROLLER: &str = "kops-controller.internal.minimal.example.com";
const BUCKET: &str = "tests";

/// kubectl on the control plane, with the kubeconfig that the agent wrote there.
const KUBECTL: &str = "kubectl --kubeconfig /var/lib/kubectl/kubeconfig";

/// What these nodes lack because they are containers beside each other on one kernel.
const OF_THE_LAB: [&str; 4] = ["host.disk-space", "host.modules", "host.oom", "time.sync"];

/// Programs that a control plane runs as pods.
const OF_CONTROL_PLANES: &[&str] = &[
    "channels",
    "etcd",
    "etcd-manager-slim",
    "kops-controller",
    "kube-apiserver",
    "kube-apiserver-healthcheck",
    "kube-controller-manager",
    "kube-proxy",
    "kube-scheduler",
    "pause",
];

/// Programs that a worker runs as pods.
const OF_WORKERS: &[&str] = &["kube-proxy", "pause"];

/// The settings by which kubelet runs here: this kernel has control groups of version 1, and its disk is
/// shared with all else.
const SETTINGS: &str = "apiVersion: kubelet.config.k8s.io/v1beta1
kind: KubeletConfiguration
failCgroupV1: false
evictionHard: {memory.available: 100Mi, nodefs.available: 1%, imagefs.available: 1%}
";

/// What tells machines of other cases where AWS is.
const REGION_DROP_IN: &str = "/etc/systemd/system/quake-agent.service.d/50-region.conf";

/// What cloud-init does with user data, once.
const USER_DATA: &str = "[Unit]
After=network-online.target
ConditionPathExists=!/var/lib/user-data-ran
[Service]
Type=oneshot
TimeoutStartSec=0
ExecStart=/bin/sh -ec 'IMDS=http://169.254.169.254/latest; TTL=X-aws-ec2-metadata-token-ttl-seconds; \
    TOKEN=$$(curl -sf -X PUT -H \"$$TTL: 60\" $$IMDS/api/token); \
    curl -sf -H \"X-aws-ec2-metadata-token: $$TOKEN\" -o /root/user-data.sh $$IMDS/user-data'
ExecStart=/bin/bash /root/user-data.sh
ExecStartPost=/bin/touch /var/lib/user-data-ran
";

/// What registries would do: the images are there before kubelet starts pods of them.
const IMAGES: &str = "[Unit]
After=containerd.service
Before=kubelet.service
[Service]
Type=oneshot
RemainAfterExit=yes
TimeoutStartSec=0
ExecStart=/bin/sh -c 'until ctr version >/dev/null 2>&1; do sleep 0.2; done; \
    exec ctr -n k8s.io images import /opt/images.tar'
";

/// What a kernel of its own would have: a log, and mounts that pods may share.
const KERNEL: &str = "[Unit]
DefaultDependencies=no
Before=sysinit.target
[Service]
Type=oneshot
RemainAfterExit=yes
ExecStart=/bin/sh -c '[ -e /dev/kmsg ] || mknod /dev/kmsg c 1 11; mount --make-rshared /'
";

#[test]
fn kops_cluster() {
    let Some(programs) = Programs::given() else {
        return;
    };
    let Some(lab) = Lab::open("kops-cluster", Kind::Containers) else {
        return;
    };
    let Some(golden) = Golden::publish_for(lab.vpc(), CASE, &programs) else {
        return;
    };
    let Some(names) = unless_missing(AwsNames::serve(lab.vpc(), &[BUCKET])) else {
        return;
    };
    lab.vpc().tell_instances_apart();
    for etcd in ["main", "events"] {
        golden.add_volume(CLUSTER, (etcd, "a", &["a"]));
    }
    let mut cluster = RealCluster {
        archives: archives(&golden, &programs, &names),
        lab: &lab,
        golden,
        names,
        control_plane: None,
        workers: Vec::new(),
        begun: Instant::now(),
    };
    cluster.begin_control_plane();
    for _ in 0..2 {
        let worker = cluster.begin(WORKERS, "nodes.minimal.example.com");
        cluster.workers.push(worker);
    }
    cluster.workers_join();
    cluster.is_well();
    workload::runs(&cluster);
    later::workers_restart(&mut cluster);
    later::nodeup_and_back(&cluster, &programs);
    later::control_plane_restarts(&mut cluster);
    later::control_plane_is_replaced(&mut cluster);
    workload::runs(&cluster);
    cluster.is_well();
}

/// A node of the cluster.
struct Node {
    facts: Facts,
    machine: Container,
}

impl Node {
    /// Its name in the cluster: the id of its instance.
    fn name(&self) -> &str {
        &self.facts.instance
    }
}

struct RealCluster<'a> {
    lab: &'a Lab,
    golden: Golden,
    names: AwsNames,
    /// The images of a control plane, and those of a worker.
    archives: TempDir,
    control_plane: Option<Node>,
    workers: Vec<Node>,
    begun: Instant,
}

impl RealCluster<'_> {
    fn master(&self) -> &Node {
        self.control_plane.as_ref().expect("it was begun")
    }

    fn nodes(&self) -> impl Iterator<Item = &Node> {
        self.control_plane.iter().chain(&self.workers)
    }

    /// What kubectl says; it has to succeed.
    fn kubectl(&self, arguments: &str) -> String {
        let said = self
            .master()
            .machine
            .output(&format!("{KUBECTL} {arguments}"));
        said.trim().to_owned()
    }

    fn note(&self, what: &str) {
        println!("{:6.1} s  {what}", self.begun.elapsed().as_secs_f64());
    }

    /// Boots an instance of a group.
    fn begin(&self, group: &str, role: &str) -> Node {
        let facts = self.golden.launch(self.lab, CLUSTER, group);
        self.lab.vpc().assume(&facts, role);
        if group == CONTROL_PLANE {
            let mut names = self.names.addresses();
            names.extend([API, CONTROLLER].map(|name| (name.to_owned(), facts.address)));
            let published = self.lab.vpc().publish_names(&names);
            published.expect("the name server runs");
        }
        let images = self.archives.path().join(group);
        let layer = layer(self.lab, &self.names, &images);
        let machine = self.lab.container(&facts, layer);
        Node { facts, machine }
    }

    /// Boots a control plane, and waits until it is one.
    fn begin_control_plane(&mut self) {
        self.control_plane = Some(self.begin(CONTROL_PLANE, "masters.minimal.example.com"));
        self.note("the control plane boots");
        stand_ins::admit(self, self.master());
        self.note("its node is registered");
        let ready = self.master().machine.becomes_ready(120);
        ready.expect("the control plane becomes ready");
        self.note("the agent says READY");
        self.has_role(self.master(), "control-plane");
        let serves = self
            .master()
            .machine
            .comes_true("ss -ltn | grep -q :3988", 120);
        assert!(serves, "kops-controller runs");
        self.note("kops-controller serves");
    }

    fn workers_join(&self) {
        for worker in &self.workers {
            stand_ins::admit(self, worker);
            self.note("a worker is registered");
        }
        for worker in &self.workers {
            let ready = worker.machine.becomes_ready(120);
            ready.expect("the worker becomes ready");
            self.has_role(worker, "node");
        }
        self.note("the agents of both workers say READY");
    }

    /// Waits until a node has the label of this role.
    fn has_role(&self, node: &Node, role: &str) {
        let name = node.name();
        let label = format!(
            "{KUBECTL} get node {name} --show-labels | grep -q node-role.kubernetes.io/{role}="
        );
        let labelled = self.master().machine.comes_true(&label, 120);
        assert!(labelled, "{name} has its role");
    }

    /// All nodes are Ready, and on none of them anything is found wrong but what this lab lacks.
    fn is_well(&self) {
        for node in self.nodes() {
            stand_ins::becomes_ready(self, node);
        }
        for node in self.nodes() {
            let found = node
                .machine
                .output("quake-agent diagnose --check-timeout 20s 2>&1 || :");
            let evidence = format!("diagnose-{}.txt", node.name());
            self.lab.evidence().write(&evidence, &found);
            let wrong: BTreeSet<&str> = found
                .lines()
                .filter_map(|line| line.strip_prefix("FAIL  ")?.split(' ').next())
                .filter(|check| !OF_THE_LAB.contains(check))
                .collect();
            assert!(wrong.is_empty(), "{wrong:?}: {found}");
            let timeline = node.machine.output("quake-agent timeline");
            let evidence = format!("timeline-{}.txt", node.name());
            self.lab.evidence().write(&evidence, &timeline);
        }
        self.note("all nodes are Ready, and diagnose finds nothing");
    }
}

/// The images of each group, in an archive of its name.
fn archives(golden: &Golden, programs: &Programs, names: &AwsNames) -> TempDir {
    let folder = tempfile::tempdir_in("/var/tmp").expect("a directory");
    let references = golden.images().expect("the documents can be read");
    for (group, wanted) in [(CONTROL_PLANE, OF_CONTROL_PLANES), (WORKERS, OF_WORKERS)] {
        let path = folder.path().join(group);
        let written = programs.write_images(&path, &references, wanted, names.certificate());
        written.expect("the programs can be read");
    }
    folder
}

/// What a node's image has, and what its instance is given.
fn layer(lab: &Lab, names: &AwsNames, images: &Path) -> Layer {
    let known = lab.base().root().join(TRUSTED.trim_start_matches('/'));
    let known = std::fs::read_to_string(known).unwrap_or_default();
    lab.bare()
        // AWS is found by its own names.
        .file(REGION_DROP_IN, 0o644, "")
        .kernel_settings()
        .file(TRUSTED, 0o644, known + names.certificate())
        .copy("/opt/images.tar", 0o644, images)
        .file(
            "/etc/kubernetes/kubelet.conf.d/10-lab.conf",
            0o644,
            SETTINGS,
        )
        .unit("user-data.service", USER_DATA, "multi-user.target")
        .unit("kernel.service", KERNEL, "sysinit.target")
        .unit("images.service", IMAGES, "containerd.service")
}
