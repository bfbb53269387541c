//! The members of etcd that etcd-manager runs, as its manifests say: their pods, their names, their ports, and what the
//! node shows to ask them.

use super::manager_flags::ManagerFlags;
use quake_model::expected::{ExpectedClient, ExpectedMember, ExpectedPod};
use quake_model::item::{File, Source};
use quake_model::spec::NodeSpec;

/// Completes each member of `members` whose manifest this node has.
pub(super) fn complete(members: &mut [ExpectedMember], spec: &NodeSpec) {
    for member in members {
        let mut clusters = spec.etcd.iter();
        let cluster = clusters.find(|cluster| cluster.name == member.cluster);
        let Some(path) = cluster.and_then(|cluster| cluster.manifest.as_deref()) else {
            continue;
        };
        if let Some(flags) = spec.file_at(path).and_then(flags_of) {
            complete_one(member, spec, path, flags);
        }
    }
}

fn complete_one(member: &mut ExpectedMember, spec: &NodeSpec, path: &str, flags: ManagerFlags) {
    let hosts = member.members.iter().map(|name| flags.host_of(name));
    member.hosts = hosts.collect::<Option<Vec<String>>>().unwrap_or_default();
    member.peer_ports = flags.peer_ports();
    let client = flags.client_port().zip(certificate(spec, &member.cluster));
    member.client = client.map(|(port, certificate)| client_of(port, certificate));
    member.pod = flags.pod.map(|name| ExpectedPod {
        name,
        manifest: path.to_owned(),
    });
}

fn client_of(port: u16, certificate: &str) -> ExpectedClient {
    let (folder, _) = certificate.rsplit_once('/').unwrap_or_default();
    let stem = certificate.trim_end_matches(".crt");
    ExpectedClient {
        port,
        certificate: certificate.to_owned(),
        key: format!("{stem}.key"),
        ca: format!("{folder}/etcd-ca.crt"),
    }
}

/// The certificate that a client of this etcd cluster shows: that of Cilium's agent for Cilium's own, and else that of the
/// API server.
fn certificate<'a>(spec: &'a NodeSpec, etcd: &str) -> Option<&'a str> {
    let name = match etcd {
        "cilium" => "/cilium/etcd-client-cilium.crt",
        _ => "/kube-apiserver/etcd-client.crt",
    };
    let mut paths = spec.files().map(|file| file.path.as_str());
    paths.find(|path| path.ends_with(name))
}

/// A manifest that cannot be read was refused when the spec was made.
fn flags_of(file: &File) -> Option<ManagerFlags> {
    match &file.source {
        Source::Bytes(contents) => ManagerFlags::read(&file.path, &contents.0).ok(),
        Source::Issued { .. } | Source::Kubeconfig(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_client_finds_its_key_and_its_ca_beside_its_certificate() {
        let client = client_of(4003, "/etc/kubernetes/pki/cilium/etcd-client-cilium.crt");
        assert_eq!(client.url(), "https://127.0.0.1:4003");
        assert_eq!(
            client.key,
            "/etc/kubernetes/pki/cilium/etcd-client-cilium.key"
        );
        assert_eq!(client.ca, "/etc/kubernetes/pki/cilium/etcd-ca.crt");
    }

    #[test]
    fn a_members_names_and_ports_are_those_of_its_manifest() {
        let manifest = "kind: Pod\nmetadata: {name: etcd-manager-cilium}\nspec:\n  containers:\n  - args:\n    - --client-urls=https://__name__:4003\n    - --cluster-name=etcd-cilium\n    - --dns-suffix=.internal.c.example.com\n    - --grpc-port=3991\n    - --peer-urls=https://__name__:2382\n";
        let path = "/etc/kubernetes/manifests/etcd-cilium-a.manifest";
        let flags = flags_of(&File::plain(path, manifest)).expect("it is a pod");
        assert_eq!(flags.client_port(), Some(4003));
        assert_eq!(flags.peer_ports(), [2382, 3991]);
        assert_eq!(flags.pod.as_deref(), Some("etcd-manager-cilium"));
        let host = flags.host_of("a");
        assert_eq!(
            host.as_deref(),
            Some("etcd-cilium-a.internal.c.example.com")
        );
    }
}
