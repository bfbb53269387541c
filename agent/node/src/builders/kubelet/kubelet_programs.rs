//! kubelet itself, and the directories that it looks into.

use super::program;
use crate::builders::Context;
use crate::builders::layout::CNI_CONFIGURATIONS;
use quake_model::fault::Fault;
use quake_model::item::{Directory, Item};

/// Where kubelet keeps what it must not lose.
const STATE: &str = "/var/lib/kubelet";

/// The program and the directories.
pub(super) fn build(context: &Context<'_>) -> Result<Vec<Item>, Fault> {
    let mut items = vec![context.place("kubelet", &program(context))?];
    let pods = context.config.kubelet.text("podManifestPath");
    let pods = pods.map(|path| path.trim_end_matches('/'));
    let mut directories: Vec<&str> = pods.into_iter().chain([STATE]).collect();
    // An add-on writes its configuration there; kubenet's is a template of the runtime's.
    if !context.config.network.uses_kubenet {
        directories.push(CNI_CONFIGURATIONS);
    }
    let directories = directories.into_iter().map(Directory::plain);
    items.extend(directories.map(Item::Directory));
    Ok(items)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::builders::sample::Sample;
    use crate::distribution::Project;
    use quake_model::fault::Code;

    const ASSETS: &str = "Assets: {amd64: [\"8b1e7a8f5e0cf0f0a1a2a3a4a5a6a7a8b1e7a8f5e0cf0f0a1a2a3a4a5a6a7a80@https://a/kubelet\"]}\n";

    fn subjects(keys: &str) -> Vec<String> {
        let items = Sample::worker(&format!("{ASSETS}{keys}")).items(build);
        items.iter().map(Item::subject).collect()
    }

    #[test]
    fn static_pods_are_looked_for_where_the_spec_says() {
        let found = subjects("KubeletConfig: {podManifestPath: /srv/pods/}\n");
        assert_eq!(
            found,
            [
                "/usr/local/bin/kubelet",
                "/srv/pods",
                STATE,
                CNI_CONFIGURATIONS
            ]
        );
        assert_eq!(
            subjects(""),
            ["/usr/local/bin/kubelet", STATE, CNI_CONFIGURATIONS]
        );
    }

    #[test]
    fn a_runtime_that_makes_networks_itself_has_no_directory_of_them() {
        let found = subjects("UsesKubenet: true\n");
        assert!(!found.contains(&CNI_CONFIGURATIONS.to_owned()), "{found:?}");
    }

    #[test]
    fn an_image_with_a_read_only_system_has_kubelet_below_opt() {
        let sample = Sample::worker(ASSETS).on(Project::Flatcar, (0, 0));
        assert_eq!(
            sample.items(build)[0].subject(),
            "/opt/kubernetes/bin/kubelet"
        );
    }

    #[test]
    fn a_configuration_without_kubelet_is_refused() {
        Sample::worker("").assert_refused(build, Code::ConfigMissingKey, ("asset", "kubelet"));
    }
}
