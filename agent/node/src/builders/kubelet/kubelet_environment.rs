//! kubelet's command line. What its configuration file knows is there instead.

use super::{CONFIG, CREDENTIAL_PROVIDERS, KUBELET_ENVIRONMENT, credential_provider};
use crate::builders::Context;
use quake_formats::flags::{FlagSet, environment_value};
use quake_model::fault::Fault;
use quake_model::item::{File, Item};

/// How long kubelet waits for the runtime where the spec does not say: kops' own default, and not kubelet's, which is two
/// minutes. It has no flag for "no default", so it stays a flag.
const RUNTIME_TIMEOUT: &str = "15m0s";

/// The environment file that kubelet's unit reads.
pub(super) fn build(context: &Context<'_>) -> Result<Vec<Item>, Fault> {
    let arguments = environment_value(&words(context));
    // kubelet finds the passwords of other registries in $HOME/.docker/config.json.
    let text = format!("DAEMON_ARGS={arguments}\nHOME=\"/root\"\n");
    Ok(vec![Item::File(File::plain(KUBELET_ENVIRONMENT, text))])
}

/// The flags of the spec as kops sorts them, then those that only the node can know.
fn words(context: &Context<'_>) -> Vec<String> {
    let mut flags = FlagSet::from_spec(&context.config.kubelet.flags());
    // A node may not give itself labels of its role; kops-controller gives it all of them.
    flags.remove("node-labels");
    flags.set("hostname-override", &context.node_name);
    flags.set_default("runtime-request-timeout", RUNTIME_TIMEOUT);
    let mut words = flags.words();
    words.sort();
    let address = &context.instance.private_ip;
    // Of several interfaces kubelet could take the wrong one.
    if context.uses_secondary_interfaces() && !address.is_empty() {
        words.push(format!("--node-ip={address}"));
    }
    // Any address of the family.
    if context.is_ipv6_only() {
        words.push("--node-ip=::".to_owned());
    }
    words.push(format!("--config={CONFIG}"));
    if credential_provider::is_used(context) {
        let programs = context.distribution.kubelet_programs();
        words.extend([
            format!("--image-credential-provider-config={CREDENTIAL_PROVIDERS}"),
            format!("--image-credential-provider-bin-dir={programs}"),
        ]);
    }
    words
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::builders::sample::Sample;

    fn has(keys: &str, word: &str) -> bool {
        let text = Sample::worker(keys).file(build, KUBELET_ENVIRONMENT);
        let line = text.lines().next().unwrap_or_default();
        let line = line.trim_start_matches("DAEMON_ARGS=").trim_matches('"');
        line.split(' ').any(|other| other == word)
    }

    #[test]
    fn the_node_is_registered_under_its_own_name_and_without_labels() {
        let keys = "KubeletConfig: {hostnameOverride: other, nodeLabels: {a: b}}\n";
        assert!(has(keys, "--hostname-override=i-0123456789abcdef0"));
        assert!(!has(keys, "--node-labels=a=b"));
    }

    #[test]
    fn the_runtime_is_waited_for_as_long_as_the_spec_says() {
        assert!(has("", "--runtime-request-timeout=15m0s"));
        let keys = "KubeletConfig: {runtimeRequestTimeout: 90s}\n";
        assert!(has(keys, "--runtime-request-timeout=1m30s"));
    }

    #[test]
    fn the_address_is_told_where_there_are_several_or_the_family_is_not_the_usual_one() {
        let ours = "--node-ip=10.0.0.10";
        assert!(!has("Networking: {calico: {}}\n", ours));
        assert!(!has("Networking: {cilium: {}}\n", ours));
        for network in [
            "amazonVPC: {}",
            "cilium: {ipam: eni}",
            "cni: {usesSecondaryIP: true}",
        ] {
            assert!(has(&format!("Networking: {{{network}}}\n"), ours));
        }
        let six = "Networking: {nonMasqueradeCIDR: \"::/0\"}\n";
        assert!(has(six, "--node-ip=::"));
        assert!(!has(six, ours));
    }

    #[test]
    fn settings_of_the_configuration_file_are_no_flags() {
        let keys = "KubeletConfig: {maxPods: 50, evictionHard: a<1, clusterDNS: 10.0.0.1}\n";
        let text = Sample::worker(keys).file(build, KUBELET_ENVIRONMENT);
        for name in ["max-pods", "eviction", "cluster-dns"] {
            assert!(!text.contains(name), "{text}");
        }
    }
}
