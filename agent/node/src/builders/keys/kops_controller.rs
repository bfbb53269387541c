//! What kops-controller signs workers' certificates with, and shows them. It is a DaemonSet that runs as a user of its own.

use super::stored;
use crate::builders::Context;
use crate::builders::context::KUBERNETES_CA;
use quake_model::fault::Fault;
use quake_model::item::{AlternateName, File, Item, Source, Subject, Usage};

/// Its user, and the number that its image has built in.
const USER: (&str, u32) = ("kops-controller", 10011);

/// Where it looks for them.
const FOLDER: &str = "/etc/kubernetes/kops-controller";

/// Its user, its serving certificate, the CAs that workers' certificates are signed with, and which of their
/// generations are in use.
pub(super) fn build(context: &Context<'_>) -> Result<Vec<Item>, Fault> {
    if !context.is_control_plane() {
        return Ok(Vec::new());
    }
    let (user, uid) = USER;
    let mut order = context.order(user, KUBERNETES_CA, Subject::named(user), Usage::Server)?;
    order.names = names(context);
    let mut items: Vec<Item> = context.pair(order, &path(user)).into();
    let cilium = context.config.network.has_cilium_etcd;
    let cilium = cilium.then_some("etcd-clients-ca-cilium");
    for keyset in [KUBERNETES_CA].into_iter().chain(cilium) {
        let files = stored::pair(context, keyset, &path(keyset))?;
        items.extend(files.map(Item::File));
    }
    items.push(Item::File(keypair_ids(context)));
    let mut items = stored::given_to(user, "root", items);
    items.push(stored::container_user(user, uid, "/nonexistent"));
    Ok(items)
}

fn path(name: &str) -> String {
    format!("{FOLDER}/{name}")
}

/// The name that workers look up, and the addresses that they are given instead where the cluster has no DNS.
fn names(context: &Context<'_>) -> Vec<AlternateName> {
    let name = format!("kops-controller.internal.{}", context.config.cluster);
    let addresses = context.boot.api_server_ips.iter();
    let mut names = vec![AlternateName::Dns(name)];
    names.extend(addresses.map(|address| AlternateName::from_text(address)));
    names
}

/// A YAML map of texts. Ids are digits, and would be read as numbers without quotes.
fn keypair_ids(context: &Context<'_>) -> File {
    let ids = context.config.keypair_ids.iter();
    let lines = ids.map(|(name, id)| {
        let id = serde_json::Value::from(id.as_str());
        format!("{name}: {id}\n")
    });
    let text: String = lines.collect();
    File::secret(&path("keypair-ids.yaml"), Source::Bytes(text.into()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::builders::keys::stored::tests::with_keyset;
    use crate::builders::sample::Sample;
    use serde_json::{Value, json};

    #[test]
    fn the_ids_of_keypairs_are_texts_although_they_are_digits() {
        let keys = "KeypairIDs: {service-account: \"2\", kubernetes-ca: \"7\"}\n";
        let sample = with_keyset(Sample::control_plane(keys), KUBERNETES_CA);
        let text = sample.file(build, &path("keypair-ids.yaml"));
        let found: Value = serde_saphyr::from_str(&text).expect("it is YAML");
        assert_eq!(found, json!({"kubernetes-ca": "7", "service-account": "2"}));
    }

    #[test]
    fn without_dns_its_certificate_has_the_addresses_that_workers_are_given() {
        let mut sample = with_keyset(Sample::control_plane(""), KUBERNETES_CA);
        sample.boot.api_server_ips = vec!["10.0.0.9".to_owned()];
        let orders = sample.all(build, Item::certificate);
        let wanted = ["kops-controller.internal.c.example.com", "10.0.0.9"];
        assert_eq!(orders[0].names, wanted.map(AlternateName::from_text));
    }

    #[test]
    fn it_signs_for_ciliums_etcd_only_where_there_is_one() {
        let ca = path("etcd-clients-ca-cilium.key");
        let sample = with_keyset(Sample::control_plane(""), KUBERNETES_CA);
        assert!(!sample.subjects(build).contains(&ca));
        let sample = Sample::control_plane("UseCiliumEtcd: true\n");
        let sample = with_keyset(with_keyset(sample, KUBERNETES_CA), "etcd-clients-ca-cilium");
        assert!(sample.subjects(build).contains(&ca));
    }
}
