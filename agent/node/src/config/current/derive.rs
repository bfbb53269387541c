//! Derives a boot configuration (`kube_env.yaml`) from what a state store has of an instance group.
//!
//! kops writes the boot configuration into user data and nowhere else. The store has everything that it says but the
//! addresses of a cluster without DNS, and whether the instances were launched before the store changed. What is assumed
//! in their place is returned as text for the operator. Field by field as in kops v1.36.2
//! (`pkg/nodemodel/nodeupconfigbuilder.go`, `BuildConfig`).

use super::boot_config::role_name;
use super::cluster::Cluster;
use super::config_hash::config_hash;
use quake_formats::yaml::{as_text, parse};
use quake_model::fault::{Code, Fault};
use quake_model::location::Location;
use quake_model::spec::Role;
use std::fmt::Write as _;

/// The port of kops-controller (kops v1.36.2, `pkg/wellknownports`).
const CONTROLLER_PORT: u16 = 3988;

/// What a state store has of an instance group.
#[derive(Debug, Clone, Copy)]
pub struct StoredGroup<'a> {
    /// `cluster-completed.spec`.
    pub cluster: &'a Cluster,
    /// Where the cluster's directory was found.
    pub base: &'a Location,
    pub name: &'a str,
    /// The group's role: that of the directory below `igconfig/` which holds it.
    pub role: Role,
    /// Where the group's `nodeupconfig.yaml` was read.
    pub source: &'a str,
    /// The bytes of that file.
    pub nodeup_config: &'a [u8],
    /// The certificates of the cluster's CA, PEM; `None` where the store has none.
    pub ca: Option<&'a str>,
}

/// A boot configuration that no user data carried.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct DerivedBootConfig {
    /// The text of `kube_env.yaml`.
    pub text: String,
    /// What the store does not say, and what was taken in its place.
    pub assumptions: Vec<String>,
    /// Why instances must not be launched with it, if there is a reason.
    pub unfit_for_launch: Option<String>,
}

/// Derives the boot configuration of an instance group.
///
/// # Errors
///
/// `config.yaml-syntax` and the like for a `nodeupconfig.yaml` that cannot be read; `credentials.missing` for a worker where the store has no certificate of the cluster's CA.
pub fn derive_boot_config(group: &StoredGroup<'_>) -> Result<DerivedBootConfig, Fault> {
    let config = as_text(group.source, group.nodeup_config)?;
    let config = parse(group.source, config)?;
    let mut draft = DerivedBootConfig::default();
    let cloud = group.cluster.cloud.as_deref();
    if cloud.is_none() {
        draft.assume("the cluster is on AWS: its cluster-completed.spec names no cloud");
    }
    draft.line("CloudProvider", cloud.unwrap_or("aws"));
    draft.line("ClusterName", &group.cluster.name);
    match group.role {
        Role::ControlPlane | Role::ApiServer => draft.store(group),
        Role::Worker => draft.server(group, config.boolean_of("usesNoneDNS") == Some(true))?,
        Role::Bastion => {}
    }
    draft.line("InstanceGroupName", group.name);
    draft.line("InstanceGroupRole", role_name(group.role));
    draft.line("NodeupConfigHash", &config_hash(group.nodeup_config));
    draft.assume(
        "instances run the configuration that the store has now; one that was launched before the last \
         `kops update cluster` names another by its hash",
    );
    Ok(draft)
}

impl DerivedBootConfig {
    fn assume(&mut self, what: impl Into<String>) {
        self.assumptions.push(what.into());
    }

    /// Writes a key with a text. JSON strings are YAML strings, whatever the text holds.
    fn line(&mut self, key: &str, value: &str) {
        let value = serde_json::Value::from(value);
        let _ = writeln!(self.text, "{key}: {value}");
    }

    /// A node with an API server reads the state store itself.
    fn store(&mut self, group: &StoredGroup<'_>) {
        let base = group.cluster.base.as_ref().unwrap_or(group.base);
        if group.cluster.base.is_none() {
            self.assume(format!(
                "the state store of the nodes is {base}: the cluster names none"
            ));
        }
        self.line("ConfigBase", &base.to_string());
    }

    /// Any other node asks kops-controller on the control plane.
    fn server(&mut self, group: &StoredGroup<'_>, has_no_dns: bool) -> Result<(), Fault> {
        let ca = group.ca.ok_or_else(|| no_ca(group))?;
        let host = format!("kops-controller.internal.{}", group.cluster.name);
        if has_no_dns {
            self.assume(format!(
                "kops-controller answers as {host}: the cluster has no DNS, and only user data has the addresses that its \
                 nodes use instead (APIServerIPs)"
            ));
            self.unfit_for_launch = Some(
                "the cluster has no DNS, so its nodes need addresses of the control plane, and the state store has none"
                    .to_owned(),
            );
        } else {
            self.assume(format!("kops-controller answers as {host}"));
        }
        self.text.push_str("ConfigServer:\n  CACertificates: |\n");
        for line in ca.lines().filter(|line| !line.trim().is_empty()) {
            let _ = writeln!(self.text, "    {}", line.trim());
        }
        let url = format!("https://{host}:{CONTROLLER_PORT}/");
        let url = serde_json::Value::from(url);
        let _ = writeln!(self.text, "  servers:\n  - {url}");
        Ok(())
    }
}

fn no_ca(group: &StoredGroup<'_>) -> Fault {
    let place = group.base.join("pki/private/kubernetes-ca/keyset.yaml");
    let summary = "the state store has no certificate of the cluster's CA";
    Fault::new(Code::CredentialsMissing, summary)
        .seen("location", place)
        .remedied_by(
            "copy pki/private/kubernetes-ca/keyset.yaml too, or name the group's user data",
        )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::current::{
        Origin, ROLES, read_boot_config, read_cluster, verify_config_hash,
    };

    const SPEC: &str = "kind: Cluster\nmetadata: {name: c.example}\nspec:\n  cloudProvider: aws\n  \
                        configBase: s3://b/c.example\n";
    const CONFIG: &str = "ClusterName: c.example\nKubernetesVersion: 1.34.0\n";
    const PEM: &str = "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n";

    fn derive(
        role: Role,
        spec: &str,
        config: &str,
        ca: Option<&str>,
    ) -> Result<DerivedBootConfig, Fault> {
        derive_boot_config(&StoredGroup {
            cluster: &read_cluster("cluster-completed.spec", spec).expect("a good document"),
            base: &"file:///copy/c.example".parse().expect("a literal"),
            name: "group",
            role,
            source: "nodeupconfig.yaml",
            nodeup_config: config.as_bytes(),
            ca,
        })
    }

    #[test]
    fn what_is_derived_reads_as_the_boot_configuration_of_the_role() {
        for role in ROLES {
            let derived = derive(role, SPEC, CONFIG, Some(PEM)).expect("it is whole");
            let read = read_boot_config("derived", &derived.text);
            let (boot, findings) = read.expect("it reads");
            assert_eq!(findings, [], "{}", derived.text);
            assert_eq!((boot.role, boot.cluster.as_str()), (role, "c.example"));
            let hash = boot.config_hash.expect("it has a hash");
            assert_eq!(verify_config_hash("x", CONFIG.as_bytes(), &hash), Ok(()));
            assert_eq!(derived.unfit_for_launch, None);
            match boot.origin {
                Origin::Store(base) => assert_eq!(base.to_string(), "s3://b/c.example"),
                Origin::Server(server) => {
                    assert_eq!(
                        server.servers,
                        ["https://kops-controller.internal.c.example:3988/"]
                    );
                    assert_eq!(server.ca_bundle, PEM);
                }
                Origin::Nowhere => assert_eq!(role, Role::Bastion),
            }
        }
    }

    #[test]
    fn what_the_store_does_not_say_is_assumed_aloud() {
        let said = |derived: DerivedBootConfig| derived.assumptions.join("\n");
        let bare = "kind: Cluster\nmetadata: {name: c.example}\nspec: {}\n";
        let derived = derive(Role::ControlPlane, bare, CONFIG, None).expect("it is whole");
        assert!(
            derived
                .text
                .contains("ConfigBase: \"file:///copy/c.example\"")
        );
        let text = said(derived);
        assert!(
            text.contains("on AWS") && text.contains("names none"),
            "{text}"
        );
        let config = format!("{CONFIG}usesNoneDNS: true\n");
        let derived = derive(Role::Worker, SPEC, &config, Some(PEM)).expect("it is whole");
        assert!(derived.unfit_for_launch.is_some());
        assert!(said(derived).contains("APIServerIPs"));
    }

    #[test]
    fn a_worker_is_not_derived_without_a_ca() {
        let fault = derive(Role::Worker, SPEC, CONFIG, None).expect_err("no CA");
        assert_eq!(fault.code, Code::CredentialsMissing);
    }
}
