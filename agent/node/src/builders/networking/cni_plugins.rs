//! The CNI project's plugins, which most pod networks build on.

use crate::builders::Context;
use crate::builders::context::program;
use crate::builders::layout::CNI_PLUGINS;
use quake_model::fault::Fault;
use quake_model::item::Item;

/// The plugin that no network does without, and by which the archive is known: operators bring archives of other names.
const EVERY_ARCHIVE_HAS: &str = "loopback";

/// Every file of the plugins' archive, its license with them; nothing before the archive is there. nodeup copies each file
/// of every other asset there, too.
pub(super) fn build(context: &Context<'_>) -> Result<Vec<Item>, Fault> {
    if !context.config.network.installs_plugins {
        return Ok(Vec::new());
    }
    let Some(found) = context.members(|name| name == EVERY_ARCHIVE_HAS) else {
        return Ok(Vec::new());
    };
    let [(archive, _)] = found[..] else {
        return Err(context.no_asset("cni-plugins"));
    };
    let members = context.members(|_| true).unwrap_or_default().into_iter();
    let members = members.filter(|(digest, _)| *digest == archive);
    Ok(members
        .map(|(_, name)| program(archive, Some(name), format!("{CNI_PLUGINS}/{name}")))
        .collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::builders::sample::Sample;
    use quake_model::fault::Code;

    const PLUGINS: &str = "8b1e7a8f5e0cf0f0a1a2a3a4a5a6a7a8b1e7a8f5e0cf0f0a1a2a3a4a5a6a7a80";
    const OTHERS: &str = "9b1e7a8f5e0cf0f0a1a2a3a4a5a6a7a8b1e7a8f5e0cf0f0a1a2a3a4a5a6a7a80";

    fn sample(plugins: &[&str]) -> Sample {
        let keys = format!(
            "InstallCNIAssets: true\nAssets:\n  amd64:\n  - {PLUGINS}@https://a/our-plugins.tgz\n  \
             - {OTHERS}@https://a/containerd-2.2.4-linux-amd64.tar.gz\n"
        );
        let mut sample = Sample::worker(&keys);
        for (asset, names) in [(0, plugins), (1, &["containerd", "ctr"][..])] {
            let digest = sample.config.assets[asset].digest.clone();
            let names = names.iter().map(|name| (*name).to_owned());
            sample.members.insert(digest, names.collect());
        }
        sample
    }

    #[test]
    fn the_plugins_are_all_of_their_archive_and_nothing_of_another() {
        let found = sample(&["portmap", "loopback", "LICENSE"]).subjects(build);
        let wanted = ["LICENSE", "loopback", "portmap"].map(|name| format!("{CNI_PLUGINS}/{name}"));
        assert_eq!(found, wanted);
    }

    #[test]
    fn before_the_archive_is_there_nothing_is_known_of_it() {
        let mut sample = sample(&["loopback"]);
        sample.members.clear();
        assert_eq!(sample.subjects(build), [""; 0]);
    }

    #[test]
    fn a_configuration_without_the_plugins_is_refused() {
        sample(&["portmap"]).assert_refused(
            build,
            Code::ConfigMissingKey,
            ("asset", "cni-plugins"),
        );
    }

    #[test]
    fn a_network_that_brings_its_own_plugins_gets_none() {
        assert_eq!(
            Sample::worker("Networking: {calico: {}}\n").subjects(build),
            [""; 0]
        );
    }
}
