//! etcd's static pods: rendered here where the agent runs etcd itself, copied where etcd-manager does.

use super::layout;
use super::pod::{CLUSTER_CRITICAL, Command, HostPath, StaticPod, variable};
use crate::plan_inputs::{EtcdManifest, PlanInputs};
use quake_formats::flags::FlagSet;
use quake_model::item::{Directory, File, Item};
use quake_model::spec::{Component, EtcdCluster, EtcdProvider, NodeSpec};
use quake_model::step::Contents;
use quake_volumes::MountedSlot;
use serde_json::Value;

/// Names of the node's own members, as etcd's pods see them; see [`hosts`].
const HOSTS: &str = "/etc/kubernetes/etcd-hosts";

/// What differs between etcd's clusters. Names, ports and directories are protokube's, and are on disk.
struct Shape {
    /// The name of the cluster in member names, of the pod's manifest and of its log.
    name: String,
    pod: String,
    data: String,
    client_port: u16,
    peer_port: u16,
    cpu: &'static str,
}

impl Shape {
    /// The shape of an etcd cluster whose pods the agent writes; `None` where etcd-manager does, or where none of its ports is
    /// known.
    fn of(cluster: &EtcdCluster) -> Option<Self> {
        let (suffix, client_port, peer_port, cpu) = match (cluster.provider, &*cluster.name) {
            (EtcdProvider::Legacy, "main") => ("", 4001, 2380, "200m"),
            (EtcdProvider::Legacy, "events") => ("-events", 4002, 2381, "100m"),
            (EtcdProvider::Legacy | EtcdProvider::Manager, _) => return None,
        };
        Some(Self {
            name: format!("etcd{suffix}"),
            pod: format!("etcd-server{suffix}"),
            data: format!("data{suffix}"),
            client_port,
            peer_port,
            cpu,
        })
    }
}

/// The files of etcd's pods.
///
/// A pod is written only for a member whose volume is mounted. protokube reached the same by a link into the
/// volume; the agent need not, for kubelet never starts before the volumes are mounted.
pub(crate) fn items(spec: &NodeSpec, known: &PlanInputs) -> Vec<Item> {
    if spec.control_plane.is_none() {
        return Vec::new();
    }
    let mut items = Vec::new();
    let mut pods = Vec::new();
    for cluster in &spec.etcd {
        let slot = known.slots.iter().find(|slot| slot.cluster == cluster.name);
        if let (Some(slot), Some(shape)) = (slot, Shape::of(cluster)) {
            items.push(Item::Directory(Directory {
                mode: 0o700,
                ..Directory::plain(&data_directory(slot, &shape))
            }));
            let log = File::present(&layout::log(&shape.name)).mode(0o400);
            items.push(Item::File(log));
            let text = pod(spec, cluster, slot, &shape).manifest(spec.kubernetes);
            let path = manifest_path(spec, &shape.name);
            pods.push(Item::File(File::plain(&path, text)));
        }
    }
    if !pods.is_empty() && !is_gossip(spec) {
        items.push(Item::File(File::plain(HOSTS, hosts(spec, known))));
    }
    items.extend(pods);
    items.extend(copies(spec, &known.etcd_manifests));
    items
}

fn copies(spec: &NodeSpec, manifests: &[EtcdManifest]) -> Vec<Item> {
    let mut sorted: Vec<&EtcdManifest> = manifests.iter().collect();
    sorted.sort_by(|a, b| a.name.cmp(&b.name));
    let files = sorted.into_iter().map(|manifest| {
        let path = manifest_path(spec, &format!("etcd-{}", manifest.name));
        File::plain(&path, Contents(manifest.contents.clone())).mode(0o440)
    });
    files.map(Item::File).collect()
}

pub(super) fn manifest_path(spec: &NodeSpec, name: &str) -> String {
    let directory = spec.kubelet.manifest_path.trim_end_matches('/');
    format!("{directory}/{name}.manifest")
}

fn data_directory(slot: &MountedSlot, shape: &Shape) -> String {
    format!("{}/var/etcd/{}", slot.mount_point, shape.data)
}

/// Whether the cluster has no name service: its names come from a mesh that writes the host's `/etc/hosts`.
pub(super) fn is_gossip(spec: &NodeSpec) -> bool {
    spec.cluster.ends_with(".k8s.local")
}

/// A member's name inside the cluster's network.
fn member_host(spec: &NodeSpec, name: &str, member: &str) -> String {
    format!("{name}-{member}.internal.{}", spec.cluster)
}

/// The hosts file of etcd's pods: it resolves this node's own members without any name service, so that a
/// control plane of one node needs none to start, and one of several needs it only for its peers.
fn hosts(spec: &NodeSpec, known: &PlanInputs) -> String {
    let mut text = String::from("127.0.0.1 localhost\n::1 localhost\n");
    for host in own_member_names(spec, known) {
        text.push_str(&format!("{} {host}\n", known.instance.private_ip));
    }
    text
}

/// The names of all members of an etcd cluster whose pods the agent writes; none where etcd-manager does.
pub(crate) fn member_names(spec: &NodeSpec, cluster: &EtcdCluster) -> Vec<String> {
    let shape = Shape::of(cluster).into_iter();
    let names = shape.flat_map(|shape| {
        let members = cluster.members.iter();
        members.map(move |member| member_host(spec, &shape.name, &member.name))
    });
    names.collect()
}

/// The port on which the members of an etcd cluster reach each other, where the agent writes their pods.
pub(crate) fn peer_port(cluster: &EtcdCluster) -> Option<u16> {
    Shape::of(cluster).map(|shape| shape.peer_port)
}

/// The port on which an etcd cluster answers without a certificate, where the agent writes its pods. Those of etcd-manager may
/// ask for one.
pub(crate) fn client_port(cluster: &EtcdCluster) -> Option<u16> {
    Shape::of(cluster).map(|shape| shape.client_port)
}

/// The names of the members whose volumes this node holds and whose pods it runs itself. etcd-manager sees to the names of its
/// own, and protokube even removed them from the zone.
pub(crate) fn own_member_names(spec: &NodeSpec, known: &PlanInputs) -> Vec<String> {
    let own = own_members(spec, known).into_iter();
    own.map(|(name, _)| name).collect()
}

/// The same, each with the volume that makes it this node's.
pub(crate) fn own_members(spec: &NodeSpec, known: &PlanInputs) -> Vec<(String, String)> {
    let names = known.slots.iter().filter_map(|slot| {
        let cluster = spec.etcd.iter().find(|it| it.name == slot.cluster)?;
        let shape = Shape::of(cluster)?;
        let name = member_host(spec, &shape.name, &slot.member);
        Some((name, slot.volume_id.clone()))
    });
    names.collect()
}

fn pod(spec: &NodeSpec, cluster: &EtcdCluster, slot: &MountedSlot, shape: &Shape) -> StaticPod {
    let component = Component {
        image: cluster.image.clone(),
        cpu_request: Some(shape.cpu.to_owned()),
        ..Component::default()
    };
    // The log has one name inside the pod, whichever cluster's it is outside.
    let log = layout::log("etcd");
    let command = Command::through_tee("/usr/local/bin/etcd", &FlagSet::default(), &log);
    let mut pod = StaticPod::for_component(&shape.pod, &component, command, CLUSTER_CRITICAL);
    pod.container = "etcd-container".to_owned();
    pod.environment = environment(spec, slot, shape);
    pod.live_at("/health", shape.client_port, false, 15);
    pod.ports = vec![
        ("serverport", shape.peer_port.into()),
        ("clientport", shape.client_port.into()),
    ];
    let data = format!("/var/etcd/{}", shape.data);
    let hosts = if is_gossip(spec) { "/etc/hosts" } else { HOSTS };
    pod.paths = vec![
        HostPath::write("varetcdata", &data_directory(slot, shape)).at(&data),
        HostPath::write("varlogetcd", &layout::log(&shape.name)).at(&log),
        HostPath::read("hosts", hosts).at("/etc/hosts"),
    ];
    pod
}

fn environment(spec: &NodeSpec, slot: &MountedSlot, shape: &Shape) -> Vec<Value> {
    let Shape {
        name,
        client_port,
        peer_port,
        ..
    } = shape;
    let me = member_host(spec, name, &slot.member);
    let url = |host: &str, port: &u16| format!("http://{host}:{port}");
    let members = slot.members.iter().map(|member| {
        let url = url(&member_host(spec, name, member), peer_port);
        format!("{name}-{member}={url}")
    });
    let members: Vec<String> = members.collect();
    let token = format!("etcd-cluster-token-{name}");
    [
        ("ETCD_NAME", format!("{name}-{}", slot.member)),
        ("ETCD_DATA_DIR", format!("/var/etcd/{}", shape.data)),
        ("ETCD_LISTEN_PEER_URLS", url("0.0.0.0", peer_port)),
        ("ETCD_LISTEN_CLIENT_URLS", url("0.0.0.0", client_port)),
        ("ETCD_ADVERTISE_CLIENT_URLS", url(&me, client_port)),
        ("ETCD_INITIAL_ADVERTISE_PEER_URLS", url(&me, peer_port)),
        // Read only on an empty directory; a member that has data goes by its data.
        ("ETCD_INITIAL_CLUSTER_STATE", "new".to_owned()),
        ("ETCD_INITIAL_CLUSTER_TOKEN", token),
        ("ETCD_INITIAL_CLUSTER", members.join(",")),
    ]
    .into_iter()
    .map(|(name, value)| variable(name, &value))
    .collect()
}
