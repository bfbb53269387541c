//! The faults of refused restores: the code, the evidence and the exact remedy.

use super::verdict::{Blocker, Refusal};
use quake_model::fault::{Code, Fault};

/// The code of a refusal.
pub fn restore_code(refusal: &Refusal) -> Code {
    match refusal {
        Refusal::NoBackup { .. } | Refusal::UnknownBackup { .. } | Refusal::Empty { .. } => {
            Code::EtcdBackupMissing
        }
        Refusal::Incomplete { .. } | Refusal::Corrupt { .. } => Code::EtcdSnapshotCorrupt,
        Refusal::Mixed { .. } => Code::EtcdSnapshotsMixed,
        Refusal::Foreign { .. } | Refusal::Unproven { .. } => Code::EtcdBackupForeign,
        Refusal::Unsupported { .. } => Code::EtcdVersionUnsupported,
        Refusal::QuorumHealthy { .. } => Code::EtcdQuorumHealthy,
    }
}

/// The fault of a refusal.
pub fn refusal_fault(refusal: &Refusal) -> Fault {
    let fault = Fault::new(restore_code(refusal), refusal.to_string());
    match refusal {
        Refusal::NoBackup { place, .. } => fault.seen("place", place),
        Refusal::UnknownBackup { place, .. } => fault
            .seen("place", place)
            .remedied_by("name one that quake-agent etcd backups lists"),
        Refusal::Empty { name, .. } => fault
            .seen("backup", name)
            .remedied_by("choose an older backup: quake-agent etcd backups --limit 100, then --backup NAME"),
        Refusal::Incomplete { name, problem } | Refusal::Corrupt { name, problem } => fault
            .seen("backup", name)
            .seen("problem", problem)
            .remedied_by("choose another backup: quake-agent etcd backups --verify NAME, then --backup NAME"),
        Refusal::Mixed { other, pending, .. } => fault
            .seen("other", other)
            .seen("pending", pending)
            .remedied_by(format!(
                "restore all members from one backup: --backup {other}; or end the other restore first"
            )),
        Refusal::Foreign { member, .. } => fault.seen("member", member),
        Refusal::Unproven { .. } => fault,
        Refusal::Unsupported { data, program, .. } => fault
            .seen("backup", data)
            .seen("etcd", program)
            .remedied_by(format!(
                "choose a backup of etcd {program}, or set etcdClusters[].version to {data}: kops edit cluster, then kops update cluster --yes"
            )),
        Refusal::QuorumHealthy {
            healthy, unknown, ..
        } => {
            let fault = fault
                .seen("healthy", healthy.join(" "))
                .seen("notAsked", unknown.join(" "));
            match unknown.is_empty() {
                true => fault,
                false => fault.remedied_by(
                    "run the command on a control-plane node, where etcd can be asked; if etcd is known to be down: --replace-healthy-quorum",
                ),
            }
        }
    }
}

impl Blocker {
    /// The fault of this blocker.
    pub fn fault(&self) -> Fault {
        let text = self.to_string();
        match self {
            Self::SeveralVolumes { ids, .. } => Fault::new(Code::StorageVolumeConflict, text)
                .seen("volumes", ids.join(" "))
                .remedied_by(
                    "quake-agent volumes explain; quake-agent volumes pin VOLUME --slot SLOT --yes",
                ),
            Self::TooFewMembers { .. } => Fault::new(Code::EtcdMembersMissing, text),
            Self::NoRestorer { manifest, .. } => Fault::new(Code::EtcdProgramsMissing, text)
                .seen("manifest", manifest)
                .remedied_by("upgrade kops so that the pod has etcdutl; or put etcdutl of that release on each control-plane node into /var/lib/kubelet/pods/*/volumes/kubernetes.io~empty-dir/opt/etcd-v<version>, then: --etcdutl-in-place"),
            Self::NoControlSpec { location } => Fault::new(Code::ConfigObjectMissing, text)
                .seen("location", location)
                .remedied_by("write it again: kops update cluster --yes"),
        }
    }
}
