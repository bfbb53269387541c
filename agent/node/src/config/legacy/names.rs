//! Lowers where a control plane publishes its names.

use super::node::Node;
use quake_formats::yaml::Yaml;
use quake_model::dns::ZoneKind;
use quake_model::spec::{ControlPlane, InternalNames, NamesPlace, Role};

/// What clusters are called whose nodes find each other by gossip (`pkg/dns/gossip.go`, release-1.15).
const GOSSIP: &str = ".k8s.local";

/// Lowers the names; `None` on all nodes but control planes, and where the cluster names no zone: protokube published nothing
/// then either (`nodeup/pkg/model/protokube.go`, release-1.15).
///
/// Without a name service, be it by `topology.dns.type: None` or because nodes found each other by gossip, which this agent does
/// not carry, the node at least finds its own names.
pub(super) fn lower_names(
    node: &Node<'_>,
    cluster: &str,
    control_plane: Option<&ControlPlane>,
) -> Option<InternalNames> {
    let control_plane = control_plane.filter(|_| node.role == Role::ControlPlane)?;
    let topology = node.section("topology");
    let kind = topology.and_then(|topology| topology.get("dns")?.text_of("type"));
    let kind = kind.unwrap_or_default().to_ascii_lowercase();
    let zone = node.section("dnsZone").and_then(Yaml::text);
    let zone = zone.map(str::trim).filter(|zone| !zone.is_empty());
    let place = if kind == "none" || cluster.ends_with(GOSSIP) {
        NamesPlace::HostsFile
    } else {
        NamesPlace::Zone {
            zone: zone?.parse().ok()?,
            visible: match kind.as_str() {
                "public" => Some(ZoneKind::Public),
                "private" => Some(ZoneKind::Private),
                _ => None,
            },
        }
    };
    let balancer = node
        .section("api")
        .and_then(|api| api.get("loadBalancer"))
        .and_then(|balancer| balancer.boolean_of("useForInternalApi"));
    let api = (balancer != Some(true)).then(|| control_plane.internal_name.clone());
    Some(InternalNames { api, place })
}
