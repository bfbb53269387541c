//! Pods' network where containerd itself makes it, as kubelet once did.

use super::{NETWORK_TEMPLATE, is_skipped};
use crate::builders::Context;
use crate::builders::base::script_unit;
use quake_formats::flags::shell_word;
use quake_model::fault::Fault;
use quake_model::item::{File, Item};

const SCRIPT: &str = "/opt/kops/bin/cni-iptables-setup";

/// The template that containerd fills with the node's pod range, and masquerading of what leaves the cluster.
pub(super) fn build(context: &Context<'_>) -> Result<Vec<Item>, Fault> {
    let network = &context.config.network;
    if is_skipped(context) || !network.uses_kubenet {
        return Ok(Vec::new());
    }
    let mut items = vec![Item::File(File::plain(NETWORK_TEMPLATE, template(context)))];
    let cidr = network.non_masquerade_cidr.as_deref();
    // Where every address is the cluster's, nothing leaves it.
    if let Some(cidr) = cidr.filter(|cidr| !cidr.ends_with("/0")) {
        let script = File::plain(SCRIPT, script(cidr)).mode(0o755);
        let unit = context.unit(
            "cni-iptables-setup.service",
            script_unit("Masquerading of pods", SCRIPT),
        );
        items.push(Item::File(script));
        items.push(Item::Unit(unit.reading([SCRIPT])));
    }
    Ok(items)
}

/// Laid out as nodeup does, byte for byte: the file of a node that is switched over stays as it is. It is no JSON before
/// containerd has filled it.
fn template(context: &Context<'_>) -> String {
    let routes = if context.is_ipv6_only() {
        r#"{"dst":"0.0.0.0/0"}, {"dst":"::/0"}"#
    } else {
        r#"{"dst":"0.0.0.0/0"}"#
    };
    format!(
        r#"{{
    "cniVersion": "1.0.0",
    "name": "k8s-pod-network",
    "plugins": [
        {{
            "type": "ptp",
            "ipam": {{
                "type": "host-local",
                "ranges": [[{{"subnet": "{{{{.PodCIDR}}}}"}}]],
                "routes": [{routes}]
            }}
        }},
        {{
            "type": "portmap",
            "capabilities": {{"portMappings": true}}
        }}
    ]
}}
"#
    )
}

/// Made again and again with the same end: nodeup's appended its rules at every start.
fn script(cidr: &str) -> String {
    let cidr = shell_word(cidr);
    format!(
        "#!/bin/sh\n\
         # Written by quake-agent; changes are lost at the next boot.\n\
         # Pods have addresses that only the cluster routes: what they send elsewhere gets the node's own.\n\
         set -eu\n\
         nat() {{ iptables -w -t nat \"$@\"; }}\n\
         nat -N IP-MASQ 2>/dev/null || nat -F IP-MASQ\n\
         nat -A IP-MASQ -d {cidr} -m comment --comment 'the cluster routes these itself' -j RETURN\n\
         nat -A IP-MASQ -m comment --comment 'all else leaves with the address of the node' -j MASQUERADE\n\
         # Last, so that no packet meets a chain that is half made.\n\
         nat -C POSTROUTING -m addrtype ! --dst-type LOCAL -j IP-MASQ 2>/dev/null ||\n\
         \x20 nat -A POSTROUTING -m addrtype ! --dst-type LOCAL -j IP-MASQ\n"
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::builders::sample::Sample;

    fn sample(cidr: &str) -> Sample {
        let keys = format!("UsesKubenet: true\nNetworking: {{nonMasqueradeCIDR: \"{cidr}\"}}\n");
        Sample::worker(&keys)
    }

    #[test]
    fn what_leaves_the_cluster_is_masqueraded_and_nothing_else() {
        let script = sample("100.64.0.0/10").file(build, SCRIPT);
        let returns = script.find("-d 100.64.0.0/10");
        assert!(
            returns.is_some() && returns < script.find("-j MASQUERADE"),
            "{script}"
        );
    }

    #[test]
    fn where_every_address_is_the_clusters_nothing_is_masqueraded() {
        let sample = sample("::/0");
        assert_eq!(sample.find(build, SCRIPT), None);
        let template = sample.file(build, NETWORK_TEMPLATE);
        assert!(template.contains("::/0"), "{template}");
    }

    #[test]
    fn other_networks_have_no_template() {
        assert_eq!(Sample::worker("").items(build), []);
    }
}
