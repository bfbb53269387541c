//! Whom the node trusts, and how it logs in to registries of images.

use crate::builders::Context;
use crate::builders::context::KUBERNETES_CA;
use quake_model::fault::Fault;
use quake_model::item::{File, Item, Source};
use quake_model::step::Contents;

/// Where kubelet, whose home is root's, looks for credentials. nodeup says it without the first slash, and is lucky with the
/// directory it runs in.
const REGISTRY_CREDENTIALS: &str = "/root/.docker/config.json";

/// The CAs of the cluster, all generations; and credentials for registries where the cluster has them.
pub(super) fn build(context: &Context<'_>) -> Result<Vec<Item>, Fault> {
    let ca_bundle = context.ca_bundle(KUBERNETES_CA)?;
    let file = File::plain(&context.srv("ca.crt"), ca_bundle).mode(0o600);
    let credentials = context.objects.secrets.get("dockerconfig").map(|secret| {
        let bytes = Contents(secret.expose().clone());
        File::secret(REGISTRY_CREDENTIALS, Source::Bytes(bytes))
    });
    let files = std::iter::once(file).chain(credentials);
    Ok(files.map(Item::File).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::builders::sample::Sample;
    use quake_model::fault::Code;
    use quake_model::redact::Secret;
    use quake_model::step::Visibility;

    #[test]
    fn a_worker_trusts_whom_its_user_data_names_and_nobody_it_is_told_of_later() {
        let sample = Sample::worker("CAs: {kubernetes-ca: another}\n");
        assert_eq!(sample.file(build, "/srv/kubernetes/ca.crt"), "CA");
    }

    #[test]
    fn a_control_plane_without_a_ca_is_refused() {
        Sample::control_plane("").assert_refused(
            build,
            Code::ConfigMissingKey,
            ("path", "CAs.kubernetes-ca"),
        );
    }

    #[test]
    fn credentials_for_registries_are_roots_alone_and_never_shown() {
        let mut sample = Sample::worker("");
        assert_eq!(sample.find(build, REGISTRY_CREDENTIALS), None);
        let secret = Secret::new(b"{\"auths\":{}}".to_vec());
        sample
            .objects
            .secrets
            .insert("dockerconfig".to_owned(), secret);
        let file = sample.file_at(build, REGISTRY_CREDENTIALS).expect("a file");

        assert_eq!((file.mode, file.visibility), (0o600, Visibility::Secret));
        assert_eq!(file.source, Source::Bytes("{\"auths\":{}}".into()));
    }
}
