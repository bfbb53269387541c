//! The directory for operators' own kubelet settings, `--config-dir` (KEP-3983, `cmd/kubelet/app/options`): kubelet merges the
//! `*.conf` files in it over its configuration, in the order of their names.
//!
//! A drop-in of the unit adds the flag, so that the files that kops defines stay as kops has them.
//!
//! kubelet pulls one image after another unless it is set otherwise. The directory has a file that lets it pull in parallel, where
//! the cluster's spec does not say. Its name comes before `00-` and all that follow, so an operator's file wins.

use quake_formats::unit_text::UnitText;
use quake_model::item::{Directory, File, Item, Unit};
use quake_model::spec::NodeSpec;
use std::borrow::Cow;

const DIRECTORY: &str = "/etc/kubernetes/kubelet.conf.d";

/// The file that lets kubelet pull images in parallel.
const PULLS: &str = "/etc/kubernetes/kubelet.conf.d/0-quake-agent.conf";

/// What it has. kubelet refuses a pull beyond `registryPullQPS` at once (`pull QPS exceeded`), and a new node pulls many together:
/// so there is no such limit. `maxParallelImagePulls` is left out, which kubelet refuses beside an operator's
/// `serializeImagePulls: true`.
const IN_PARALLEL: &str = "apiVersion: kubelet.config.k8s.io/v1beta1\nkind: KubeletConfiguration\nserializeImagePulls: false\nregistryPullQPS: 0\n";

/// How flags and settings say how images are pulled.
const SAYS_PULLS: [&str; 8] = [
    "serialize-image-pulls",
    "max-parallel-image-pulls",
    "registry-qps",
    "registry-burst",
    "serializeImagePulls",
    "maxParallelImagePulls",
    "registryPullQPS",
    "registryBurst",
];

const UNIT: &str = "kubelet.service";

/// The drop-in of the unit, beside the unit's file.
const DROP_IN: &str = "kubelet.service.d/20-config-dir.conf";

/// Adds the directory and the flag, if kubelet knows the flag without a feature gate (1.30) and the node does not set it.
pub(crate) fn add(spec: &mut NodeSpec) {
    if !spec.kubernetes.at_least(1, 30) || spec.kubelet.flag("config-dir").is_some() {
        return;
    }
    let Some((path, start)) = spec.items.iter().find_map(kubelet_start) else {
        return;
    };
    let mut files = vec![File::plain(&path, drop_in(&start))];
    if !says_pulls(spec) {
        files.push(File::plain(PULLS, IN_PARALLEL.to_owned()));
    }
    for item in &mut spec.items {
        if let Item::Unit(unit) = item
            && unit.name == UNIT
        {
            unit.inputs
                .extend(files.iter().map(|file| file.path.clone()));
        }
    }
    spec.items
        .push(Item::Directory(Directory::plain(DIRECTORY)));
    spec.items.extend(files.into_iter().map(Item::File));
}

/// Whether the cluster's spec says how images are pulled: by a flag, or in kubelet's configuration.
fn says_pulls(spec: &NodeSpec) -> bool {
    let by_flag = SAYS_PULLS
        .iter()
        .any(|flag| spec.kubelet.flag(flag).is_some());
    by_flag || spec.items.iter().any(says_in_file)
}

fn says_in_file(item: &Item) -> bool {
    let text = item.file().and_then(File::text);
    text.is_some_and(|text| {
        text.contains("kind: KubeletConfiguration")
            && SAYS_PULLS.iter().any(|setting| text.contains(setting))
    })
}

/// The path of the drop-in, and the command of kubelet's unit; `None` for an item that is not the unit's file.
fn kubelet_start(item: &Item) -> Option<(String, String)> {
    let (path, text) = match item {
        Item::Unit(Unit {
            name,
            file: Some(file),
            ..
        }) if name == UNIT => (&file.path, Cow::from(&file.text)),
        Item::File(file) if file.path.ends_with("/systemd/system/kubelet.service") => {
            (&file.path, file.text()?)
        }
        _ => return None,
    };
    let directory = path.strip_suffix(UNIT)?;
    let start = text
        .lines()
        .find_map(|line| line.strip_prefix("ExecStart="))?;
    Some((format!("{directory}{DROP_IN}"), start.to_owned()))
}

fn drop_in(start: &str) -> String {
    UnitText::new()
        .section("Service")
        .comment("The first line clears the command of the unit.")
        .set("ExecStart", "")
        .set("ExecStart", &format!("{start} --config-dir={DIRECTORY}"))
        .finish()
}

#[cfg(test)]
mod tests {
    use super::*;
    use quake_model::item::UnitFile;

    fn unit() -> Item {
        let text = "[Service]\nExecStart=/usr/local/bin/kubelet \"$DAEMON_ARGS\"\n";
        Item::Unit(Unit::running(
            UNIT,
            "/lib/systemd/system/kubelet.service",
            text.to_owned(),
        ))
    }

    #[test]
    fn the_drop_in_is_beside_the_unit_and_keeps_its_command() {
        let (path, start) = kubelet_start(&unit()).expect("it is the unit");
        assert_eq!(path, format!("/lib/systemd/system/{DROP_IN}"));
        assert!(drop_in(&start).ends_with(
            "ExecStart=\nExecStart=/usr/local/bin/kubelet \"$DAEMON_ARGS\" --config-dir=/etc/kubernetes/kubelet.conf.d\n"
        ));
    }

    #[test]
    fn images_are_pulled_in_parallel_unless_the_spec_says_how() {
        let settings = |line: &str| {
            let text = format!("kind: KubeletConfiguration\nport: 1\n{line}");
            Item::File(File::plain("/var/lib/kubelet/kubelet.conf", text))
        };
        for (line, says) in [
            ("", false),
            ("serializeImagePulls: true\n", true),
            ("maxParallelImagePulls: 2\n", true),
            ("registryPullQPS: 10\n", true),
        ] {
            assert_eq!(says_in_file(&settings(line)), says, "{line}");
        }
        assert!(!says_in_file(&unit()));
    }

    #[test]
    fn a_file_of_its_own_is_found_too_and_other_items_are_not() {
        let text = "[Service]\nExecStart=/usr/bin/kubelet\n";
        let file = File::plain("/etc/systemd/system/kubelet.service", text);
        let (path, _) = kubelet_start(&Item::File(file)).expect("it is the unit's file");
        assert_eq!(path, format!("/etc/systemd/system/{DROP_IN}"));
        let other = UnitFile {
            path: "/lib/systemd/system/x.service".to_owned(),
            text: text.to_owned(),
        };
        let other = Unit::running("x.service", &other.path, other.text);
        assert_eq!(kubelet_start(&Item::Unit(other)), None);
    }
}
