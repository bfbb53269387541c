//! Kernel modules that are wanted before anything that would load them by itself.

use crate::builders::Context;
use crate::config::current::Provider;
use crate::distribution::Project;
use quake_model::fault::Fault;
use quake_model::item::{Item, Module};
use quake_model::step::Need;

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
    let module = |name: &str| {
        Item::Module(Module {
            name: name.to_owned(),
            need: Need::Optional,
        })
    };
    Ok(names.into_iter().map(module).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::builders::sample::Sample;
    use crate::distribution::Distribution;

    fn names(sample: &Sample) -> Vec<String> {
        let items = sample.items(build);
        items.iter().map(Item::subject).collect()
    }

    #[test]
    fn the_red_hat_family_without_iptables_loads_what_nftables_needs() {
        let mut sample = Sample::worker("");
        assert_eq!(names(&sample), ["module/br_netfilter"]);
        sample.distribution = Distribution {
            project: Project::Rhel,
            version: (10, 0),
        };
        assert!(names(&sample).contains(&"module/nf_tables".to_owned()));
    }

    #[test]
    fn kindnet_sends_packets_to_a_queue() {
        let found = names(&Sample::worker("Networking: {kindnet: {}}\n"));
        assert!(
            found.contains(&"module/nfnetlink_queue".to_owned()),
            "{found:?}"
        );
    }
}
