//! The container runtime before all else: as soon as its own files can be there it is brought up, beside the downloads,
//! the packages and the certificates that it needs nothing of. Images then need not wait for them either.
//!
//! What is brought up so early is planned again with everything else, and holds then.

use super::files::write;
use super::services::{RUNTIME, wanted};
use super::sources::Issued;
use super::{Owners, steps_of};
use quake_model::digest::Digest;
use quake_model::fault::Fault;
use quake_model::item::{Item, Unit, UnitState};
use quake_model::phase::Phase;
use quake_model::spec::NodeSpec;
use quake_model::step::{Action, Step, WriteFile};
use std::collections::BTreeSet;

/// Names of assets that the runtime's programs come from begin so.
const ASSETS: &[&str] = &["containerd-", "runc"];

/// Directories of files that the runtime reads, beside those that its unit names.
const FOLDERS: &[&str] = &["/etc/containerd/"];

/// Settings of its unit that ask for something else to be there first: a slice whose file may come later, labels of a package
/// that is not installed yet.
const WAITS: &[&str] = &["\nSlice=", "restorecon"];

/// The assets that the runtime needs, which are fetched beside the others and not after them; `None` where it must wait for
/// the rest of the node: its data may be on a volume, or a hook of the operator's goes before it.
pub fn runtime_assets(spec: &NodeSpec) -> Option<BTreeSet<Digest>> {
    let unit = runtime(spec)?;
    let text = &unit.file.as_ref()?.text;
    let mut items = spec.items.iter();
    let has_volume = items.any(|item| matches!(item, Item::Volume(_)));
    if has_volume || WAITS.iter().any(|words| text.contains(words)) || has_forerunner(spec, unit) {
        return None;
    }
    let ours = |name: &str| ASSETS.iter().any(|start| name.starts_with(start));
    let assets = spec.assets.iter().filter(|asset| ours(&asset.name));
    let digests: BTreeSet<Digest> = assets.map(|asset| asset.digest.clone()).collect();
    (!digests.is_empty()).then_some(digests)
}

fn runtime(spec: &NodeSpec) -> Option<&Unit> {
    let is_ours =
        |unit: &&Unit| RUNTIME.contains(&unit.name.as_str()) && unit.state == UnitState::Running;
    spec.units().find(is_ours)
}

/// Whether a unit is to go before the runtime.
fn has_forerunner(spec: &NodeSpec, runtime: &Unit) -> bool {
    let goes_before = |text: &str| {
        text.lines()
            .filter(|line| line.trim_start().starts_with("Before="))
            .any(|line| line.contains(&runtime.name))
    };
    let mut texts = spec.units().filter_map(|unit| unit.file.as_ref());
    texts.any(|file| goes_before(&file.text))
        || spec.files().any(|file| {
            file.path.contains("/systemd/") && file.text().is_some_and(|text| goes_before(&text))
        })
}

/// The runtime's files and its start, in the phase of the downloads; none while its archive's members are not known. Files
/// that something must follow, or somebody else owns, are left to the phase of files.
///
/// # Errors
///
/// As the plan of files.
pub fn runtime_first(spec: &NodeSpec, owners: &Owners) -> Result<Vec<Step>, Fault> {
    let unit = runtime(spec).and_then(|unit| Some((unit, unit.file.as_ref()?)));
    let (Some(digests), Some((unit, text))) = (runtime_assets(spec), unit) else {
        return Ok(Vec::new());
    };
    let is_read = |path: &str| {
        FOLDERS.iter().any(|folder| path.starts_with(folder))
            || unit.inputs.iter().any(|input| input == path)
            || text.text.contains(&format!("EnvironmentFile={path}\n"))
    };
    let issued = Issued::new();
    let mut actions = Vec::new();
    for item in &spec.items {
        match item {
            Item::Program(place) if digests.contains(&place.asset) => {
                actions.push(Action::Place(place.clone()));
            }
            Item::File(file) if is_read(&file.path) && file.on_change.is_empty() => {
                actions.extend(write(file, &issued, owners)?.map(Action::WriteFile));
            }
            _ => {}
        }
    }
    let mut placed = actions.iter();
    if !placed.any(|action| matches!(action, Action::Place(_))) {
        return Ok(Vec::new());
    }
    let file = WriteFile::plain(&text.path, 0o644, text.text.clone());
    actions.push(Action::WriteFile(file));
    actions.push(Action::StartUnit(wanted(unit)));
    Ok(steps_of(Phase::Assets, actions))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::builders::sample::{ARCHIVE, RUNC, Sample};
    use quake_model::step::Action;

    fn spec(keys: &str) -> NodeSpec {
        let keys =
            format!("KeypairIDs: {{kubernetes-ca: \"7\"}}\nCAs: {{kubernetes-ca: CAs}}\n{keys}");
        let mut sample = Sample::with_runtime(&keys);
        let digest = sample.config.assets[0].digest.clone();
        let names = ["ctr", "containerd", "containerd-shim-runc-v2"];
        let names = names.map(str::to_owned).into();
        sample.members.insert(digest, names);
        let items = crate::builders::builders().filter(|builder| {
            ["containerd", "containerd_config", "hooks", "volumes"].contains(&builder.name)
        });
        let items = items
            .flat_map(|builder| sample.items(builder.build))
            .collect();
        crate::config::current::lower(&sample.boot, &sample.config, items)
    }

    fn subjects(spec: &NodeSpec) -> Vec<String> {
        let steps = runtime_first(spec, &Owners::default()).expect("root owns it all");
        steps.iter().map(|step| step.action.subject()).collect()
    }

    #[test]
    fn the_runtime_is_started_after_its_own_files_and_no_others() {
        let found = subjects(&spec(""));
        assert_eq!(found.last().map(String::as_str), Some("containerd.service"));
        for path in [
            "/usr/bin/containerd",
            "/usr/sbin/runc",
            "/etc/containerd/config.toml",
            "/etc/sysconfig/containerd",
            "/etc/environment",
            "/usr/lib/systemd/system/containerd.service",
        ] {
            assert!(found.contains(&path.to_owned()), "{path}: {found:?}");
        }
        assert!(!found.contains(&"/etc/crictl.yaml".to_owned()));
        let digests = runtime_assets(&spec("")).expect("it may be first");
        let wanted = [ARCHIVE, RUNC].map(|hex| format!("sha256:{hex}"));
        assert!(
            digests
                .iter()
                .all(|digest| wanted.contains(&digest.to_string()))
        );
        assert_eq!(digests.len(), 2);
    }

    #[test]
    fn every_early_step_is_of_the_downloads_and_the_last_starts() {
        let steps = runtime_first(&spec(""), &Owners::default()).expect("root owns it all");
        assert!(steps.iter().all(|step| step.phase == Phase::Assets));
        let starts = steps
            .iter()
            .position(|step| matches!(step.action, Action::StartUnit(_)));
        assert_eq!(starts, Some(steps.len() - 1));
        assert_eq!(crate::lint::lint(&steps), [""; 0]);
    }

    #[test]
    fn a_runtime_that_others_must_come_before_waits_for_them() {
        for keys in [
            "VolumeMounts: [{device: /dev/nvme1n1, path: /var/lib/containerd}]\n",
            "Hooks: [null, [{name: h, before: [containerd.service], manifest: \"ExecStart=/bin/true\"}]]\n",
            "KubeletConfig: {runtimeCgroups: /podruntime}\n",
            "containerdConfig: {skipInstall: true}\n",
        ] {
            assert_eq!(runtime_assets(&spec(keys)), None, "{keys}");
            assert_eq!(subjects(&spec(keys)), [""; 0], "{keys}");
        }
        let after = "Hooks: [null, [{name: h, before: [kubelet.service], manifest: \"ExecStart=/bin/true\"}]]\n";
        assert!(runtime_assets(&spec(after)).is_some());
    }
}
