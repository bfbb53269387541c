//! An instance's surroundings: namespace, metadata service, AWS endpoint, and a scratch root.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use quake_integration::agent;
use quake_integration::http::{Reply, Request, Server};
use quake_integration::imds::{
    ACCESS_KEY_ID, Metadata, SECRET_ACCESS_KEY, SESSION_TOKEN, TOKEN, identity_document, user_data,
};
use quake_integration::namespace::{METADATA, Namespace};
use quake_integration::node::{EXAMPLE, Mirrored, kube_env};
use quake_integration::skip::SetUpError;
use quake_integration::tree::{OWN, Tree};
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use tempfile::TempDir;

/// The bucket of the example's state store, and the cluster's key in it.
pub(crate) const BUCKET: &str = "quake-example-state";
pub(crate) const KEY: &str = "demo.quake.example";
/// The bucket of its assets.
pub(crate) const ASSETS: &str = "quake-example-assets";

/// The text between the lines of every planted private key.
const KEY_BODY: &str = "MIIPLANTEDPRIVATEKEY0123456789";

/// The surroundings of one instance.
pub(crate) struct Lab {
    /// Dropped first, so that nothing listens in a namespace that is gone.
    servers: Vec<Server>,
    scratch: TempDir,
    namespace: Arc<Namespace>,
    endpoint: String,
}

impl Lab {
    /// An instance whose AWS is at `aws`.
    ///
    /// # Errors
    ///
    /// Says what is missing here, or what failed.
    pub(crate) fn with_aws(
        aws: impl Fn(&Request) -> Reply + Send + Sync + 'static,
    ) -> Result<Self, SetUpError> {
        let namespace = Namespace::make()?;
        let wrong = |error: std::io::Error| format!("a listener inside cannot be made: {error}");
        let listener = namespace.listen("127.0.0.1:0").map_err(wrong)?;
        let server = Server::on(listener, aws).map_err(wrong)?;
        let endpoint = server.base();
        let scratch = tempfile::tempdir().map_err(|error| error.to_string())?;
        plant_os_release(scratch.path()).map_err(|error| error.to_string())?;
        Ok(Self {
            servers: vec![server],
            scratch,
            namespace: Arc::new(namespace),
            endpoint,
        })
    }

    /// Where the instance is.
    pub(crate) fn namespace(&self) -> Arc<Namespace> {
        Arc::clone(&self.namespace)
    }

    /// The URL of AWS, from inside.
    pub(crate) fn endpoint(&self) -> &str {
        &self.endpoint
    }

    /// Adds a metadata service.
    pub(crate) fn add_metadata(
        &mut self,
        answer: impl Fn(&Request) -> Reply + Send + Sync + 'static,
    ) {
        let listener = self
            .namespace
            .listen(METADATA)
            .expect("the address is on loopback");
        self.servers
            .push(Server::on(listener, answer).expect("the listener listens"));
    }

    /// Adds a component of the node that answers at this address.
    pub(crate) fn add_component(
        &mut self,
        address: &str,
        answer: impl Fn(&Request) -> Reply + Send + Sync + 'static,
    ) {
        let listener = self.namespace.listen(address);
        let listener = listener.expect("nobody else listens inside");
        let server = Server::on(listener, answer);
        self.servers.push(server.expect("the listener listens"));
    }

    /// How often AWS was asked for an object of the state store whose key begins so.
    pub(crate) fn objects_asked(&self, prefix: &str) -> usize {
        let path = format!("/{BUCKET}/{KEY}/{prefix}");
        let seen = self.servers[0].seen();
        let requested = seen.iter().filter(|one| one.path().starts_with(&path));
        requested.count()
    }

    /// Adds the metadata service of this instance, with user data of this group.
    pub(crate) fn add_instance(&mut self, instance: &str, group: &str, assets: &[String]) {
        let read = |name: &str| {
            std::fs::read_to_string(Path::new(EXAMPLE).join(name)).expect("the example is there")
        };
        let group_spec = read(&format!("instancegroup/{group}"));
        let text = user_data(
            &kube_env(group, assets),
            read("cluster.spec").trim_end(),
            group_spec.trim_end(),
        );
        let metadata = Metadata::new(instance, &text);
        self.add_metadata(move |request| metadata.answer(request));
    }

    /// Puts a simulated region with this instance and the volumes of its group where a boot finds it, but
    /// nothing of a node: a rehearsal elsewhere makes it.
    pub(crate) fn plant_region(&self, instance: &str, group: &str) {
        let elsewhere = self.scratch.path().join("elsewhere");
        let identity = self.scratch.path().join("identity.json");
        std::fs::write(&identity, identity_document(instance)).expect("the directory is ours");
        let plain = |path: &Path| {
            path.to_str()
                .expect("a temporary directory has a plain name")
                .to_owned()
        };
        let (root, identity) = (plain(&elsewhere), plain(&identity));
        let ended = agent::run(&[
            "rehearse",
            "--legacy-example",
            "--exit-when-ready",
            "--instance-group",
            group,
            "--identity",
            &identity,
            "--root",
            &root,
        ]);
        assert_eq!(ended.status, 0, "{}", ended.text());
        let region = "var/lib/quake-agent/rehearsal/region.json";
        let target = self.root().join(region);
        std::fs::create_dir_all(target.parent().expect("it has one"))
            .expect("the directory is ours");
        let kept = std::fs::read(elsewhere.join(region)).expect("the rehearsal kept its region");
        let mut kept: Value = serde_json::from_slice(&kept).expect("a region is JSON");
        forget_the_node(&mut kept);
        std::fs::write(target, kept.to_string()).expect("the directory is ours");
    }

    /// Every request that the metadata service saw, where there is one.
    pub(crate) fn metadata_requests(&self) -> usize {
        self.servers.get(1).map_or(0, |server| server.seen().len())
    }

    /// Where the node's files are.
    pub(crate) fn root(&self) -> PathBuf {
        self.scratch.path().join("root")
    }

    /// A boot inside; `simulated` are the parts of the machine that are not real.
    pub(crate) fn boot(&self, simulated: &str, more: &[&str]) -> Command {
        let root = self.root();
        let root = root
            .to_str()
            .expect("a temporary directory has a plain name");
        let mut arguments = vec![
            "boot",
            "--root",
            root,
            "--simulate",
            simulated,
            "--stand-in-credentials",
        ];
        arguments.extend(["--output", "json", "--listen", "off"]);
        arguments.extend(more);
        let mut command = agent::command(&arguments);
        command.env("AWS_ENDPOINT_URL", &self.endpoint);
        self.namespace.inside(&command)
    }

    /// The agent in the same network as an operator runs it, with credentials of their own.
    pub(crate) fn elsewhere(&self, arguments: &[&str]) -> Command {
        let mut command = agent::command(arguments);
        command.env("AWS_ENDPOINT_URL", &self.endpoint);
        command.env("AWS_REGION", "us-east-1");
        command.env("AWS_ACCESS_KEY_ID", ACCESS_KEY_ID);
        command.env("AWS_SECRET_ACCESS_KEY", SECRET_ACCESS_KEY);
        self.namespace.inside(&command)
    }

    /// Planted secrets that are in what the agent shows: in these texts, its ledgers or its status.
    pub(crate) fn leaks(&self, shown: &[&str]) -> Vec<String> {
        let mut texts: Vec<String> = shown.iter().map(|text| (*text).to_owned()).collect();
        for own in OWN {
            let folder = self.root().join(own);
            for file in Tree::new(&folder, &["store"]).unwrap_or_default().files() {
                // What is no text, such as the socket, shows nothing.
                texts.push(std::fs::read_to_string(folder.join(file)).unwrap_or_default());
            }
        }
        let encoded_key = encoded_key();
        let secrets = [
            ACCESS_KEY_ID,
            SECRET_ACCESS_KEY,
            SESSION_TOKEN,
            TOKEN,
            KEY_BODY,
            &encoded_key[..60],
        ];
        let mut leaks = Vec::new();
        for secret in secrets {
            for line in texts
                .iter()
                .flat_map(|text| text.lines())
                .filter(|line| line.contains(secret))
            {
                leaks.push(format!("{secret} in {line}"));
            }
        }
        leaks
    }
}

/// Says below the root which system this is, as any machine does.
fn plant_os_release(scratch: &Path) -> std::io::Result<()> {
    let etc = scratch.join("root/etc");
    std::fs::create_dir_all(&etc)?;
    std::fs::write(
        etc.join("os-release"),
        "ID=debian\nVERSION_ID=\"12\"\nVERSION_CODENAME=bookworm\n",
    )
}

/// The objects of the state store: the example's, and a keypair of each name.
pub(crate) fn objects(keypairs: &[&str]) -> Vec<(String, Vec<u8>)> {
    let mut objects = Vec::new();
    for name in [
        "cluster.spec",
        "instancegroup/control-plane",
        "instancegroup/workers",
    ] {
        let bytes = std::fs::read(Path::new(EXAMPLE).join(name)).expect("the example is there");
        objects.push((format!("{KEY}/{name}"), bytes));
    }
    for name in keypairs {
        let text = keyset(name).into_bytes();
        objects.push((
            format!("{KEY}/pki/private/{name}/keyset.yaml"),
            text.clone(),
        ));
        objects.push((format!("{KEY}/pki/issued/{name}/keyset.yaml"), text));
    }
    objects
}

/// Real programs of this machine under the names of a node's assets.
pub(crate) fn programs() -> Mirrored {
    Mirrored::programs().expect("this machine has programs")
}

/// A text that is searched for wherever it must not be.
fn private_key() -> String {
    format!("-----BEGIN RSA PRIVATE KEY-----\n{KEY_BODY}\n-----END RSA PRIVATE KEY-----\n")
}

/// The planted key as kubeconfigs and keysets carry it.
pub(crate) fn encoded_key() -> String {
    STANDARD.encode(private_key())
}

fn keyset(name: &str) -> String {
    let certificate =
        format!("-----BEGIN CERTIFICATE-----\nMIIC{name}\n-----END CERTIFICATE-----\n");
    keyset_of(name, &certificate, &private_key())
}

/// A keypair as the state store has it; both are PEM.
pub(crate) fn keyset_of(name: &str, certificate: &str, key: &str) -> String {
    let (certificate, key) = (STANDARD.encode(certificate), STANDARD.encode(key));
    format!(
        "apiVersion: kops/v1alpha2\nkind: Keyset\nmetadata:\n  name: {name}\nspec:\n  keys:\n  - id: \"1\"\n    publicMaterial: {certificate}\n    privateMaterial: {key}\n  type: Keypair\n"
    )
}

/// Undoes in a region what its rehearsal did: volumes are free again, nothing is mounted or started.
fn forget_the_node(region: &mut Value) {
    region["units"] = json!({});
    region["mounts"] = json!([]);
    region["inside"] = json!({});
    for contents in region["contents"]
        .as_object_mut()
        .expect("a region has volumes")
        .values_mut()
    {
        *contents = json!({ "kind": "blank" });
    }
    for volume in region["volumes"]
        .as_array_mut()
        .expect("a region has volumes")
    {
        volume["state"] = json!("available");
        volume["attachments"] = json!([]);
        let tags = volume["tags"].as_object_mut().expect("a volume has tags");
        tags.retain(|key, _| !key.starts_with("quake.io/"));
    }
}
