//! The documents of a worker of kops 1.36, and whom it meets at its first boot: for measurements, which have assets of their own.

use crate::ca::Ca;
use crate::controller::{Controller, Served};
use crate::machine::{Facts, REGION};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use sha2::{Digest, Sha256};
use std::collections::BTreeMap;
use std::fmt::Write;
use std::net::TcpListener;
use std::time::Duration;

/// The example cluster's worker; only its assets and its CA are other ones.
const CONFIG: &str = include_str!("../../agent/testkit/example/kops/nodeupconfig-workers.yaml");

/// The cluster's hooks and the group's, of which it has none.
const NO_HOOKS: &str = "Hooks:\n- null\n- null\n";

const CLUSTER: &str = "demo.example.com";

/// The name of kops-controller, as nodeup makes it of the cluster's.
pub const CONTROLLER: &str = "kops-controller.internal.demo.example.com";

/// The name of the API server.
pub const API: &str = "api.internal.demo.example.com";

/// The documents of one worker.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Documents {
    /// What kops-controller gives it.
    pub config: String,
    /// What user data gives it.
    pub kube_env: String,
}

impl Documents {
    /// A worker that pins these assets, each as `SHA256@URL`, and that runs these units beside its own, each by its name; its CA
    /// has this certificate.
    pub fn new<S: AsRef<str>>(pins: &[S], units: &[String], certificate: &str) -> Self {
        let config = nodeup_config(pins, units);
        let kube_env = kube_env(&config, certificate);
        Self { config, kube_env }
    }
}

/// kops-controller of this worker.
///
/// # Errors
///
/// Says what failed.
pub fn controller(
    listener: TcpListener,
    ca: Ca,
    facts: &Facts,
    config: String,
) -> Result<Controller, String> {
    let served = Served {
        config,
        secrets: BTreeMap::new(),
        node: facts.instance.clone(),
        address: facts.address.to_string(),
        region: REGION.to_owned(),
        signs: ["kubelet", "kubelet-server", "kube-proxy"]
            .map(str::to_owned)
            .into(),
        names: vec![format!("DNS:{CONTROLLER}")],
        rest: Duration::ZERO,
    };
    Controller::start(listener, ca, served)
}

fn nodeup_config<S: AsRef<str>>(pins: &[S], units: &[String]) -> String {
    let mut text = "Assets:\n  amd64:\n".to_owned();
    for pin in pins {
        let _ = writeln!(text, "  - {}", pin.as_ref());
    }
    // kops leaves the CA out here: a worker has it from its user data.
    text.push_str("CAs: {}\nKeypairIDs:\n  kubernetes-ca: \"1\"\n");
    if units.is_empty() {
        return text + CONFIG;
    }
    let mut hooks = "Hooks:\n".to_owned();
    for (number, unit) in units.iter().enumerate() {
        let list = if number == 0 { "- - " } else { "  - " };
        let _ = writeln!(
            hooks,
            "{list}name: {unit}\n    manifest: |\n      Type=oneshot\n      RemainAfterExit=yes\n      ExecStart=/bin/true"
        );
    }
    hooks.push_str("- null\n");
    text + &CONFIG.replacen(NO_HOOKS, &hooks, 1)
}

fn kube_env(config: &str, certificate: &str) -> String {
    let hash = STANDARD.encode(Sha256::digest(config.as_bytes()));
    let certificate: String = certificate
        .lines()
        .map(|line| format!("    {line}\n"))
        .collect();
    format!(
        "CloudProvider: aws\nClusterName: {CLUSTER}\nConfigServer:\n  CACertificates: |\n{certificate}  servers:\n  - https://{CONTROLLER}:3988/\n\
         InstanceGroupName: workers\nInstanceGroupRole: Node\nNodeupConfigHash: {hash}\n"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn units_are_hooks_of_the_cluster() {
        let units = ["a.service".to_owned(), "b.service".to_owned()];
        let config = nodeup_config(&["00@https://m.example/kubelet"], &units);
        let (_, hooks) = config.split_once("Hooks:\n").expect("there are hooks");
        assert!(
            hooks.starts_with("- - name: a.service\n    manifest: |\n"),
            "{hooks}"
        );
        assert!(hooks.contains("\n  - name: b.service\n"), "{hooks}");
        assert!(hooks.contains("/bin/true\n- null\nInstall"), "{hooks}");
    }
}
