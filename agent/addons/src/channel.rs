//! A channel: the list of add-ons that a cluster is to have.

use super::manifest::sha256_of_text;
use quake_formats::yaml::{self, Value, Yaml};
use quake_model::addon::AddonVersion;
use quake_model::fault::{Code, Fault};
use quake_model::location::Location;

/// A channel, read.
#[derive(Debug, Clone, PartialEq)]
pub struct Channel {
    pub location: Location,
    /// Its add-ons, in the order written; one name may occur several times, for several versions of Kubernetes.
    pub addons: Vec<Addon>,
    /// What of it is not read, and why: an unknown key (`config.unknown-key`), or an add-on that cannot be meant
    /// (`addons.channel-invalid`, with the add-on's name as evidence `addon` where it has one).
    pub warnings: Vec<Fault>,
}

/// An add-on, as a channel wants it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Addon {
    /// Its name, such as `coredns.addons.k8s.io`.
    pub name: String,
    /// The namespace that notes what was applied; `kube-system` unless the channel says another.
    pub namespace: String,
    /// Its channel's location, as it is noted.
    pub channel: String,
    pub manifest: Location,
    /// What tells this version from others.
    pub version: AddonVersion,
    /// The versions of Kubernetes that it is for, such as `>=1.6.0 <1.7.0`; `None` for all.
    pub kubernetes: Option<String>,
    /// What is removed when the manifest does not have it.
    pub prune: Vec<PruneKind>,
    /// Which nodes must be replaced when it changes.
    pub needs_rolling_update: Option<RollingUpdate>,
    /// Whether it wants a CA of its own, and an issuer of cert-manager that signs with it.
    pub needs_pki: bool,
}

/// Objects that are removed when the manifest does not have them.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct PruneKind {
    /// The group; empty for the core's.
    pub group: String,
    pub kind: String,
    /// The namespaces; none means all.
    pub namespaces: Vec<String>,
    pub labels: String,
    pub fields: String,
}

/// Which nodes must be replaced when an add-on changes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RollingUpdate {
    ControlPlane,
    Workers,
    All,
}

/// Reads a channel. An empty document has no add-ons. A document that is no channel, but a manifest, is a channel of the
/// one add-on `manifest-<12 digits of its location's hash>`, as to kops.
///
/// An add-on that cannot be meant is a warning: it holds up no other.
///
/// # Errors
///
/// `addons.channel-invalid` with line and column for what is no YAML, or has no list where the add-ons belong.
pub fn parse_channel(location: &Location, bytes: &[u8]) -> Result<Channel, Fault> {
    let source = location.to_string();
    let invalid = |fault: Fault| Fault {
        code: Code::AddonsChannelInvalid,
        ..fault
    };
    let text = yaml::as_text(&source, bytes).map_err(invalid)?;
    let documents = yaml::parse_all(&source, text).map_err(invalid)?;
    let mut documents = documents.iter().filter(|document| !document.is_empty());
    let mut channel = Channel {
        location: location.clone(),
        addons: Vec::new(),
        warnings: Vec::new(),
    };
    let Some(document) = documents.next() else {
        return Ok(channel);
    };
    if !is_channel(document) {
        channel.addons.push(of_manifest(location, text));
        return Ok(channel);
    }
    if let Some(second) = documents.next() {
        let summary = "a second document starts here, and a channel is one";
        channel
            .warnings
            .push(second.fault(&source, Code::ConfigUnknownKey, summary));
    }
    Reader {
        source: &source,
        channel: &mut channel,
    }
    .read(document)?;
    Ok(channel)
}

/// Channels have no `apiVersion`; the oldest may lack the kind.
fn is_channel(document: &Yaml) -> bool {
    let kind = document.text_of("kind").unwrap_or("Addons");
    kind == "Addons" && document.text_of("apiVersion").is_none() && !document.entries().is_empty()
}

fn of_manifest(location: &Location, text: &str) -> Addon {
    let channel = location.to_string();
    let name = sha256_of_text(&channel);
    Addon {
        name: format!("manifest-{}", &name[..12]),
        namespace: DEFAULT_NAMESPACE.to_owned(),
        channel,
        manifest: location.clone(),
        version: AddonVersion {
            manifest_hash: sha256_of_text(text.trim()),
            ..AddonVersion::default()
        },
        kubernetes: None,
        prune: Vec::new(),
        needs_rolling_update: None,
        needs_pki: false,
    }
}

const DEFAULT_NAMESPACE: &str = "kube-system";

/// The keys of an add-on. `selector` names the add-on's objects by label; kops reads it nowhere either.
const ADDON_KEYS: &[&str] = &[
    "name",
    "namespace",
    "selector",
    "manifest",
    "manifestHash",
    "kubernetesVersion",
    "id",
    "needsRollingUpdate",
    "needsPKI",
    "version",
    "prune",
];

const PRUNE_KEYS: &[&str] = &[
    "group",
    "kind",
    "namespaces",
    "labelSelector",
    "fieldSelector",
];

struct Reader<'a> {
    source: &'a str,
    channel: &'a mut Channel,
}

impl Reader<'_> {
    fn read(&mut self, document: &Yaml) -> Result<(), Fault> {
        self.keys(document, "", &["kind", "apiVersion", "metadata", "spec"]);
        let Some(spec) = document.get("spec") else {
            return Ok(());
        };
        self.keys(spec, "spec.", &["addons"]);
        let default_name = document
            .get("metadata")
            .and_then(|metadata| metadata.text_of("name"));
        let Some(addons) = spec.get("addons") else {
            return Ok(());
        };
        let Value::List(addons) = &addons.value else {
            let summary = format!("spec.addons is {}, and should be a list", addons.describe());
            return Err(addons.fault(self.source, Code::AddonsChannelInvalid, summary));
        };
        for addon in addons.iter().filter(|addon| !addon.is_empty()) {
            let name = addon.text_of("name").or(default_name);
            match self.addon(addon, name) {
                Ok(addon) => self.channel.addons.push(addon),
                Err(fault) => {
                    let fault = name
                        .into_iter()
                        .fold(fault, |fault, name| fault.seen("addon", name));
                    self.channel.warnings.push(fault);
                }
            }
        }
        Ok(())
    }

    /// Warns of keys that are none of these.
    fn keys(&mut self, map: &Yaml, path: &str, known: &[&str]) {
        let unknown = map
            .entries()
            .iter()
            .filter(|(key, _)| !known.contains(&key.name.as_str()));
        for (key, _) in unknown {
            let summary = format!("{path}{} is no key that is read here", key.name);
            let warning = key.fault(self.source, Code::ConfigUnknownKey, summary);
            self.channel.warnings.push(warning);
        }
    }

    fn addon(&mut self, addon: &Yaml, name: Option<&str>) -> Result<Addon, Fault> {
        let Value::Map(_) = addon.value else {
            let summary = format!("an add-on is {}, and should be a map", addon.describe());
            return Err(self.invalid(addon, summary));
        };
        let Some(name) = name else {
            return Err(self.invalid(addon, "an add-on has no name".to_owned()));
        };
        self.keys(addon, &format!("{name}: "), ADDON_KEYS);
        let Some(manifest) = self.text(addon, "manifest")? else {
            return Err(self.invalid(addon, format!("the add-on {name} names no manifest")));
        };
        let manifest = resolve(&self.channel.location, &manifest).map_err(|why| {
            let at = addon.get("manifest").unwrap_or(addon);
            self.invalid(at, format!("the manifest of the add-on {name}: {why}"))
        })?;
        let namespace = self.text(addon, "namespace")?;
        Ok(Addon {
            name: name.to_owned(),
            namespace: namespace.unwrap_or_else(|| DEFAULT_NAMESPACE.to_owned()),
            channel: self.channel.location.to_string(),
            manifest,
            version: AddonVersion {
                id: self.text(addon, "id")?.unwrap_or_default(),
                version: self.text(addon, "version")?.unwrap_or_default(),
                manifest_hash: self.text(addon, "manifestHash")?.unwrap_or_default(),
            },
            kubernetes: self.text(addon, "kubernetesVersion")?,
            prune: self.prune(addon, name)?,
            needs_rolling_update: self.rolling_update(addon, name)?,
            needs_pki: self.boolean(addon, "needsPKI")?,
        })
    }

    fn prune(&mut self, addon: &Yaml, name: &str) -> Result<Vec<PruneKind>, Fault> {
        let Some(prune) = addon.get("prune") else {
            return Ok(Vec::new());
        };
        self.keys(prune, &format!("{name}: prune."), &["kinds"]);
        let mut kinds = Vec::new();
        for kind in prune.items_of("kinds") {
            self.keys(kind, &format!("{name}: prune.kinds."), PRUNE_KEYS);
            let Some(of) = self.text(kind, "kind")? else {
                return Err(self.invalid(kind, format!("the add-on {name} prunes no kind here")));
            };
            let namespaces = kind.items_of("namespaces").iter().filter_map(Yaml::text);
            kinds.push(PruneKind {
                group: self.text(kind, "group")?.unwrap_or_default(),
                kind: of,
                namespaces: namespaces.map(str::to_owned).collect(),
                labels: self.text(kind, "labelSelector")?.unwrap_or_default(),
                fields: self.text(kind, "fieldSelector")?.unwrap_or_default(),
            });
        }
        Ok(kinds)
    }

    fn rolling_update(&self, addon: &Yaml, name: &str) -> Result<Option<RollingUpdate>, Fault> {
        const KEY: &str = "needsRollingUpdate";
        match self.text(addon, KEY)?.as_deref() {
            None => Ok(None),
            Some("control-plane") => Ok(Some(RollingUpdate::ControlPlane)),
            Some("workers") => Ok(Some(RollingUpdate::Workers)),
            Some("all") => Ok(Some(RollingUpdate::All)),
            Some(other) => {
                let at = addon.get(KEY).unwrap_or(addon);
                let summary = format!(
                    "{KEY} of the add-on {name} is {other:?}, and should be control-plane, workers or all"
                );
                Err(self.invalid(at, summary))
            }
        }
    }

    fn text(&self, map: &Yaml, key: &str) -> Result<Option<String>, Fault> {
        let Some(value) = map.get(key) else {
            return Ok(None);
        };
        match value.text() {
            Some(text) => Ok(Some(text.to_owned()).filter(|text| !text.is_empty())),
            None => {
                let summary = format!("{key} is {}, and should be a text", value.describe());
                Err(self.invalid(value, summary))
            }
        }
    }

    fn boolean(&self, map: &Yaml, key: &str) -> Result<bool, Fault> {
        let Some(value) = map.get(key) else {
            return Ok(false);
        };
        value.boolean().ok_or_else(|| {
            let summary = format!("{key} is {}, and should be true or false", value.describe());
            self.invalid(value, summary)
        })
    }

    fn invalid(&self, at: &Yaml, summary: String) -> Fault {
        at.fault(self.source, Code::AddonsChannelInvalid, summary)
    }
}

/// A manifest's place: a location, or one relative to the channel's as a URL reference is (RFC 3986, 5.2).
fn resolve(channel: &Location, reference: &str) -> Result<Location, String> {
    if reference.contains("://") {
        let location = reference.parse::<Location>();
        return location.map_err(|error| error.to_string());
    }
    let mut root = channel.clone();
    while root.key() != root.parent().key() {
        root = root.parent();
    }
    let folder = channel.parent();
    let mut segments: Vec<&str> = match reference.starts_with('/') {
        true => Vec::new(),
        false => folder
            .key()
            .split('/')
            .filter(|part| !part.is_empty())
            .collect(),
    };
    for segment in reference.split('/') {
        match segment {
            "" | "." => {}
            ".." => {
                let outside = || format!("{reference:?} leaves the store");
                segments.pop().ok_or_else(outside)?;
            }
            segment => segments.push(segment),
        }
    }
    Ok(root.join(&segments.join("/")))
}

/// An add-on for tests.
#[cfg(test)]
pub(super) fn sample(name: &str) -> Addon {
    let channel = "s3://b/c/addons/bootstrap-channel.yaml";
    let location: Location = channel.parse().expect("a literal");
    Addon {
        name: name.to_owned(),
        manifest: location.parent().join(name).join("k8s-1.12.yaml"),
        ..of_manifest(&location, "")
    }
}

#[cfg(test)]
mod tests;
