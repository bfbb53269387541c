//! The pod network: CNI plugins, and for kubenet-like networks a configuration of the agent's own.
//!
//! With kubenet the kubelet of Kubernetes 1.8 to 1.23 keeps `--network-plugin=kubenet` and builds its bridge in
//! memory, reading no file. The configuration here describes that same bridge for every runtime that does
//! read one. Which addresses it hands out is never guessed:
//!
//! - the spec fixes the node's pod range: the file says it;
//! - else, under docker: the file asks for the `ipRanges` capability, by which dockershim since 1.12 passes the
//!   range the node was given. Without a range `host-local` refuses to hand out addresses, which beats handing
//!   out another node's;
//! - else, under containerd: the file is a template that containerd fills in itself, once kubelet tells it the
//!   node's range.
//!
//! For every other network a `DaemonSet` writes the configuration, and the agent only makes room for it.

use super::layout;
use crate::builders::context::program;
use crate::plan_inputs::PlanInputs;
use quake_model::item::{Directory, File, Item};
use quake_model::spec::{AssetSpec, NetworkMode, NodeSpec, Runtime};
use serde_json::{Value, json};

/// The agent's configuration; the runtime takes the first in the directory by name.
const CONFIGURATION: &str = "10-quake-agent.conflist";

pub(crate) const TEMPLATE: &str = "/etc/containerd/cni.conflist.template";

/// The bridge's name, which kubenet uses too.
const BRIDGE: &str = "cbr0";

/// Plugins without which a network cannot work; kubenet calls the same three.
const BASE: &[&str] = &["bridge", "host-local", "loopback"];

/// The plugins of a network that chains them, where the archive has them.
const CHAINED: &[&str] = &["ptp", "portmap", "flannel"];

/// The plugins of the VPC network that brings its own.
const LYFT: &[&str] = &[
    "cni-ipvlan-vpc-k8s-ipam",
    "cni-ipvlan-vpc-k8s-ipvlan",
    "cni-ipvlan-vpc-k8s-tool",
    "cni-ipvlan-vpc-k8s-unnumbered-ptp",
    "loopback",
];

pub(crate) fn items(spec: &NodeSpec, known: &PlanInputs) -> Vec<Item> {
    let directories = [layout::CNI_CONFIGURATIONS, layout::CNI_PLUGINS];
    let mut items = directories
        .map(|path| Item::Directory(Directory::plain(path)))
        .to_vec();
    items.extend(plugins(spec, known));
    if let Some(path) = own_configuration(spec) {
        let text = configuration(spec, known);
        items.push(Item::File(File::plain(&path, text)));
    }
    items
}

/// Whether the agent, not a `DaemonSet`, writes the network's configuration.
fn owns_network(spec: &NodeSpec) -> bool {
    match &spec.networking.mode {
        NetworkMode::Kubenet | NetworkMode::External => true,
        NetworkMode::Cni { .. } => false,
    }
}

/// What the agent writes for the network: the configuration, or the runtime's template of it; `None` where a `DaemonSet` does.
fn own_configuration(spec: &NodeSpec) -> Option<String> {
    let path = match uses_template(spec) {
        true => TEMPLATE.to_owned(),
        false => format!("{}/{CONFIGURATION}", layout::CNI_CONFIGURATIONS),
    };
    owns_network(spec).then_some(path)
}

/// Who writes the configuration that the runtime reads, in a word, and the files the agent itself writes for it.
pub(crate) fn writer(spec: &NodeSpec) -> (&'static str, Vec<String>) {
    match own_configuration(spec) {
        None => ("daemon-set", Vec::new()),
        Some(path) if uses_template(spec) => ("runtime", vec![path]),
        Some(path) => ("agent", vec![path]),
    }
}

/// Whether the agent itself writes what kubelet or the runtime reads.
pub(crate) fn writes_configuration(spec: &NodeSpec) -> bool {
    owns_network(spec) && !uses_template(spec)
}

/// Whether containerd writes the configuration from a template of the agent's.
pub(crate) fn uses_template(spec: &NodeSpec) -> bool {
    let containerd = matches!(spec.runtime, Runtime::Containerd { .. });
    containerd && owns_network(spec) && pod_range(spec).is_none()
}

/// The node's own pod range, where the spec fixes it.
fn pod_range(spec: &NodeSpec) -> Option<&str> {
    let range = spec.networking.pod_cidr.as_deref();
    let range = range.or_else(|| spec.kubelet.flag("pod-cidr"));
    range.filter(|range| !range.is_empty())
}

fn plugins(spec: &NodeSpec, known: &PlanInputs) -> Vec<Item> {
    let archives = spec.assets.iter().filter(|asset| holds_plugins(asset));
    let archives: Vec<&AssetSpec> = archives.collect();
    let holder = |name: &str| {
        let has = |members: &Vec<String>| members.iter().any(|member| member == name);
        let holds = |it: &&AssetSpec| known.members.get(&it.digest).is_some_and(has);
        archives.iter().copied().find(holds)
    };
    let (required, optional) = plugin_names(spec);
    let mut places = Vec::new();
    for name in required {
        // A plugin that no archive has is asked of the first, so that the step fails and says which.
        if let Some(archive) = holder(name).or(archives.first().copied()) {
            places.push(place(archive, name));
        }
    }
    for name in optional {
        places.extend(holder(name).map(|archive| place(archive, name)));
    }
    places
}

fn holds_plugins(asset: &AssetSpec) -> bool {
    asset.is_cni_plugins() || asset.name.starts_with("cni-ipvlan-vpc-k8s")
}

/// Plugins this network needs, and those it uses where the archive has them.
fn plugin_names(spec: &NodeSpec) -> (Vec<&'static str>, Vec<&'static str>) {
    match &spec.networking.mode {
        NetworkMode::Kubenet | NetworkMode::External => (BASE.to_vec(), vec!["portmap"]),
        NetworkMode::Cni { provider } if provider == "lyftvpc" => (LYFT.to_vec(), Vec::new()),
        NetworkMode::Cni { .. } => (BASE.to_vec(), CHAINED.to_vec()),
    }
}

fn place(archive: &AssetSpec, name: &str) -> Item {
    let path = format!("{}/{name}", layout::CNI_PLUGINS);
    program(&archive.digest, Some(name), path)
}

fn configuration(spec: &NodeSpec, known: &PlanInputs) -> String {
    let mut chain = vec![bridge(spec, known)];
    let portmap = format!("{}/portmap", layout::CNI_PLUGINS);
    if plugins(spec, known)
        .iter()
        .any(|item| item.subject() == portmap)
    {
        chain.push(json!({
            "type": "portmap",
            "capabilities": {"portMappings": true},
            "snat": true,
        }));
    }
    let document = json!({
        "cniVersion": "0.3.1",
        "name": "quake-agent",
        "plugins": chain,
    });
    // The alternate form is indented; a value always serialises.
    let text = format!("{document:#}\n");
    // The template language of containerd is not JSON, so it is put in last.
    text.replace("\"@pod-ranges@\"", "[{{range $i, $range := .PodCIDRRanges}}{{if $i}}, {{end}}[{\"subnet\": \"{{$range}}\"}]{{end}}]")
}

fn bridge(spec: &NodeSpec, known: &PlanInputs) -> Value {
    let mut bridge = json!({
        "type": "bridge",
        "bridge": BRIDGE,
        "isGateway": true,
        "ipMasq": masquerades(spec),
    });
    // The two ways in which a pod reaches itself through a service; the plugin refuses both at once.
    match spec.kubelet.flag("hairpin-mode") {
        Some("hairpin-veth") => bridge["hairpinMode"] = json!(true),
        Some("none") => {}
        Some(_) | None => bridge["promiscMode"] = json!(true),
    }
    if let Some(mtu) = mtu(spec, known) {
        bridge["mtu"] = json!(mtu);
    }
    let mut addresses = json!({"type": "host-local", "routes": [{"dst": "0.0.0.0/0"}]});
    match pod_range(spec) {
        Some(range) => addresses["ranges"] = json!([[{"subnet": range}]]),
        None if uses_template(spec) => addresses["ranges"] = json!("@pod-ranges@"),
        None => bridge["capabilities"] = json!({"ipRanges": true}),
    }
    bridge["ipam"] = addresses;
    bridge
}

/// Whether the plugin hides pods behind the node's address.
///
/// The plugin knows only its own range: it would hide pods from pods of other nodes too. Where the spec names
/// a range that is not to be masqueraded, kubelet programs the exact rule (`--non-masquerade-cidr`) instead.
fn masquerades(spec: &NodeSpec) -> bool {
    spec.networking.non_masquerade_cidr.is_none()
        && spec.kubelet.flag("non-masquerade-cidr").is_none()
}

/// The bridge's MTU: the spec's, else that of the interface packets leave by.
fn mtu(spec: &NodeSpec, known: &PlanInputs) -> Option<u32> {
    let flag = spec.kubelet.flag("network-plugin-mtu");
    spec.networking
        .mtu
        .or_else(|| flag.and_then(|text| text.parse().ok()))
        .or_else(|| known.network.primary().map(|link| link.mtu))
}
