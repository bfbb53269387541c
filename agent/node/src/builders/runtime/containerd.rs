//! containerd's programs and its unit; on a distribution that brings its own, what is added to that.

use super::{containerd_unit, is_skipped};
use crate::builders::Context;
use crate::builders::context::program;
use crate::builders::layout::CONTAINERD_CONFIG;
use quake_model::fault::Fault;
use quake_model::item::{File, Item, Unit};

/// What containerd is started with.
pub(super) const ENVIRONMENT: &str = "/etc/sysconfig/containerd";

/// What is added to the unit of the distribution.
const DROP_IN: &str = "/etc/systemd/system/containerd.service.d/10-kops.conf";

/// Its license asks to be handed on with it; it is the one that this program has, too.
const LICENSE: &str = include_str!("../../../../../LICENSE");

/// The programs, the environment file, the tools' configuration and the unit.
pub(super) fn build(context: &Context<'_>) -> Result<Vec<Item>, Fault> {
    if is_skipped(context) {
        return Ok(Vec::new());
    }
    if context.distribution.brings_containerd() {
        return Ok(additions());
    }
    let mut items = programs(context)?;
    items.push(container_runner(context)?);
    let flags = context.config.containerd.flags();
    let flags: Vec<String> = flags.iter().map(ToString::to_string).collect();
    let environment = format!("CONTAINERD_OPTS={}\n", flags.join(" "));
    let endpoint = "runtime-endpoint: unix:///run/containerd/containerd.sock\n";
    let files = [
        File::plain("/usr/share/doc/containerd/apache.txt", LICENSE),
        File::plain("/etc/crictl.yaml", endpoint),
        File::plain(ENVIRONMENT, environment),
        // The unit names it, and fails without it.
        File::present("/etc/environment"),
    ];
    items.extend(files.map(Item::File));
    let unit = context.unit("containerd.service", containerd_unit::text(context));
    let unit = unit.reading([CONTAINERD_CONFIG, ENVIRONMENT, "/usr/bin/containerd"]);
    items.push(Item::Unit(unit));
    Ok(items)
}

fn programs(context: &Context<'_>) -> Result<Vec<Item>, Fault> {
    let is_ours = |name: &str| name.starts_with("containerd") || name.starts_with("ctr");
    let Some(members) = context.members(is_ours) else {
        return Ok(Vec::new());
    };
    if members.iter().all(|(_, name)| *name != "containerd") {
        return Err(context.no_asset("containerd"));
    }
    Ok(members
        .into_iter()
        .map(|(asset, name)| program(asset, Some(name), format!("/usr/bin/{name}")))
        .collect())
}

/// runc, whose releases are one file for each processor.
fn container_runner(context: &Context<'_>) -> Result<Item, Fault> {
    let names = ["runc.amd64", "runc.arm64"];
    let found = context.assets(|name| names.contains(&name));
    let [asset] = found[..] else {
        return Err(context.no_asset("runc"));
    };
    context.place(&asset.name, "/usr/sbin/runc")
}

/// The distribution's unit, told to read our configuration.
fn additions() -> Vec<Item> {
    let drop_in = File::plain(DROP_IN, containerd_unit::drop_in());
    let unit = Unit::packaged("containerd.service").reading([CONTAINERD_CONFIG, DROP_IN]);
    vec![
        Item::File(File::present("/etc/environment")),
        Item::File(drop_in),
        Item::Unit(unit),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::builders::sample::Sample;
    use crate::distribution::Project;
    use quake_model::fault::Code;

    #[test]
    fn the_programs_are_those_of_the_archive_once_it_is_there() {
        let mut sample = Sample::with_runtime("");
        assert!(!sample.subjects(build).contains(&"/usr/bin/ctr".to_owned()));
        let digest = sample.config.assets[0].digest.clone();
        let names = ["ctr", "containerd", "containerd-shim-runc-v2", "README.md"];
        sample
            .members
            .insert(digest, names.map(str::to_owned).into());
        let found = sample.subjects(build);
        for name in ["ctr", "containerd", "containerd-shim-runc-v2"] {
            assert!(found.contains(&format!("/usr/bin/{name}")), "{found:?}");
        }
        assert!(!found.iter().any(|path| path.contains("README")));
        assert!(found.contains(&"/usr/sbin/runc".to_owned()));
    }

    #[test]
    fn a_configuration_without_runc_is_refused() {
        Sample::worker("").assert_refused(build, Code::ConfigMissingKey, ("asset", "runc"));
    }

    #[test]
    fn a_runtime_that_the_image_brings_is_only_told_of_its_configuration() {
        let sample = Sample::worker("").on(Project::Flatcar, (0, 0));
        assert_eq!(
            sample.subjects(build),
            ["/etc/environment", DROP_IN, "containerd.service"]
        );
        let text = sample.file(build, DROP_IN);
        // An empty setting takes back the command of the distribution.
        assert!(
            text.contains("ExecStart=\nExecStart=/usr/bin/containerd --config"),
            "{text}"
        );
    }

    #[test]
    fn the_settings_that_are_flags_stand_in_the_environment() {
        let sample = Sample::with_runtime(
            "containerdConfig: {logLevel: debug, root: /data, version: 2.2.4}\n",
        );
        let text = sample.file(build, ENVIRONMENT);
        assert_eq!(text, "CONTAINERD_OPTS=--log-level=debug --root=/data\n");
    }
}
