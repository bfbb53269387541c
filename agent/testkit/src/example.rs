//! A small cluster of our own writing, as kops legacy makes one: one control plane and its workers. `rehearse --legacy-example`
//! boots it, and tests boot it everywhere. That of today's kops is in [`kops`].

mod ca_bundle;
pub mod kops;

pub use ca_bundle::CaBundle;

/// The cluster's name.
pub const CLUSTER: &str = "demo.quake.example";

/// Where its objects are.
pub const CONFIG_BASE: &str = "s3://quake-example-state/demo.quake.example";

/// Its instance groups: a control plane and workers.
pub const INSTANCE_GROUPS: &[&str] = &["control-plane", "workers"];

/// The state store's objects, by location.
pub fn objects() -> Vec<(String, &'static str)> {
    let object = |key: &str, text| (format!("{CONFIG_BASE}/{key}"), text);
    vec![
        object("cluster.spec", include_str!("../example/cluster.spec")),
        object(
            "instancegroup/control-plane",
            include_str!("../example/instancegroup/control-plane"),
        ),
        object(
            "instancegroup/workers",
            include_str!("../example/instancegroup/workers"),
        ),
    ]
}

/// The `kube_env.yaml` of a node of this instance group, if there is such a group.
pub fn kube_env(instance_group: &str) -> Option<&'static str> {
    match instance_group {
        "control-plane" => Some(include_str!("../example/kube_env-control-plane.yaml")),
        "workers" => Some(include_str!("../example/kube_env-workers.yaml")),
        _ => None,
    }
}

/// What its mirrors serve, by URL, under the digests that `kube_env.yaml` pins.
pub fn mirrors() -> Vec<(String, String)> {
    let base = "https://assets.quake.example";
    let binary = |name: &str| {
        let url = format!("{base}/kubernetes/v1.15.12/bin/linux/amd64/{name}");
        (url, format!("example asset {name}\n"))
    };
    let plugins = "bridge\nhost-local\nloopback\nportmap\nptp\n".to_owned();
    let archive = format!("{base}/network-plugins/cni-plugins-amd64-v0.7.5.tgz");
    vec![binary("kubelet"), binary("kubectl"), (archive, plugins)]
}
