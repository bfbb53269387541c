//! The boots of the conformance data, read as an engine would read them.

pub(crate) use crate::conformance::{conformance, folders};
pub(crate) use crate::instance::instance;
use flate2::read::GzDecoder;
use quake_model::digest::Digest;
use quake_model::facts::InstanceFacts;
use quake_model::fault::Fault;
use quake_model::location::Location;
use quake_model::spec::{AssetKind, AssetSpec};
use quake_node::builders::{Built, Context, LoginUser, Machine, Objects, WantedObject};
use quake_node::builders::{build, node_name, wanted_objects};
use quake_node::config::current::{
    BootConfig, NodeupConfig, Origin, read_boot_config, read_nodeup_config,
};
use quake_node::distribution::{Distribution, Project};
use quake_node::keyset::{KeyBundle, read_secret};
use serde_json::Value;
use std::collections::BTreeMap;
use std::fs;
use std::io::Read as _;
use std::path::{Path, PathBuf};

/// The tasks in a list of nodeup's, below the directory of lists; `None` where the data is absent.
pub(crate) fn tasks(list: &str) -> Option<Vec<Value>> {
    let path = conformance("kops/tasks")?.join(list);
    let text = fs::read_to_string(&path).expect("the list is there");
    let tasks = text.split("\n---\n").filter(|task| !task.trim().is_empty());
    let read = |task| serde_saphyr::from_str(task).expect("a task is YAML");
    Some(tasks.map(read).collect())
}

/// One boot of one instance group.
pub(crate) struct Boot {
    /// `<case>/<instance group>`.
    pub(crate) name: String,
    /// Where its documents are.
    pub(crate) folder: PathBuf,
    pub(crate) store: PathBuf,
}

/// All boots, sorted; none where the data is absent.
pub(crate) fn boots() -> Vec<Boot> {
    let Some(cases) = conformance("kops/cases") else {
        return Vec::new();
    };
    let mut found = Vec::new();
    for case in folders(&cases) {
        for folder in folders(&case.join("boot")) {
            found.push(Boot {
                name: format!("{}/{}", base_name(&case), base_name(&folder)),
                folder,
                store: case.join("statestore"),
            });
        }
    }
    found
}

/// The last part of a path.
pub(crate) fn base_name(path: &Path) -> String {
    let name = path.file_name().expect("a path has a last part");
    name.to_string_lossy().into_owned()
}

impl Boot {
    /// `kube_env.yaml`, without findings.
    pub(crate) fn boot_config(&self) -> BootConfig {
        let text =
            fs::read_to_string(self.folder.join("kube_env.yaml")).expect("the file is there");
        let (boot, findings) = read_boot_config("kube_env.yaml", &text)
            .unwrap_or_else(|fault| panic!("{}: {fault}", self.name));
        assert_eq!(findings, [], "{}", self.name);
        boot
    }

    /// The bytes of the nodeup configuration: from the store, or as kops-controller sends them, who has them from there.
    pub(crate) fn nodeup_config_bytes(&self, boot: &BootConfig) -> Vec<u8> {
        let base = match &boot.origin {
            Origin::Store(base) => base.clone(),
            Origin::Server(_) | Origin::Nowhere => self.base_of(&boot.cluster),
        };
        let location = boot.nodeup_config_location(&base);
        self.object(&location)
            .unwrap_or_else(|| panic!("{}: {location} is not there", self.name))
    }

    /// The nodeup configuration, without findings.
    pub(crate) fn nodeup_config(&self, bytes: &[u8], processor: &str) -> NodeupConfig {
        let text = std::str::from_utf8(bytes).expect("the configuration is text");
        let (config, findings) = read_nodeup_config("nodeupconfig.yaml", text, processor)
            .unwrap_or_else(|fault| panic!("{}: {fault} {:?}", self.name, fault.evidence));
        assert_eq!(findings, [], "{}", self.name);
        config
    }

    /// The directory of a cluster in the store.
    pub(crate) fn base_of(&self, cluster: &str) -> Location {
        let bucket = folders(&self.store)
            .into_iter()
            .find(|bucket| bucket.join(cluster).is_dir())
            .expect("a bucket holds the cluster");
        let text = format!("s3://{}/{cluster}", base_name(&bucket));
        text.parse().expect("it is a location")
    }

    /// An object of the store.
    pub(crate) fn object(&self, location: &Location) -> Option<Vec<u8>> {
        fs::read(self.store.join(location.bucket()).join(location.key())).ok()
    }

    /// The objects the node reads.
    pub(crate) fn objects(&self, boot: &BootConfig, config: &NodeupConfig) -> Objects {
        let mut objects = Objects::default();
        let there = |location: &Location| {
            let bytes = self.object(location);
            bytes.unwrap_or_else(|| panic!("{}: no {location}", self.name))
        };
        let text = |bytes| String::from_utf8(bytes).expect("it is text");
        for wanted in wanted_objects(boot, config) {
            match wanted {
                WantedObject::Keyset { name, location } => {
                    let bundle = KeyBundle::read(&location.to_string(), &text(there(&location)));
                    objects.keysets.insert(name, bundle.expect("a keyset"));
                }
                WantedObject::Secret { name, location, .. } => {
                    if let Some(bytes) = self.object(&location) {
                        let secret = read_secret(&location.to_string(), &text(bytes));
                        objects.secrets.insert(name, secret.expect("a secret"));
                    }
                }
                WantedObject::Cluster { location } => {
                    let found = self.object(&location).map(text);
                    objects.cluster = found.map(|text| (location, text));
                }
                WantedObject::Manifest { location } => {
                    objects.manifests.insert(location.clone(), there(&location));
                }
            }
        }
        objects
    }
}

/// Debian 12, on which all expectations were made.
pub(crate) const DEBIAN_12: Distribution = Distribution {
    project: Project::Debian,
    version: (12, 0),
};

/// All that a node's items follow from.
pub(crate) struct Node {
    pub(crate) boot: BootConfig,
    pub(crate) config: NodeupConfig,
    pub(crate) objects: Objects,
    pub(crate) instance: InstanceFacts,
    pub(crate) machine: Machine,
    pub(crate) distribution: Distribution,
    pub(crate) assets: Assets,
    pub(crate) members: BTreeMap<Digest, Vec<String>>,
}

impl Node {
    /// The node of a boot whose configuration is changed, on a machine as all expectations have it.
    pub(crate) fn of(boot: &Boot, processor: &str, change: impl Fn(String) -> String) -> Self {
        let there = boot.boot_config();
        let bytes = boot.nodeup_config_bytes(&there);
        let text = change(String::from_utf8(bytes).expect("the configuration is text"));
        let config = boot.nodeup_config(text.as_bytes(), processor);
        let assets = Assets::read(&config);
        let architecture = match processor {
            "amd64" => "x86_64",
            other => other,
        };
        Self {
            objects: boot.objects(&there, &config),
            boot: there,
            config,
            instance: InstanceFacts {
                architecture: architecture.to_owned(),
                ..instance()
            },
            machine: machine(),
            distribution: DEBIAN_12,
            members: assets.members(),
            assets,
        }
    }

    /// What `ask` makes of the node.
    pub(crate) fn with<T>(
        &self,
        ask: impl FnOnce(&Context<'_>) -> Result<T, Fault>,
    ) -> Result<T, Fault> {
        let context = Context {
            boot: &self.boot,
            config: &self.config,
            instance: &self.instance,
            machine: &self.machine,
            distribution: self.distribution,
            objects: &self.objects,
            members: &self.members,
            node_name: node_name(&self.config, &self.instance)?,
        };
        ask(&context)
    }

    /// What all builders make of it.
    pub(crate) fn built(&self) -> Vec<Built> {
        let built = self.with(build);
        built.unwrap_or_else(|fault| panic!("{}: {fault} {:?}", self.boot.cluster, fault.evidence))
    }
}

/// The machine that all expectations were made on.
pub(crate) fn machine() -> Machine {
    let root = LoginUser {
        name: "root".into(),
        home: "/root".into(),
    };
    Machine {
        login_users: BTreeMap::from([(root.name.clone(), root)]),
        interfaces: BTreeMap::from([("ens5".to_owned(), "02:00:00:00:00:01".to_owned())]),
        ..Machine::default()
    }
}

/// The stand-ins of the assets: the bytes of plain ones, and the files in archives.
#[derive(Default)]
pub(crate) struct Assets {
    /// Base names and bytes of the files, by the digest of the asset; a plain asset has one without a name.
    pub(crate) files: BTreeMap<Digest, BTreeMap<String, Vec<u8>>>,
}

impl Assets {
    /// Reads those that a configuration names.
    pub(crate) fn read(config: &NodeupConfig) -> Self {
        let root = conformance("kops/assets").expect("the stand-ins are beside the cases");
        let files = config.assets.iter().map(|asset| {
            let bytes = fs::read(root.join(path_of(asset)));
            let bytes = bytes.unwrap_or_else(|error| panic!("{}: {error}", asset.name));
            let files = match asset.kind {
                AssetKind::Plain => BTreeMap::from([(String::new(), bytes)]),
                AssetKind::Archive => unpack(&bytes),
            };
            (asset.digest.clone(), files)
        });
        Self {
            files: files.collect(),
        }
    }

    /// Base names of the files in each archive.
    pub(crate) fn members(&self) -> BTreeMap<Digest, Vec<String>> {
        let names = |files: &BTreeMap<String, Vec<u8>>| {
            let names = files.keys().filter(|name| !name.is_empty());
            names.cloned().collect::<Vec<_>>()
        };
        let all = self
            .files
            .iter()
            .map(|(digest, files)| (digest.clone(), names(files)));
        all.filter(|(_, names)| !names.is_empty()).collect()
    }
}

/// The path of the asset's first URL.
fn path_of(asset: &AssetSpec) -> &str {
    let url = asset.urls.first().expect("an asset has a URL");
    let (_, rest) = url.split_once("://").expect("a URL has a scheme");
    rest.split_once('/').expect("a URL has a path").1
}

/// The regular files of a tar archive that gzip compressed, by base name.
fn unpack(bytes: &[u8]) -> BTreeMap<String, Vec<u8>> {
    const BLOCK: usize = 512;
    let mut tar = Vec::new();
    GzDecoder::new(bytes)
        .read_to_end(&mut tar)
        .expect("it is gzip");
    let text = |field: &[u8]| {
        let end = field
            .iter()
            .position(|byte| *byte == 0)
            .unwrap_or(field.len());
        String::from_utf8_lossy(&field[..end]).trim().to_owned()
    };
    let (mut files, mut at) = (BTreeMap::new(), 0);
    while at + BLOCK <= tar.len() && tar[at] != 0 {
        let header = &tar[at..at + BLOCK];
        let size = usize::from_str_radix(&text(&header[124..136]), 8).expect("a size in octal");
        let start = at + BLOCK;
        if matches!(header[156], b'0' | 0) {
            let path = text(&header[..100]);
            let name = path.rsplit('/').next().unwrap_or_default().to_owned();
            files.insert(name, tar[start..start + size].to_vec());
        }
        at = start + size.div_ceil(BLOCK) * BLOCK;
    }
    files
}
