//! A cluster of kops legacy with real programs: the example with a control plane and a worker, docker, and the add-on by
//! which kubelets may register. kubelets up to 1.23 run pods by docker.

use super::members::{KERNEL, Members, Node};
use super::workload::{self, Pods};
use quake_integration::ca::{Ca, Wanted};
use quake_integration::machine::{
    Cluster, Kind, Lab, Layer, MachineBackend, Programs, changed, example,
};
use quake_integration::node::CLUSTER;
use quake_integration::skip::unless_missing;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::RangeInclusive;
use std::path::Path;

/// The minor versions of Kubernetes whose kubelet knows the flags of kops legacy and runs pods by docker.
const OF_LEGACY: RangeInclusive<u32> = 16..=23;

const CONTROL_PLANE: &str = "control-plane";
const WORKERS: &str = "workers";

/// The ranges that kube-controller-manager gives the first node and the second. Without a cloud's routes it is the
/// specification that tells a node its own.
const RANGES: [&str; 2] = ["100.96.0.0/24", "100.96.1.0/24"];

/// What the specification of the example has to be otherwise: no cloud is there, a network of files in the place of
/// kubenet, and what Kubernetes 1.20 and newer want of a service account's issuer.
const CHANGES: &[(&str, &str)] = &[
    ("    cloudProvider: aws\n", ""),
    (
        "    networkPluginName: kubenet\n",
        "    networkPluginName: cni\n",
    ),
    ("    kubenet: {}\n", "    external: {}\n"),
    (
        "    insecureBindAddress: 127.0.0.1\n    insecurePort: 8080\n",
        "    insecurePort: 0\n    serviceAccountIssuer: https://api.internal.demo.quake.example\n    \
         serviceAccountKeyFile:\n    - /srv/kubernetes/server.key\n    \
         serviceAccountSigningKeyFile: /srv/kubernetes/server.key\n",
    ),
    (
        "    anonymousAuth: false\n    apiServerCount: 1\n",
        "    anonymousAuth: true\n    apiServerCount: 1\n",
    ),
    (
        "    configureCloudRoutes: true\n",
        "    configureCloudRoutes: false\n",
    ),
    (
        "    podCIDR: 10.244.1.0/24\n",
        "    podCIDR: 100.96.1.0/24\n",
    ),
    // The disk is shared with all else.
    (
        "nodefs.available<10%,nodefs.inodesFree<5%",
        "nodefs.available<1%,imagefs.available<1%",
    ),
];

/// The clients of the API server, by the names of their keypairs.
const CLIENTS: &[(&str, &str)] = &[
    ("kubelet", "/O=system:nodes/CN=kubelet"),
    ("kops", "/O=system:masters/CN=kops"),
    ("kube-proxy", "/CN=system:kube-proxy"),
    ("kubecfg", "/O=system:masters/CN=kubecfg"),
    (
        "kube-controller-manager",
        "/CN=system:kube-controller-manager",
    ),
    ("kube-scheduler", "/CN=system:kube-scheduler"),
    ("kubelet-api", "/CN=kubelet-api"),
];

/// The add-on of kops 1.8 to 1.15 by which kubelets, who have one user for all of them, may do what a node may do.
const RBAC: &str = "apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata:
  name: kubelet-cluster-admin
  labels: {k8s-addon: rbac.addons.k8s.io}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: 'system:node'}
subjects:
- {apiGroup: rbac.authorization.k8s.io, kind: User, name: kubelet}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata:
  name: kubelet-api-admin
  labels: {k8s-addon: rbac.addons.k8s.io}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: 'system:kubelet-api-admin'}
subjects:
- {apiGroup: rbac.authorization.k8s.io, kind: User, name: kubelet-api}
";

/// What registries would do.
const IMAGES: &str = "[Unit]
After=docker.service
Before=kubelet.service
[Service]
Type=oneshot
RemainAfterExit=yes
TimeoutStartSec=0
ExecStart=/usr/bin/docker load -i /opt/images.tar
";

#[test]
fn kops_legacy_cluster() {
    let Some(programs) = Programs::given(OF_LEGACY) else {
        return;
    };
    let Some(lab) = Lab::open("kops-legacy-cluster", Kind::Containers) else {
        return;
    };
    let mut cluster = lab.cluster_with(|spec| spec_for(&spec, &programs.version));
    for name in ["kubelet", "kubectl"] {
        let program = std::fs::read(programs.kubernetes.join(name)).expect("it is given");
        cluster.replace_asset(&format!("/bin/linux/amd64/{name}"), program);
    }
    let Some(()) = unless_missing(put_keypairs(&cluster)) else {
        return;
    };
    let group = example("instancegroup/control-plane").expect("the example has it");
    let group = format!("{group}  kubelet:\n    podCIDR: {}\n", RANGES[0]);
    let put = cluster.put_group(CONTROL_PLANE, group);
    put.expect("the state store takes it");
    put_addons(&mut cluster).expect("the state store takes them");
    cluster.add_volumes();

    let folder = tempfile::tempdir_in("/var/tmp").expect("a directory");
    let images = folder.path().join("images.tar");
    write_images(&programs, &images);
    let begin = |group: &str| {
        let facts = cluster.launch(group);
        if group == CONTROL_PLANE {
            let names = BTreeMap::from([(format!("api.internal.{CLUSTER}"), facts.address)]);
            let published = lab.vpc().publish_names(&names);
            published.expect("the name server runs");
        }
        let machine = lab.container(&facts, layer(&lab, &programs, &images));
        let name = facts.host_name();
        Node {
            facts,
            name,
            machine,
        }
    };
    let mut members = Members::new(&lab);
    members.control_plane = Some(begin(CONTROL_PLANE));
    members.note("the control plane boots");
    joins(&members, members.master(), RANGES[0]);
    members.has_role(members.master(), "master");
    members.workers.push(begin(WORKERS));
    members.note("the worker boots");
    joins(&members, &members.workers[0], RANGES[1]);
    members.are_well();
    workload::runs(&members, Pods::Anywhere);
    restart(&mut members);
    workload::runs(&members, Pods::Anywhere);
    members.are_well();
}

/// The agent says READY once the node is registered; then it is Ready, and pods find it.
fn joins(members: &Members<'_>, node: &Node, range: &str) {
    let ready = node.machine.becomes_ready(120);
    let found = node
        .machine
        .output("quake-agent diagnose 2>&1; tail -n 5 /var/log/*.log");
    assert!(ready.is_ok(), "{ready:?}: {found}");
    members.note("the agent says READY");
    let registered = members.kubectl(&format!("get node {} -o name", node.name));
    assert!(!registered.is_empty(), "READY says that it is registered");
    members.becomes_ready(node);
    assert_eq!(members.range(node), range);
    members.route(node);
    members.note("the node is Ready");
}

fn restart(members: &mut Members<'_>) {
    let mut workers = std::mem::take(&mut members.workers);
    for worker in &mut workers {
        worker.restart();
    }
    members.workers = workers;
    let mut node = members.control_plane.take().expect("it runs");
    node.restart();
    members.control_plane = Some(node);
    for node in members.nodes() {
        members.becomes_ready(node);
        members.route(node);
    }
    members.note("worker and control plane were restarted");
}

fn spec_for(spec: &str, version: &str) -> String {
    changed(&spec.replace("1.15.12", version), CHANGES)
}

/// The keypairs of the cluster, each of a CA that is made here.
fn put_keypairs(cluster: &Cluster) -> Result<(), quake_integration::skip::SetUpError> {
    let ca = Ca::new()?;
    cluster.put_keypair("ca", &ca.certificate()?, &ca.key()?)?;
    for (name, subject) in CLIENTS {
        let (certificate, key) = ca.client_pair(subject)?;
        cluster.put_keypair(name, &certificate, &key)?;
    }
    let names = [
        "kubernetes",
        "kubernetes.default",
        "kubernetes.default.svc",
        "kubernetes.default.svc.cluster.local",
        &format!("api.internal.{CLUSTER}"),
    ]
    .map(|name| format!("DNS:{name}"));
    let addresses = ["100.64.0.1", "127.0.0.1"].map(|address| format!("IP:{address}"));
    let (certificate, key) = ca.rsa_pair(&Wanted {
        subject: "/CN=kubernetes-master".to_owned(),
        usage: "serverAuth,clientAuth",
        names: names.into_iter().chain(addresses).collect(),
    })?;
    cluster.put_keypair("master", &certificate, &key)?;
    let aggregator = Ca::new()?;
    cluster.put_keypair(
        "apiserver-aggregator-ca",
        &aggregator.certificate()?,
        &aggregator.key()?,
    )?;
    let (certificate, key) = aggregator.client_pair("/CN=aggregator")?;
    cluster.put_keypair("apiserver-aggregator", &certificate, &key)?;
    Ok(())
}

/// The channel, as kops writes it, with the one add-on.
fn put_addons(cluster: &mut Cluster) -> Result<(), String> {
    let manifest = "rbac.addons.k8s.io/k8s-1.8.yaml";
    let channel = format!(
        "kind: Addons\nmetadata: {{name: bootstrap}}\nspec:\n  addons:\n  - name: rbac.addons.k8s.io\n    id: k8s-1.8\n    \
         version: 1.8.0\n    selector: {{k8s-addon: rbac.addons.k8s.io}}\n    manifest: {manifest}\n"
    );
    cluster.add_channel("addons/bootstrap-channel.yaml", channel.as_bytes())?;
    cluster.put(&format!("addons/{manifest}"), RBAC.as_bytes())
}

fn write_images(programs: &Programs, to: &Path) {
    let own = [
        "kube-apiserver",
        "kube-controller-manager",
        "kube-proxy",
        "kube-scheduler",
    ];
    let mut references: BTreeSet<String> = own
        .map(|name| format!("registry.example/{name}:v{}", programs.version))
        .into();
    for other in ["etcd:3.2.24", "pause-amd64:3.1"] {
        references.insert(format!("registry.example/{other}"));
    }
    let wanted: Vec<&str> = own.into_iter().chain(["etcd", "pause"]).collect();
    let written = programs.write_images(to, &references, &wanted, "");
    written.expect("the programs can be read");
}

fn layer(lab: &Lab, programs: &Programs, images: &Path) -> Layer {
    lab.baked()
        .kernel_settings()
        // It takes that this lab may not lower a program's oom_score_adj.
        .copy("/usr/sbin/runc", 0o755, &programs.kops.join("runc.amd64"))
        .copy("/opt/images.tar", 0o644, images)
        .unit("kernel.service", KERNEL, "sysinit.target")
        .unit("images.service", IMAGES, "docker.service")
}
