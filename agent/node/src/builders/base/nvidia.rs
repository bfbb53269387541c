//! Drivers of NVIDIA's GPUs, and what gives containers a GPU.

use super::packages::package;
use crate::builders::{Context, processor};
use crate::distribution::Project;
use quake_model::fault::Fault;
use quake_model::item::{Item, PackageSource};

/// The package that brings the runtime, and the name of where it comes from.
const TOOLKIT: &str = "nvidia-container-toolkit";

/// The packages, on Ubuntu alone: the drivers are Ubuntu's own. Other distributions have them in their images, or not at all.
pub(super) fn build(context: &Context<'_>) -> Result<Vec<Item>, Fault> {
    let is_ubuntu = context.distribution.project == Project::Ubuntu;
    let (Some(nvidia), true) = (&context.config.nvidia, context.runs_nvidia() && is_ubuntu) else {
        return Ok(Vec::new());
    };
    let driver = nvidia
        .text("package")
        .ok_or_else(|| context.missing("NvidiaGPU.package"))?;
    let processor = processor(&context.instance.architecture);
    let line = format!("deb https://nvidia.github.io/libnvidia-container/stable/deb/{processor} /");
    Ok(vec![
        Item::PackageSource(PackageSource {
            name: TOOLKIT.to_owned(),
            keyring_url: "https://nvidia.github.io/libnvidia-container/gpgkey".to_owned(),
            lines: vec![line],
        }),
        package(TOOLKIT),
        package(driver),
    ])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::builders::sample::Sample;
    use quake_model::fault::Code;

    fn on_ubuntu(keys: &str) -> Sample {
        let mut sample = Sample::worker(&format!("NvidiaGPU: {{{keys}}}\n"));
        sample.machine.has_nvidia_gpu = true;
        sample = sample.on(Project::Ubuntu, (24, 4));
        sample
    }

    #[test]
    fn the_driver_of_the_spec_and_the_toolkit_are_installed_where_there_is_a_gpu() {
        let mut sample = on_ubuntu("enabled: true, package: nvidia-driver-535-server");
        sample.instance.architecture = "arm64".to_owned();
        let items = sample.items(build);
        let found = sample.subjects(build);
        let wanted = [
            "package-source/nvidia-container-toolkit",
            "package/nvidia-container-toolkit",
            "package/nvidia-driver-535-server",
        ];
        assert_eq!(found, wanted);
        let Some(Item::PackageSource(source)) = items.first() else {
            panic!("{items:?}")
        };
        assert!(source.lines[0].ends_with("/deb/arm64 /"), "{source:?}");
        sample.machine.has_nvidia_gpu = false;
        assert_eq!(sample.items(build), []);
    }

    #[test]
    fn other_distributions_get_no_package() {
        let mut sample = on_ubuntu("enabled: true, package: x");
        sample.distribution.project = Project::Debian;
        assert_eq!(sample.items(build), []);
    }

    #[test]
    fn a_driver_that_is_not_named_is_refused() {
        on_ubuntu("enabled: true").assert_refused(
            build,
            Code::ConfigMissingKey,
            ("path", "NvidiaGPU.package"),
        );
    }
}
