//! What the manifests of etcd-manager say of its members: their pod, their volumes, their backups and their ports.

use quake_formats::tags::CLUSTER_TAG;
use quake_formats::yaml;
use quake_model::fault::Fault;
use quake_model::location::Location;
use quake_volumes::{CONTROL_PLANE_TAGS, member_tag};
use std::collections::BTreeMap;

/// What one manifest of etcd-manager says: its pod, and the flags of its containers.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct ManagerFlags {
    pub(super) pod: Option<String>,
    /// `--volume-tag`, each a key or `key=value`.
    tags: Vec<String>,
    /// All others by their names, the last of each.
    flags: BTreeMap<String, String>,
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
                if name == "volume-tag" {
                    flags.tags.push(value);
                } else {
                    flags.flags.insert(name.to_owned(), value);
                }
            }
        }
        Ok(flags)
    }

    fn flag(&self, name: &str) -> Option<&str> {
        self.flags.get(name).map(String::as_str)
    }

    /// The etcd cluster whose volumes these flags take; `None` for a pod that takes none of EC2.
    pub(super) fn etcd(&self) -> Option<&str> {
        let is_ec2 = self.flag("volume-provider") == Some("aws");
        // The tag whose value names the member.
        let tag = self.flag("volume-name-tag")?;
        let name = tag.strip_prefix(member_tag("").as_str())?;
        is_ec2.then_some(name)
    }

    /// A tag that these flags ask of a volume and kops does not put on the volumes of `etcd`; `None` where all agree.
    pub(super) fn unexpected_tag(&self, etcd: &str, cluster: &str) -> Option<&str> {
        let own = member_tag(etcd);
        let owned = format!("kubernetes.io/cluster/{cluster}=owned");
        let named = format!("{CLUSTER_TAG}={cluster}");
        let mut expected = vec![own, owned, named];
        expected.extend(CONTROL_PLANE_TAGS.iter().map(|key| format!("{key}=1")));
        let mut tags = self.tags.iter();
        let found = tags.find(|tag| !expected.contains(tag));
        found.map(String::as_str)
    }

    /// Where etcd-manager itself looks for backups.
    pub(super) fn backup_store(&self) -> Option<Location> {
        let store = self.flag("backup-store")?;
        store.trim_end_matches('/').parse().ok()
    }

    /// The port on which the members answer clients.
    pub(super) fn client_port(&self) -> Option<u16> {
        port_of(self.flag("client-urls")?)
    }

    /// The ports on which the members, and etcd-manager's processes beside them, reach each other.
    pub(super) fn peer_ports(&self) -> Vec<u16> {
        let peers = self.flag("peer-urls").and_then(port_of);
        let grpc = self.flag("grpc-port");
        let grpc = grpc.and_then(|port| port.parse().ok());
        peers.into_iter().chain(grpc).collect()
    }

    /// The name of a member's host, as etcd-manager writes it into `/etc/hosts`: `etcd-a.internal.<cluster>`.
    pub(super) fn host_of(&self, member: &str) -> Option<String> {
        let name = self.flag("cluster-name")?;
        let suffix = self.flag("dns-suffix")?.trim_start_matches('.');
        Some(format!("{name}-{member}.{suffix}"))
    }
}

/// The port of the first of some URLs.
fn port_of(urls: &str) -> Option<u16> {
    let first = urls.split(',').next()?;
    let (_, port) = first.trim_end_matches('/').rsplit_once(':')?;
    port.parse().ok()
}
