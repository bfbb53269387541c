//! A cluster of kops' own tests in a region: its state store as kops wrote it, and user data as the kops CLI made it. Its
//! programs are stand-ins, so the configurations pin those, and user data pins the configurations.

use super::adapt;
use super::backend::MachineBackend;
use super::base::ran;
use super::hardware::Hardware;
use super::lab::Lab;
use super::layer::Layer;
use super::metadata::{Facts, REGION, ZONE};
use super::programs::{Programs, references};
use super::qemu::Emulated;
use super::vpc::{AWS, MIRROR, Vpc};
use crate::etcd_manager;
use crate::imds::{ACCESS_KEY_ID, SECRET_ACCESS_KEY};
use crate::node::archive;
use crate::skip::conformance;
use crate::tree::sha256;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use sha2::Digest as _;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;

/// The unit that the agent installs in nodeup's place.
pub const KOPS_UNIT: &str = "kops-configuration.service";

/// What kops' user data ends with.
pub const KOPS_INSTALL: &str =
    "cd /opt/kops/bin && ./nodeup --install-systemd-unit --conf=/opt/kops/conf/kube_env.yaml --v=8";

/// What stands in for a node's kubelet.
pub const KOPS_KUBELET: &str = concat!(
    include_str!("../../guest/registers.py"),
    include_str!("../../guest/kops_kubelet.py")
);
/// What stands in for its containerd.
pub const CONTAINERD: &str = include_str!("../../guest/containerd.py");

/// What stands in for containerd's client.
pub const CTR: &str = include_str!("../../guest/ctr.sh");

/// User data as kops 1.34 made it for another cluster; it lies in a state store, where Karpenter reads it.
const SCRIPT: &str = "karpenter/statestore/clusters.example.com/minimal.example.com/igconfig/node/karpenter-nodes-default/nodeupscript.sh";

/// Where the lines that are the cluster's own are in the script.
const DOCUMENT: (&str, &str) = (
    "cat > conf/kube_env.yaml << '__EOF_KUBE_ENV'\n",
    "\n__EOF_KUBE_ENV\n",
);

/// Where a node's binary is fetched from, and what it must be.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Nodeup {
    /// The URL, before kops' script adds what it adds.
    pub url: String,
    /// SHA-256 over the binary, in hexadecimal digits.
    pub sha256: String,
}

/// The cluster.
#[derive(Debug)]
pub struct Golden {
    vpc: Arc<Vpc>,
    corpus: PathBuf,
    case: String,
    /// What nodes run in the place of stand-ins.
    programs: Option<Programs>,
}

impl Golden {
    /// Publishes the state store of a case of kops' tests, and what its nodes pin. `None`, said aloud, where the data is
    /// not here.
    ///
    /// # Panics
    ///
    /// When it cannot be read or published.
    pub fn publish(vpc: &Arc<Vpc>, case: &str) -> Option<Self> {
        Self::publish_saying(vpc, case, |spec| spec)
    }

    /// The same with another completed spec of the cluster.
    ///
    /// # Panics
    ///
    /// As [`Golden::publish`].
    pub fn publish_saying(
        vpc: &Arc<Vpc>,
        case: &str,
        spec: impl Fn(String) -> String,
    ) -> Option<Self> {
        Self::publish_with(vpc, case, None, spec)
    }

    /// The same for nodes that run these programs, adapted to this region.
    ///
    /// # Panics
    ///
    /// As [`Golden::publish`].
    pub fn publish_for(vpc: &Arc<Vpc>, case: &str, programs: &Programs) -> Option<Self> {
        Self::publish_with(vpc, case, Some(programs.clone()), |spec| spec)
    }

    fn publish_with(
        vpc: &Arc<Vpc>,
        case: &str,
        programs: Option<Programs>,
        spec: impl Fn(String) -> String,
    ) -> Option<Self> {
        let golden = Self {
            vpc: Arc::clone(vpc),
            corpus: conformance("kops")?,
            case: case.to_owned(),
            programs,
        };
        let put = golden.put_store(spec);
        put.expect("the state store can be published");
        Some(golden)
    }

    fn folder(&self) -> PathBuf {
        self.corpus.join("cases").join(&self.case)
    }

    fn put_store(&self, spec: impl Fn(String) -> String) -> Result<(), String> {
        let store = self.folder().join("statestore");
        for path in super::base::sorted(&store) {
            let name = path
                .strip_prefix(&store)
                .map_err(|error| error.to_string())?;
            let name = name.to_string_lossy();
            let (bucket, key) = name.split_once('/').ok_or("a file beside the buckets")?;
            let mut bytes = std::fs::read(&path).map_err(|error| error.to_string())?;
            if name.ends_with("/nodeupconfig.yaml") {
                bytes = self.with_stand_ins(&text(bytes)?)?.into_bytes();
            }
            if name.ends_with("/cluster-completed.spec") {
                bytes = spec(text(bytes)?).into_bytes();
            }
            if self.programs.is_some() {
                bytes = adapt::file(&name, &text(bytes)?).into_bytes();
            }
            let put = self.vpc.ec2().moto().put_object(bucket, key, &bytes);
            put.map_err(|error| format!("{name}: {error}"))?;
        }
        Ok(())
    }

    /// The configuration with each asset of this processor replaced by its stand-in on the region's mirror.
    fn with_stand_ins(&self, config: &str) -> Result<String, String> {
        let mut lines = Vec::new();
        for line in config.lines() {
            let pin = line.trim_start().strip_prefix("- ");
            let pin = pin.and_then(|pin| pin.split_once("@https://"));
            match pin.filter(|(_, url)| url.contains("amd64")) {
                Some((_, urls)) => lines.push(format!("  - {}", self.serve(urls)?)),
                None => lines.push(line.to_owned()),
            }
        }
        Ok(lines.join("\n") + "\n")
    }

    /// Serves the stand-in for an asset of these URLs; its pin.
    fn serve(&self, urls: &str) -> Result<String, String> {
        let first = urls.split(',').next().unwrap_or_default();
        let (_, path) = first.split_once('/').ok_or("a URL without a path")?;
        let name = path.rsplit('/').next().unwrap_or_default();
        let given = self.programs.as_ref().and_then(|it| it.asset(name));
        let bytes = match (given, name) {
            (Some(given), _) => {
                std::fs::read(&given).map_err(|error| format!("{}: {error}", given.display()))?
            }
            (None, "kubelet") => KOPS_KUBELET.into(),
            (None, name) if name.starts_with("containerd-") => {
                let nothing = || b"#!/bin/sh\n".to_vec();
                archive(&[
                    ("bin/containerd", CONTAINERD.into()),
                    ("bin/containerd-shim-runc-v2", nothing()),
                    ("bin/ctr", CTR.into()),
                ])
                .map_err(|error| error.to_string())?
            }
            (None, _) => std::fs::read(self.corpus.join("assets").join(path))
                .map_err(|error| format!("{path}: {error}"))?,
        };
        let pin = format!("{}@{MIRROR}/{path}", sha256(&bytes));
        self.vpc.serve(&format!("/{path}"), bytes);
        Ok(pin)
    }

    /// The nodeup configuration of a group, which pins stand-ins.
    ///
    /// # Errors
    ///
    /// Says what cannot be read or served.
    pub fn config(&self, group: &str) -> Result<String, String> {
        let store = self.folder().join("statestore");
        let config = format!("{group}/nodeupconfig.yaml");
        let config = super::base::sorted(&store)
            .into_iter()
            .find(|path| path.ends_with(&config))
            .ok_or_else(|| format!("there is no {config}"))?;
        let config = self.with_stand_ins(&read(&config)?)?;
        Ok(match self.programs {
            Some(_) => adapt::region(&config),
            None => config,
        })
    }

    /// The images that the cluster's documents name.
    ///
    /// # Errors
    ///
    /// Says what cannot be read.
    pub fn images(&self) -> Result<BTreeSet<String>, String> {
        let mut found = BTreeSet::new();
        for path in super::base::sorted(&self.folder().join("statestore")) {
            found.extend(references(&read(&path)?));
        }
        Ok(found)
    }

    /// The directory of the cluster's CAs.
    pub fn ca_bundle(&self) -> PathBuf {
        self.corpus.join("ca")
    }

    /// The boot configuration of a group, with the hash of the configuration that pins stand-ins.
    fn kube_env(&self, group: &str) -> Result<String, String> {
        let kube_env = read(&self.folder().join("boot").join(group).join("kube_env.yaml"))?;
        let config = self.config(group)?;
        let hash = STANDARD.encode(sha2::Sha256::digest(config.as_bytes()));
        let lines = kube_env.lines().map(|line| match line.split_once(": ") {
            Some(("NodeupConfigHash", _)) => format!("NodeupConfigHash: {hash}"),
            _ => line.to_owned(),
        });
        Ok(lines.collect::<Vec<_>>().join("\n") + "\n")
    }

    /// The user data of a group as the kops CLI makes it: kops' own script, in which the binary's URL and
    /// hash, the boot configuration and the variables are this cluster's. The variables are those of a store that is not
    /// AWS' own, as kops passes them on.
    ///
    /// # Panics
    ///
    /// When kops' script is not what it was.
    fn user_data(&self, group: &str, nodeup: &Nodeup) -> String {
        let script = self.corpus.join("cases").join(SCRIPT);
        let script = std::fs::read_to_string(script).expect("the corpus has it");
        let set = |line: &str| match line.split_once('=') {
            Some(("NODEUP_URL_AMD64", _)) => format!("NODEUP_URL_AMD64={}", nodeup.url),
            Some(("NODEUP_HASH_AMD64", _)) => format!("NODEUP_HASH_AMD64={}", nodeup.sha256),
            // By the names of AWS, and with the instance's own role.
            Some(("export AWS_REGION", _)) if self.programs.is_some() => {
                format!("export AWS_REGION={REGION}")
            }
            Some(("export AWS_REGION", _)) => variables(),
            _ => line.to_owned(),
        };
        let script: Vec<String> = script.lines().map(set).collect();
        let script = script.join("\n") + "\n";
        let (before, rest) = script.split_once(DOCUMENT.0).expect("a here-document");
        let (_, after) = rest.split_once(DOCUMENT.1).expect("its end");
        let kube_env = self.kube_env(group).expect("the case has this group");
        [before, DOCUMENT.0, &kube_env, DOCUMENT.1, after].concat()
    }

    /// Launches an instance of this group, with user data by which the agent comes as nodeup.
    ///
    /// # Panics
    ///
    /// When the agent is not built, or cannot be packed.
    pub fn launch(&self, lab: &Lab, cluster: &str, group: &str) -> Facts {
        let binary = lab.base().agent().expect("the agent is built");
        self.launch_with(&binary, cluster, group)
    }

    /// The same with this binary as nodeup.
    ///
    /// # Panics
    ///
    /// When it cannot be packed.
    pub fn launch_with(&self, binary: &Path, cluster: &str, group: &str) -> Facts {
        let name = binary.file_name().unwrap_or_default().to_string_lossy();
        let path = format!("/linux/amd64/{name}");
        let nodeup = self.vpc.publish_nodeup(&path, binary);
        let user_data = self.user_data(group, &nodeup.expect("it can be packed"));
        let owned = format!("kubernetes.io/cluster/{cluster}");
        let mut tags = vec![
            ("KubernetesCluster", cluster),
            (owned.as_str(), "owned"),
            ("k8s.io/role/control-plane", "1"),
            ("kops.k8s.io/instancegroup", group),
        ];
        // kops-controller gives a node the labels that its instance's tags name, and takes others away.
        let labels = match group.starts_with("nodes") {
            true => &["node-role.kubernetes.io/node"][..],
            false => &[
                "node-role.kubernetes.io/control-plane",
                "kops.k8s.io/kops-controller-pki",
            ],
        };
        let labels = labels
            .iter()
            .map(|label| format!("k8s.io/cluster-autoscaler/node-template/label/{label}"));
        let labels: Vec<String> = labels.collect();
        tags.extend(labels.iter().map(|label| (label.as_str(), "")));
        self.vpc.launch(&tags, user_data.as_bytes())
    }

    /// Makes a free volume as kops makes it for one of these members of an etcd cluster; its id.
    pub fn add_volume(&self, cluster: &str, member: (&str, &str, &[&str])) -> String {
        etcd_manager::add_volume(self.vpc.ec2(), ZONE, cluster, member)
    }

    /// Boots this instance, whose cloud-init runs user data; it returns once kops' unit is installed.
    ///
    /// # Panics
    ///
    /// When it does not boot, or user data does not come to its end.
    pub fn boot(&self, lab: &Lab, facts: &Facts, layer: Layer) -> Emulated {
        let hardware = Hardware {
            cloud_init: true,
            ..Hardware::default()
        };
        let machine = lab.emulated(facts, layer, hardware);
        let installed =
            machine.comes_true(&format!("systemctl is-enabled --quiet {KOPS_UNIT}"), 90);
        assert!(installed, "user data runs: {}", machine.console());
        machine
    }
}

impl Vpc {
    /// Serves a binary at this path as a release of nodeup is published: whole, and packed by xz under `.xz`.
    ///
    /// # Errors
    ///
    /// Says why it cannot be read or packed.
    pub fn publish_nodeup(&self, path: &str, binary: &Path) -> Result<Nodeup, String> {
        let folder = tempfile::tempdir().map_err(|error| error.to_string())?;
        let packed = folder.path().join("nodeup.xz");
        let file = std::fs::File::create(&packed).map_err(|error| error.to_string())?;
        // The fastest level: it is unpacked once.
        ran(Command::new("sh")
            .args(["-c", "exec xz -0 --stdout \"$0\" > \"$1\""])
            .arg(binary)
            .arg(&packed))?;
        drop(file);
        let read = |path: &Path| std::fs::read(path).map_err(|error| error.to_string());
        let whole = read(binary)?;
        let nodeup = Nodeup {
            url: format!("{MIRROR}{path}"),
            sha256: sha256(&whole),
        };
        self.serve(path, whole);
        self.serve(&format!("{path}.xz"), read(&packed)?);
        Ok(nodeup)
    }
}

fn variables() -> String {
    [
        ("AWS_REGION", REGION),
        ("S3_ENDPOINT", AWS),
        ("S3_REGION", REGION),
        ("S3_ACCESS_KEY_ID", ACCESS_KEY_ID),
        ("S3_SECRET_ACCESS_KEY", SECRET_ACCESS_KEY),
    ]
    .map(|(name, value)| format!("export {name}={value}"))
    .join("\n")
}

fn text(bytes: Vec<u8>) -> Result<String, String> {
    String::from_utf8(bytes).map_err(|error| error.to_string())
}

fn read(path: &Path) -> Result<String, String> {
    let bytes = std::fs::read(path).map_err(|error| format!("{}: {error}", path.display()));
    text(bytes?)
}
