//! What is downloaded: generated files that look like a node's, and the list of what must come of them.

pub(crate) mod archive;
pub(crate) mod build;
pub(crate) mod node;
pub(crate) mod pool;

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::path::PathBuf;

/// How the bytes of an asset are wrapped.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Kind {
    Plain,
    /// A tar archive compressed with gzip.
    TarGz,
}

/// One file that must be on the disk in the end.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Content {
    /// Its name, inside the archive where there is one.
    pub(crate) path: String,
    /// Its size in bytes.
    pub(crate) size: u64,
    /// The hex digits of its sha256.
    pub(crate) sha256: String,
}

/// One file that is downloaded.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Asset {
    /// Its name, which is the last part of its URL.
    pub(crate) name: String,
    pub(crate) kind: Kind,
    /// Bytes on the wire.
    pub(crate) size: u64,
    /// The hex digits of the sha256 of what is on the wire.
    pub(crate) sha256: String,
    /// What must land: itself, or the members of the archive.
    pub(crate) contents: Vec<Content>,
}

/// The kind of node a workload is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Role {
    Worker,
    ControlPlane,
}

/// A set of assets, as generated.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Workload {
    /// Its name, such as `w1`.
    pub(crate) name: String,
    pub(crate) role: Role,
    pub(crate) assets: Vec<Asset>,
    /// Where the files are, below the directory that the server serves.
    pub(crate) folder: PathBuf,
}

impl Workload {
    /// Bytes on the wire.
    pub(crate) fn wire_bytes(&self) -> u64 {
        self.assets.iter().map(|asset| asset.size).sum()
    }

    /// Everything that must land.
    pub(crate) fn contents(&self) -> impl Iterator<Item = &Content> {
        self.assets.iter().flat_map(|asset| &asset.contents)
    }

    /// Bytes that must land.
    pub(crate) fn landing_bytes(&self) -> u64 {
        self.contents().map(|content| content.size).sum()
    }

    /// Whether its node boots from the configuration of today's kops.
    pub(crate) fn is_of_todays_kops(&self) -> bool {
        self.name == TODAYS
    }

    /// Compressed bytes on the wire.
    pub(crate) fn packed_bytes(&self) -> u64 {
        let packed = self.assets.iter().filter(|asset| asset.kind == Kind::TarGz);
        packed.map(|asset| asset.size).sum()
    }

    /// The sizes that contents of this workload have, by digest.
    pub(crate) fn by_digest(&self) -> BTreeMap<&str, &Content> {
        self.contents()
            .map(|content| (content.sha256.as_str(), content))
            .collect()
    }
}

/// How one asset is to be made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Recipe {
    /// One file of this many bytes.
    Plain { name: String, size: u64 },
    /// An archive of these members, together this many bytes before compression.
    Archive {
        name: String,
        members: Vec<String>,
        size: u64,
    },
    /// An archive of members of this size, as many as make a file of about this many bytes.
    Growing {
        name: String,
        member_size: u64,
        packed_size: u64,
    },
}

/// The plugins of the pod network, as their archive has them.
const PLUGINS: &[&str] = &[
    "bandwidth",
    "bridge",
    "dhcp",
    "dummy",
    "firewall",
    "flannel",
    "host-device",
    "host-local",
    "ipvlan",
    "loopback",
    "macvlan",
    "portmap",
    "ptp",
    "sample",
    "sbr",
    "static",
    "tap",
    "tuning",
    "vlan",
    "vrf",
];

/// The workload of a worker of today's kops.
pub(crate) const TODAYS: &str = "k1";

/// containerd's programs, as their archive has them.
const CONTAINERD: &[&str] = &[
    "bin/containerd",
    "bin/containerd-shim-runc-v2",
    "bin/containerd-stress",
    "bin/ctr",
];

/// docker's programs, as their archive has them.
const RUNTIME: &[&str] = &[
    "docker/docker",
    "docker/docker-containerd",
    "docker/docker-containerd-ctr",
    "docker/docker-containerd-shim",
    "docker/docker-init",
    "docker/docker-proxy",
    "docker/docker-runc",
    "docker/dockerd",
];

fn plain(name: &str, size: u64) -> Recipe {
    Recipe::Plain {
        name: name.to_owned(),
        size,
    }
}

fn archive_of(name: &str, members: &[&str], size: u64) -> Recipe {
    Recipe::Archive {
        name: name.to_owned(),
        members: members.iter().map(|name| (*name).to_owned()).collect(),
        size,
    }
}

/// A worker's set with these names for two of its files: the sizes of a real release's files.
fn worker(credential_provider: &str, plugins: &str, runtime: Recipe) -> Vec<Recipe> {
    vec![
        plain("kubelet", 58_400_000),
        plain("kubectl", 58_600_000),
        plain(credential_provider, 16_000_000),
        plain("runc.amd64", 12_600_000),
        archive_of(plugins, PLUGINS, 129_600_000),
        runtime,
    ]
}

/// The set of a worker of kops 1.15, with docker.
fn legacy_worker() -> Vec<Recipe> {
    let docker = archive_of("docker-18.06.3.tgz", RUNTIME, 95_000_000);
    worker(
        "ecr-credential-provider",
        "cni-plugins-amd64-v0.7.5.tgz",
        docker,
    )
}

/// The set of a worker of kops 1.36, with containerd.
fn todays_worker() -> Vec<Recipe> {
    let containerd = "containerd-2.2.4-linux-amd64.tar.gz";
    worker(
        "ecr-credential-provider-linux-amd64",
        "cni-plugins-linux-amd64-v1.6.2.tgz",
        archive_of(containerd, CONTAINERD, 95_000_000),
    )
}

/// The recipe of a workload by name: `k1`, `w1` to `w4`, or `COUNTxSIZE` such as `8x4000000`.
pub(crate) fn recipe(name: &str) -> Option<(Role, Vec<Recipe>)> {
    match name {
        TODAYS => Some((Role::Worker, todays_worker())),
        "w1" => Some((Role::Worker, legacy_worker())),
        "w2" => {
            let mut recipes = legacy_worker();
            recipes.push(plain("protokube", 100_300_000));
            Some((Role::ControlPlane, recipes))
        }
        "w3" => recipe("64x1000000"),
        "w4" => Some((
            Role::Worker,
            vec![Recipe::Growing {
                name: "huge.tar.gz".to_owned(),
                member_size: 160_000_000,
                packed_size: 1_000_000_000,
            }],
        )),
        _ => {
            let (count, size) = name.split_once('x')?;
            let (count, size) = (count.parse::<u32>().ok()?, size.parse().ok()?);
            let files = (0..count).map(|number| plain(&format!("file-{number:02}"), size));
            Some((Role::Worker, files.collect()))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_workers_of_both_generations_have_sets_of_one_size() {
        for name in ["w1", "k1"] {
            is_a_workers_set(name);
        }
    }

    fn is_a_workers_set(name: &str) {
        let (role, recipes) = recipe(name).expect("it is a workload");
        assert_eq!((role, recipes.len()), (Role::Worker, 6));
        let landing: u64 = recipes
            .iter()
            .map(|recipe| match recipe {
                Recipe::Plain { size, .. } | Recipe::Archive { size, .. } => *size,
                Recipe::Growing { .. } => 0,
            })
            .sum();
        assert_eq!(landing, 370_200_000);
    }

    #[test]
    fn a_set_of_equal_files_is_named_by_count_and_size() {
        let (_, recipes) = recipe("3x500").expect("it is a workload");
        assert_eq!(recipes.len(), 3);
        assert_eq!(recipes[0], plain("file-00", 500));
        assert_eq!(recipe("w9"), None);
    }
}
