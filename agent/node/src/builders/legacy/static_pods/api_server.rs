//! kube-apiserver.

use super::{add_control_plane_paths, control_plane_pod};
use crate::builders::layout::{self, srv};
use crate::builders::legacy::conditions::{HEALTHZ, api_server_ports, api_server_probe};
use crate::builders::legacy::pod::{HostPath, StaticPod};
use crate::credentials::{ETCD_CLIENT, has_basic_auth, secures_kubelet};
use crate::plan_inputs::Credentials;
use quake_formats::flags::FlagSet;
use quake_model::spec::{ControlPlane, NodeSpec};

const NAME: &str = "kube-apiserver";

pub(super) fn pod(
    spec: &NodeSpec,
    control_plane: &ControlPlane,
    credentials: &Credentials,
) -> StaticPod {
    let component = &control_plane.api_server;
    let flags = flags(spec, control_plane, credentials);
    let mut pod = control_plane_pod(spec, NAME, component, &flags, "150m");
    // dns-controller publishes the node's addresses under these names.
    pod.annotations.push((
        "dns.alpha.kubernetes.io/internal",
        control_plane.internal_name.clone(),
    ));
    if let Some(name) = &control_plane.public_name {
        pod.annotations
            .push(("dns.alpha.kubernetes.io/external", name.clone()));
    }
    let (port, tls) = api_server_probe(spec, control_plane);
    // A first start on a small instance takes longer than etcd's; too short a delay kills it again and again.
    pod.live_at(HEALTHZ, port, tls, 45);
    let (secure, insecure) = api_server_ports(spec, control_plane);
    pod.ports = vec![("https", secure.into())];
    pod.ports
        .extend(insecure.map(|port| ("local", port.into())));
    add_paths(&mut pod, spec, &flags, credentials);
    pod
}

fn flags(spec: &NodeSpec, control_plane: &ControlPlane, credentials: &Credentials) -> FlagSet {
    let mut flags = FlagSet::from_spec(&control_plane.api_server.flags);
    flags.set("client-ca-file", srv("ca.crt"));
    flags.set("tls-cert-file", srv("server.cert"));
    flags.set("tls-private-key-file", srv("server.key"));
    flags.set("token-auth-file", srv("known_tokens.csv"));
    if has_basic_auth(spec) && credentials.secrets.contains_key("kube") {
        flags.set("basic-auth-file", srv("basic_auth.csv"));
    }
    if secures_kubelet(spec) {
        flags.set("kubelet-client-certificate", srv("kubelet-api.pem"));
        flags.set("kubelet-client-key", srv("kubelet-api-key.pem"));
    }
    if spec.kubernetes.at_least(1, 7) {
        flags.set("proxy-client-cert-file", srv("apiserver-aggregator.cert"));
        flags.set("proxy-client-key-file", srv("apiserver-aggregator.key"));
        if credentials.keypairs.contains_key("apiserver-aggregator-ca") {
            flags.set(
                "requestheader-client-ca-file",
                srv("apiserver-aggregator-ca.cert"),
            );
        }
    }
    if control_plane.encryption_config && spec.kubernetes.at_least(1, 7) {
        // The flag left its experiment in 1.13.
        let name = if spec.kubernetes.at_least(1, 13) {
            "encryption-provider-config"
        } else {
            "experimental-encryption-provider-config"
        };
        flags.set(name, srv("encryptionconfig.yaml"));
    }
    if credentials.keypairs.contains_key(ETCD_CLIENT) {
        let file = |name: &str| format!("{}/{name}", layout::API_SERVER_PKI);
        flags.set("etcd-cafile", file("etcd-ca.crt"));
        flags.set("etcd-certfile", file("etcd-client.crt"));
        flags.set("etcd-keyfile", file("etcd-client.key"));
        flags.set("etcd-servers", "https://127.0.0.1:4001");
        flags.set("etcd-servers-overrides", "/events#https://127.0.0.1:4002");
    }
    if spec.cloud_config.is_some() {
        flags.set("cloud-config", layout::CLOUD_CONFIG);
    }
    flags
}

fn add_paths(pod: &mut StaticPod, spec: &NodeSpec, flags: &FlagSet, credentials: &Credentials) {
    add_control_plane_paths(pod, spec);
    pod.read("srvsshproxy", "/srv/sshproxy");
    if credentials.keypairs.contains_key(ETCD_CLIENT) {
        pod.read("pki", layout::API_SERVER_PKI);
    }
    // The log is rotated by renaming, which needs its directory, not just the file; `-` is standard output.
    let audit = flags.get("audit-log-path").filter(|path| *path != "-");
    if let Some((directory, _)) = audit.and_then(|path| path.rsplit_once('/')) {
        // Even where another path stands there that is only read: kubelet then refuses the pod, and says why.
        pod.paths
            .push(HostPath::write("auditlogpathdir", directory));
    }
}
