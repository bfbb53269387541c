//! The CAs that etcd-manager signs with: for its own traffic, for etcd's peers, for etcd's clients.

use super::stored;
use crate::builders::Context;
use quake_model::fault::Fault;
use quake_model::item::{File, Item};

/// Clusters of etcd that the API server speaks to. It has one client certificate for all of them, so they share the
/// CA that signs it.
const OF_THE_API_SERVER: &[&str] = &["main", "events", "leases"];

/// Each cluster's CAs, all generations to trust, and the keys of those that sign.
pub(super) fn build(context: &Context<'_>) -> Result<Vec<Item>, Fault> {
    if !context.is_control_plane() {
        return Ok(Vec::new());
    }
    let mut items = Vec::new();
    for cluster in &context.config.etcd_clusters {
        for ca in ["etcd-manager-ca", "etcd-peers-ca", "etcd-clients-ca"] {
            let keyset = keyset(ca, cluster);
            let base = format!("/etc/kubernetes/pki/etcd-manager-{cluster}/{ca}");
            let certificates = context.ca_bundle(&keyset)?;
            items.extend([
                Item::File(File::plain(&format!("{base}.crt"), certificates)),
                Item::File(stored::key(context, &keyset, &format!("{base}.key"))?),
            ]);
        }
    }
    Ok(items)
}

fn keyset(ca: &str, cluster: &str) -> String {
    if ca == "etcd-clients-ca" && OF_THE_API_SERVER.contains(&cluster) {
        ca.to_owned()
    } else {
        format!("{ca}-{cluster}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_clusters_of_the_api_server_share_the_ca_of_clients() {
        for (ca, cluster, wanted) in [
            ("etcd-clients-ca", "main", "etcd-clients-ca"),
            ("etcd-clients-ca", "events", "etcd-clients-ca"),
            ("etcd-clients-ca", "leases", "etcd-clients-ca"),
            ("etcd-clients-ca", "cilium", "etcd-clients-ca-cilium"),
            ("etcd-peers-ca", "main", "etcd-peers-ca-main"),
            ("etcd-manager-ca", "events", "etcd-manager-ca-events"),
        ] {
            assert_eq!(keyset(ca, cluster), wanted, "{ca} {cluster}");
        }
    }
}
