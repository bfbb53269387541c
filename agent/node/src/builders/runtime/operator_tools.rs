//! Tools for people who look into the container runtime; a node does without them.

use super::is_skipped;
use crate::builders::Context;
use crate::builders::context::program;
use quake_model::fault::Fault;
use quake_model::item::Item;

/// Each tool, and the setting of the runtime's that asks for it: crictl looks into the runtime as kubelet sees it, nerdctl as
/// people know it from docker.
const TOOLS: [(&str, &str); 2] = [("crictl", "installCriCtl"), ("nerdctl", "installNerdCtl")];

/// The tools that are pinned. Where somebody else installs the runtime only those that are asked for.
pub(super) fn build(context: &Context<'_>) -> Result<Vec<Item>, Fault> {
    let is_wanted = |setting| !is_skipped(context) || context.config.containerd.is_set(setting);
    let tools = TOOLS.iter().filter(|(_, setting)| is_wanted(setting));
    Ok(tools.filter_map(|(name, _)| tool(context, name)).collect())
}

/// The tool called `name`, be it a pinned file or within a pinned archive.
fn tool(context: &Context<'_>, name: &str) -> Option<Item> {
    let found = context.assets(|other| other == name);
    let plain = found.first().map(|asset| (&asset.digest, None));
    let members = context.members(|other| other == name).unwrap_or_default();
    let member = members.first();
    let member = member.map(|(digest, name)| (*digest, Some(*name)));
    let path = format!("{}/{name}", context.distribution.operator_programs());
    let (asset, member) = plain.or(member)?;
    Some(program(asset, member, path))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::builders::sample::Sample;
    use crate::distribution::Project;

    const DIGEST: &str = "8b1e7a8f5e0cf0f0a1a2a3a4a5a6a7a8b1e7a8f5e0cf0f0a1a2a3a4a5a6a7a80";

    fn sample(keys: &str) -> Sample {
        let asset = format!("{DIGEST}@https://a/crictl-v1.36.0-linux-amd64.tar.gz");
        let mut sample = Sample::worker(&format!("Assets: {{amd64: [\"{asset}\"]}}\n{keys}"));
        let digest = sample.config.assets[0].digest.clone();
        sample.members.insert(digest, vec!["crictl".to_owned()]);
        sample
    }

    #[test]
    fn it_is_taken_out_of_its_archive_once_that_is_there() {
        let mut sample = sample("");
        let items = sample.items(build);
        let Some(Item::Program(place)) = items.first() else {
            panic!("the program is the only item")
        };
        assert_eq!(place.member.as_deref(), Some("crictl"));
        assert_eq!(place.path, "/usr/local/bin/crictl");
        sample.members.clear();
        assert_eq!(sample.items(build), []);
    }

    #[test]
    fn a_node_that_pins_none_does_without() {
        assert_eq!(Sample::worker("").items(build), []);
    }

    #[test]
    fn a_file_that_is_the_program_needs_no_unpacking() {
        let keys = format!("Assets: {{amd64: [\"{DIGEST}@https://a/crictl\"]}}\n");
        let items = Sample::worker(&keys).items(build);
        assert!(matches!(&items[..], [Item::Program(place)] if place.member.is_none()));
    }

    #[test]
    fn beside_a_runtime_of_somebody_elses_it_comes_only_if_it_is_asked_for() {
        let skipped = sample("containerdConfig: {skipInstall: true}\n");
        assert_eq!(skipped.subjects(build), [""; 0]);
        let requested = sample("containerdConfig: {skipInstall: true, installCriCtl: true}\n");
        assert_eq!(requested.subjects(build), ["/usr/local/bin/crictl"]);
        let other = sample("containerdConfig: {skipInstall: true, installNerdCtl: true}\n");
        assert_eq!(other.subjects(build), [""; 0]);
    }

    #[test]
    fn it_is_where_people_find_it_on_a_read_only_system() {
        let sample = sample("").on(Project::Flatcar, (0, 0));
        assert_eq!(sample.subjects(build), ["/opt/kops/bin/crictl"]);
    }

    #[test]
    fn nerdctl_alone_is_taken_out_of_its_archive() {
        let asset = format!("{DIGEST}@https://a/nerdctl-2.2.1-linux-amd64.tar.gz");
        let keys = "containerdConfig: {skipInstall: true, installNerdCtl: true}\n";
        let mut sample = Sample::worker(&format!("Assets: {{amd64: [\"{asset}\"]}}\n{keys}"));
        let digest = sample.config.assets[0].digest.clone();
        let names = ["containerd-rootless.sh", "nerdctl"].map(str::to_owned);
        sample.members.insert(digest, names.into());
        let found = sample.subjects(build);
        assert_eq!(found, ["/usr/local/bin/nerdctl"]);
    }
}
