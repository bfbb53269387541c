//! gVisor, a kernel of its own for containers that are not trusted.

use super::packages::package;
use crate::builders::Context;
use crate::distribution::Packaging;
use quake_model::fault::Fault;
use quake_model::item::{Item, PackageSource};

/// The package, which has containerd's shim, too. It is there for Debian and Ubuntu alone.
pub(super) fn build(context: &Context<'_>) -> Result<Vec<Item>, Fault> {
    if !context.runs_gvisor() || context.distribution.packaging() != Packaging::Deb {
        return Ok(Vec::new());
    }
    Ok(vec![
        Item::PackageSource(PackageSource {
            name: "gvisor".to_owned(),
            keyring_url: "https://gvisor.dev/archive.key".to_owned(),
            lines: vec![
                "deb https://storage.googleapis.com/gvisor/releases release main".to_owned(),
            ],
        }),
        package("runsc"),
    ])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::builders::sample::Sample;
    use crate::distribution::Project;

    #[test]
    fn only_workers_of_the_debian_family_get_it() {
        let keys = "GVisor: {enabled: true}\n";
        let found = Sample::worker(keys).subjects(build);
        assert_eq!(found, ["package-source/gvisor", "package/runsc"]);
        assert_eq!(Sample::control_plane(keys).items(build), []);
        assert_eq!(Sample::worker("").items(build), []);
        let sample = Sample::worker(keys).on(Project::AmazonLinux, (2023, 0));
        assert_eq!(sample.items(build), []);
    }
}
