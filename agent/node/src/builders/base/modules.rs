//! Kernel modules that are wanted before anything that would load them by itself.

use crate::builders::Context;
use crate::config::current::Provider;
use crate::distribution::Project;
use quake_model::fault::Fault;
use quake_model::item::{Item, Module};

/// The modules. All are optional: any may be built in, and a node that lacks one that matters says so once it is up.
pub(super) fn build(context: &Context<'_>) -> Result<Vec<Item>, Fault> {
    let distribution = context.distribution;
    let mut names = vec!["br_netfilter"];
    if context.config.network.provider == Provider::Kindnet {
        names.push("nfnetlink_queue");
    }
    if distribution.project == Project::Rocky && distribution.version == (9, 0) {
        names.push("nf_conntrack");
    }
    if distribution.forces_nftables() {
        // Left out of small images, in a package of their own: kernel-modules-extra.
        names.extend(["nf_tables", "nf_conntrack", "ip_set"]);
    }
    let modules = names.into_iter().map(Module::optional);
    Ok(modules.map(Item::Module).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::builders::sample::Sample;

    #[test]
    fn the_red_hat_family_without_iptables_loads_what_nftables_needs() {
        let mut sample = Sample::worker("");
        assert_eq!(sample.subjects(build), ["module/br_netfilter"]);
        sample = sample.on(Project::Rhel, (10, 0));
        assert!(
            sample
                .subjects(build)
                .contains(&"module/nf_tables".to_owned())
        );
    }

    #[test]
    fn kindnet_sends_packets_to_a_queue() {
        let found = Sample::worker("Networking: {kindnet: {}}\n").subjects(build);
        assert!(
            found.contains(&"module/nfnetlink_queue".to_owned()),
            "{found:?}"
        );
    }
}
