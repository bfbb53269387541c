//! Keys, certificates and token files of the API server and its neighbours, below `/srv/kubernetes`.
//!
//! nodeup left private keys readable by everyone (0644); here each is root's alone.

use super::layout;
use crate::credentials::{ETCD_CLIENT, ETCD_CLIENTS_CA, TOKENS, has_basic_auth};
use crate::plan_inputs::Credentials;
use quake_model::item::{File, Item, Source};
use quake_model::spec::{EtcdProvider, NodeSpec};
use quake_model::step::Contents;

/// Keypairs of a control plane: name in the state store, files of the certificate and of the key.
const CONTROL_PLANE: &[(&str, [&str; 2])] = &[
    ("master", ["server.cert", "server.key"]),
    (
        "apiserver-proxy-client",
        ["proxy-client.cert", "proxy-client.key"],
    ),
    ("apiserver-aggregator", AGGREGATOR),
    ("kubelet-api", ["kubelet-api.pem", "kubelet-api-key.pem"]),
];
const AGGREGATOR: [&str; 2] = ["apiserver-aggregator.cert", "apiserver-aggregator.key"];

/// The files, of those whose contents are known.
pub(crate) fn items(spec: &NodeSpec, credentials: &Credentials) -> Vec<Item> {
    let mut files = Files {
        credentials,
        items: Vec::new(),
    };
    files.certificate("ca", &layout::srv("ca.crt"));
    // Registries' passwords, where kubelet looks for them: below its `$HOME`.
    files.secret("dockerconfig", "/root/.docker/config.json");
    if spec.control_plane.is_some() {
        if spec.kubernetes.at_least(1, 6) {
            // The controller manager signs kubelets' certificates with it.
            files.key("ca", &layout::srv("ca.key"));
        }
        for (name, [certificate, key]) in CONTROL_PLANE {
            files.certificate(name, &layout::srv(certificate));
            files.key(name, &layout::srv(key));
        }
        files.certificate(
            "apiserver-aggregator-ca",
            &layout::srv("apiserver-aggregator-ca.cert"),
        );
        files.secret("encryptionconfig", &layout::srv("encryptionconfig.yaml"));
        files.tokens(spec);
        files.etcd_manager(spec);
    }
    files.items
}

struct Files<'a> {
    credentials: &'a Credentials,
    items: Vec<Item>,
}

impl Files<'_> {
    fn certificate(&mut self, name: &str, path: &str) {
        if let Some(keypair) = self.credentials.keypairs.get(name) {
            let file = File::plain(path, keypair.certificate.as_str());
            self.items.push(Item::File(file));
        }
    }

    fn key(&mut self, name: &str, path: &str) {
        let keypair = self.credentials.keypairs.get(name);
        if let Some(key) = keypair.and_then(|keypair| keypair.key.as_ref()) {
            self.write_secret(path, key.expose().as_bytes().to_vec());
        }
    }

    fn secret(&mut self, name: &str, path: &str) {
        if let Some(secret) = self.credentials.secrets.get(name) {
            self.write_secret(path, secret.expose().clone());
        }
    }

    fn write_secret(&mut self, path: &str, bytes: Vec<u8>) {
        let file = File::secret(path, Source::bytes(Contents(bytes)));
        self.items.push(Item::File(file));
    }

    /// The API server's static passwords and tokens.
    fn tokens(&mut self, spec: &NodeSpec) {
        if has_basic_auth(spec)
            && let Some(password) = self.token("kube")
        {
            let line = format!("{password},admin,admin,system:masters");
            self.write_secret(&layout::srv("basic_auth.csv"), line.into_bytes());
        }
        // Sorted: the file must not change, and restart things, from one run to the next.
        let lines: Vec<String> = TOKENS
            .iter()
            .filter_map(|name| {
                let token = self.token(name)?;
                // Clusters made by kops since 1.9 give the administrator's token its group.
                let group = if *name == "admin" && spec.kubernetes.at_least(1, 9) {
                    ",system:masters"
                } else {
                    ""
                };
                Some(format!("{token},{name},{name}{group}"))
            })
            .collect();
        self.write_secret(
            &layout::srv("known_tokens.csv"),
            lines.join("\n").into_bytes(),
        );
    }

    fn token(&self, name: &str) -> Option<String> {
        let secret = self.credentials.secrets.get(name)?;
        Some(String::from_utf8_lossy(secret.expose()).into_owned())
    }

    /// CAs of the clusters etcd-manager runs, and the API server's key to them.
    fn etcd_manager(&mut self, spec: &NodeSpec) {
        let managed = spec
            .etcd
            .iter()
            .filter(|cluster| cluster.provider == EtcdProvider::Manager);
        for cluster in managed {
            let directory = format!("/etc/kubernetes/pki/etcd-manager-{}", cluster.name);
            let ca_bundle = [
                (
                    format!("etcd-manager-ca-{}", cluster.name),
                    "etcd-manager-ca",
                ),
                (format!("etcd-peers-ca-{}", cluster.name), "etcd-peers-ca"),
                (ETCD_CLIENTS_CA.to_owned(), "etcd-clients-ca"),
            ];
            for (name, file) in ca_bundle {
                self.certificate(&name, &format!("{directory}/{file}.crt"));
                self.key(&name, &format!("{directory}/{file}.key"));
            }
        }
        if self.credentials.keypairs.contains_key(ETCD_CLIENT) {
            let path = |file: &str| format!("{}/{file}", layout::API_SERVER_PKI);
            self.certificate(ETCD_CLIENTS_CA, &path("etcd-ca.crt"));
            self.certificate(ETCD_CLIENT, &path("etcd-client.crt"));
            self.key(ETCD_CLIENT, &path("etcd-client.key"));
        }
    }
}
