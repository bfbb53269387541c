//! kube-apiserver's flags: those of the cluster's configuration, and those that only the node can know.

use super::api_server::AUTHENTICATION;
use crate::builders::Context;
use crate::config::current::Section;
use quake_formats::flags::FlagSet;

/// The flags of the API server that `section` of `config` describes.
pub(super) fn flags(context: &Context<'_>, config: &Section, section: &Section) -> FlagSet {
    let file = |name: &str| context.srv(&format!("kube-apiserver/{name}"));
    let mut flags = FlagSet::from_spec(&section.flags());
    // Tokens that keys of the operator's signed stay good.
    flags.add("service-account-key-file", [file("service-account.pub")]);
    for (name, path) in NODE_FILES {
        flags.set(name, file(path));
    }
    if !section.has("serviceAccountSigningKeyFile") {
        flags.set(
            "service-account-signing-key-file",
            file("service-account.key"),
        );
    }
    flags.set_default("client-ca-file", context.srv("ca.crt"));
    if config.text("EncryptionConfigSecretHash").is_some() {
        flags.set("encryption-provider-config", file("encryptionconfig.yaml"));
    }
    if context.authenticates_by("aws") {
        flags.set("authentication-token-webhook-config-file", AUTHENTICATION);
    }
    // The two exclude each other, and kops itself sets the newer.
    let plugins = flags.get("admission-control").map(str::to_owned);
    if let Some(plugins) = plugins {
        flags.remove("admission-control");
        flags.set("enable-admission-plugins", plugins);
    }
    if !context.is_control_plane() {
        reach_etcd_elsewhere(&mut flags, context, section);
    }
    identify_by_tokens(&mut flags, config);
    flags
}

/// Flags that name files of the node, and the files.
const NODE_FILES: &[(&str, &str)] = &[
    ("etcd-cafile", "etcd-ca.crt"),
    ("etcd-certfile", "etcd-client.crt"),
    ("etcd-keyfile", "etcd-client.key"),
    ("kubelet-client-certificate", "kubelet-api.crt"),
    ("kubelet-client-key", "kubelet-api.key"),
    ("proxy-client-cert-file", "apiserver-aggregator.crt"),
    ("proxy-client-key-file", "apiserver-aggregator.key"),
    (
        "requestheader-client-ca-file",
        "apiserver-aggregator-ca.crt",
    ),
    ("tls-cert-file", "server.crt"),
    ("tls-private-key-file", "server.key"),
];

/// An API server without a control plane has etcd not on its own node: etcd's names stand in `/etc/hosts`.
fn reach_etcd_elsewhere(flags: &mut FlagSet, context: &Context<'_>, section: &Section) {
    let elsewhere = |server: &str, etcd: &str| {
        let name = format!("{etcd}.etcd.internal.{}", context.config.cluster);
        server.replace("127.0.0.1", &name)
    };
    let servers = section.texts("etcdServers").into_iter();
    let servers: Vec<String> = servers.map(|server| elsewhere(server, "main")).collect();
    if !servers.is_empty() {
        flags.set("etcd-servers", servers.join(","));
    }
    let overrides = section.texts("etcdServersOverrides").into_iter();
    let overrides: Vec<String> = overrides
        .map(|rule| match rule {
            rule if rule.starts_with("/events") => elsewhere(rule, "events"),
            rule if rule.starts_with("coordination.k8s.io/leases") => elsewhere(rule, "leases"),
            rule => rule.to_owned(),
        })
        .collect();
    if !overrides.is_empty() {
        flags.set("etcd-servers-overrides", overrides.join(","));
    }
}

/// Flags of `authentication.oidc`: the key, and the flag.
const OIDC: &[(&str, &str)] = &[
    ("clientID", "oidc-client-id"),
    ("groupsPrefix", "oidc-groups-prefix"),
    ("issuerURL", "oidc-issuer-url"),
    ("usernameClaim", "oidc-username-claim"),
    ("usernamePrefix", "oidc-username-prefix"),
];

/// People may show tokens of an identity provider.
fn identify_by_tokens(flags: &mut FlagSet, config: &Section) {
    let authentication = config.section("Authentication");
    let provider = authentication.and_then(|all| all.section("oidc"));
    let Some(provider) = provider else { return };
    for (key, flag) in OIDC {
        if let Some(value) = provider.text(key) {
            flags.set(flag, value);
        }
    }
    let groups = provider.texts("groupsClaims");
    if !groups.is_empty() {
        flags.set("oidc-groups-claim", groups.join(","));
    }
    let claims = provider.map("requiredClaims");
    flags.add(
        "oidc-required-claim",
        claims
            .iter()
            .map(|(claim, value)| format!("{claim}={value}")),
    );
}

#[cfg(test)]
mod tests {
    use crate::builders::control_plane::api_server::build;
    use crate::builders::control_plane::static_pod::tests::{arguments, pod};
    use crate::builders::sample::Sample;
    use quake_model::spec::Role;

    const FILES: &str = "/srv/kubernetes/kube-apiserver";

    fn sample(api_server: &str, rest: &str) -> Sample {
        let keys = format!("APIServerConfig:\n  KubeAPIServer: {{image: i{api_server}}}\n{rest}");
        Sample::control_plane(&keys)
    }

    fn flags(sample: &Sample) -> Vec<String> {
        let pod = pod(sample, build, "kube-apiserver");
        let words = arguments(&pod).into_iter();
        words.map(str::to_owned).collect()
    }

    /// The values of a flag, in order.
    fn values<'a>(flags: &'a [String], name: &str) -> Vec<&'a str> {
        let start = format!("--{name}=");
        let found = flags.iter().filter_map(|flag| flag.strip_prefix(&start));
        found.collect()
    }

    /// A section of the API server, what stands beside it, a flag, and its values.
    const TABLE: &str = "\
        |  | secure-port | 443
        |  | client-ca-file | /srv/kubernetes/ca.crt
        clientCAFile: /a |  | client-ca-file | /a
        serviceAccountKeyFile: [/a, /b] |  | service-account-key-file | /a /b /srv/kubernetes/kube-apiserver/service-account.pub
        serviceAccountSigningKeyFile: /a |  | service-account-signing-key-file | /a
        |  | encryption-provider-config |
        | EncryptionConfigSecretHash: abc | encryption-provider-config | /srv/kubernetes/kube-apiserver/encryptionconfig.yaml
        | Authentication: {aws: {}} | authentication-token-webhook-config-file | /etc/kubernetes/authn.config
        admissionControl: [A, B] |  | admission-control |
        admissionControl: [A, B], enableAdmissionPlugins: [C] |  | enable-admission-plugins | A,B
    ";

    #[test]
    fn each_flag_is_the_configurations_unless_only_the_node_can_know_it() {
        for line in TABLE.lines().filter(|line| !line.trim().is_empty()) {
            let [section, beside, name, wanted] =
                line.split('|').map(str::trim).collect::<Vec<_>>()[..]
            else {
                panic!("{line}")
            };
            let beside = if beside.is_empty() {
                String::new()
            } else {
                format!("  {beside}\n")
            };
            let section = if section.is_empty() {
                String::new()
            } else {
                format!(", {section}")
            };
            let found = flags(&sample(&section, &beside));
            let wanted: Vec<&str> = wanted.split_whitespace().collect();
            assert_eq!(values(&found, name), wanted, "{line}");
        }
    }

    #[test]
    fn keys_and_certificates_are_the_nodes_own() {
        let found = flags(&sample(", tlsCertFile: /a, etcdCAFile: /b", ""));
        for (name, file) in super::NODE_FILES {
            assert_eq!(values(&found, name), [format!("{FILES}/{file}")], "{name}");
        }
    }

    const ETCD: &str = ", etcdServers: [\"https://127.0.0.1:4001\"], etcdServersOverrides: \
        [\"/events#https://127.0.0.1:4002\", \"coordination.k8s.io/leases#https://127.0.0.1:4003\", \"/pods#https://127.0.0.1:1\"]";

    #[test]
    fn an_api_server_without_a_control_plane_finds_etcd_by_its_names() {
        let mut sample = sample(ETCD, "");
        let own = flags(&sample);
        assert_eq!(values(&own, "etcd-servers"), ["https://127.0.0.1:4001"]);
        sample.boot.role = Role::ApiServer;
        let other = flags(&sample);
        let name = |etcd: &str| format!("https://{etcd}.etcd.internal.c.example.com");
        assert_eq!(
            values(&other, "etcd-servers"),
            [format!("{}:4001", name("main"))]
        );
        let wanted = format!(
            "/events#{}:4002,coordination.k8s.io/leases#{}:4003,/pods#https://127.0.0.1:1",
            name("events"),
            name("leases")
        );
        assert_eq!(values(&other, "etcd-servers-overrides"), [wanted]);
    }

    #[test]
    fn people_may_show_tokens_of_an_identity_provider() {
        let oidc = "  Authentication:\n    oidc: {clientID: c, issuerURL: \"https://i\", usernameClaim: u, usernamePrefix: \"p:\", \
            groupsClaims: [g, h], groupsPrefix: \"q:\", requiredClaims: {k: v, j: w}}\n";
        let found = flags(&sample(", oidcCAFile: /ca", oidc));
        for (name, wanted) in [
            ("oidc-ca-file", &["/ca"][..]),
            ("oidc-client-id", &["c"]),
            ("oidc-groups-claim", &["g,h"]),
            ("oidc-groups-prefix", &["q:"]),
            ("oidc-issuer-url", &["https://i"]),
            ("oidc-required-claim", &["j=w", "k=v"]),
            ("oidc-username-claim", &["u"]),
            ("oidc-username-prefix", &["p:"]),
        ] {
            assert_eq!(values(&found, name), wanted, "{name}");
        }
    }
}
