//! How many pods a node takes where each needs an address of the instance's own interfaces.

use crate::builders::{Context, EniCapacity};
use crate::config::current::{NodeupConfig, Provider};

/// kubelet's own limit.
const DEFAULT: u32 = 110;

/// Pods on the host's network, which need no address: kube-proxy and the network's own, by the formula of Amazon's plugin
/// (amazon-vpc-cni-k8s v1.9.3, README).
const ON_THE_HOST: u32 = 2;

/// Whether a node must know how many addresses its instance's type has: its pods get those of the instance, and the spec
/// does not say how many pods there may be.
pub fn needs_eni_capacity(config: &NodeupConfig) -> bool {
    let takes_addresses = match config.network.provider {
        Provider::AmazonVpc => true,
        Provider::Cilium { eni } => eni,
        Provider::Unnamed
        | Provider::Calico { .. }
        | Provider::Cni { .. }
        | Provider::Flannel
        | Provider::KubeRouter
        | Provider::Kindnet => false,
    };
    takes_addresses && !config.kubelet.has("maxPods")
}

/// The most pods; `None` where kubelet's own limit stands.
///
/// That is so, too, where the addresses of the instance's type are needed and not known, as in a plan of items alone: a node that
/// cannot ask for them fails before.
pub(super) fn max_pods(context: &Context<'_>) -> Option<i64> {
    if !needs_eni_capacity(context.config) {
        let spec = context.config.kubelet.integer("maxPods");
        // As if it were not given.
        return spec.filter(|limit| *limit != 0);
    }
    let capacity = context.machine.eni_capacity?;
    Some(i64::from(by_addresses(capacity)))
}

/// Each interface keeps one address for itself.
fn by_addresses(capacity: EniCapacity) -> u32 {
    let (interfaces, addresses) = (capacity.interfaces, capacity.addresses_per_interface);
    if interfaces == 0 || addresses == 0 {
        return DEFAULT;
    }
    let pods = interfaces.saturating_mul(addresses - 1);
    pods.saturating_add(ON_THE_HOST).min(DEFAULT)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::builders::sample::Sample;

    fn limit(keys: &str, capacity: Option<(u32, u32)>) -> Option<i64> {
        let mut sample = Sample::worker(keys);
        sample.machine.eni_capacity = capacity.map(|(interfaces, addresses)| EniCapacity {
            interfaces,
            addresses_per_interface: addresses,
        });
        sample.with(max_pods)
    }

    #[test]
    fn pods_with_addresses_of_the_instance_are_as_many_as_it_has() {
        for (network, capacity, wanted) in [
            ("amazonVPC: {}", (3, 10), 29),
            ("cilium: {ipam: eni}", (2, 4), 8),
            ("amazonVPC: {}", (8, 30), 110),
            ("amazonVPC: {}", (0, 0), 110),
        ] {
            let keys = format!("Networking: {{{network}}}\n");
            assert_eq!(limit(&keys, Some(capacity)), Some(wanted), "{network}");
        }
    }

    #[test]
    fn the_spec_wins_over_what_the_instance_has() {
        let keys = "Networking: {amazonVPC: {}}\nKubeletConfig: {maxPods: 50}\n";
        assert_eq!(limit(keys, Some((3, 10))), Some(50));
    }

    #[test]
    fn other_networks_leave_it_to_kubelet() {
        for network in ["calico: {}", "cilium: {}", "cni: {usesSecondaryIP: true}"] {
            let keys = format!("Networking: {{{network}}}\n");
            assert_eq!(limit(&keys, Some((3, 10))), None, "{network}");
        }
        assert_eq!(limit("Networking: {amazonVPC: {}}\n", None), None);
    }
}
