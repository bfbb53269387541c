//! What Cilium's agent shows to its own etcd, where a cluster keeps Cilium's state in one. Whether a cluster does is a
//! question of its etcd, not of its network: the files are there as long as that etcd is.

use crate::builders::Context;
use quake_model::fault::Fault;
use quake_model::item::{File, Item, Subject, Usage};

const AUTHORITY: &str = "etcd-clients-ca-cilium";

/// The order, by which kops-controller knows it, too.
const ORDER: &str = "etcd-client-cilium";

/// Where Cilium's agent, which is root, looks for them.
const FOLDER: &str = "/etc/kubernetes/pki/cilium";

/// The CAs, a certificate and its key.
pub(super) fn build(context: &Context<'_>) -> Result<Vec<Item>, Fault> {
    if !context.config.network.has_cilium_etcd {
        return Ok(Vec::new());
    }
    let order = context.order(ORDER, AUTHORITY, Subject::named("cilium"), Usage::Client)?;
    let ca_bundle = context.ca_bundle(AUTHORITY)?;
    let ca_bundle = File::plain(&format!("{FOLDER}/etcd-ca.crt"), ca_bundle);
    let mut items = vec![Item::File(ca_bundle.mode(0o600))];
    let [order, certificate, key] = context.pair(order, &format!("{FOLDER}/{ORDER}"));
    // As nodeup has it: on a worker the key is not even written by its owner.
    let mode = if context.has_api_server() {
        0o600
    } else {
        0o400
    };
    items.extend([order, certificate, key.map_file(|file| file.mode(mode))]);
    Ok(items)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::builders::sample::Sample;
    use quake_model::fault::Code;
    use quake_model::item::Issuer;

    const KEYS: &str = "UseCiliumEtcd: true\nCAs: {etcd-clients-ca-cilium: CAs}\n\
                        KeypairIDs: {etcd-clients-ca-cilium: \"7\"}\n";

    #[test]
    fn a_control_plane_signs_the_certificate_itself_and_a_worker_asks_for_it() {
        let (keyset, keypair_id) = (AUTHORITY.to_owned(), "7".to_owned());
        let issuer = |sample: Sample| sample.all(build, Item::certificate)[0].issuer.clone();
        let own = Issuer::Ca {
            keyset: keyset.clone(),
            keypair_id: keypair_id.clone(),
        };
        assert_eq!(issuer(Sample::control_plane(KEYS)), own);
        let theirs = Issuer::Controller { keyset, keypair_id };
        assert_eq!(issuer(Sample::worker(KEYS)), theirs);
    }

    #[test]
    fn the_key_is_roots_alone() {
        for (sample, wanted) in [
            (Sample::worker(KEYS), 0o400),
            (Sample::control_plane(KEYS), 0o600),
        ] {
            let key = sample.file_at(build, "/etc/kubernetes/pki/cilium/etcd-client-cilium.key");
            let key = key.expect("there is a key");
            assert_eq!((key.mode, key.owner.user.as_str()), (wanted, "root"));
        }
    }

    #[test]
    fn without_an_etcd_of_its_own_there_is_nothing() {
        let sample = Sample::worker("Networking: {cilium: {}}\n");
        assert_eq!(sample.items(build), []);
    }

    #[test]
    fn a_ca_that_is_not_given_is_named() {
        let sample = Sample::worker("UseCiliumEtcd: true\n");
        sample.assert_refused(
            build,
            Code::ConfigMissingKey,
            ("path", "KeypairIDs.etcd-clients-ca-cilium"),
        );
    }
}
