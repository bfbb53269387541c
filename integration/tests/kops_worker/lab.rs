//! A worker's surroundings: a namespace, its metadata service, the kops-controller of its cluster, and a scratch root.

use quake_integration::agent;
use quake_integration::ca::Ca;
use quake_integration::controller::{Controller, Served};
use quake_integration::http::Server;
use quake_integration::imds::{
    ACCESS_KEY_ID, Metadata, ROLE, SECRET_ACCESS_KEY, SESSION_TOKEN, TOKEN,
};
use quake_integration::namespace::{METADATA, Namespace};
use quake_integration::skip::{SetUpError, conformance, unless_missing};
use quake_integration::tree::{OWN, Tree};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::time::Duration;
use tempfile::TempDir;

/// The cluster whose worker is booted, of the conformance data.
pub(crate) const CASE: &str = "minimal-1.35";

/// What kops names its kops-controller.
const NAME: &str = "kops-controller.internal.minimal.example.com";

/// What kops names the API server of its cluster.
pub(crate) const API: &str = "api.internal.minimal.example.com";

/// The runtime's configuration of the pod network.
pub(crate) const CNI: &str = "etc/cni/net.d/10-containerd-net.conflist";

/// A registry's password, as it comes with the configuration.
pub(crate) const DOCKER_CONFIG: &str =
    r#"{"auths":{"registry.example":{"auth":"cGxhbnRlZDpwbGFudGVkLXBhc3N3b3Jk"}}}"#;

/// The text of it that is nowhere else.
const PASSWORD: &str = "cGxhbnRlZDpwbGFudGVkLXBhc3N3b3Jk";

/// The surroundings of one worker. Servers are dropped first, so that nothing listens in a namespace that is gone.
pub(crate) struct Lab {
    pub(crate) controller: Controller,
    pub(crate) metadata: Server,
    corpus: PathBuf,
    scratch: TempDir,
    hosts: Hosts,
    namespace: Arc<Namespace>,
}

/// How a lab differs from what kops makes.
#[derive(Default)]
pub(crate) struct Differs {
    /// Whether the cluster's CA is another than the user data trusts.
    pub(crate) has_other_ca: bool,
    /// What is put in the place of the server's URL in the user data, an indented list.
    pub(crate) servers: Option<String>,
    /// What is appended to the configuration that is served.
    pub(crate) appended: &'static str,
    /// The address of kops-controller's name, where it is not the one at which it listens.
    pub(crate) address: Option<&'static str>,
}

impl Lab {
    /// A worker as kops makes it; `None`, said aloud, where this machine lacks what it takes.
    pub(crate) fn open() -> Option<Self> {
        Self::with(&Differs::default())
    }

    pub(crate) fn with(differs: &Differs) -> Option<Self> {
        let corpus = conformance("kops")?;
        unless_missing(Self::make(corpus, differs))
    }

    fn make(corpus: PathBuf, differs: &Differs) -> Result<Self, SetUpError> {
        let namespace = Namespace::make()?;
        let wrong = |error: std::io::Error| SetUpError::Failed(error.to_string());
        let ca = match differs.has_other_ca {
            true => Ca::new()?,
            false => Ca::open(&corpus.join("ca/kubernetes-ca"))?,
        };
        let hosts = Hosts::write(&namespace, differs.address.unwrap_or("127.0.0.1"));
        let hosts = hosts.map_err(wrong)?;
        let identity: Value = serde_json::from_str(&read(&corpus.join("identity.json"))?)
            .map_err(|error| error.to_string())?;
        let part = |name: &str| identity[name].as_str().unwrap_or_default().to_owned();
        let served = Served {
            config: read(&nodeup_config(&corpus))? + differs.appended,
            secrets: BTreeMap::from([("dockerconfig".to_owned(), DOCKER_CONFIG.to_owned())]),
            node: part("instanceId"),
            address: part("privateIp"),
            region: part("region"),
            signs: ["kubelet", "kubelet-server", "kube-proxy"]
                .map(str::to_owned)
                .into(),
            names: vec![format!("DNS:{NAME}")],
            rest: Duration::ZERO,
        };
        let listener = namespace.listen("127.0.0.1:3988").map_err(wrong)?;
        let controller = Controller::start(listener, ca, served)?;
        let mut kube_env = read(
            &corpus
                .join("cases")
                .join(CASE)
                .join("boot/nodes/kube_env.yaml"),
        )?;
        if let Some(servers) = &differs.servers {
            let own = format!("  - https://{NAME}:3988/\n");
            assert!(kube_env.contains(&own), "{kube_env}");
            kube_env = kube_env.replace(&own, servers);
        }
        let service = metadata(&identity, &kube_env);
        let listener = namespace.listen(METADATA).map_err(wrong)?;
        let metadata = Server::on(listener, move |request| service.answer(request));
        let scratch = tempfile::tempdir().map_err(wrong)?;
        let etc = scratch.path().join("root/etc");
        std::fs::create_dir_all(&etc).map_err(wrong)?;
        let system = corpus.join("os-release/debian12/etc/os-release");
        let system = read(&system).unwrap_or_else(|_| "ID=debian\nVERSION_ID=\"12\"\n".to_owned());
        std::fs::write(etc.join("os-release"), system).map_err(wrong)?;
        // What the runtime makes of its template once kubelet told it of its range.
        let cni = scratch.path().join("root").join(CNI);
        std::fs::create_dir_all(cni.parent().unwrap_or(&etc)).map_err(wrong)?;
        std::fs::write(cni, r#"{"plugins": [{"type": "ptp"}]}"#).map_err(wrong)?;
        Ok(Self {
            controller,
            metadata: metadata.map_err(wrong)?,
            corpus,
            scratch,
            hosts,
            namespace: Arc::new(namespace),
        })
    }

    /// Where the node's files are.
    pub(crate) fn root(&self) -> PathBuf {
        self.scratch.path().join("root")
    }

    /// Where the instance is.
    pub(crate) fn namespace(&self) -> Arc<Namespace> {
        Arc::clone(&self.namespace)
    }

    /// A boot inside: the disks, the kernel, systemd and health are not real.
    pub(crate) fn boot(&self, more: &[&str]) -> Command {
        let more = [&["--exit-when-ready"], more].concat();
        self.boot_by(
            &self.corpus.join("assets"),
            "disks,kernel,units,probes",
            &more,
        )
    }

    /// A boot inside whose agent stays: kubelet's health and the API server are asked, too.
    pub(crate) fn boot_and_stay(&self, more: &[&str]) -> Command {
        self.boot_from(&self.corpus.join("assets"), more)
    }

    /// The same with the assets of this directory.
    pub(crate) fn boot_from(&self, assets: &Path, more: &[&str]) -> Command {
        self.boot_by(assets, "disks,kernel,units", more)
    }

    fn boot_by(&self, assets: &Path, simulated: &str, more: &[&str]) -> Command {
        let root = self.root();
        let plain = |path: &Path| path.to_str().expect("a plain name").to_owned();
        let (root, assets) = (plain(&root), plain(assets));
        let mut arguments = vec!["boot", "--root", &root, "--assets-dir", &assets];
        arguments.extend(["--simulate", simulated]);
        arguments.extend(["--output", "json", "--listen", "off", "--no-boot-report"]);
        arguments.extend(more);
        // A cluster's own proxy is for the rest of the world.
        let mut command = agent::command(&arguments);
        command.env("HTTPS_PROXY", "http://127.0.0.1:1");
        self.namespace.inside(&command)
    }

    /// The agent in the same network, as an operator runs it.
    pub(crate) fn elsewhere(&self, arguments: &[&str]) -> Command {
        self.namespace.inside(&agent::command(arguments))
    }

    /// The files of the node that the agent made, with what is in them; without what it keeps of a boot.
    pub(crate) fn tree(&self) -> Tree {
        Tree::new(&self.root(), OWN).expect("the root can be read")
    }

    /// Planted secrets that are in what the agent shows: in these texts, its ledgers or its status.
    pub(crate) fn leaks(&self, shown: &[&str]) -> Vec<String> {
        let mut texts: Vec<String> = shown.iter().map(|text| (*text).to_owned()).collect();
        for folder in ["var/lib/quake-agent/boots", "run/quake-agent"] {
            let folder = self.root().join(folder);
            for file in Tree::new(&folder, &[]).unwrap_or_default().files() {
                // What is no text, such as the socket, shows nothing.
                texts.push(std::fs::read_to_string(folder.join(file)).unwrap_or_default());
            }
        }
        let seen = self.controller.seen();
        let tokens = seen
            .iter()
            .filter_map(|request| request.header("authorization"));
        // The first words of a proof are the same in each, and nobody's secret.
        let mut secrets: Vec<String> = tokens
            .filter_map(|token| Some(token.get(60..100)?.to_owned()))
            .collect();
        for secret in [
            ACCESS_KEY_ID,
            SECRET_ACCESS_KEY,
            SESSION_TOKEN,
            TOKEN,
            PASSWORD,
        ] {
            secrets.push(secret.to_owned());
        }
        secrets.push("BEGIN PRIVATE KEY".to_owned());
        let lines = || texts.iter().flat_map(|text| text.lines());
        let mut leaks = Vec::new();
        for secret in secrets {
            let found = lines().filter(|line| line.contains(&secret));
            leaks.extend(found.map(|line| format!("{secret} in {line}")));
        }
        leaks
    }
}

impl Drop for Lab {
    fn drop(&mut self) {
        self.hosts.remove();
    }
}

/// The configuration that kops-controller reads for the group `nodes`.
pub(crate) fn nodeup_config(corpus: &Path) -> PathBuf {
    let store = corpus.join("cases").join(CASE).join("statestore");
    store.join("tests/minimal.example.com/igconfig/node/nodes/nodeupconfig.yaml")
}

fn read(path: &Path) -> Result<String, String> {
    std::fs::read_to_string(path).map_err(|error| format!("{}: {error}", path.display()))
}

/// The metadata service of the instance of the conformance data.
fn metadata(identity: &Value, kube_env: &str) -> Metadata {
    let mut document = identity.clone();
    document["version"] = json!("2017-09-30");
    let credentials = json!({
        "Code": "Success", "Type": "AWS-HMAC", "LastUpdated": "2020-01-01T00:00:00Z",
        "AccessKeyId": ACCESS_KEY_ID, "SecretAccessKey": SECRET_ACCESS_KEY, "Token": SESSION_TOKEN,
        "Expiration": "2099-01-01T00:00:00Z",
    });
    let user_data = format!(
        "#!/bin/bash\nset -o errexit\n\ncat > conf/kube_env.yaml << '__EOF_KUBE_ENV'\n{kube_env}\n__EOF_KUBE_ENV\n\ndownload-release\n"
    );
    let reported = |name: &str| identity[name].as_str().unwrap_or_default().to_owned();
    let paths = [
        (
            "dynamic/instance-identity/document".to_owned(),
            document.to_string(),
        ),
        (
            "meta-data/local-hostname".to_owned(),
            reported("localHostname"),
        ),
        ("meta-data/mac".to_owned(), reported("mac")),
        ("meta-data/local-ipv4".to_owned(), reported("privateIp")),
        (
            "meta-data/autoscaling/target-lifecycle-state".to_owned(),
            reported("targetLifecycleState"),
        ),
        (
            "meta-data/iam/security-credentials/".to_owned(),
            ROLE.to_owned(),
        ),
        (
            format!("meta-data/iam/security-credentials/{ROLE}"),
            credentials.to_string(),
        ),
        ("user-data".to_owned(), user_data),
    ];
    Metadata::with(paths.map(|(path, text)| (path, text.into_bytes())))
}

/// What a namespace takes for `/etc/hosts` (ip-netns(8)).
struct Hosts(PathBuf);

impl Hosts {
    fn write(namespace: &Namespace, address: &str) -> std::io::Result<Self> {
        let folder = Path::new("/etc/netns").join(namespace.name());
        std::fs::create_dir_all(&folder)?;
        let made = Self(folder);
        let text = format!("127.0.0.1 localhost\n{address} {NAME}\n127.0.0.1 {API}\n");
        std::fs::write(made.0.join("hosts"), text)?;
        // No name server: nothing is asked outside.
        std::fs::write(made.0.join("resolv.conf"), "")?;
        Ok(made)
    }

    fn remove(&self) {
        // One that stays is of a namespace that is gone.
        let _ = std::fs::remove_dir_all(&self.0);
    }
}
