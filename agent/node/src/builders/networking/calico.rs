//! What Calico wants of the node.

use crate::builders::Context;
use crate::config::current::Provider;
use crate::distribution::Project;
use quake_model::fault::Fault;
use quake_model::item::{Item, Package};

/// The tools of WireGuard on Ubuntu, unless encryption is turned off: it may be turned on at any time in the running
/// cluster. Other distributions bring what Calico needs, and it encrypts no IPv6.
pub(super) fn build(context: &Context<'_>) -> Result<Vec<Item>, Fault> {
    let Provider::Calico { wireguard } = context.config.network.provider else {
        return Ok(Vec::new());
    };
    let is_wanted = context.distribution.project == Project::Ubuntu
        && !context.is_ipv6_only()
        && wireguard != Some(false);
    let package = Package::required("wireguard").proven_by(["/usr/bin/wg"]);
    let package = is_wanted.then_some(Item::Package(package));
    Ok(package.into_iter().collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::builders::sample::Sample;

    #[test]
    fn wireguard_is_installed_on_ubuntu_unless_it_is_turned_off_or_of_no_use() {
        for (project, calico, range, wanted) in [
            (Project::Ubuntu, "{}", "100.64.0.0/10", true),
            (
                Project::Ubuntu,
                "{wireguardEnabled: true}",
                "100.64.0.0/10",
                true,
            ),
            (
                Project::Ubuntu,
                "{wireguardEnabled: false}",
                "100.64.0.0/10",
                false,
            ),
            (Project::Ubuntu, "{}", "::/0", false),
            (Project::Debian, "{}", "100.64.0.0/10", false),
        ] {
            let keys =
                format!("Networking: {{calico: {calico}, nonMasqueradeCIDR: \"{range}\"}}\n");
            let sample = Sample::worker(&keys).on(project, (24, 4));
            let found = sample.items(build);
            let subjects: Vec<String> = found.iter().map(Item::subject).collect();
            let wanted: &[&str] = if wanted { &["package/wireguard"] } else { &[] };
            assert_eq!(subjects, wanted, "{project:?} {calico} {range}");
        }
    }

    #[test]
    fn other_networks_want_no_wireguard() {
        let mut sample = Sample::worker("Networking: {flannel: {}}\n");
        sample.distribution.project = Project::Ubuntu;
        assert_eq!(sample.items(build), []);
    }
}
