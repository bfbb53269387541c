//! What the API server shows who it is with, to its clients, to etcd, to kubelets and to extension API servers; and the keys
//! of the tokens it gives out.

use super::service_address::service_address;
use super::stored;
use crate::builders::Context;
use crate::builders::context::KUBERNETES_CA;
use crate::config::current::Section;
use quake_model::fault::{Code, Fault};
use quake_model::item::{AlternateName, File, IssuedPart, Item, Source, Subject, Usage};
use quake_model::step::Contents;
use std::collections::BTreeSet;

/// The certificates, keys and secrets below `/srv/kubernetes/kube-apiserver`.
pub(super) fn build(context: &Context<'_>) -> Result<Vec<Item>, Fault> {
    if !context.has_api_server() {
        return Ok(Vec::new());
    }
    let mut items = server(context)?;
    for (name, keyset, common_name) in CLIENTS {
        let subject = Subject::named(common_name);
        let order = context.order(name, keyset, subject, Usage::Client)?;
        items.extend(context.pair(order, &path(context, name)));
    }
    for (name, ca) in [
        ("etcd-ca.crt", "etcd-clients-ca"),
        ("apiserver-aggregator-ca.crt", "apiserver-aggregator-ca"),
    ] {
        let file = File::plain(&path(context, name), context.ca_bundle(ca)?);
        items.push(Item::File(file));
    }
    // Tokens that the API server once took from a file. kops makes none any more and no flag names the file; an empty one
    // takes the place of what an older node was left with.
    let tokens = File::plain(&path(context, "known_tokens.csv"), "").mode(0o600);
    items.push(Item::File(tokens));
    items.extend(service_accounts(context)?);
    items.extend(encryption(context)?);
    Ok(items)
}

/// Certificates it shows as a client, which are their files' names, too: name, who signs, common name. The aggregator's name
/// is the one that `--requestheader-allowed-names` allows.
const CLIENTS: &[(&str, &str, &str)] = &[
    ("etcd-client", "etcd-clients-ca", "kube-apiserver"),
    (
        "apiserver-aggregator",
        "apiserver-aggregator-ca",
        "aggregator",
    ),
    ("kubelet-api", KUBERNETES_CA, "kubelet-api"),
];

/// The name of the order for the serving certificate.
const SERVER: &str = "master";

fn path(context: &Context<'_>, name: &str) -> String {
    context.srv(&format!("kube-apiserver/{name}"))
}

fn section<'a>(context: &Context<'a>) -> Result<&'a Section, Fault> {
    let section = context.config.api_server.as_ref();
    section.ok_or_else(|| context.missing("APIServerConfig"))
}

/// The serving certificate. The CA follows it in the file: who federates with the cluster's token issuer takes the
/// CA's fingerprint from what the server sends.
fn server(context: &Context<'_>) -> Result<Vec<Item>, Fault> {
    let subject = Subject::named("kubernetes-master");
    let mut order = context.order(SERVER, KUBERNETES_CA, subject, Usage::Server)?;
    order.names = names(context)?;
    let [order, certificate, key] = context.pair(order, &path(context, "server"));
    let source = Source::Issued {
        order: SERVER.to_owned(),
        part: IssuedPart::Chain,
    };
    let certificate = certificate.map_file(|file| File { source, ..file });
    Ok(vec![order, certificate, key])
}

/// The names and addresses under which clients know the API server, each once.
fn names(context: &Context<'_>) -> Result<Vec<AlternateName>, Fault> {
    let section = section(context)?;
    let domain = super::cluster_domain(context)?;
    let mut names = vec![
        "kubernetes".to_owned(),
        "kubernetes.default".to_owned(),
        "kubernetes.default.svc".to_owned(),
        format!("kubernetes.default.svc.{domain}"),
    ];
    if let Some(api) = section.section("API") {
        names.extend(api.text("publicName").map(str::to_owned));
        names.extend(api.texts("additionalSANs").into_iter().map(str::to_owned));
    }
    names.push(context.api_internal_name());
    names.extend(context.config.api_server_additional_ips.iter().cloned());
    names.push(service_address(context)?.to_string());
    names.push("127.0.0.1".to_owned());
    let names = names.iter().map(|name| AlternateName::from_text(name));
    let names: BTreeSet<AlternateName> = names.collect();
    Ok(names.into_iter().collect())
}

/// The keys that tokens of service accounts are verified with, all generations of them, and the one they are signed with,
/// unless the spec names another file for that.
fn service_accounts(context: &Context<'_>) -> Result<Vec<Item>, Fault> {
    let section = section(context)?;
    let public = section.text("ServiceAccountPublicKeys");
    let public =
        public.ok_or_else(|| context.missing("APIServerConfig.ServiceAccountPublicKeys"))?;
    let public = File::plain(&path(context, "service-account.pub"), public).mode(0o600);
    let mut items = vec![Item::File(public)];
    let settings = section.section("KubeAPIServer");
    if !settings.is_some_and(|settings| settings.has("serviceAccountSigningKeyFile")) {
        let path = path(context, "service-account.key");
        items.push(Item::File(stored::key(context, "service-account", &path)?));
    }
    Ok(items)
}

/// How secrets are encrypted in etcd, where they are.
fn encryption(context: &Context<'_>) -> Result<Option<Item>, Fault> {
    const SECRET: &str = "encryptionconfig";
    let hash = section(context)?.text("EncryptionConfigSecretHash");
    if hash.is_none() {
        return Ok(None);
    }
    let secret = context.objects.secrets.get(SECRET).ok_or_else(|| {
        let summary = format!("the secret {SECRET} is not in the state store");
        Fault::new(Code::CredentialsMissing, summary).seen("secret", SECRET)
    })?;
    let source = Source::Bytes(Contents(secret.expose().clone()));
    let path = path(context, "encryptionconfig.yaml");
    Ok(Some(Item::File(File::secret(&path, source))))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::builders::keys::stored::tests::with_keyset;
    use crate::builders::sample::Sample;
    use crate::keyset::read_secret;
    use quake_model::item::CertificateOrder;

    use quake_model::spec::Role;
    use quake_model::step::Visibility;

    const KEYS: &str = "ApiserverAdditionalIPs: [10.0.0.7]\n\
                        Networking: {serviceClusterIPRange: 100.64.0.0/13}\n";

    fn sample(api_server: &str) -> Sample {
        let keys = format!(
            "{KEYS}APIServerConfig: {{ClusterDNSDomain: cluster.local, ServiceAccountPublicKeys: both, {api_server}}}\n"
        );
        let keysets = [
            KUBERNETES_CA,
            "etcd-clients-ca",
            "apiserver-aggregator-ca",
            "service-account",
        ];
        keysets
            .into_iter()
            .fold(Sample::control_plane(&keys), with_keyset)
    }

    fn order(sample: &Sample, name: &str) -> CertificateOrder {
        let mut orders = sample.all(build, Item::certificate).into_iter();
        orders
            .find(|order| order.name == name)
            .expect("it is ordered")
    }

    #[test]
    fn the_serving_certificate_has_every_name_once() {
        let sample = sample(
            "API: {publicName: api.c.example.com, additionalSANs: [lb.example.com, 10.0.0.7, kubernetes]}",
        );
        let mut wanted: Vec<AlternateName> = [
            "kubernetes",
            "kubernetes.default",
            "kubernetes.default.svc",
            "kubernetes.default.svc.cluster.local",
            "api.c.example.com",
            "api.internal.c.example.com",
            "lb.example.com",
            "10.0.0.7",
            "100.64.0.1",
            "127.0.0.1",
        ]
        .map(AlternateName::from_text)
        .into();
        wanted.sort();
        assert_eq!(order(&sample, SERVER).names, wanted);
    }

    #[test]
    fn tokens_are_verified_with_all_generations_and_signed_with_the_one_in_use() {
        let path = |name: &str| format!("/srv/kubernetes/kube-apiserver/service-account.{name}");
        let usual = sample("");
        assert_eq!(usual.file(build, &path("pub")), "both");
        assert_eq!(usual.file(build, &path("key")), "old key");
        let elsewhere = sample("KubeAPIServer: {serviceAccountSigningKeyFile: /my.key}");
        assert_eq!(elsewhere.find(build, &path("key")), None);
    }

    #[test]
    fn the_encryption_of_secrets_is_there_where_it_is_asked_for() {
        const PATH: &str = "/srv/kubernetes/kube-apiserver/encryptionconfig.yaml";
        assert_eq!(sample("").find(build, PATH), None);
        let mut sample = sample("EncryptionConfigSecretHash: abc");
        sample.assert_refused(
            build,
            Code::CredentialsMissing,
            ("secret", "encryptionconfig"),
        );
        let secret = read_secret("x", r#"{"Data":"a2luZA=="}"#).expect("a literal secret");
        let secrets = &mut sample.objects.secrets;
        secrets.insert("encryptionconfig".to_owned(), secret);
        assert_eq!(sample.file(build, PATH), "kind");
        let file = sample.file_at(build, PATH);
        assert_eq!(file.map(|file| file.visibility), Some(Visibility::Secret));
    }

    #[test]
    fn a_configuration_of_no_api_server_is_refused_by_its_key() {
        let sample = with_keyset(Sample::control_plane(KEYS), KUBERNETES_CA);
        sample.assert_refused(build, Code::ConfigMissingKey, ("path", "APIServerConfig"));
    }

    #[test]
    fn an_api_server_without_a_control_plane_has_the_same_keys_and_a_worker_none() {
        let mut sample = sample("");
        let wanted = sample.items(build);
        sample.boot.role = Role::ApiServer;
        assert_eq!(sample.items(build), wanted);
        sample.boot.role = Role::Worker;
        assert_eq!(sample.items(build), []);
    }
}
