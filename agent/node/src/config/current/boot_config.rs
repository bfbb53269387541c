//! `kube_env.yaml` since kops 1.22: who the node is, and where its configuration is.

use super::SCHEMA;
use crate::config::node_path::has_plain_letters;
use crate::config::reader::{location, missing, role, texts};
use crate::config::validate::{self, tolerate, validate};
use quake_formats::yaml::{Yaml, parse};
use quake_model::fault::{Code, Fault};
use quake_model::location::Location;
use quake_model::spec::Role;

/// What `kube_env.yaml` says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BootConfig {
    /// The file name or URL it was read from.
    pub source: String,
    pub cluster: String,
    pub instance_group: String,
    /// What the node is in its cluster.
    pub role: Role,
    /// Where the nodeup configuration is.
    pub origin: Origin,
    /// The API server's addresses, where the cluster has no DNS.
    pub api_server_ips: Vec<String>,
    /// Addresses of etcd, for an API server without one, where the cluster has no DNS.
    pub etcd_ips: Vec<String>,
    /// The hash the nodeup configuration must have: base64 of a SHA-256. kops before 1.22 gives none.
    pub config_hash: Option<String>,
}

/// Where the nodeup configuration comes from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Origin {
    /// The state store, whose base this is.
    Store(Location),
    /// kops-controller on the control plane.
    Server(ConfigServer),
    /// Nowhere: a bastion needs none.
    Nowhere,
}

/// How kops-controller is reached.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConfigServer {
    pub servers: Vec<String>,
    /// The name its certificate must have, where it is not the URL's.
    pub tls_server_name: Option<String>,
    /// The CAs to trust, PEM; all generations.
    pub ca_bundle: String,
}

/// All roles, as an instance group may have them.
pub const ROLES: [Role; 4] = [
    Role::ControlPlane,
    Role::ApiServer,
    Role::Worker,
    Role::Bastion,
];

/// How kops writes a role, and the directory below `igconfig/` that holds its groups.
fn role_words(role: Role) -> (&'static str, &'static str) {
    match role {
        Role::ControlPlane => ("ControlPlane", "control-plane"),
        Role::ApiServer => ("APIServer", "apiserver"),
        Role::Worker => ("Node", "node"),
        Role::Bastion => ("Bastion", "bastion"),
    }
}

/// The directory below `igconfig/` that holds the groups of a role.
pub fn role_directory(role: Role) -> &'static str {
    role_words(role).1
}

/// The name of a role as kops writes it.
pub(super) fn role_name(role: Role) -> &'static str {
    role_words(role).0
}

/// The role that kops writes as `text`.
pub(super) fn role_of(text: &str) -> Option<Role> {
    if text == "Master" {
        // What kops wrote before 1.25.
        return Some(Role::ControlPlane);
    }
    ROLES.into_iter().find(|role| role_name(*role) == text)
}

impl BootConfig {
    /// Where in the state store the nodeup configuration is, which for a node that asks kops-controller only the
    /// control plane may read.
    pub fn nodeup_config_location(&self, base: &Location) -> Location {
        base.join("igconfig")
            .join(role_directory(self.role))
            .join(&self.instance_group)
            .join("nodeupconfig.yaml")
    }
}

/// Keys that only this generation's `kube_env.yaml` has: `InstanceGroupRole` since kops 1.19, `ConfigServer` and `CloudProvider`
/// since 1.21, `NodeupConfigHash` since 1.22 (`pkg/apis/nodeup/config.go` of those tags).
pub(in crate::config) const MARKS: &[&str] = &[
    "NodeupConfigHash",
    "ConfigServer",
    "CloudProvider",
    "InstanceGroupRole",
];

/// Whether a `kube_env.yaml` is of this kops generation and not of the older one.
pub fn is_boot_config(root: &Yaml) -> bool {
    MARKS.iter().any(|mark| root.has(mark))
}

/// Reads `kube_env.yaml`; the faults beside it are findings that stop nothing.
///
/// # Errors
///
/// `config.yaml-syntax`, `config.yaml-too-large`, `config.wrong-type`; `config.missing-key` for the names, the role,
/// and a node that is told neither of the state store nor of kops-controller; `config.unknown-role`,
/// `config.location-unusable`; `config.unsupported` for another cloud. Each with `source`, line and column.
pub fn read_boot_config(source: &str, text: &str) -> Result<(BootConfig, Vec<Fault>), Fault> {
    let root = parse(source, text)?;
    let findings = tolerate(validate(&SCHEMA, source, &root, "BootConfig"))?;
    let reader = Reader {
        source,
        root: &root,
    };
    Ok((reader.read()?, findings))
}

/// Everything wrong with a `kube_env.yaml` that was read as YAML, errors and findings alike.
pub(super) fn survey(source: &str, root: &Yaml) -> Vec<Fault> {
    let reader = Reader { source, root };
    let read = || reader.read();
    validate::survey((&SCHEMA, "BootConfig"), source, root, read)
}

struct Reader<'a> {
    source: &'a str,
    root: &'a Yaml,
}

impl Reader<'_> {
    fn read(&self) -> Result<BootConfig, Fault> {
        self.on_aws()?;
        let key = "InstanceGroupRole";
        let role = role(self.source, (self.root, key, key), role_of)?;
        Ok(BootConfig {
            source: self.source.to_owned(),
            cluster: self.name("ClusterName")?,
            instance_group: self.name("InstanceGroupName")?,
            role,
            origin: self.origin(role)?,
            api_server_ips: texts(self.root, "APIServerIPs"),
            etcd_ips: texts(self.root, "EtcdIPs"),
            config_hash: self.root.text_of("NodeupConfigHash").map(str::to_owned),
        })
    }

    fn missing(&self, key: &str) -> Fault {
        missing(self.source, self.root, key)
    }

    fn on_aws(&self) -> Result<(), Fault> {
        match self.root.get("CloudProvider") {
            Some(node) if node.text() != Some("aws") => {
                let cloud = node.text().unwrap_or_default();
                let summary =
                    format!("nodes of the cloud {cloud} are not brought up by this agent");
                let fault = node.fault(self.source, Code::ConfigUnsupported, summary);
                Err(fault.seen("path", "CloudProvider"))
            }
            _ => Ok(()),
        }
    }

    /// A name that becomes part of paths and DNS names.
    fn name(&self, key: &str) -> Result<String, Fault> {
        let name = self.root.text_of(key).ok_or_else(|| self.missing(key))?;
        if has_plain_letters(name) && !name.contains("..") {
            return Ok(name.to_owned());
        }
        let node = self.root.get(key).unwrap_or(self.root);
        let summary = format!("{name:?} cannot be a name");
        Err(node
            .fault(self.source, Code::ConfigLocationUnusable, summary)
            .seen("path", key))
    }

    fn origin(&self, role: Role) -> Result<Origin, Fault> {
        if let Some(server) = self.root.get("ConfigServer") {
            return Ok(Origin::Server(self.server(server)?));
        }
        match self.root.get("ConfigBase").filter(|base| !base.is_empty()) {
            Some(base) => Ok(Origin::Store(location(self.source, base)?)),
            None if role == Role::Bastion => Ok(Origin::Nowhere),
            None => Err(self.missing("ConfigBase")),
        }
    }

    fn server(&self, node: &Yaml) -> Result<ConfigServer, Fault> {
        let servers = texts(node, "servers");
        if servers.is_empty() {
            return Err(self.missing("ConfigServer.servers"));
        }
        if let Some(url) = servers.iter().find(|url| !url.starts_with("https://")) {
            let summary = format!("{url:?} is not an https URL");
            return Err(node
                .fault(self.source, Code::ConfigLocationUnusable, summary)
                .seen("path", "ConfigServer.servers"));
        }
        let ca_bundle = node.text_of("CACertificates");
        let ca_bundle = ca_bundle.ok_or_else(|| self.missing("ConfigServer.CACertificates"))?;
        Ok(ConfigServer {
            servers,
            tls_server_name: node.text_of("tlsServerName").map(str::to_owned),
            ca_bundle: ca_bundle.to_owned(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const STORE: &str = "CloudProvider: aws\nClusterName: c.example.com\nConfigBase: s3://b/c.example.com\n\
                         InstanceGroupName: master-a\nInstanceGroupRole: ControlPlane\nNodeupConfigHash: abc\n";

    #[test]
    fn the_configuration_of_a_control_plane_is_found_below_the_base() {
        let (boot, findings) = read_boot_config("x", STORE).expect("a good document");
        assert_eq!(findings, []);
        let Origin::Store(base) = &boot.origin else {
            panic!("it names the store")
        };
        assert_eq!(
            boot.nodeup_config_location(base).to_string(),
            "s3://b/c.example.com/igconfig/control-plane/master-a/nodeupconfig.yaml"
        );
    }

    #[test]
    fn an_unknown_key_is_told_and_stops_nothing() {
        let (_, findings) =
            read_boot_config("x", &format!("{STORE}Karpenter: true\n")).expect("it reads");
        assert_eq!(findings.len(), 1);
        assert_eq!(findings[0].code, Code::ConfigUnknownKey);
        assert_eq!(findings[0].evidence_named("line"), Some("7"));
    }

    #[test]
    fn what_is_wrong_is_told_with_its_place() {
        for (from, to, code, line) in [
            ("aws", "gce", Code::ConfigUnsupported, "1"),
            ("c.example.com\nC", "[x]\nC", Code::ConfigWrongType, "2"),
            ("s3://b/c", "gs://b/c", Code::ConfigLocationUnusable, "3"),
            ("master-a", "../a", Code::ConfigLocationUnusable, "4"),
            ("ControlPlane", "Worker", Code::ConfigUnknownRole, "5"),
            (
                "ConfigBase: s3://b/c.example.com\n",
                "",
                Code::ConfigMissingKey,
                "1",
            ),
        ] {
            let text = STORE.replacen(from, to, 1);
            let fault = read_boot_config("x", &text).expect_err(to);
            assert_eq!(fault.code, code, "{to}");
            assert_eq!(fault.evidence_named("line"), Some(line), "{to}");
        }
    }

    #[test]
    fn a_worker_asks_the_servers_it_is_told_of_over_tls_alone() {
        let worker = |url: &str| {
            let text = format!(
                "ClusterName: c\nInstanceGroupName: n\nInstanceGroupRole: Node\nConfigServer:\n  CACertificates: x\n  \
                 servers: [\"{url}\"]\n  tlsServerName: kc\n"
            );
            read_boot_config("x", &text).map(|(boot, _)| boot.origin)
        };
        let Ok(Origin::Server(server)) = worker("https://kc:3988/") else {
            panic!("it names a server")
        };
        assert_eq!(server.tls_server_name.as_deref(), Some("kc"));
        let fault = worker("http://kc:3988/").expect_err("it is not https");
        assert_eq!(fault.code, Code::ConfigLocationUnusable);
    }

    #[test]
    fn a_bastion_needs_no_configuration() {
        let text = "ClusterName: c\nInstanceGroupName: b\nInstanceGroupRole: Bastion\n";
        let boot = read_boot_config("x", text).map(|(boot, _)| boot.origin);
        assert_eq!(boot, Ok(Origin::Nowhere));
    }
}
