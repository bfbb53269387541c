//! The addresses of pods in a cluster of IPv6 alone: a prefix of the instance's subnet, which kops-controller divides.

use crate::builders::Context;
use quake_model::fault::Fault;
use quake_model::item::Item;

pub(super) fn build(context: &Context<'_>) -> Result<Vec<Item>, Fault> {
    let is_wanted = context.is_ipv6_only();
    Ok(is_wanted.then_some(Item::Ipv6Prefix).into_iter().collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::builders::sample::Sample;

    #[test]
    fn only_a_cluster_of_ipv6_alone_wants_a_prefix() {
        for (range, wanted) in [("::/0", &[Item::Ipv6Prefix][..]), ("100.64.0.0/10", &[])] {
            let keys = format!("Networking: {{nonMasqueradeCIDR: \"{range}\"}}\n");
            assert_eq!(Sample::worker(&keys).items(build), wanted, "{range}");
        }
    }
}
