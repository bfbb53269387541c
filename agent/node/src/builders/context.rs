//! What a builder may know: the two documents, the machine, and what was read from the state store.

use super::machine::Machine;
use super::{Lifecycle, Objects, layout};
use crate::config::current::{BootConfig, NodeupConfig, Origin, Provider, Section};
use crate::distribution::Distribution;
use crate::plan_inputs::Keypair;
use quake_model::digest::Digest;
use quake_model::facts::InstanceFacts;
use quake_model::fault::{Code, Fault};
use quake_model::item::{CertificateOrder, File, IssuedPart, Issuer, Item, Kubeconfig, Source};
use quake_model::item::{Subject, Unit, Usage};
use quake_model::spec::{AssetKind, AssetSpec, Role};
use quake_model::step::Place;
use std::collections::BTreeMap;

pub(super) const KUBERNETES_CA: &str = "kubernetes-ca";

/// What a builder may know: all that was read and observed. Equal contexts yield equal items.
#[derive(Debug, Clone)]
pub struct Context<'a> {
    /// `kube_env.yaml`.
    pub boot: &'a BootConfig,
    pub config: &'a NodeupConfig,
    pub instance: &'a InstanceFacts,
    /// What else is known of the machine.
    pub machine: &'a Machine,
    pub distribution: Distribution,
    /// What was read from the state store, or sent by kops-controller.
    pub objects: &'a Objects,
    /// Base names of the files in each archive of the store; empty before the archives are there, and then builders leave
    /// out what is in them.
    pub members: &'a BTreeMap<Digest, Vec<String>>,
    /// The node's name in its cluster, as [`node_name`] makes it.
    pub node_name: String,
}

impl<'a> Context<'a> {
    /// Whether the node runs the control plane.
    pub fn is_control_plane(&self) -> bool {
        self.boot.role == Role::ControlPlane
    }

    /// Whether the node runs an API server, be it with the control plane or alone.
    pub fn has_api_server(&self) -> bool {
        matches!(self.boot.role, Role::ControlPlane | Role::ApiServer)
    }

    /// Whether it runs members of etcd: a control plane that serves.
    pub fn runs_etcd(&self) -> bool {
        self.is_control_plane() && !self.is_warming()
    }

    /// Whether the instance warms up for a pool.
    pub fn is_warming(&self) -> bool {
        self.machine.lifecycle == Lifecycle::Warming
    }

    /// Whether the cluster's pods have IPv6 addresses alone.
    pub fn is_ipv6_only(&self) -> bool {
        let cidr = self.config.network.non_masquerade_cidr.as_deref();
        cidr.is_some_and(|cidr| cidr.contains(':'))
    }

    /// Whether the pod network attaches interfaces of its own to the instance, so that kubelet must be told its address.
    pub fn uses_secondary_interfaces(&self) -> bool {
        match self.config.network.provider {
            Provider::AmazonVpc => true,
            Provider::Cilium { eni } => eni,
            Provider::Cni { secondary_ip } => secondary_ip,
            Provider::Unnamed
            | Provider::Calico { .. }
            | Provider::Flannel
            | Provider::KubeRouter
            | Provider::Kindnet => false,
        }
    }

    /// Whether containers are given GPUs: asked for, and there.
    pub fn runs_nvidia(&self) -> bool {
        let requested = self.config.nvidia.as_ref();
        requested.is_some_and(|nvidia| nvidia.is_set("enabled")) && self.machine.has_nvidia_gpu
    }

    /// Whether containers may run in gVisor: asked for, and on a worker.
    pub fn runs_gvisor(&self) -> bool {
        let requested = self.config.gvisor.as_ref();
        requested.is_some_and(|gvisor| gvisor.is_set("enabled")) && self.boot.role == Role::Worker
    }

    /// Whether the cluster's `authentication` has the `kind`.
    pub fn authenticates_by(&self, kind: &str) -> bool {
        let config = self.config.api_server.as_ref();
        let authentication = config.and_then(|config| config.section("Authentication"));
        authentication.is_some_and(|authentication| authentication.has(kind))
    }

    /// The API server's name inside the cluster's network.
    pub fn api_internal_name(&self) -> String {
        format!("api.internal.{}", self.config.cluster)
    }

    /// The API server as this node's components see it.
    pub fn api_server_url(&self) -> String {
        match self.has_api_server() {
            true => "https://127.0.0.1".to_owned(),
            false => format!("https://{}", self.api_internal_name()),
        }
    }

    /// A path below `/srv/kubernetes`.
    pub fn srv(&self, relative: &str) -> String {
        layout::srv(relative)
    }

    /// Where the unit file called `name` goes.
    pub fn unit_path(&self, name: &str) -> String {
        format!("{}/{name}", self.distribution.units())
    }

    /// A unit that runs and starts at boot, with its file.
    pub fn unit(&self, name: &str, text: String) -> Unit {
        Unit::running(name, &self.unit_path(name), text)
    }

    /// An image's name for this processor: kops writes them for amd64 (`RemapImage`).
    pub fn image(&self, name: &str) -> String {
        let processor = processor(&self.instance.architecture);
        name.replacen("-amd64", &format!("-{processor}"), 1)
    }

    /// The pinned files whose name `holds`.
    pub fn assets(&self, holds: impl Fn(&str) -> bool) -> Vec<&'a AssetSpec> {
        let assets = self.config.assets.iter();
        assets.filter(|asset| holds(&asset.name)).collect()
    }

    /// The one pinned file called `name`, put at `path`.
    pub fn place(&self, name: &str, path: &str) -> Result<Item, Fault> {
        let mut found = self.assets(|other| other == name);
        // Two pins of the same bytes are one asset.
        found.dedup_by(|a, b| a.digest == b.digest);
        let [asset] = found[..] else {
            return Err(self.no_asset(name));
        };
        Ok(program(&asset.digest, None, path.to_owned()))
    }

    /// The fault for a pinned file that the configuration lacks.
    pub fn no_asset(&self, name: &str) -> Fault {
        let summary = format!("{} pins not exactly one asset {name}", self.config.source);
        Fault::new(Code::ConfigMissingKey, summary)
            .seen("source", &self.config.source)
            .seen("path", "Assets")
            .seen("asset", name)
    }

    /// Files in archives whose base name `holds`, each with the archive's digest, sorted by name. Of two of one name the
    /// archive that the configuration names first wins.
    ///
    /// `None` before the archives are in the store: before all of them where none that is there has such a file.
    pub fn members(&self, holds: impl Fn(&str) -> bool) -> Option<Vec<(&'a Digest, &'a str)>> {
        let (config, members) = (self.config, self.members);
        if members.is_empty() {
            return None;
        }
        let mut found: BTreeMap<&str, &Digest> = BTreeMap::new();
        for asset in &config.assets {
            let names = members.get(&asset.digest).map_or(&[][..], Vec::as_slice);
            for name in names.iter().filter(|name| holds(name)) {
                found.entry(name).or_insert(&asset.digest);
            }
        }
        let mut archives = config
            .assets
            .iter()
            .filter(|asset| asset.kind == AssetKind::Archive);
        if found.is_empty() && archives.any(|asset| !members.contains_key(&asset.digest)) {
            return None;
        }
        let found = found.into_iter();
        Some(found.map(|(name, digest)| (digest, name)).collect())
    }

    /// The CAs called `name`, PEM, of all generations to trust.
    pub fn ca_bundle(&self, name: &str) -> Result<&'a str, Fault> {
        // A worker is told its cluster's CA by its user data: who sends the configuration could name another.
        if let (Origin::Server(server), KUBERNETES_CA) = (&self.boot.origin, name) {
            return Ok(&server.ca_bundle);
        }
        let found = self.config.ca_bundle.get(name).map(String::as_str);
        found.ok_or_else(|| self.missing(&format!("CAs.{name}")))
    }

    /// The id of the generation of the keyset `name` that signs.
    pub fn keypair_id(&self, name: &str) -> Result<&'a str, Fault> {
        let found = self.config.keypair_ids.get(name).map(String::as_str);
        let found = found.filter(|id| !id.is_empty());
        found.ok_or_else(|| self.missing(&format!("KeypairIDs.{name}")))
    }

    /// The fault for a key that the nodeup configuration lacks.
    pub fn missing(&self, path: &str) -> Fault {
        let summary = format!("{path} is not given");
        Fault::new(Code::ConfigMissingKey, summary)
            .seen("source", &self.config.source)
            .seen("path", path)
    }

    /// The fault of the value at `path` of the configuration, whose last word is a key of `section`.
    pub fn fault_at(&self, section: &Section, path: &str, code: Code, summary: String) -> Fault {
        let key = path.rsplit('.').next().unwrap_or(path);
        let place = section.node().get(key).unwrap_or(section.node());
        place
            .fault(&self.config.source, code, summary)
            .seen("path", path)
    }

    /// Who signs certificates of `keyset` for this node: itself where it has an API server and so the keys of CAs,
    /// else kops-controller.
    pub fn issuer(&self, keyset: &str) -> Result<Issuer, Fault> {
        let keypair_id = self.keypair_id(keyset)?.to_owned();
        let keyset = keyset.to_owned();
        Ok(match self.has_api_server() {
            true => Issuer::Ca { keyset, keypair_id },
            false => Issuer::Controller { keyset, keypair_id },
        })
    }

    /// A certificate that a CA of `keyset` signs, for no other names than its subject's.
    pub fn order(
        &self,
        name: &str,
        keyset: &str,
        subject: Subject,
        usage: Usage,
    ) -> Result<CertificateOrder, Fault> {
        Ok(CertificateOrder {
            name: name.to_owned(),
            issuer: self.issuer(keyset)?,
            subject,
            usage,
            names: Vec::new(),
        })
    }

    /// The keypair of `keyset` of the generation that the node was launched for, as the state store has it.
    pub fn keypair(&self, keyset: &str) -> Result<&'a Keypair, Fault> {
        let id = self.keypair_id(keyset)?;
        let bundle = self.objects.keysets.get(keyset).ok_or_else(|| {
            let summary = format!("the keyset {keyset} is not in the state store");
            Fault::new(Code::CredentialsMissing, summary).seen("keyset", keyset)
        })?;
        bundle.generation(id)
    }

    /// A client certificate of the cluster's CA and the kubeconfig around it, at `path`, readable by root alone.
    pub fn kubeconfig(&self, name: &str, subject: Subject, path: &str) -> Result<[Item; 2], Fault> {
        let order = self.order(name, KUBERNETES_CA, subject, Usage::Client)?;
        let file = File::secret(path, self.kubeconfig_of(name)?).mode(0o400);
        Ok([Item::Certificate(order), Item::File(file)])
    }

    /// The contents of a kubeconfig around the certificate that is ordered as `order`.
    pub fn kubeconfig_of(&self, order: &str) -> Result<Source, Fault> {
        Ok(Source::Kubeconfig(Kubeconfig {
            order: order.to_owned(),
            ca_bundle: self.ca_bundle(KUBERNETES_CA)?.to_owned(),
            server: self.api_server_url(),
        }))
    }

    /// A certificate that is ordered, and the files of its two parts: `<base>.crt`, 0644, and `<base>.key`, 0600.
    pub fn pair(&self, order: CertificateOrder, base: &str) -> [Item; 3] {
        let part = |part| Source::Issued {
            order: order.name.clone(),
            part,
        };
        let certificate = File {
            source: part(IssuedPart::Certificate),
            ..File::plain(&format!("{base}.crt"), "")
        };
        let key = File::secret(&format!("{base}.key"), part(IssuedPart::Key));
        [
            Item::Certificate(order),
            Item::File(certificate),
            Item::File(key),
        ]
    }
}

/// A program that is at `path`: the asset itself, or the file of its archive that is called `member`.
pub(super) fn program(asset: &Digest, member: Option<&str>, path: String) -> Item {
    Item::Program(Place {
        asset: asset.clone(),
        member: member.map(str::to_owned),
        path,
        mode: 0o755,
    })
}

/// What kops calls the processor that the instance's metadata calls `architecture`.
pub fn processor(architecture: &str) -> &str {
    match architecture {
        "x86_64" => "amd64",
        other => other,
    }
}

/// The node's name: its instance's id, or a name made of its address as EC2 made private DNS names.
///
/// # Errors
///
/// `config.unsupported` where the node's name is to be made of its address, and the subnet names hosts otherwise.
pub fn node_name(config: &NodeupConfig, instance: &InstanceFacts) -> Result<String, Fault> {
    if !config.whole.is_set("useIPBasedNodeNames") {
        return Ok(instance.instance_id.to_ascii_lowercase());
    }
    if instance.local_hostname.starts_with(&instance.instance_id) {
        let summary = "nodes are to be named by their addresses, and this subnet names hosts by their instances";
        return Err(Fault::new(Code::ConfigUnsupported, summary)
            .seen("path", "useIPBasedNodeNames")
            .seen("local-hostname", &instance.local_hostname));
    }
    let address = instance.private_ip.replace('.', "-");
    Ok(match instance.region.as_str() {
        "us-east-1" => format!("ip-{address}.ec2.internal"),
        region => format!("ip-{address}.{region}.compute.internal"),
    })
}
