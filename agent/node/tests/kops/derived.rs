//! The boot configuration that is derived from a state store is the one that kops wrote into user data, apart from a list
//! of what no state store says.

use crate::support::{Boot, boots};
use quake_model::location::Location;
use quake_node::config::current::{
    BootConfig, Origin, ROLES, StoredGroup, derive_boot_config, read_boot_config, read_cluster,
    role_directory,
};
use quake_node::keyset::KeyBundle;

/// A field of the real boot configuration, and why the derived one may differ in it.
type Allowed = (&'static str, fn(&mut BootConfig));

/// What the store cannot know: addresses, which only a cluster without DNS gives its nodes.
const ALLOWED_WITHOUT_DNS: &[Allowed] = &[
    ("APIServerIPs", |boot| boot.api_server_ips.clear()),
    ("EtcdIPs", |boot| boot.etcd_ips.clear()),
    ("ConfigServer.servers, tlsServerName", |boot| {
        if let Origin::Server(server) = &mut boot.origin {
            server.servers.clear();
            server.tls_server_name = None;
        }
    }),
];

fn text_at(boot: &Boot, location: &Location) -> String {
    let bytes = boot.object(location);
    let bytes = bytes.unwrap_or_else(|| panic!("{}: no {location}", boot.name));
    String::from_utf8(bytes).expect("it is text")
}

/// Derives the group's boot configuration with nothing of its user data but the group's name.
fn derived(boot: &Boot, base: &Location, group: &str) -> (BootConfig, Vec<String>, bool) {
    let place = base.join("cluster-completed.spec");
    let cluster = read_cluster(&place.to_string(), &text_at(boot, &place));
    let cluster = cluster.unwrap_or_else(|fault| panic!("{}: {fault}", boot.name));
    assert_eq!(cluster.base.as_ref(), Some(base), "{}", boot.name);
    let config = |role| {
        let place = base.join("igconfig").join(role_directory(role));
        boot.object(&place.join(group).join("nodeupconfig.yaml"))
    };
    let mut found = ROLES
        .into_iter()
        .filter_map(|role| Some((role, config(role)?)));
    let (role, nodeup_config) = found.next().expect("one role has the group");
    let keyset = text_at(boot, &base.join("pki/private/kubernetes-ca/keyset.yaml"));
    let ca = KeyBundle::read("keyset.yaml", &keyset).expect("a keyset");
    let derived = derive_boot_config(&StoredGroup {
        cluster: &cluster,
        base,
        name: group,
        role,
        source: "nodeupconfig.yaml",
        nodeup_config: &nodeup_config,
        ca: Some(&ca.certificates()),
    });
    let derived = derived.unwrap_or_else(|fault| panic!("{}: {fault}", boot.name));
    let read = read_boot_config("kube_env.yaml", &derived.text);
    let (read, findings) = read.unwrap_or_else(|fault| panic!("{}: {fault}", boot.name));
    assert_eq!(findings, [], "{}", boot.name);
    let has_no_dns = String::from_utf8_lossy(&nodeup_config).contains("usesNoneDNS: true");
    (read, derived.assumptions, has_no_dns)
}

#[test]
fn the_derived_boot_configuration_means_what_kops_wrote_apart_from_addresses() {
    let mut compared = 0;
    for boot in boots() {
        let mut real = boot.boot_config();
        let base = boot.base_of(&real.cluster);
        let (mut made, assumptions, has_no_dns) = derived(&boot, &base, &real.instance_group);
        assert!(!assumptions.is_empty(), "{}", boot.name);
        if has_no_dns {
            for (_, forget) in ALLOWED_WITHOUT_DNS {
                forget(&mut real);
                forget(&mut made);
            }
        }
        assert_eq!(made, real, "{}", boot.name);
        compared += 1;
    }
    assert!(compared == 0 || compared >= 69, "{compared} boots");
    println!("{compared} boot configurations are as kops wrote them");
}
