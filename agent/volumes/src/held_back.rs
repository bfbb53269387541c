//! Which of etcd-manager's manifests are kept out of kubelet's directory.
//!
//! etcd-manager attaches and formats by itself what it finds, in the order of EC2's answer. So it may only start where its
//! volume is mounted already: then it stops searching (etcd-manager v3.0.20260707, `pkg/volumes/mounter.go`).

use super::tags::Slot;
use quake_model::facts::{MountFacts, VolumeFacts};
use quake_model::spec::EtcdCluster;

/// Where protokube and etcd-manager mount a volume of etcd; its id follows.
pub const MOUNTS: [&str; 2] = ["/mnt/disks/master-", "/mnt/master-"];

/// The manifests of `etcd` that may not be in kubelet's directory now: those whose volume is not mounted.
///
/// `volumes` are those that EC2 showed last. Where some volume of etcd is mounted whose tags are not known, nothing is
/// withheld: a member that runs is never stopped for what nobody knows.
pub fn withheld_manifests<'a>(
    etcd: &'a [EtcdCluster],
    volumes: &[VolumeFacts],
    mounts: &[MountFacts],
) -> Vec<&'a str> {
    let mounted: Vec<&str> = mounts.iter().filter_map(mounted_volume).collect();
    let slot_of = |id: &str| {
        let volume = volumes.iter().find(|volume| volume.volume_id == id)?;
        Slot::of_tags(&volume.tags)
    };
    let slots: Vec<Option<Slot>> = mounted.into_iter().map(slot_of).collect();
    let may_run = |cluster: &EtcdCluster| {
        let is_it = |slot: &Slot| slot.etcd == cluster.name;
        slots.iter().any(|slot| slot.as_ref().is_none_or(is_it))
    };
    etcd.iter()
        .filter(|cluster| !may_run(cluster))
        .filter_map(|cluster| cluster.manifest.as_deref())
        .collect()
}

/// The id of the etcd volume that is mounted there.
pub fn mounted_volume(mount: &MountFacts) -> Option<&str> {
    volume_at(&mount.target)
}

/// The id of the etcd volume whose mount point a path is.
pub fn volume_at(path: &str) -> Option<&str> {
    MOUNTS
        .iter()
        .find_map(|before| path.strip_prefix(before))
        .filter(|id| !id.contains('/'))
}

#[cfg(test)]
mod tests {
    use super::*;
    use quake_model::facts::VolumeState;
    use quake_model::spec::EtcdProvider;
    use quake_model::time::Timestamp;

    fn etcd(name: &str) -> EtcdCluster {
        EtcdCluster {
            name: name.to_owned(),
            members: Vec::new(),
            version: String::new(),
            image: String::new(),
            provider: EtcdProvider::Manager,
            backup_store: None,
            manifest: Some(name.to_owned()),
        }
    }

    fn volume(id: &str, etcd: &str) -> VolumeFacts {
        let tag = (format!("k8s.io/etcd/{etcd}"), "a/a".to_owned());
        VolumeFacts {
            volume_id: id.to_owned(),
            zone: "z".to_owned(),
            state: VolumeState::InUse,
            size_gib: 20,
            created: Timestamp(0),
            encrypted: false,
            multi_attach: false,
            snapshot_id: None,
            tags: [tag].into(),
            attachments: Vec::new(),
        }
    }

    #[test]
    fn a_manifest_is_withheld_until_its_own_volume_is_mounted() {
        let all = [etcd("main"), etcd("events")];
        let volumes = [volume("vol-1", "main"), volume("vol-2", "events")];
        for (targets, withheld) in [
            (&[][..], &["main", "events"][..]),
            (&["/mnt/master-vol-1"], &["events"]),
            (&["/mnt/disks/master-vol-2"], &["main"]),
            (&["/mnt/master-vol-1", "/mnt/master-vol-2"], &[]),
            (&["/data", "/mnt/master-vol-1/inner"], &["main", "events"]),
            // Nobody knows whose it is.
            (&["/mnt/master-vol-9"], &[]),
        ] {
            let mount = |target: &&str| MountFacts {
                source: "/dev/nvme1n1".to_owned(),
                target: (*target).to_owned(),
                filesystem: "ext4".to_owned(),
                number: "259:1".to_owned(),
            };
            let mounts: Vec<MountFacts> = targets.iter().map(mount).collect();
            let found = withheld_manifests(&all, &volumes, &mounts);
            assert_eq!(found, withheld, "{targets:?}");
        }
    }
}
