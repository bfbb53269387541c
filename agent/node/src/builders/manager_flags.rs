//! What the manifests of etcd-manager say of its members: their pod, their volumes, their backups and their ports.

use quake_formats::tags::CLUSTER_TAG;
use quake_formats::yaml;
use quake_model::fault::Fault;
use quake_volumes::{CONTROL_PLANE_TAGS, member_tag};

/// What one manifest of etcd-manager says: its pod, and the flags that name volumes, backups and ports.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct ManagerFlags {
    pub(super) pod: Option<String>,
    /// `--volume-provider`.
    pub(super) provider: Option<String>,
    /// `--volume-name-tag`: the tag whose value names the member.
    pub(super) name_tag: Option<String>,
    /// `--volume-tag`, each a key or `key=value`.
    pub(super) tags: Vec<String>,
    /// `--backup-store`.
    pub(super) backup_store: Option<String>,
    /// `--cluster-name`: a member's name begins with it.
    pub(super) cluster_name: Option<String>,
    /// `--dns-suffix`: the name of a member's host ends with it.
    dns_suffix: Option<String>,
    /// `--client-urls`.
    client_urls: Option<String>,
    /// `--peer-urls`.
    peer_urls: Option<String>,
    /// `--grpc-port`: where etcd-manager's processes reach each other.
    grpc_port: Option<String>,
}

impl ManagerFlags {
    /// Reads the flags from the words of the pod's containers. Older manifests have one shell line.
    pub(super) fn read(source: &str, bytes: &[u8]) -> Result<Self, Fault> {
        let pod = yaml::parse_bytes(source, bytes)?;
        let containers = pod.get("spec").map(|spec| spec.items_of("containers"));
        let metadata = pod.get("metadata");
        let mut flags = Self {
            pod: metadata.and_then(|it| it.text_of("name").map(str::to_owned)),
            ..Self::default()
        };
        for container in containers.unwrap_or_default() {
            let words = ["command", "args"].map(|key| container.items_of(key));
            let words = words.into_iter().flatten().filter_map(yaml::Yaml::text);
            for (name, value) in words
                .flat_map(str::split_whitespace)
                .filter_map(|word| word.strip_prefix("--")?.split_once('='))
            {
                let value = value.to_owned();
                match name {
                    "volume-provider" => flags.provider = Some(value),
                    "volume-name-tag" => flags.name_tag = Some(value),
                    "volume-tag" => flags.tags.push(value),
                    "backup-store" => flags.backup_store = Some(value),
                    "cluster-name" => flags.cluster_name = Some(value),
                    "dns-suffix" => flags.dns_suffix = Some(value),
                    "client-urls" => flags.client_urls = Some(value),
                    "peer-urls" => flags.peer_urls = Some(value),
                    "grpc-port" => flags.grpc_port = Some(value),
                    _ => {}
                }
            }
        }
        Ok(flags)
    }

    /// The etcd cluster whose volumes these flags take; `None` for a pod that takes none of EC2.
    pub(super) fn etcd(&self) -> Option<&str> {
        let is_ec2 = self.provider.as_deref() == Some("aws");
        let name = self
            .name_tag
            .as_deref()?
            .strip_prefix(member_tag("").as_str())?;
        is_ec2.then_some(name)
    }

    /// A tag that these flags ask of a volume and kops does not put on the volumes of `etcd`; `None` where all agree.
    pub(super) fn unexpected_tag(&self, etcd: &str, cluster: &str) -> Option<&str> {
        let own = member_tag(etcd);
        let owned = format!("kubernetes.io/cluster/{cluster}=owned");
        let named = format!("{CLUSTER_TAG}={cluster}");
        let is_expected = |tag: &&String| {
            let of_role = CONTROL_PLANE_TAGS
                .iter()
                .any(|key| **tag == format!("{key}=1"));
            **tag == own || **tag == owned || **tag == named || of_role
        };
        self.tags
            .iter()
            .find(|tag| !is_expected(tag))
            .map(String::as_str)
    }

    /// The port on which the members answer clients.
    pub(super) fn client_port(&self) -> Option<u16> {
        port_of(self.client_urls.as_deref()?)
    }

    /// The ports on which the members, and etcd-manager's processes beside them, reach each other.
    pub(super) fn peer_ports(&self) -> Vec<u16> {
        let peers = self.peer_urls.as_deref().and_then(port_of);
        let grpc = self.grpc_port.as_deref();
        let grpc = grpc.and_then(|port| port.parse().ok());
        peers.into_iter().chain(grpc).collect()
    }

    /// The name of a member's host, as etcd-manager writes it into `/etc/hosts`: `etcd-a.internal.<cluster>`.
    pub(super) fn host_of(&self, member: &str) -> Option<String> {
        let name = self.cluster_name.as_deref()?;
        let suffix = self.dns_suffix.as_deref()?.trim_start_matches('.');
        Some(format!("{name}-{member}.{suffix}"))
    }
}

/// The port of the first of some URLs.
fn port_of(urls: &str) -> Option<u16> {
    let first = urls.split(',').next()?;
    let (_, port) = first.trim_end_matches('/').rsplit_once(':')?;
    port.parse().ok()
}
