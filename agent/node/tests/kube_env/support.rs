//! Documents for the tests of kops legacy (1.8 to 1.15).

pub(crate) use crate::conformance::{conformance, folders};
use quake_model::facts::InstanceFacts;
use quake_model::fault::Fault;
use quake_model::spec::NodeSpec;
use quake_node::config::legacy::{Document, Lowered, Sources, lower};

/// A document read from a directory.
pub(crate) fn read(folder: &std::path::Path, name: &str) -> Document {
    let path = folder.join(name);
    document(
        name,
        &std::fs::read_to_string(&path).expect("the file is there"),
    )
}

/// A document.
pub(crate) fn document(source: &str, text: &str) -> Document {
    Document {
        source: source.to_owned(),
        text: text.to_owned(),
    }
}

/// The documents of user data only.
pub(crate) fn inline_sources(folder: &std::path::Path) -> Sources {
    Sources {
        kube_env: read(folder, "kube_env.yaml"),
        cluster: None,
        instance_group: None,
        inline_cluster: Some(read(folder, "cluster_spec.yaml")),
        inline_instance_group: Some(read(folder, "ig_spec.yaml")),
    }
}

/// An instance in us-west-2a.
pub(crate) fn instance() -> InstanceFacts {
    InstanceFacts {
        zone: "us-west-2a".to_owned(),
        region: "us-west-2".to_owned(),
        local_hostname: "ip-10-0-0-10.us-west-2.compute.internal".to_owned(),
        ..crate::instance::instance()
    }
}

/// `kube_env.yaml` of a worker; `more` is added at its end.
pub(crate) fn kube_env(group: &str, more: &str) -> Document {
    let text = format!(
        "ClusterName: c.example\nConfigBase: s3://bucket/c.example\nInstanceGroupName: {group}\n{more}\n"
    );
    document("kube_env.yaml", &text)
}

/// The sections of a control plane's components.
const CONTROL_PLANE: &str = "kubeAPIServer:
  image: k8s.gcr.io/kube-apiserver:v1.12.9
  securePort: 443
  serviceClusterIPRange: 100.64.0.0/13
kubeControllerManager:
  image: k8s.gcr.io/kube-controller-manager:v1.12.9
  clusterCIDR: 100.96.0.0/11
kubeScheduler:
  image: k8s.gcr.io/kube-scheduler:v1.12.9
masterKubelet:
  cloudProvider: aws
  hostnameOverride: '@aws'
  registerSchedulable: false
";

/// The sections that every node has.
const EVERY_NODE: &str = "docker:
  storage: overlay2,overlay,aufs
  version: 18.06.3
kubeProxy:
  image: k8s.gcr.io/kube-proxy:v1.12.9
  cpuRequest: 100m
kubelet:
  cloudProvider: aws
  hostnameOverride: '@aws'
";

fn indented(text: &str) -> String {
    text.lines().map(|line| format!("  {line}\n")).collect()
}

/// The cluster in the store, Kubernetes 1.12.9 with kubenet; `more` is added to its spec.
pub(crate) fn cluster(more: &str) -> Document {
    let spec = format!(
        "kubernetesVersion: 1.12.9\ncloudProvider: aws\nnetworking:\n  kubenet: {{}}\n{CONTROL_PLANE}{EVERY_NODE}{more}"
    );
    cluster_of(&spec)
}

/// The cluster in the store with this spec.
pub(crate) fn cluster_of(spec: &str) -> Document {
    let text = format!(
        "apiVersion: kops/v1alpha2\nkind: Cluster\nmetadata:\n  creationTimestamp: 2018-02-01T00:00:00Z\n  name: c.example\nspec:\n{}",
        indented(spec)
    );
    document("s3://bucket/c.example/cluster.spec", &text)
}

/// The instance group in the store; `more` is added to its spec.
pub(crate) fn group(role: &str, more: &str) -> Document {
    let text = format!(
        "apiVersion: kops/v1alpha2\nkind: InstanceGroup\nmetadata:\n  name: nodes\n  labels:\n    kops.k8s.io/cluster: c.example\nspec:\n  role: {role}\n{}",
        indented(more)
    );
    document("s3://bucket/c.example/instancegroup/nodes", &text)
}

/// `cluster_spec.yaml` that goes with [`cluster`]; `more` is added at its end.
pub(crate) fn inline_cluster(role: &str, more: &str) -> Document {
    let control_plane = if role == "Master" { CONTROL_PLANE } else { "" };
    let text = format!("cloudConfig: null\n{control_plane}{EVERY_NODE}{more}");
    document("cluster_spec.yaml", &text)
}

/// The store's documents of a node in `role`.
pub(crate) fn stored(role: &str, more_cluster: &str, more_group: &str) -> Sources {
    Sources {
        kube_env: kube_env("nodes", ""),
        cluster: Some(cluster(more_cluster)),
        instance_group: Some(group(role, more_group)),
        inline_cluster: None,
        inline_instance_group: None,
    }
}

/// The same with a part of the stored cluster replaced.
pub(crate) fn stored_with(role: &str, from: &str, to: &str) -> Sources {
    let mut sources = stored(role, "", "");
    let text = cluster("").text.replace(from, to);
    sources.cluster = Some(document("cluster", &text));
    sources
}

/// What documents lower to.
pub(crate) fn lowered(sources: &Sources) -> Lowered {
    lower(sources, &instance()).expect("the documents lower")
}

/// The spec of a node in `role`, from the store.
pub(crate) fn spec(role: &str, cluster: &str, group: &str) -> NodeSpec {
    lowered(&stored(role, cluster, group)).spec
}

/// Why documents are refused.
pub(crate) fn refused(sources: &Sources) -> Fault {
    lower(sources, &instance()).expect_err("the documents are refused")
}

/// The line and column of a fault.
pub(crate) fn place(fault: &Fault) -> (&str, &str) {
    let seen = |name| fault.evidence_named(name).unwrap_or_default();
    (seen("line"), seen("column"))
}
