//! What the API server's health check shows who it is with: a container beside it, which asks it as kubelet cannot.

use super::stored;
use crate::builders::Context;
use crate::builders::context::KUBERNETES_CA;
use quake_model::fault::Fault;
use quake_model::item::{File, Item, Subject, Usage};

/// The container's name, its static manifest's key, its user, and its common name.
const NAME: &str = "kube-apiserver-healthcheck";

/// The number of its user that its image has built in.
const UID: u32 = 10012;

/// Its user, its certificate and the CAs it trusts, where the cluster has it.
pub(super) fn build(context: &Context<'_>) -> Result<Vec<Item>, Fault> {
    if !context.has_api_server() || context.config.static_manifest(NAME).is_none() {
        return Ok(Vec::new());
    }
    let folder = format!("/etc/kubernetes/{NAME}/secrets");
    let order = context.order(NAME, KUBERNETES_CA, Subject::named(NAME), Usage::Client)?;
    let mut items: Vec<Item> = context.pair(order, &format!("{folder}/client")).into();
    let ca_bundle = context.ca_bundle(KUBERNETES_CA)?;
    let ca_bundle = File::plain(&format!("{folder}/ca.crt"), ca_bundle);
    items.push(Item::File(ca_bundle));
    let mut items = stored::given_to(NAME, "root", items);
    items.push(stored::container_user(NAME, UID, &folder));
    Ok(items)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::builders::sample::Sample;

    const KEYS: &str = "KeypairIDs: {kubernetes-ca: \"7\"}\nCAs: {kubernetes-ca: CAs}\n";

    #[test]
    fn its_files_are_its_users_where_the_cluster_has_it() {
        assert_eq!(Sample::control_plane(KEYS).items(build), []);
        let keys = format!("{KEYS}staticManifests: [{{key: {NAME}, path: x.yaml}}]\n");
        let files = Sample::control_plane(&keys).all(build, Item::file);
        let wanted = [
            ("client.crt", 0o644),
            ("client.key", 0o600),
            ("ca.crt", 0o644),
        ];
        assert_eq!(files.len(), wanted.len());
        for (file, (name, mode)) in files.iter().zip(wanted) {
            assert!(file.path.ends_with(&format!("/{name}")), "{}", file.path);
            assert_eq!((file.mode, file.owner.user.as_str()), (mode, NAME));
        }
        assert_eq!(Sample::worker(&keys).items(build), []);
    }
}
