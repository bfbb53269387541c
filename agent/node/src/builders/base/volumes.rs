//! Volumes of the instance group beside etcd's: formatted where they are blank, and mounted.

use crate::builders::Context;
use crate::config::current::Section;
use quake_model::fault::{Code, Fault};
use quake_model::item::{Item, VolumeMount};

/// The filesystem where none is named; nodeup's choice, too.
const FILESYSTEM: &str = "ext4";

pub(super) fn build(context: &Context<'_>) -> Result<Vec<Item>, Fault> {
    let mounts = context.config.volume_mounts.iter();
    mounts.map(|mount| volume(context, mount)).collect()
}

fn volume(context: &Context<'_>, mount: &Section) -> Result<Item, Fault> {
    let place = |key: &str| {
        let path = mount.text(key).filter(|path| path.starts_with('/'));
        // The kernel lists mounts without a slash at the end.
        path.map(|path| path.trim_end_matches('/').to_owned())
            .ok_or_else(|| {
                let (code, problem) = match mount.has(key) {
                    false => (Code::ConfigMissingKey, "is not given"),
                    true => (Code::ConfigWrongType, "is no absolute path"),
                };
                let path = format!("VolumeMounts.{key}");
                context.fault_at(mount, &path, code, format!("{path} {problem}"))
            })
    };
    let texts = |key: &str| mount.texts(key).into_iter().map(str::to_owned).collect();
    Ok(Item::Volume(VolumeMount {
        device: place("device")?,
        path: place("path")?,
        filesystem: mount.text("filesystem").unwrap_or(FILESYSTEM).to_owned(),
        mount_options: texts("mountOptions"),
        // nodeup knows the key and does nothing about it.
        format_options: texts("formatOptions"),
    }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::builders::sample::Sample;

    fn sample(keys: &str) -> Sample {
        Sample::worker(&format!("VolumeMounts:\n- {{{keys}}}\n"))
    }

    #[test]
    fn a_volume_is_ext4_where_nothing_else_is_said() {
        let found = sample("device: /dev/nvme1n1, path: /data").items(build);
        let [Item::Volume(volume)] = &found[..] else {
            panic!("{found:?}")
        };
        assert_eq!(volume.filesystem, "ext4");
        assert_eq!(volume.format_options, [""; 0]);
    }

    #[test]
    fn what_is_said_of_a_volume_is_kept() {
        let keys = "device: /dev/xvdd, path: /data, filesystem: xfs, mountOptions: [noatime], formatOptions: [-m, reflink=0]";
        let wanted = VolumeMount {
            device: "/dev/xvdd".into(),
            path: "/data".into(),
            filesystem: "xfs".into(),
            mount_options: vec!["noatime".into()],
            format_options: vec!["-m".into(), "reflink=0".into()],
        };
        assert_eq!(sample(keys).items(build), [Item::Volume(wanted)]);
    }

    #[test]
    fn a_volume_without_device_or_place_is_refused() {
        for (keys, code, path) in [
            ("path: /data", Code::ConfigMissingKey, "VolumeMounts.device"),
            (
                "device: /dev/sdf",
                Code::ConfigMissingKey,
                "VolumeMounts.path",
            ),
        ] {
            let fault = sample(keys).try_items(build).expect_err(keys);
            assert_eq!(fault.code, code, "{keys}");
            assert_eq!(fault.evidence_named("path"), Some(path));
            assert_eq!(fault.evidence_named("line"), Some("4"));
        }
    }
}
