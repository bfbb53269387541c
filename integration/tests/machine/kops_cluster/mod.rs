//! A cluster of kops current with real programs: Kubernetes, etcd under etcd-manager, kops-controller, the
//! pod that applies add-ons, containerd and runc. Each node is booted by kops' own user data, in which only
//! nodeup's URL and hash are others. What is run is given by the environment; docs/testing.md has it.
//!
//! Two parts of a cluster are not given, and the case does what they would do: the cloud controller, and
//! the pod network (see `stand_ins`). Machines are containers, so some checks of the kernel fail here
//! (`members`).

mod later;
mod legacy;
mod members;
mod stand_ins;
mod startup_taint;
mod times;
mod workload;

use members::{KERNEL, Members, Node};
use quake_integration::machine::{
    AwsNames, Golden, Kind, Lab, Layer, MachineBackend, Programs, TRUSTED,
};
use quake_integration::skip::unless_missing;
use std::ops::{Deref, DerefMut, RangeInclusive};
use std::path::{Path, PathBuf};
use std::time::Instant;
use tempfile::TempDir;
use times::Times;
use workload::Pods;

/// The minor versions of Kubernetes that kops current brings up.
const OF_CURRENT: RangeInclusive<u32> = 32..=37;

const CASE: &str = "minimal-1.35";
const CLUSTER: &str = "minimal.example.com";
const CONTROL_PLANE: &str = "master-us-test-1a";
const WORKERS: &str = "nodes";
const WORKERS_ROLE: &str = "nodes.minimal.example.com";
const API: &str = "api.internal.minimal.example.com";
const CONTROLLER: &str = "kops-controller.internal.minimal.example.com";
const BUCKET: &str = "tests";

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

#[test]
fn kops_cluster() {
    let Some(programs) = Programs::given(OF_CURRENT) else {
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
        members: Members::new(&lab),
        golden,
        names,
    };
    cluster.begin_control_plane();
    for _ in 0..2 {
        let worker = cluster.begin(WORKERS, WORKERS_ROLE);
        cluster.workers.push(worker);
    }
    cluster.workers_join();
    cluster.are_well();
    workload::runs(&cluster, Pods::OnWorkers);
    startup_taint::goes(&cluster);
    times::of_workers(&cluster, &programs);
    later::workers_restart(&mut cluster);
    later::nodeup_and_back(&cluster, &programs);
    later::agent_is_upgraded(&cluster);
    later::certificates_are_renewed(&cluster);
    later::control_plane_restarts(&mut cluster);
    times::of_control_planes(&mut cluster, &programs);
    workload::runs(&cluster, Pods::OnWorkers);
    cluster.are_well();
}

struct RealCluster<'a> {
    members: Members<'a>,
    golden: Golden,
    names: AwsNames,
    /// The images of a control plane, and those of a worker.
    archives: TempDir,
}

impl<'a> Deref for RealCluster<'a> {
    type Target = Members<'a>;

    fn deref(&self) -> &Self::Target {
        &self.members
    }
}

impl DerefMut for RealCluster<'_> {
    fn deref_mut(&mut self) -> &mut Self::Target {
        &mut self.members
    }
}

impl RealCluster<'_> {
    /// The agent that is built.
    fn agent(&self) -> PathBuf {
        self.lab.base().agent().expect("the agent is built")
    }

    /// Boots an instance of a group by the agent.
    fn begin(&self, group: &str, role: &str) -> Node {
        self.begin_by(&self.agent(), group, role, |layer| layer)
    }

    /// Boots an instance of a group by this program; its image has something more.
    fn begin_by(
        &self,
        nodeup: &Path,
        group: &str,
        role: &str,
        more: impl Fn(Layer) -> Layer,
    ) -> Node {
        let facts = self.golden.launch_with(nodeup, CLUSTER, group);
        self.lab.vpc().assume(&facts, role);
        if group == CONTROL_PLANE {
            let mut names = self.names.addresses();
            names.extend([API, CONTROLLER].map(|name| (name.to_owned(), facts.address)));
            let published = self.lab.vpc().publish_names(&names);
            published.expect("the name server runs");
        }
        let images = self.archives.path().join(group);
        let layer = more(layer(self.lab, &self.names, &images));
        let machine = self.lab.container(&facts, layer);
        let name = facts.instance.clone();
        Node {
            facts,
            name,
            machine,
        }
    }

    /// Boots a control plane by the agent, and waits until it is one.
    fn begin_control_plane(&mut self) {
        self.begin_control_plane_by(&self.agent(), |layer| layer);
        let ready = self.master().machine.becomes_ready(120);
        ready.expect("the control plane becomes ready");
        self.note("the agent says READY");
    }

    /// Boots a control plane by this program, and waits until it is one.
    fn begin_control_plane_by(&mut self, program: &Path, more: impl Fn(Layer) -> Layer) -> Times {
        let begun = Instant::now();
        let role = "masters.minimal.example.com";
        self.control_plane = Some(self.begin_by(program, CONTROL_PLANE, role, more));
        self.note("the control plane boots");
        let times = times::of_joining(self, self.master(), begun);
        self.note("its node is Ready");
        self.has_role(self.master(), "control-plane");
        let serves = self
            .master()
            .machine
            .comes_true("ss -ltn | grep -q :3988", 120);
        assert!(serves, "kops-controller runs");
        self.note("kops-controller serves");
        times
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
