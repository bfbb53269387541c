//! crictl, which looks into the container runtime as kubelet sees it.

use super::operator_tool::tool;
use crate::builders::Context;
use quake_model::fault::Fault;
use quake_model::item::Item;

/// The program, where it is pinned.
pub(super) fn build(context: &Context<'_>) -> Result<Vec<Item>, Fault> {
    Ok(tool(context, "crictl", "installCriCtl"))
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
}
