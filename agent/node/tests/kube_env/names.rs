//! Where a control plane of kops legacy (1.8 to 1.15) publishes its names.

use crate::support::spec;
use quake_model::dns::ZoneKind;
use quake_model::spec::NamesPlace;

/// Where the names of a node go, and which of the API server's; `None` where they go nowhere.
fn names_of(role: &str, cluster: &str) -> Option<(NamesPlace, Option<String>)> {
    let names = spec(role, cluster, "").names?;
    Some((names.place, names.api))
}

#[test]
fn a_control_plane_publishes_its_names_where_its_cluster_says() {
    let zone = |text: &str, visible| NamesPlace::Zone {
        zone: text.parse().expect("it cannot fail"),
        visible,
    };
    let api = names_of("Master", "dnsZone: Z1D633PJN98FT9\n");
    let (place, api) = api.expect("it names a zone");
    assert_eq!(place, zone("Z1D633PJN98FT9", None));
    assert!(api.is_some_and(|name| name.starts_with("api.internal.")));
    for (cluster, expected) in [
        (
            "dnsZone: example.com\ntopology: {dns: {type: Private}}\n",
            zone("example.com", Some(ZoneKind::Private)),
        ),
        (
            "dnsZone: example.com\ntopology: {dns: {type: Public}}\n",
            zone("example.com", Some(ZoneKind::Public)),
        ),
        (
            "dnsZone: example.com\ntopology: {dns: {type: None}}\n",
            NamesPlace::HostsFile,
        ),
    ] {
        let found = names_of("Master", cluster).map(|(place, _)| place);
        assert_eq!(found, Some(expected), "{cluster}");
    }
}

#[test]
fn workers_and_clusters_that_name_no_zone_publish_nothing() {
    assert_eq!(names_of("Node", "dnsZone: Z1\n"), None);
    for cluster in ["", "dnsZone: \"\"\n"] {
        assert_eq!(names_of("Master", cluster), None, "{cluster}");
    }
}

#[test]
fn a_load_balancer_keeps_the_api_servers_name() {
    let balanced = "dnsZone: Z1\napi: {loadBalancer: {type: Internal, useForInternalApi: true}}\n";
    let (_, api) = names_of("Master", balanced).expect("etcd's names are left");
    assert_eq!(api, None);
}
