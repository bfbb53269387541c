//! The catalogue: one row per way to fail. A code without a row does not compile.

use super::Class;
use crate::phase::Phase;
use serde::{Deserialize, Serialize};
use std::fmt;

/// What the catalogue says about a code.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Entry {
    /// The code as it is printed, `<area>.<condition>`.
    pub code: &'static str,
    /// The class, which decides retries and the exit status.
    pub class: Class,
    /// Why it matters.
    pub why: &'static str,
    /// What to do about it, in general.
    pub remedy: &'static str,
}

/// A stable name for one way to fail. Never renamed; printed as its row's `code`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(into = "String", from = "String")]
pub enum Code {
    /// `identity.imds-unreachable`
    IdentityImdsUnreachable,
    /// `identity.imds-disabled`
    IdentityImdsDisabled,
    /// `identity.imds-malformed`
    IdentityImdsMalformed,
    /// `identity.role-missing`
    IdentityRoleMissing,
    /// `identity.tags-pending`
    IdentityTagsPending,
    /// `identity.describe-denied`
    IdentityDescribeDenied,
    /// `identity.instance-unknown`
    IdentityInstanceUnknown,
    /// `identity.clock-skew`
    IdentityClockSkew,
    /// `identity.os-unknown`
    IdentityOsUnknown,
    /// `identity.os-unsupported`
    IdentityOsUnsupported,
    /// `config.user-data-unusable`
    ConfigUserDataUnusable,
    /// `config.yaml-syntax`
    ConfigYamlSyntax,
    /// `config.yaml-too-large`
    ConfigYamlTooLarge,
    /// `config.wrong-type`
    ConfigWrongType,
    /// `config.unknown-key`
    ConfigUnknownKey,
    /// `config.missing-key`
    ConfigMissingKey,
    /// `config.unknown-role`
    ConfigUnknownRole,
    /// `config.role-disagrees`
    ConfigRoleDisagrees,
    /// `config.cluster-spec-missing`
    ConfigClusterSpecMissing,
    /// `config.instance-group-missing`
    ConfigInstanceGroupMissing,
    /// `config.drift`
    ConfigDrift,
    /// `config.hash-mismatch`
    ConfigHashMismatch,
    /// `config.asset-malformed`
    ConfigAssetMalformed,
    /// `config.digest-refused`
    ConfigDigestRefused,
    /// `config.weak-digest`
    ConfigWeakDigest,
    /// `config.location-unusable`
    ConfigLocationUnusable,
    /// `config.unsupported`
    ConfigUnsupported,
    /// `config.object-missing`
    ConfigObjectMissing,
    /// `config.object-malformed`
    ConfigObjectMalformed,
    /// `config.store-denied`
    ConfigStoreDenied,
    /// `config.store-unreachable`
    ConfigStoreUnreachable,
    /// `config.bucket-missing`
    ConfigBucketMissing,
    /// `config.controller-unregistered`
    ConfigControllerUnregistered,
    /// `config.controller-unreachable`
    ConfigControllerUnreachable,
    /// `config.controller-failing`
    ConfigControllerFailing,
    /// `config.controller-untrusted`
    ConfigControllerUntrusted,
    /// `config.controller-denied`
    ConfigControllerDenied,
    /// `config.controller-rejected`
    ConfigControllerRejected,
    /// `config.node-exists`
    ConfigNodeExists,
    /// `config.item-conflict`
    ConfigItemConflict,
    /// `config.etcd-disagrees`
    ConfigEtcdDisagrees,
    /// `config.instance-type-denied`
    ConfigInstanceTypeDenied,
    /// `config.instance-type-unknown`
    ConfigInstanceTypeUnknown,
    /// `network.module-missing`
    NetworkModuleMissing,
    /// `network.sysctl-refused`
    NetworkSysctlRefused,
    /// `network.unreadable`
    NetworkUnreadable,
    /// `network.prefix-denied`
    NetworkPrefixDenied,
    /// `network.prefix-failed`
    NetworkPrefixFailed,
    /// `network.prefix-pending`
    NetworkPrefixPending,
    /// `dns.zone-missing`
    DnsZoneMissing,
    /// `dns.zone-ambiguous`
    DnsZoneAmbiguous,
    /// `dns.denied`
    DnsDenied,
    /// `dns.refused`
    DnsRefused,
    /// `dns.throttled`
    DnsThrottled,
    /// `dns.no-answer`
    DnsNoAnswer,
    /// `dns.conflict`
    DnsConflict,
    /// `dns.record-foreign`
    DnsRecordForeign,
    /// `dns.pending`
    DnsPending,
    /// `storage.volume-conflict`
    StorageVolumeConflict,
    /// `storage.volume-elsewhere`
    StorageVolumeElsewhere,
    /// `storage.volume-held`
    StorageVolumeHeld,
    /// `storage.volume-missing`
    StorageVolumeMissing,
    /// `storage.volume-busy`
    StorageVolumeBusy,
    /// `storage.multi-attach`
    StorageMultiAttach,
    /// `storage.tag-malformed`
    StorageTagMalformed,
    /// `storage.describe-denied`
    StorageDescribeDenied,
    /// `storage.attach-denied`
    StorageAttachDenied,
    /// `storage.attach-failed`
    StorageAttachFailed,
    /// `storage.cloud-unreachable`
    StorageCloudUnreachable,
    /// `storage.device-missing`
    StorageDeviceMissing,
    /// `storage.device-not-blank`
    StorageDeviceNotBlank,
    /// `storage.filesystem-unusable`
    StorageFilesystemUnusable,
    /// `storage.mount-occupied`
    StorageMountOccupied,
    /// `storage.format-failed`
    StorageFormatFailed,
    /// `storage.mount-failed`
    StorageMountFailed,
    /// `storage.mount-gone`
    StorageMountGone,
    /// `storage.filesystem-repaired`
    StorageFilesystemRepaired,
    /// `storage.check-failed`
    StorageCheckFailed,
    /// `storage.grow-failed`
    StorageGrowFailed,
    /// `storage.several-pins`
    StorageSeveralPins,
    /// `storage.volume-stale`
    StorageVolumeStale,
    /// `storage.not-encrypted`
    StorageNotEncrypted,
    /// `storage.several-attachments`
    StorageSeveralAttachments,
    /// `storage.several-roles`
    StorageSeveralRoles,
    /// `storage.held-by-foreign`
    StorageHeldByForeign,
    /// `storage.two-members`
    StorageTwoMembers,
    /// `storage.no-member`
    StorageNoMember,
    /// `storage.holder-ending`
    StorageHolderEnding,
    /// `storage.holder-stopped`
    StorageHolderStopped,
    /// `storage.holder-unknown`
    StorageHolderUnknown,
    /// `storage.view-inconsistent`
    StorageViewInconsistent,
    /// `storage.attach-limit`
    StorageAttachLimit,
    /// `storage.key-denied`
    StorageKeyDenied,
    /// `storage.device-unreadable`
    StorageDeviceUnreadable,
    /// `storage.signature-ambiguous`
    StorageSignatureAmbiguous,
    /// `storage.data-unsigned`
    StorageDataUnsigned,
    /// `storage.blank-from-snapshot`
    StorageBlankFromSnapshot,
    /// `storage.data-expected`
    StorageDataExpected,
    /// `storage.foreign-cluster-data`
    StorageForeignClusterData,
    /// `storage.foreign-member-data`
    StorageForeignMemberData,
    /// `storage.volume-cloned`
    StorageVolumeCloned,
    /// `storage.legacy-unproven`
    StorageLegacyUnproven,
    /// `storage.filesystem-unproven`
    StorageFilesystemUnproven,
    /// `storage.marker-missing`
    StorageMarkerMissing,
    /// `storage.journal-unusable`
    StorageJournalUnusable,
    /// `storage.tag-denied`
    StorageTagDenied,
    /// `storage.surplus-volumes`
    StorageSurplusVolumes,
    /// `storage.split-bundle`
    StorageSplitBundle,
    /// `assets.digest-mismatch`
    AssetsDigestMismatch,
    /// `assets.not-found`
    AssetsNotFound,
    /// `assets.forbidden`
    AssetsForbidden,
    /// `assets.unreachable`
    AssetsUnreachable,
    /// `assets.archive-unsafe`
    AssetsArchiveUnsafe,
    /// `assets.member-missing`
    AssetsMemberMissing,
    /// `assets.size-implausible`
    AssetsSizeImplausible,
    /// `assets.too-slow`
    AssetsTooSlow,
    /// `assets.no-space`
    AssetsNoSpace,
    /// `assets.store-failed`
    AssetsStoreFailed,
    /// `assets.store-locked`
    AssetsStoreLocked,
    /// `assets.bundle-damaged`
    AssetsBundleDamaged,
    /// `assets.release-unknown`
    AssetsReleaseUnknown,
    /// `assets.packages-locked`
    AssetsPackagesLocked,
    /// `assets.packages-failed`
    AssetsPackagesFailed,
    /// `assets.package-unknown`
    AssetsPackageUnknown,
    /// `assets.keyring-unusable`
    AssetsKeyringUnusable,
    /// `assets.user-refused`
    AssetsUserRefused,
    /// `assets.user-failed`
    AssetsUserFailed,
    /// `credentials.missing`
    CredentialsMissing,
    /// `credentials.malformed`
    CredentialsMalformed,
    /// `credentials.denied`
    CredentialsDenied,
    /// `credentials.not-renewed`
    CredentialsNotRenewed,
    /// `credentials.certificate-unfit`
    CredentialsCertificateUnfit,
    /// `files.write-failed`
    FilesWriteFailed,
    /// `files.no-space`
    FilesNoSpace,
    /// `files.occupied`
    FilesOccupied,
    /// `files.overwritten`
    FilesOverwritten,
    /// `files.owner-unknown`
    FilesOwnerUnknown,
    /// `files.reaction-failed`
    FilesReactionFailed,
    /// `services.bus-unreachable`
    ServicesBusUnreachable,
    /// `services.unit-unknown`
    ServicesUnitUnknown,
    /// `services.unit-failed`
    ServicesUnitFailed,
    /// `services.unit-starting`
    ServicesUnitStarting,
    /// `services.image-failed`
    ServicesImageFailed,
    /// `services.image-unusable`
    ServicesImageUnusable,
    /// `services.pull-failed`
    ServicesPullFailed,
    /// `ready.runtime-silent`
    ReadyRuntimeSilent,
    /// `ready.pod-failing`
    ReadyPodFailing,
    /// `ready.node-unregistered`
    ReadyNodeUnregistered,
    /// `ready.node-foreign`
    ReadyNodeForeign,
    /// `ready.node-identity-denied`
    ReadyNodeIdentityDenied,
    /// `ready.node-identity-missing`
    ReadyNodeIdentityMissing,
    /// `ready.cni-foreign`
    ReadyCniForeign,
    /// `ready.cni-missing`
    ReadyCniMissing,
    /// `ready.probe-failing`
    ReadyProbeFailing,
    /// `ready.hook-denied`
    ReadyHookDenied,
    /// `ready.hook-failed`
    ReadyHookFailed,
    /// `addons.channel-unreadable`
    AddonsChannelUnreadable,
    /// `addons.channel-invalid`
    AddonsChannelInvalid,
    /// `addons.manifest-invalid`
    AddonsManifestInvalid,
    /// `addons.manifest-mismatch`
    AddonsManifestMismatch,
    /// `addons.object-refused`
    AddonsObjectRefused,
    /// `addons.object-conflict`
    AddonsObjectConflict,
    /// `addons.kind-unserved`
    AddonsKindUnserved,
    /// `addons.crd-not-established`
    AddonsCrdNotEstablished,
    /// `addons.api-unreachable`
    AddonsApiUnreachable,
    /// `addons.api-denied`
    AddonsApiDenied,
    /// `addons.throttled`
    AddonsThrottled,
    /// `addons.webhook-silent`
    AddonsWebhookSilent,
    /// `addons.prune-failed`
    AddonsPruneFailed,
    /// `addons.issuer-unserved`
    AddonsIssuerUnserved,
    /// `addons.pod-foreign`
    AddonsPodForeign,
    /// `addons.lease-lost`
    AddonsLeaseLost,
    /// `addons.pod-failing`
    AddonsPodFailing,
    /// `boot.budget-exceeded`
    BootBudgetExceeded,
    /// `boot.sink-failed`
    BootSinkFailed,
    /// `boot.interrupted`
    BootInterrupted,
    /// `boot.phase-timed-out`
    BootPhaseTimedOut,
    /// `boot.resources-exhausted`
    BootResourcesExhausted,
    /// `boot.console-denied`
    BootConsoleDenied,
    /// `boot.console-unread`
    BootConsoleUnread,
    /// `boot.report-denied`
    BootReportDenied,
    /// `boot.report-failed`
    BootReportFailed,
    /// `boot.report-unplaced`
    BootReportUnplaced,
    /// `boot.signal-denied`
    BootSignalDenied,
    /// `boot.signal-failed`
    BootSignalFailed,
    /// `boot.signal-unplaced`
    BootSignalUnplaced,
    /// `boot.internal`
    BootInternal,
    /// A code written by a newer agent.
    Unrecognised,
}

impl Code {
    /// Every code of this agent, in the catalogue's order.
    pub const ALL: &'static [Self] = &[
        Self::IdentityImdsUnreachable,
        Self::IdentityImdsDisabled,
        Self::IdentityImdsMalformed,
        Self::IdentityRoleMissing,
        Self::IdentityTagsPending,
        Self::IdentityDescribeDenied,
        Self::IdentityInstanceUnknown,
        Self::IdentityClockSkew,
        Self::IdentityOsUnknown,
        Self::IdentityOsUnsupported,
        Self::ConfigUserDataUnusable,
        Self::ConfigYamlSyntax,
        Self::ConfigYamlTooLarge,
        Self::ConfigWrongType,
        Self::ConfigUnknownKey,
        Self::ConfigMissingKey,
        Self::ConfigUnknownRole,
        Self::ConfigRoleDisagrees,
        Self::ConfigClusterSpecMissing,
        Self::ConfigInstanceGroupMissing,
        Self::ConfigDrift,
        Self::ConfigHashMismatch,
        Self::ConfigAssetMalformed,
        Self::ConfigDigestRefused,
        Self::ConfigWeakDigest,
        Self::ConfigLocationUnusable,
        Self::ConfigUnsupported,
        Self::ConfigObjectMissing,
        Self::ConfigObjectMalformed,
        Self::ConfigStoreDenied,
        Self::ConfigStoreUnreachable,
        Self::ConfigBucketMissing,
        Self::ConfigControllerUnregistered,
        Self::ConfigControllerUnreachable,
        Self::ConfigControllerFailing,
        Self::ConfigControllerUntrusted,
        Self::ConfigControllerDenied,
        Self::ConfigControllerRejected,
        Self::ConfigNodeExists,
        Self::ConfigItemConflict,
        Self::ConfigEtcdDisagrees,
        Self::ConfigInstanceTypeDenied,
        Self::ConfigInstanceTypeUnknown,
        Self::NetworkModuleMissing,
        Self::NetworkSysctlRefused,
        Self::NetworkUnreadable,
        Self::NetworkPrefixDenied,
        Self::NetworkPrefixFailed,
        Self::NetworkPrefixPending,
        Self::DnsZoneMissing,
        Self::DnsZoneAmbiguous,
        Self::DnsDenied,
        Self::DnsRefused,
        Self::DnsThrottled,
        Self::DnsNoAnswer,
        Self::DnsConflict,
        Self::DnsRecordForeign,
        Self::DnsPending,
        Self::StorageVolumeConflict,
        Self::StorageVolumeElsewhere,
        Self::StorageVolumeHeld,
        Self::StorageVolumeMissing,
        Self::StorageVolumeBusy,
        Self::StorageMultiAttach,
        Self::StorageTagMalformed,
        Self::StorageDescribeDenied,
        Self::StorageAttachDenied,
        Self::StorageAttachFailed,
        Self::StorageCloudUnreachable,
        Self::StorageDeviceMissing,
        Self::StorageDeviceNotBlank,
        Self::StorageFilesystemUnusable,
        Self::StorageMountOccupied,
        Self::StorageFormatFailed,
        Self::StorageMountFailed,
        Self::StorageMountGone,
        Self::StorageFilesystemRepaired,
        Self::StorageCheckFailed,
        Self::StorageGrowFailed,
        Self::StorageSeveralPins,
        Self::StorageVolumeStale,
        Self::StorageNotEncrypted,
        Self::StorageSeveralAttachments,
        Self::StorageSeveralRoles,
        Self::StorageHeldByForeign,
        Self::StorageTwoMembers,
        Self::StorageNoMember,
        Self::StorageHolderEnding,
        Self::StorageHolderStopped,
        Self::StorageHolderUnknown,
        Self::StorageViewInconsistent,
        Self::StorageAttachLimit,
        Self::StorageKeyDenied,
        Self::StorageDeviceUnreadable,
        Self::StorageSignatureAmbiguous,
        Self::StorageDataUnsigned,
        Self::StorageBlankFromSnapshot,
        Self::StorageDataExpected,
        Self::StorageForeignClusterData,
        Self::StorageForeignMemberData,
        Self::StorageVolumeCloned,
        Self::StorageLegacyUnproven,
        Self::StorageFilesystemUnproven,
        Self::StorageMarkerMissing,
        Self::StorageJournalUnusable,
        Self::StorageTagDenied,
        Self::StorageSurplusVolumes,
        Self::StorageSplitBundle,
        Self::AssetsDigestMismatch,
        Self::AssetsNotFound,
        Self::AssetsForbidden,
        Self::AssetsUnreachable,
        Self::AssetsArchiveUnsafe,
        Self::AssetsMemberMissing,
        Self::AssetsSizeImplausible,
        Self::AssetsTooSlow,
        Self::AssetsNoSpace,
        Self::AssetsStoreFailed,
        Self::AssetsStoreLocked,
        Self::AssetsBundleDamaged,
        Self::AssetsReleaseUnknown,
        Self::AssetsPackagesLocked,
        Self::AssetsPackagesFailed,
        Self::AssetsPackageUnknown,
        Self::AssetsKeyringUnusable,
        Self::AssetsUserRefused,
        Self::AssetsUserFailed,
        Self::CredentialsMissing,
        Self::CredentialsMalformed,
        Self::CredentialsDenied,
        Self::CredentialsNotRenewed,
        Self::CredentialsCertificateUnfit,
        Self::FilesWriteFailed,
        Self::FilesNoSpace,
        Self::FilesOccupied,
        Self::FilesOverwritten,
        Self::FilesOwnerUnknown,
        Self::FilesReactionFailed,
        Self::ServicesBusUnreachable,
        Self::ServicesUnitUnknown,
        Self::ServicesUnitFailed,
        Self::ServicesUnitStarting,
        Self::ServicesImageFailed,
        Self::ServicesImageUnusable,
        Self::ServicesPullFailed,
        Self::ReadyRuntimeSilent,
        Self::ReadyPodFailing,
        Self::ReadyNodeUnregistered,
        Self::ReadyNodeForeign,
        Self::ReadyNodeIdentityDenied,
        Self::ReadyNodeIdentityMissing,
        Self::ReadyCniForeign,
        Self::ReadyCniMissing,
        Self::ReadyProbeFailing,
        Self::ReadyHookDenied,
        Self::ReadyHookFailed,
        Self::AddonsChannelUnreadable,
        Self::AddonsChannelInvalid,
        Self::AddonsManifestInvalid,
        Self::AddonsManifestMismatch,
        Self::AddonsObjectRefused,
        Self::AddonsObjectConflict,
        Self::AddonsKindUnserved,
        Self::AddonsCrdNotEstablished,
        Self::AddonsApiUnreachable,
        Self::AddonsApiDenied,
        Self::AddonsThrottled,
        Self::AddonsWebhookSilent,
        Self::AddonsPruneFailed,
        Self::AddonsIssuerUnserved,
        Self::AddonsPodForeign,
        Self::AddonsLeaseLost,
        Self::AddonsPodFailing,
        Self::BootBudgetExceeded,
        Self::BootSinkFailed,
        Self::BootInterrupted,
        Self::BootPhaseTimedOut,
        Self::BootResourcesExhausted,
        Self::BootConsoleDenied,
        Self::BootConsoleUnread,
        Self::BootReportDenied,
        Self::BootReportFailed,
        Self::BootReportUnplaced,
        Self::BootSignalDenied,
        Self::BootSignalFailed,
        Self::BootSignalUnplaced,
        Self::BootInternal,
    ];

    /// This code's row.
    #[expect(
        clippy::too_many_lines,
        reason = "one row per code; the match is the catalogue"
    )]
    pub fn entry(self) -> Entry {
        match self {
            Self::IdentityImdsUnreachable => Entry {
                code: "identity.imds-unreachable",
                class: Class::Transient,
                why: "without the instance metadata service the agent knows neither what this instance is nor its credentials",
                remedy: "look for the way: ip route get 169.254.169.254; let port 80 of it (and fd00:ec2::254) past nftables and iptables; in a container: aws ec2 modify-instance-metadata-options --instance-id <id> --http-put-response-hop-limit 2",
            },
            Self::IdentityImdsDisabled => Entry {
                code: "identity.imds-disabled",
                class: Class::Denied,
                why: "the metadata service answers and gives no token: it is turned off, or what stands in its place refuses this host",
                remedy: "run: aws ec2 modify-instance-metadata-options --instance-id <id> --http-endpoint enabled --http-tokens required",
            },
            Self::IdentityImdsMalformed => Entry {
                code: "identity.imds-malformed",
                class: Class::Transient,
                why: "the metadata service answered something that is not metadata, as an error page of something in its way would",
                remedy: "the agent asks it without a proxy, so something redirects the address: iptables -t nat -S OUTPUT; let 169.254.169.254 and fd00:ec2::254 past it and try: curl -X PUT http://169.254.169.254/latest/api/token -H 'X-aws-ec2-metadata-token-ttl-seconds: 60'",
            },
            Self::IdentityRoleMissing => Entry {
                code: "identity.role-missing",
                class: Class::NotYet,
                why: "no IAM role is attached to the instance, and without one it can neither read the state store nor attach volumes; a new profile takes some seconds to appear",
                remedy: "run: aws ec2 associate-iam-instance-profile --instance-id <id> --iam-instance-profile Name=<profile>; and name it in the launch template (IamInstanceProfile)",
            },
            Self::IdentityTagsPending => Entry {
                code: "identity.tags-pending",
                class: Class::NotYet,
                why: "EC2 shows no tag of the cluster on this instance yet; kubelet's cloud provider reads them once, and started before they are there it stays broken until restarted",
                remedy: "wait; if they never come: aws ec2 create-tags --resources <id> --tags Key=KubernetesCluster,Value=<cluster>; and give the auto scaling group's tags PropagateAtLaunch",
            },
            Self::IdentityDescribeDenied => Entry {
                code: "identity.describe-denied",
                class: Class::Denied,
                why: "the agent may not read the instance's own tags, which kubelet's cloud provider needs before it starts",
                remedy: "allow ec2:DescribeInstances on * for the node's role: quake-agent iam policy prints the statement",
            },
            Self::IdentityInstanceUnknown => Entry {
                code: "identity.instance-unknown",
                class: Class::NotYet,
                why: "EC2 does not show this instance yet; its reads lag behind a launch",
                remedy: "wait; if it lasts: aws ec2 describe-instances --instance-ids <id>, and take a wrong AWS_REGION or AWS_ENDPOINT_URL out of the unit: systemctl show quake-agent -p Environment",
            },
            Self::IdentityClockSkew => Entry {
                code: "identity.clock-skew",
                class: Class::NotYet,
                why: "the clock is off, and AWS refuses requests signed more than five to fifteen minutes off",
                remedy: "start chrony or systemd-timesyncd with server 169.254.169.123, or step the clock: chronyc makestep",
            },
            Self::IdentityOsUnknown => Entry {
                code: "identity.os-unknown",
                class: Class::Invalid,
                why: "there is no /etc/os-release, and without it the agent does not know this distribution's paths and packages",
                remedy: "run: ln -s ../usr/lib/os-release /etc/os-release; a scratch root needs a copy of one",
            },
            Self::IdentityOsUnsupported => Entry {
                code: "identity.os-unsupported",
                class: Class::Invalid,
                why: "the paths, packages and kernel of this distribution are not known, and a node that is half set up runs pods and breaks them",
                remedy: "launch the instance group from an image of Debian 12 or 13, Ubuntu 22.04, 24.04 or 26.04, Amazon Linux 2023 or Flatcar: kops edit instancegroup <group>, spec.image",
            },
            Self::ConfigUserDataUnusable => Entry {
                code: "config.user-data-unusable",
                class: Class::Invalid,
                why: "the user data holds no kube_env.yaml, so the node does not know what to become",
                remedy: "quake-agent user-data explain says what is wrong with it; render it again with the cluster's tool (kops update cluster --yes) and launch the instance anew, or pass --kube-env FILE",
            },
            Self::ConfigYamlSyntax => Entry {
                code: "config.yaml-syntax",
                class: Class::Invalid,
                why: "the document is no YAML, as a rule because an upload was cut off, and what cannot be read is not applied in part",
                remedy: "correct the file at the line and column named; quake-agent check FILE tries it",
            },
            Self::ConfigYamlTooLarge => Entry {
                code: "config.yaml-too-large",
                class: Class::Invalid,
                why: "the document expands beyond what any configuration needs, as a crafted one does",
                remedy: "write the object again with the cluster's tool (kops update cluster --yes), without nested anchors and aliases, and look who else writes to the bucket",
            },
            Self::ConfigWrongType => Entry {
                code: "config.wrong-type",
                class: Class::Invalid,
                why: "a value of another type would be read as something nobody wrote",
                remedy: "give the value the type named, at the line and column named",
            },
            Self::ConfigUnknownKey => Entry {
                code: "config.unknown-key",
                class: Class::Invalid,
                why: "a key that nothing reads is usually a misspelt one, and its setting is silently lost",
                remedy: "correct or remove the key; on a node it is a warning, so that an older agent survives a newer spec",
            },
            Self::ConfigMissingKey => Entry {
                code: "config.missing-key",
                class: Class::Invalid,
                why: "a value is not given that the node cannot be configured without",
                remedy: "add the key named to the document named; quake-agent check FILE tries it",
            },
            Self::ConfigUnknownRole => Entry {
                code: "config.unknown-role",
                class: Class::Invalid,
                why: "the instance group's role is none that the agent knows, and the role decides everything the node runs",
                remedy: "set spec.role of the instance group to Master, Node, APIServer or Bastion: kops edit ig <group>, then kops update cluster --yes",
            },
            Self::ConfigRoleDisagrees => Entry {
                code: "config.role-disagrees",
                class: Class::Invalid,
                why: "user data and instance group give the node different roles, and with the wrong one it joins the cluster as something it is not",
                remedy: "make the instance group's role and the _kubernetes_master tag of kube_env.yaml agree: render the user data again",
            },
            Self::ConfigClusterSpecMissing => Entry {
                code: "config.cluster-spec-missing",
                class: Class::Invalid,
                why: "the cluster spec says what this node runs, and neither the state store nor the user data has it",
                remedy: "write it with the cluster's tool (kops update cluster --yes), or correct ConfigBase",
            },
            Self::ConfigInstanceGroupMissing => Entry {
                code: "config.instance-group-missing",
                class: Class::Invalid,
                why: "the instance group says which role this node has, and neither the state store nor the user data has it",
                remedy: "write it with the cluster's tool (kops update cluster --yes), or correct InstanceGroupName",
            },
            Self::ConfigDrift => Entry {
                code: "config.drift",
                class: Class::Invalid,
                why: "the state store has changed since this instance was launched, so a reboot applies what no launch reviewed",
                remedy: "quake-agent plan says what a reboot would change; if that is wanted, roll the group: kops rolling-update cluster --instance-group <group> --yes; if not, put the old values back: kops edit cluster",
            },
            Self::ConfigHashMismatch => Entry {
                code: "config.hash-mismatch",
                class: Class::Invalid,
                why: "this instance was launched from a template older (or newer) than the state store, so the configuration there is not the one its user data was made for",
                remedy: "replace the instance: kops update cluster --yes, so that the launch template names the configuration in the state store, then kops rolling-update cluster --instance-group <group> --yes",
            },
            Self::ConfigAssetMalformed => Entry {
                code: "config.asset-malformed",
                class: Class::Invalid,
                why: "an asset that is not digest@url[,url] cannot be fetched and verified",
                remedy: "correct the entry: <sha1|sha256|sha512 hex>@https://host/path[,https://mirror/path]; s3://bucket/key may stand for each URL",
            },
            Self::ConfigDigestRefused => Entry {
                code: "config.digest-refused",
                class: Class::Invalid,
                why: "md5 can be forged and a missing digest verifies nothing, so the bytes could be anybody's",
                remedy: "pin the asset with sha256 (or sha1 for old clusters)",
            },
            Self::ConfigWeakDigest => Entry {
                code: "config.weak-digest",
                class: Class::Invalid,
                why: "sha1 can be forged by a determined attacker",
                remedy: "pin the asset with sha256 when the cluster's tool allows it",
            },
            Self::ConfigLocationUnusable => Entry {
                code: "config.location-unusable",
                class: Class::Invalid,
                why: "the state store cannot be read from this location",
                remedy: "use s3://bucket/prefix or file:///path",
            },
            Self::ConfigUnsupported => Entry {
                code: "config.unsupported",
                class: Class::Invalid,
                why: "the spec asks for something this agent does not do, and doing half of it would leave a broken node",
                remedy: "take the setting named out (kops edit cluster, kops edit ig <group>), or use an agent that supports it",
            },
            Self::ConfigObjectMissing => Entry {
                code: "config.object-missing",
                class: Class::Invalid,
                why: "an object the configuration refers to is not in the state store",
                remedy: "write it with the cluster's tool (kops update cluster --yes)",
            },
            Self::ConfigObjectMalformed => Entry {
                code: "config.object-malformed",
                class: Class::Invalid,
                why: "an object of the state store is larger than any configuration, or not what its name says",
                remedy: "write it again with the cluster's tool (kops update cluster --yes), and look who else writes to the bucket",
            },
            Self::ConfigStoreDenied => Entry {
                code: "config.store-denied",
                class: Class::Denied,
                why: "the node's role may not read its own configuration",
                remedy: "allow the action named on the object named for the node's role: quake-agent iam policy prints the statements; with KMS encryption also kms:Decrypt on the key",
            },
            Self::ConfigStoreUnreachable => Entry {
                code: "config.store-unreachable",
                class: Class::Transient,
                why: "the state store does not answer",
                remedy: "try from the node: curl -sS https://s3.<region>.amazonaws.com; mend routes, DNS or proxies; an S3 gateway endpoint makes it independent of NAT",
            },
            Self::ConfigBucketMissing => Entry {
                code: "config.bucket-missing",
                class: Class::Invalid,
                why: "the state store's bucket does not exist in this partition",
                remedy: "correct the bucket in ConfigBase, or restore it: aws s3api head-bucket --bucket <bucket>",
            },
            Self::ConfigControllerUnregistered => Entry {
                code: "config.controller-unregistered",
                class: Class::NotYet,
                why: "the control plane has not registered itself yet: the name of kops-controller has no address, or the one that stands for none until there is one",
                remedy: "wait while the control plane boots; if it lasts: kops validate cluster, then on the control plane see etcd, kube-apiserver and kops-controller (and dns-controller, which writes the record), and whether the VPC resolves the cluster's private zone: dig kops-controller.internal.<cluster>",
            },
            Self::ConfigControllerUnreachable => Entry {
                code: "config.controller-unreachable",
                class: Class::Transient,
                why: "a worker gets its configuration and its certificates from kops-controller on the control plane, and none of its servers answers",
                remedy: "see whether it runs: kubectl -n kube-system get pods -l k8s-app=kops-controller; let port 3988 of the control plane, or of its load balancer, past security groups and ACLs: nc -vz <server> 3988",
            },
            Self::ConfigControllerFailing => Entry {
                code: "config.controller-failing",
                class: Class::Transient,
                why: "kops-controller answers and fails: it cannot ask the API server for the node, or cannot read the group's configuration, or something else answers in its place",
                remedy: "read why: kubectl -n kube-system logs -l k8s-app=kops-controller; with \"failed to build node config\" the instance's tag kops.k8s.io/instancegroup and igconfig/node/<group>/nodeupconfig.yaml in the state store must be there",
            },
            Self::ConfigControllerUntrusted => Entry {
                code: "config.controller-untrusted",
                class: Class::Denied,
                why: "what answers in the place of kops-controller does not prove to be it: its certificate is signed by another authority than the user data trusts, or is for another name",
                remedy: "if the cluster's authority was rotated, this instance was launched from an older launch template: kops update cluster --yes, then kops rolling-update cluster --instance-group <group> --yes; else see who answers: openssl s_client -connect <server>:3988 -servername kops-controller.internal.<cluster>",
            },
            Self::ConfigControllerDenied => Entry {
                code: "config.controller-denied",
                class: Class::Denied,
                why: "kops-controller does not take this instance for a node of its cluster: STS must know the signature, the account and partition must be the cluster's, the role one of its node groups', and EC2 must show it the instance",
                remedy: "read which check failed: kubectl -n kube-system logs -l k8s-app=kops-controller | grep 'verify err'; then mend it: the instance profile of the group, kops update cluster --yes for a role that kops-controller does not list, ec2:DescribeInstances for the control plane's role; throttled calls of its own look the same, and pass",
            },
            Self::ConfigControllerRejected => Entry {
                code: "config.controller-rejected",
                class: Class::Invalid,
                why: "kops-controller can do nothing with what it was asked for: most often this instance was launched for another generation of the cluster's authority than it signs with",
                remedy: "read why: kubectl -n kube-system logs -l k8s-app=kops-controller; replace the instance: kops update cluster --yes, then kops rolling-update cluster --instance-group <group> --yes",
            },
            Self::ConfigNodeExists => Entry {
                code: "config.node-exists",
                class: Class::Denied,
                why: "a node of this instance's name is Ready in the cluster, and kops-controller gives nobody else its certificates; this instance does not hold what an earlier boot of it got",
                remedy: "kubectl get node <instance-id>; is kubelet here not its owner any more, delete it: kubectl delete node <instance-id>, and start the agent: systemctl reset-failed quake-agent && systemctl start quake-agent; else replace the instance",
            },
            Self::ConfigItemConflict => Entry {
                code: "config.item-conflict",
                class: Class::Invalid,
                why: "two parts of the configuration want different things in one place, and which of them is meant nobody can tell",
                remedy: "take one of them out of the cluster's or the group's spec (fileAssets, hooks, volumeMounts), then kops update cluster",
            },
            Self::ConfigEtcdDisagrees => Entry {
                code: "config.etcd-disagrees",
                class: Class::Invalid,
                why: "etcd-manager would look for other volumes than those that the agent chooses, and could start etcd without its data",
                remedy: "render both anew with: kops update cluster --yes; then replace the instance",
            },
            Self::ConfigInstanceTypeDenied => Entry {
                code: "config.instance-type-denied",
                class: Class::Denied,
                why: "pods get addresses of the instance, and how many its type has could not be asked",
                remedy: "allow ec2:DescribeInstanceTypes on * for the role, or set maxPods in the spec's kubelet section",
            },
            Self::ConfigInstanceTypeUnknown => Entry {
                code: "config.instance-type-unknown",
                class: Class::Transient,
                why: "pods get addresses of the instance, and EC2 did not say how many its type has",
                remedy: "nothing, if it heals; else check the route to EC2, or set maxPods in the spec's kubelet section",
            },
            Self::NetworkModuleMissing => Entry {
                code: "network.module-missing",
                class: Class::Invalid,
                why: "the kernel lacks a module the node's networking needs",
                remedy: "try: modprobe <module>; install the package with the kernel's extra modules, or use an image whose kernel has it",
            },
            Self::NetworkSysctlRefused => Entry {
                code: "network.sysctl-refused",
                class: Class::Denied,
                why: "the kernel did not take a setting the node needs",
                remedy: "look whether /proc/sys is read-only: findmnt /proc/sys; run as root on the host and not in a container; a setting of net.bridge needs: modprobe br_netfilter",
            },
            Self::NetworkUnreadable => Entry {
                code: "network.unreadable",
                class: Class::Denied,
                why: "the kernel did not let the agent list links, addresses and routes",
                remedy: "run in the host's network namespace, with AF_NETLINK allowed: systemctl show quake-agent -p PrivateNetwork -p RestrictAddressFamilies",
            },
            Self::NetworkPrefixDenied => Entry {
                code: "network.prefix-denied",
                class: Class::Denied,
                why: "pods of a cluster of IPv6 alone get their addresses from a prefix of the instance, and this one may not ask for it",
                remedy: "allow ec2:AssignIpv6Addresses on the node's network interface for the role",
            },
            Self::NetworkPrefixFailed => Entry {
                code: "network.prefix-failed",
                class: Class::Transient,
                why: "pods of a cluster of IPv6 alone get their addresses from a prefix of the instance, and EC2 gave none",
                remedy: "see that the subnet has an IPv6 range with a free /80: aws ec2 describe-subnets --subnet-ids <subnet>",
            },
            Self::NetworkPrefixPending => Entry {
                code: "network.prefix-pending",
                class: Class::NotYet,
                why: "EC2 assigned an IPv6 prefix, and the instance's metadata does not show it yet",
                remedy: "nothing, as a rule it takes seconds; else: aws ec2 describe-network-interfaces --network-interface-ids <eni>",
            },
            Self::DnsZoneMissing => Entry {
                code: "dns.zone-missing",
                class: Class::Invalid,
                why: "the cluster names a hosted zone that does not exist, or that does not hold its names: nodes and etcd's members cannot find each other",
                remedy: "see which zones there are: aws route53 list-hosted-zones; correct dnsZone and topology.dns.type of the cluster, then: kops update cluster --yes",
            },
            Self::DnsZoneAmbiguous => Entry {
                code: "dns.zone-ambiguous",
                class: Class::Invalid,
                why: "several hosted zones have the name that the cluster gives, and names in the wrong one are found by nobody",
                remedy: "name the zone by its id in dnsZone of the cluster, or associate only one private zone of this name with the VPC",
            },
            Self::DnsDenied => Entry {
                code: "dns.denied",
                class: Class::Denied,
                why: "the node may not use the hosted zone, so that etcd's members and the other nodes do not find it",
                remedy: "allow route53:ListResourceRecordSets, route53:ChangeResourceRecordSets and route53:GetHostedZone on the zone for the role: quake-agent iam policy --zone <id> prints the statements",
            },
            Self::DnsRefused => Entry {
                code: "dns.refused",
                class: Class::Invalid,
                why: "Route 53 does not take a request of the agent, for a reason that the agent has no name for; asked again it would say the same",
                remedy: "read what Route 53 said (error code, and the text behind it) in its API reference: a name or an address that it does not take, or a limit of the zone; correct the cluster, or report it with the boot's ledger",
            },
            Self::DnsThrottled => Entry {
                code: "dns.throttled",
                class: Class::Transient,
                why: "Route 53 answers five requests a second for a whole account, and somebody asks more often, or changes the same zone",
                remedy: "wait: the agent tries again; if it lasts, see in CloudTrail who calls route53.amazonaws.com so often",
            },
            Self::DnsNoAnswer => Entry {
                code: "dns.no-answer",
                class: Class::Transient,
                why: "Route 53 does not answer, so that the node's names may lead elsewhere",
                remedy: "try from the node: curl -sS https://route53.amazonaws.com; it has no VPC endpoint, so that a private subnet needs NAT or a proxy",
            },
            Self::DnsConflict => Entry {
                code: "dns.conflict",
                class: Class::Conflict,
                why: "somebody else changed the same names at the same time; what they wrote is not undone",
                remedy: "nothing, as a rule the agent's next look settles it; if it lasts, see who else writes the names: aws route53 list-resource-record-sets --hosted-zone-id <zone>",
            },
            Self::DnsRecordForeign => Entry {
                code: "dns.record-foreign",
                class: Class::Refused,
                why: "the name is an alias or has a routing policy, which the agent did not make and does not change",
                remedy: "remove the record, or let it lead to the node; kops makes plain address records only",
            },
            Self::DnsPending => Entry {
                code: "dns.pending",
                class: Class::NotYet,
                why: "Route 53 has taken the names and not all of its name servers answer with them yet",
                remedy: "nothing, as a rule it takes a minute; else: aws route53 get-change --id <change>",
            },
            Self::StorageVolumeConflict => Entry {
                code: "storage.volume-conflict",
                class: Class::Refused,
                why: "several volumes claim one etcd member, and choosing the wrong one could start the cluster from old data",
                remedy: "find out which one has the data: quake-agent volumes explain; then: quake-agent volumes pin <volume id> --slot <slot> --yes, or for the others: quake-agent volumes ignore <volume id> --reason <text> --yes",
            },
            Self::StorageVolumeElsewhere => Entry {
                code: "storage.volume-elsewhere",
                class: Class::Invalid,
                why: "EBS attaches a volume only within its own zone, so this node can never use it",
                remedy: "copy it into the instance's zone (aws ec2 create-snapshot, then aws ec2 create-volume --availability-zone <zone>, with its tags) and leave it out: quake-agent volumes ignore <volume id> --reason <text> --yes; or correct the instance group's subnets",
            },
            Self::StorageVolumeHeld => Entry {
                code: "storage.volume-held",
                class: Class::NotYet,
                why: "another instance holds the volume, and only one may",
                remedy: "wait for the other instance to end; if it should not run: aws autoscaling terminate-instance-in-auto-scaling-group --instance-id <holder> --no-should-decrement-desired-capacity",
            },
            Self::StorageVolumeMissing => Entry {
                code: "storage.volume-missing",
                class: Class::NotYet,
                why: "without its volume this etcd member has no place for its data",
                remedy: "look for one that lacks a tag: quake-agent volumes list --all; create it with the cluster's tool: kops update cluster --yes",
            },
            Self::StorageVolumeBusy => Entry {
                code: "storage.volume-busy",
                class: Class::NotYet,
                why: "the volume is being created, attached or detached, or another program has its device",
                remedy: "wait; a volume that stays so for ten minutes: aws ec2 describe-volumes --volume-ids <id>, then aws ec2 reboot-instances --instance-ids <the instance that it hangs on>",
            },
            Self::StorageMultiAttach => Entry {
                code: "storage.multi-attach",
                class: Class::Refused,
                why: "a volume that two instances may mount at once can be written by both, and ext4 does not survive that",
                remedy: "while it is attached nowhere: aws ec2 modify-volume --volume-id <id> --no-multi-attach-enabled (io2); or copy it by a snapshot to a volume without",
            },
            Self::StorageTagMalformed => Entry {
                code: "storage.tag-malformed",
                class: Class::Invalid,
                why: "the volume's k8s.io/etcd tag cannot be read, and it decides which etcd member the volume belongs to",
                remedy: "run: aws ec2 create-tags --resources <id> --tags 'Key=k8s.io/etcd/<cluster>,Value=\"<member>/<member>,<member>\"'",
            },
            Self::StorageDescribeDenied => Entry {
                code: "storage.describe-denied",
                class: Class::Denied,
                why: "the agent may not list volumes, and so cannot find this node's",
                remedy: "allow ec2:DescribeVolumes on * for the control plane's role: quake-agent iam policy --role control-plane prints the statement",
            },
            Self::StorageAttachDenied => Entry {
                code: "storage.attach-denied",
                class: Class::Denied,
                why: "the agent may not attach the node's volume",
                remedy: "allow ec2:AttachVolume for the control plane's role on both the volume and the instance; kops' policy asks for the tag KubernetesCluster on both",
            },
            Self::StorageAttachFailed => Entry {
                code: "storage.attach-failed",
                class: Class::Conflict,
                why: "the volume could not be attached as planned; someone else may have taken it",
                remedy: "nothing at first: the volumes are read again and the choice is made anew",
            },
            Self::StorageCloudUnreachable => Entry {
                code: "storage.cloud-unreachable",
                class: Class::Transient,
                why: "the EC2 API does not answer",
                remedy: "try from the node: curl -sS https://ec2.<region>.amazonaws.com; mend routes, DNS or proxies; a private subnet needs a NAT or an interface endpoint of EC2",
            },
            Self::StorageDeviceMissing => Entry {
                code: "storage.device-missing",
                class: Class::NotYet,
                why: "EC2 says attached, and the kernel shows no device with the volume's serial",
                remedy: "wait; then: lsblk -o NAME,SERIAL; echo 1 > /sys/bus/pci/rescan; modprobe nvme; at last: aws ec2 reboot-instances --instance-ids <id>",
            },
            Self::StorageDeviceNotBlank => Entry {
                code: "storage.device-not-blank",
                class: Class::Refused,
                why: "formatting a device that carries a signature would destroy data",
                remedy: "look what it is: wipefs --no-act <device>; if it is not wanted, take a snapshot and run wipefs --all <device> on another instance, or create a new volume",
            },
            Self::StorageFilesystemUnusable => Entry {
                code: "storage.filesystem-unusable",
                class: Class::Refused,
                why: "mounting or repairing a damaged filesystem blindly can lose what is left of it",
                remedy: "aws ec2 create-snapshot --volume-id <id>, then: e2fsck -f <device>; or restore etcd's backup",
            },
            Self::StorageMountOccupied => Entry {
                code: "storage.mount-occupied",
                class: Class::Refused,
                why: "something else is mounted where the volume belongs",
                remedy: "findmnt <path> and fuser -vm <path> say what it is; if nobody needs it: umount <path>",
            },
            Self::StorageFormatFailed => Entry {
                code: "storage.format-failed",
                class: Class::Denied,
                why: "a blank volume could not be given its filesystem",
                remedy: "install e2fsprogs if mkfs.ext4 is missing; else read the kernel's messages: dmesg | tail; a device that is read-only (blockdev --getro <device>) needs a new volume",
            },
            Self::StorageMountFailed => Entry {
                code: "storage.mount-failed",
                class: Class::Denied,
                why: "the kernel did not mount the volume",
                remedy: "read the kernel's messages: dmesg | tail; a kernel without ext4 needs: modprobe ext4",
            },
            Self::StorageMountGone => Entry {
                code: "storage.mount-gone",
                class: Class::Transient,
                why: "etcd would write below the mount point, onto the root disk, where nothing is kept",
                remedy: "find out who unmounted it: journalctl -b -k; then: systemctl restart quake-agent.service mounts it, and the etcd pod must be started again",
            },
            Self::StorageFilesystemRepaired => Entry {
                code: "storage.filesystem-repaired",
                class: Class::Transient,
                why: "the filesystem had faults that a safe repair mended; something wrote to it or stopped badly",
                remedy: "nothing now; if it comes again, look at the volume and at what stops the instance",
            },
            Self::StorageCheckFailed => Entry {
                code: "storage.check-failed",
                class: Class::Denied,
                why: "a filesystem that cannot be checked is not mounted read-write",
                remedy: "install e2fsprogs if e2fsck is missing; else read the kernel's messages: dmesg | tail; an impaired volume needs: aws ec2 enable-volume-io --volume-id <id>",
            },
            Self::StorageGrowFailed => Entry {
                code: "storage.grow-failed",
                class: Class::Denied,
                why: "the volume is larger than its filesystem",
                remedy: "install e2fsprogs if resize2fs is missing, then: resize2fs <device>, mounted as it is",
            },
            Self::StorageSeveralPins => Entry {
                code: "storage.several-pins",
                class: Class::Refused,
                why: "two operators chose differently, and neither choice is more right",
                remedy: "take the tag quake.io/etcd-pin off all but one: quake-agent volumes unpin <volume id> --yes",
            },
            Self::StorageVolumeStale => Entry {
                code: "storage.volume-stale",
                class: Class::Refused,
                why: "a volume older than the cluster's own authority may hold the data of a deleted cluster of the same name",
                remedy: "if the volume is wanted: quake-agent volumes adopt <volume id> --yes; if not: quake-agent volumes ignore <volume id> --reason <text> --yes",
            },
            Self::StorageNotEncrypted => Entry {
                code: "storage.not-encrypted",
                class: Class::Refused,
                why: "the cluster spec asks for an encrypted volume, and etcd holds every secret of the cluster",
                remedy: "copy it encrypted (aws ec2 create-volume --snapshot-id <snapshot> --encrypted) with its tags and ignore the old one, or set etcdMembers[].encryptedVolume to false in the cluster spec",
            },
            Self::StorageSeveralAttachments => Entry {
                code: "storage.several-attachments",
                class: Class::Refused,
                why: "two instances may write to the volume at once, and ext4 does not survive that",
                remedy: "stop etcd on all but one instance, unmount it there, then: aws ec2 detach-volume --volume-id <id> --instance-id <other>",
            },
            Self::StorageSeveralRoles => Entry {
                code: "storage.several-roles",
                class: Class::Invalid,
                why: "the volume has several k8s.io/etcd tags, and holds the data of one etcd cluster only; which one cannot be told",
                remedy: "keep one: aws ec2 delete-tags --resources <id> --tags Key=k8s.io/etcd/<the wrong one>",
            },
            Self::StorageHeldByForeign => Entry {
                code: "storage.held-by-foreign",
                class: Class::Refused,
                why: "an instance of another group uses the volume of this group's member",
                remedy: "find out why that instance holds it; stop what uses it, unmount it, then: aws ec2 detach-volume --volume-id <id>",
            },
            Self::StorageTwoMembers => Entry {
                code: "storage.two-members",
                class: Class::Refused,
                why: "this instance holds the volumes of two members of one etcd cluster, and would count twice in its quorum",
                remedy: "stop etcd, unmount the volumes of one member, then for each: aws ec2 detach-volume --volume-id <id>; the agent never detaches",
            },
            Self::StorageNoMember => Entry {
                code: "storage.no-member",
                class: Class::Invalid,
                why: "the spec gives this instance group no etcd member in this zone",
                remedy: "correct etcdMembers[].instanceGroup in the cluster spec (kops edit cluster), or the instance group's subnets (kops edit ig <group>)",
            },
            Self::StorageHolderEnding => Entry {
                code: "storage.holder-ending",
                class: Class::NotYet,
                why: "the instance that holds the volume is going, and EC2 has not released it yet",
                remedy: "wait; after half an hour: aws ec2 terminate-instances --instance-ids <holder>, and only once it is terminated: aws ec2 detach-volume --volume-id <id> --force",
            },
            Self::StorageHolderStopped => Entry {
                code: "storage.holder-stopped",
                class: Class::NotYet,
                why: "a stopped instance keeps its volumes, and only an operator knows whether it comes back",
                remedy: "aws ec2 start-instances --instance-ids <holder> if it comes back; else aws ec2 terminate-instances, or aws ec2 detach-volume --volume-id <id>",
            },
            Self::StorageHolderUnknown => Entry {
                code: "storage.holder-unknown",
                class: Class::NotYet,
                why: "EC2 names an instance as the volume's holder and does not describe that instance",
                remedy: "wait; then: aws ec2 describe-instances --instance-ids <holder>; if nobody has such an instance: aws ec2 detach-volume --volume-id <id>",
            },
            Self::StorageViewInconsistent => Entry {
                code: "storage.view-inconsistent",
                class: Class::NotYet,
                why: "EC2's answers contradict each other or have just changed, and no decision is made on such a view",
                remedy: "wait; then: aws ec2 describe-volumes --volume-ids <id>",
            },
            Self::StorageAttachLimit => Entry {
                code: "storage.attach-limit",
                class: Class::Denied,
                why: "the instance holds as many volumes as its type can",
                remedy: "detach volumes that nothing uses (kubectl get volumeattachments), or give the instance group a larger machineType: kops edit ig <group>",
            },
            Self::StorageKeyDenied => Entry {
                code: "storage.key-denied",
                class: Class::Denied,
                why: "EC2 cannot use the key that encrypts the volume",
                remedy: "allow kms:CreateGrant and kms:Decrypt on the volume's key for the control plane's role, and see that the key is enabled: aws kms describe-key --key-id <key>",
            },
            Self::StorageDeviceUnreadable => Entry {
                code: "storage.device-unreadable",
                class: Class::Refused,
                why: "a device that cannot be read cannot be shown to be empty",
                remedy: "aws ec2 describe-volume-status --volume-ids <id>; an impaired volume: aws ec2 enable-volume-io --volume-id <id>; else restore its newest snapshot into a new one",
            },
            Self::StorageSignatureAmbiguous => Entry {
                code: "storage.signature-ambiguous",
                class: Class::Refused,
                why: "several signatures are on the device, and at most one of them is true",
                remedy: "find out which one is meant (wipefs --no-act <device>), or use another volume",
            },
            Self::StorageDataUnsigned => Entry {
                code: "storage.data-unsigned",
                class: Class::Refused,
                why: "the device holds bytes that this agent did not write",
                remedy: "look whose they are: hexdump -C -s <offset> -n 256 <device>; if they are not wanted, take a snapshot and zero the volume on another instance (blkdiscard -z <device>), or create a new one",
            },
            Self::StorageBlankFromSnapshot => Entry {
                code: "storage.blank-from-snapshot",
                class: Class::Refused,
                why: "a volume made from a snapshot should hold data and is empty",
                remedy: "make a volume from the right snapshot, or for an empty member one without a snapshot; then: quake-agent volumes ignore <volume id> --reason <text> --yes",
            },
            Self::StorageDataExpected => Entry {
                code: "storage.data-expected",
                class: Class::Refused,
                why: "the volume is empty where this member has had data; to begin empty would lose the member, or the cluster, in silence",
                remedy: "restore the backup, or attach the volume that has the data; if an empty member is wanted: quake-agent volumes wipe <volume id> --slot <slot> --i-know-this-is-empty --yes",
            },
            Self::StorageForeignClusterData => Entry {
                code: "storage.foreign-cluster-data",
                class: Class::Refused,
                why: "the volume holds the data of another cluster, or of an earlier life of this one",
                remedy: "use the right volume; to take this one nevertheless: quake-agent volumes adopt <volume id> --yes",
            },
            Self::StorageForeignMemberData => Entry {
                code: "storage.foreign-member-data",
                class: Class::Refused,
                why: "the volume holds the data of another etcd member",
                remedy: "put the tag right: aws ec2 create-tags --resources <id> --tags 'Key=k8s.io/etcd/<cluster>,Value=\"<member>/<member>,<member>\"'; no adoption lets another member's data in",
            },
            Self::StorageVolumeCloned => Entry {
                code: "storage.volume-cloned",
                class: Class::Refused,
                why: "the volume is a copy of another one, and both could be used as the same member",
                remedy: "to use the copy: quake-agent volumes ignore <original> --reason <text> --yes, then quake-agent volumes adopt <volume id> --yes; else: quake-agent volumes ignore <volume id> --reason <text> --yes",
            },
            Self::StorageLegacyUnproven => Entry {
                code: "storage.legacy-unproven",
                class: Class::Refused,
                why: "etcd data is on the volume, and nothing proves which cluster it belongs to",
                remedy: "if it is this cluster's: quake-agent volumes adopt <volume id> --yes",
            },
            Self::StorageFilesystemUnproven => Entry {
                code: "storage.filesystem-unproven",
                class: Class::Refused,
                why: "an empty filesystem that this agent did not make may have been meant for something else",
                remedy: "if it is meant for this member: quake-agent volumes adopt <volume id> --yes",
            },
            Self::StorageMarkerMissing => Entry {
                code: "storage.marker-missing",
                class: Class::Refused,
                why: "the filesystem holds files that are not etcd's, and not the agent's marker (.quake-agent/volume.json)",
                remedy: "if it is this member's volume: quake-agent volumes adopt <volume id> --yes",
            },
            Self::StorageJournalUnusable => Entry {
                code: "storage.journal-unusable",
                class: Class::Transient,
                why: "/var/lib/quake-agent/volumes.json cannot be read, so it is not known which volume this instance asked EC2 for before its last stop",
                remedy: "nothing: no volume is attached before EC2's views have stayed the same for 90 seconds",
            },
            Self::StorageTagDenied => Entry {
                code: "storage.tag-denied",
                class: Class::Denied,
                why: "the agent may not write the tags that say whose data the volume holds, or keep the volume when its instance ends; the marker on the volume still says whose it is",
                remedy: "allow ec2:CreateTags, ec2:DeleteTags and ec2:ModifyInstanceAttribute on the cluster's volumes for the control plane's role: quake-agent iam policy --role control-plane prints the statements",
            },
            Self::StorageSurplusVolumes => Entry {
                code: "storage.surplus-volumes",
                class: Class::Refused,
                why: "another volume has the tags of a member that runs, or one was adopted; a second one would block the member's next bootstrap",
                remedy: "leave it out: quake-agent volumes ignore <volume id> --reason <text> --yes; or after a snapshot: aws ec2 delete-volume --volume-id <volume id>",
            },
            Self::StorageSplitBundle => Entry {
                code: "storage.split-bundle",
                class: Class::Refused,
                why: "this instance holds members of different names, such as main/a and events/b, so losing it harms two",
                remedy: "when the other member's instance is replaced: stop etcd here, umount the volume, aws ec2 detach-volume --volume-id <id>; that instance takes it",
            },
            Self::AssetsDigestMismatch => Entry {
                code: "assets.digest-mismatch",
                class: Class::Invalid,
                why: "the bytes are not those that were pinned: an error page, a republished file, or someone else's",
                remedy: "curl -sL URL | sha256sum, and compare with what the publisher says; correct the pin, or the mirror",
            },
            Self::AssetsNotFound => Entry {
                code: "assets.not-found",
                class: Class::Invalid,
                why: "no mirror has the file, so the node cannot get it",
                remedy: "publish the file to a mirror, or correct the URL and render the user data again; for one node: quake-agent seed load BUNDLE",
            },
            Self::AssetsForbidden => Entry {
                code: "assets.forbidden",
                class: Class::Denied,
                why: "the mirror refuses to hand out the file",
                remedy: "make the object readable to the node (the bucket's policy), or correct the URL; for one node: quake-agent seed load BUNDLE",
            },
            Self::AssetsUnreachable => Entry {
                code: "assets.unreachable",
                class: Class::Transient,
                why: "no mirror answered",
                remedy: "try from the node: curl -sS https://<host>; mend routes, DNS or proxies; without a way out: quake-agent seed load BUNDLE",
            },
            Self::AssetsArchiveUnsafe => Entry {
                code: "assets.archive-unsafe",
                class: Class::Invalid,
                why: "an archive that writes outside its folder or plants links and devices can take over the node",
                remedy: "replace the archive with one that holds plain files below its own folder",
            },
            Self::AssetsMemberMissing => Entry {
                code: "assets.member-missing",
                class: Class::Invalid,
                why: "the archive does not hold a file the node needs",
                remedy: "pin an archive that holds the file named: curl -sL <url> | tar -tzf - lists them; a store that lost it: quake-agent store verify --remove",
            },
            Self::AssetsSizeImplausible => Entry {
                code: "assets.size-implausible",
                class: Class::Invalid,
                why: "the mirror claims or sends more bytes than any asset has; taking them would fill the disk of the node",
                remedy: "curl -sIL URL shows the length that the mirror claims; mend the mirror or the proxy, or name another mirror; for one node: quake-agent seed load BUNDLE",
            },
            Self::AssetsTooSlow => Entry {
                code: "assets.too-slow",
                class: Class::Transient,
                why: "the mirror gives fewer bytes than a node needs to start in time, and there is no other mirror",
                remedy: "measure it from the node: curl -so /dev/null -w '%{speed_download}' URL; mend the mirror or the link, or name another mirror; for one node: quake-agent seed load BUNDLE",
            },
            Self::AssetsNoSpace => Entry {
                code: "assets.no-space",
                class: Class::Denied,
                why: "the filesystem of the asset store is full",
                remedy: "quake-agent store gc --yes; or grow the root volume (rootVolumeSize of the instance group; at once: aws ec2 modify-volume --volume-id <id> --size <GiB>, growpart, resize2fs)",
            },
            Self::AssetsStoreFailed => Entry {
                code: "assets.store-failed",
                class: Class::Denied,
                why: "the asset store could not be written or read",
                remedy: "findmnt -T /var/lib/quake-agent shows whether it is read-only, dmesg | tail why; quake-agent store verify shows what is broken",
            },
            Self::AssetsStoreLocked => Entry {
                code: "assets.store-locked",
                class: Class::NotYet,
                why: "another process holds a lock of the asset store, so its files cannot be changed safely",
                remedy: "wait for that process, which the evidence names; one that hangs: kill <process id>, and the next try goes on",
            },
            Self::AssetsBundleDamaged => Entry {
                code: "assets.bundle-damaged",
                class: Class::Invalid,
                why: "a bundle that is not byte for byte as it was written was cut off, or someone had a hand in it",
                remedy: "copy it once more, or write it anew: quake-agent seed bundle --kube-env FILE --out FILE",
            },
            Self::AssetsReleaseUnknown => Entry {
                code: "assets.release-unknown",
                class: Class::Invalid,
                why: "what a release gives its nodes is known from its source, and not guessed",
                remedy: "take the assets from a node's user data (--kube-env FILE) or from a list (--list FILE)",
            },
            Self::AssetsPackagesLocked => Entry {
                code: "assets.packages-locked",
                class: Class::NotYet,
                why: "another program installs packages, and the package manager lets one in at a time",
                remedy: "wait; or see who holds it: fuser -v /var/lib/dpkg/lock-frontend; systemctl stop unattended-upgrades",
            },
            Self::AssetsPackagesFailed => Entry {
                code: "assets.packages-failed",
                class: Class::Transient,
                why: "packages of the distribution that the node needs are not installed",
                remedy: "install them by hand to see what the package manager says (apt-get install, dnf install), and see whether its sources can be reached",
            },
            Self::AssetsPackageUnknown => Entry {
                code: "assets.package-unknown",
                class: Class::Invalid,
                why: "no source of the distribution has a package of this name",
                remedy: "correct the name in the spec's packages, or add the source it comes from to the image",
            },
            Self::AssetsKeyringUnusable => Entry {
                code: "assets.keyring-unusable",
                class: Class::Invalid,
                why: "what a source of packages serves as its signing key is none, and packages of it cannot be trusted",
                remedy: "open the URL and see what it serves: a proxy's page, as a rule",
            },
            Self::AssetsUserRefused => Entry {
                code: "assets.user-refused",
                class: Class::Invalid,
                why: "a system user that the node needs cannot be made: its name or number is another's",
                remedy: "see who has it: getent passwd <number>; getent group <number>; give that user another number",
            },
            Self::AssetsUserFailed => Entry {
                code: "assets.user-failed",
                class: Class::Transient,
                why: "a system user that the node needs was not made",
                remedy: "make it by hand to see why: useradd --system --uid <number> <name>",
            },
            Self::CredentialsMissing => Entry {
                code: "credentials.missing",
                class: Class::Invalid,
                why: "the state store lacks a keypair that the node cannot authenticate without",
                remedy: "write it with the cluster's tool (kops update cluster --yes); if pki/private/ca is gone, restore it from the bucket's versions and make no new one",
            },
            Self::CredentialsMalformed => Entry {
                code: "credentials.malformed",
                class: Class::Invalid,
                why: "the keypair in the state store cannot be read",
                remedy: "put the last good version back: aws s3api list-object-versions --bucket <bucket> --prefix <key>; a client's keypair can be made anew: kops update cluster --yes",
            },
            Self::CredentialsDenied => Entry {
                code: "credentials.denied",
                class: Class::Denied,
                why: "the node's role may not read the keypair",
                remedy: "allow s3:GetObject on the object named for the node's role: quake-agent iam policy prints the statement; with KMS encryption also kms:Decrypt on the key",
            },
            Self::CredentialsNotRenewed => Entry {
                code: "credentials.not-renewed",
                class: Class::Denied,
                why: "a certificate ends while the node runs, and what uses it stops working that day",
                remedy: "replace the instance: kops rolling-update cluster --instance-group <name> --yes",
            },
            Self::CredentialsCertificateUnfit => Entry {
                code: "credentials.certificate-unfit",
                class: Class::Invalid,
                why: "kops-controller sent a certificate that is not what was ordered: of another authority, another key or another subject; a node that used it would be somebody else, and nothing of the answer is kept",
                remedy: "see what kops-controller signs with: kubectl -n kube-system logs -l k8s-app=kops-controller; if the cluster's authority was rotated, replace the instance: kops rolling-update cluster --instance-group <group> --yes",
            },
            Self::FilesWriteFailed => Entry {
                code: "files.write-failed",
                class: Class::Denied,
                why: "a file could not be written, and the node would run on an old one",
                remedy: "findmnt -T <path> shows whether it is read-only (mount -o remount,rw), lsattr -d <path> whether it is immutable, dmesg | tail whether the disk failed",
            },
            Self::FilesNoSpace => Entry {
                code: "files.no-space",
                class: Class::Denied,
                why: "the filesystem is full",
                remedy: "find what fills it: df -h <path>, df -i <path>; journalctl --vacuum-size=200M; quake-agent store gc --yes; or grow the root volume",
            },
            Self::FilesOccupied => Entry {
                code: "files.occupied",
                class: Class::Refused,
                why: "something of another kind stands where the file belongs, and removing it could lose data",
                remedy: "look what it is (ls -la <path>, findmnt <path>), then: mv <path> <path>.before-quake",
            },
            Self::FilesOverwritten => Entry {
                code: "files.overwritten",
                class: Class::Conflict,
                why: "somebody changed a file that the agent writes, and a boot writes every file as it is rendered: the change is gone",
                remedy: "make the change where the node's configuration comes from (the cluster spec, the instance group, the user data), or in a drop-in of your own; quake-agent plan shows such changes before a boot overwrites them",
            },
            Self::FilesOwnerUnknown => Entry {
                code: "files.owner-unknown",
                class: Class::Invalid,
                why: "a file is to belong to a user or group that this machine does not have",
                remedy: "see /etc/passwd and /etc/group; the users that the node makes itself are made before",
            },
            Self::FilesReactionFailed => Entry {
                code: "files.reaction-failed",
                class: Class::Transient,
                why: "a command that must follow a change of a file did not succeed, so what the file says is not in force",
                remedy: "run the command by hand to see what it says; it is owed, and tried again on the next boot",
            },
            Self::ServicesBusUnreachable => Entry {
                code: "services.bus-unreachable",
                class: Class::Transient,
                why: "without the system bus the agent cannot start or watch a unit",
                remedy: "systemctl status dbus; systemctl start dbus.socket dbus; if systemd itself hangs: systemctl daemon-reexec",
            },
            Self::ServicesUnitUnknown => Entry {
                code: "services.unit-unknown",
                class: Class::Invalid,
                why: "systemd does not know the unit, so it cannot be started",
                remedy: "install the package that brings it, and bake it into the image; a masked one: systemctl unmask <unit>",
            },
            Self::ServicesUnitFailed => Entry {
                code: "services.unit-failed",
                class: Class::Transient,
                why: "a unit the node needs does not stay up",
                remedy: "read the journal lines in the evidence, or: journalctl -b -u <unit>; mend what they say, then: systemctl restart <unit>",
            },
            Self::ServicesUnitStarting => Entry {
                code: "services.unit-starting",
                class: Class::NotYet,
                why: "the unit has not reached its active state",
                remedy: "wait; then: systemctl status <unit>, and systemctl list-jobs shows what it waits for",
            },
            Self::ServicesImageFailed => Entry {
                code: "services.image-failed",
                class: Class::Transient,
                why: "the runtime lacks an image that the node has an archive of; kubelet will have to pull it",
                remedy: "ask the runtime: ctr --namespace k8s.io images ls, or docker image ls; then start the agent again",
            },
            Self::ServicesImageUnusable => Entry {
                code: "services.image-unusable",
                class: Class::Invalid,
                why: "the archive holds no image that can be imported; kubelet will have to pull it",
                remedy: "make the archive anew: an OCI image layout or what docker save writes, in a tar, that names its image",
            },
            Self::ServicesPullFailed => Entry {
                code: "services.pull-failed",
                class: Class::Transient,
                why: "an image that a warm pool has ready was not pulled; kubelet pulls it when a pod needs it, and the pod waits for that",
                remedy: "pull it by hand to see why: ctr --namespace k8s.io images pull <image>",
            },
            Self::ReadyRuntimeSilent => Entry {
                code: "ready.runtime-silent",
                class: Class::NotYet,
                why: "kubelet can start no pod while the container runtime does not answer",
                remedy: "journalctl -b -u containerd; containerd config dump says what it cannot read of /etc/containerd/config.toml",
            },
            Self::ReadyPodFailing => Entry {
                code: "ready.pod-failing",
                class: Class::NotYet,
                why: "a pod that this node runs from a file in /etc/kubernetes/manifests is not up; the node, and on a control plane the cluster, waits for it",
                remedy: "read what it said last: tail /var/log/pods/kube-system_<pod>*/*/*.log; journalctl -b -u kubelet | grep <pod>; mend the flag, file or peer that it names",
            },
            Self::ReadyNodeUnregistered => Entry {
                code: "ready.node-unregistered",
                class: Class::NotYet,
                why: "the cluster gives no pod to a node that its API server does not know",
                remedy: "journalctl -b -u kubelet | grep -i -e register -e unauthorized -e 'no such host' -e refused; then what it names: the name's address, the security group, the certificate",
            },
            Self::ReadyNodeForeign => Entry {
                code: "ready.node-foreign",
                class: Class::Conflict,
                why: "the cluster has an object of this name for another instance; labels and taints of this one would be said of that one",
                remedy: "kubectl get node <name> -o jsonpath='{.spec.providerID}'; where that instance is gone: kubectl delete node <name>, and kubelet registers this one; else give one of the two another name",
            },
            Self::ReadyNodeIdentityDenied => Entry {
                code: "ready.node-identity-denied",
                class: Class::Denied,
                why: "without its labels and taints the cluster places pods as if the node were another; the API server lets this kubeconfig say no more of it",
                remedy: "let kubelet say it of a node that it registers anew (--node-labels, --register-with-taints), or say it as an administrator: kubectl label node <name> <key>=<value>",
            },
            Self::ReadyNodeIdentityMissing => Entry {
                code: "ready.node-identity-missing",
                class: Class::Transient,
                why: "without its labels and taints the cluster places pods as if the node were another; the API server did not take them, and it is tried again",
                remedy: "read the API server's answer: an admission webhook or a policy that refuses changes of nodes must let them through",
            },
            Self::ReadyCniForeign => Entry {
                code: "ready.cni-foreign",
                class: Class::NotYet,
                why: "the runtime takes the first file by its name: one left by an image or by another network gives pods addresses that lead nowhere",
                remedy: "remove the file that is named, then delete the pods that started with it",
            },
            Self::ReadyCniMissing => Entry {
                code: "ready.cni-missing",
                class: Class::NotYet,
                why: "kubelet reports the node not ready until a CNI configuration is in /etc/cni/net.d",
                remedy: "look at the DaemonSet that writes it: kubectl -n kube-system get pods -o wide; where the agent writes it: systemctl restart quake-agent.service",
            },
            Self::ReadyProbeFailing => Entry {
                code: "ready.probe-failing",
                class: Class::NotYet,
                why: "a component the node needs does not answer its health check",
                remedy: "read its log: journalctl -b -u kubelet, tail /var/log/<component>.log, docker ps -a or crictl ps -a",
            },
            Self::ReadyHookDenied => Entry {
                code: "ready.hook-denied",
                class: Class::Denied,
                why: "the node is configured, and may not tell its Auto Scaling group so; the group gives the instance up when its hook times out",
                remedy: "allow autoscaling:DescribeLifecycleHooks on * and autoscaling:CompleteLifecycleAction on the group for the role",
            },
            Self::ReadyHookFailed => Entry {
                code: "ready.hook-failed",
                class: Class::Transient,
                why: "the node is configured, and its Auto Scaling group did not take it in time; the group gives the instance up when its hook times out",
                remedy: "nothing, if it heals; else check the route to Auto Scaling",
            },
            Self::AddonsChannelUnreadable => Entry {
                code: "addons.channel-unreadable",
                class: Class::NotYet,
                why: "what the cluster should have is not known while the channel, or a manifest that it names, cannot be read; what was applied stays as it is",
                remedy: "see that the object exists and that the node's role may read it: aws s3 ls <location>, quake-agent iam policy; kops update cluster --yes writes it anew",
            },
            Self::AddonsChannelInvalid => Entry {
                code: "addons.channel-invalid",
                class: Class::Invalid,
                why: "what cannot be read is not applied, and the add-ons that a channel's mistake hides are not brought up",
                remedy: "correct the channel at the line and column named, or write it anew with kops update cluster --yes; the add-ons of other channels are applied meanwhile",
            },
            Self::AddonsManifestInvalid => Entry {
                code: "addons.manifest-invalid",
                class: Class::Invalid,
                why: "of a manifest that cannot be read whole nothing is applied: half an add-on is worse than its last version",
                remedy: "correct the manifest at the line and column named; kops writes those of its own add-ons anew with kops update cluster --yes",
            },
            Self::AddonsManifestMismatch => Entry {
                code: "addons.manifest-mismatch",
                class: Class::NotYet,
                why: "the manifest is not the one whose hash the channel names, as a rule because the state store is being written; a manifest that somebody edited by hand looks the same",
                remedy: "wait for kops update cluster --yes to end, or run it again; a manifest edited by hand belongs into the cluster's spec.addons",
            },
            Self::AddonsObjectRefused => Entry {
                code: "addons.object-refused",
                class: Class::Invalid,
                why: "the API server does not take the object, so the add-on stays half applied; all its other objects are applied",
                remedy: "read the API server's message beside it; correct the manifest, or the admission policy that refuses it: kubectl apply --dry-run=server -f <manifest>",
            },
            Self::AddonsObjectConflict => Entry {
                code: "addons.object-conflict",
                class: Class::Conflict,
                why: "another manager holds a field of the object, or changed it in the same moment, so nothing was overwritten",
                remedy: "see who holds it: kubectl get <kind> <name> -n <namespace> -o yaml --show-managed-fields; take the field out of the manifest, or stop the other from setting it",
            },
            Self::AddonsKindUnserved => Entry {
                code: "addons.kind-unserved",
                class: Class::NotYet,
                why: "the API server serves no such kind, so its objects have no place: what defines it is not there yet, or the manifest is made for another version of Kubernetes",
                remedy: "see kubectl api-resources and kubectl get crd; a kind that another add-on defines comes with it; else correct kubernetesVersion in the channel",
            },
            Self::AddonsCrdNotEstablished => Entry {
                code: "addons.crd-not-established",
                class: Class::NotYet,
                why: "the API server has taken the definition and does not serve its kind, so no object of that kind can be applied",
                remedy: "see why: kubectl get crd <name> -o jsonpath='{.status.conditions}'; two definitions with the same names exclude each other",
            },
            Self::AddonsApiUnreachable => Entry {
                code: "addons.api-unreachable",
                class: Class::NotYet,
                why: "add-ons are the API server's objects; nothing else of the node waits for them",
                remedy: "see whether its pod runs: crictl ps -a --name kube-apiserver, and quake-agent diagnose; it is asked again by itself",
            },
            Self::AddonsApiDenied => Entry {
                code: "addons.api-denied",
                class: Class::Denied,
                why: "the API server and the kubeconfig of this node do not accept each other, or RBAC allows less than add-ons need",
                remedy: "see whom it is for: kubectl --kubeconfig /var/lib/kops/kubeconfig auth whoami; the certificate must be of the cluster's authority, in a group that may do all, such as system:masters",
            },
            Self::AddonsThrottled => Entry {
                code: "addons.throttled",
                class: Class::Transient,
                why: "the API server asks for fewer requests, and what asks on goes to the end of the queue",
                remedy: "wait; if it lasts, see who asks so much: kubectl get --raw /debug/api_priority_and_fairness/dump_priority_levels",
            },
            Self::AddonsWebhookSilent => Entry {
                code: "addons.webhook-silent",
                class: Class::Transient,
                why: "an admission webhook that must be asked does not answer, so the API server can take no object it watches over",
                remedy: "see that its pods run: kubectl get validatingwebhookconfigurations,mutatingwebhookconfigurations, then the service that is named; delete the configuration of one whose pods are gone",
            },
            Self::AddonsPruneFailed => Entry {
                code: "addons.prune-failed",
                class: Class::Transient,
                why: "an object that the add-on no longer has stays in the cluster; what it has is applied",
                remedy: "it is tried again; by hand: kubectl delete <kind> <name> -n <namespace>",
            },
            Self::AddonsIssuerUnserved => Entry {
                code: "addons.issuer-unserved",
                class: Class::NotYet,
                why: "the add-on has its certificates from cert-manager, whose issuers the API server does not know yet; its pods that mount one wait for it",
                remedy: "see how cert-manager's own add-on stands: quake-agent addons list; it is tried again by itself once the definition issuers.cert-manager.io is there",
            },
            Self::AddonsPodForeign => Entry {
                code: "addons.pod-foreign",
                class: Class::Refused,
                why: "the agent applies the add-ons in the place of the pod kops-channels, and only that pod's own manifest may be removed; what stands in its place is somebody's own, and may apply add-ons, too",
                remedy: "read it; if it applies add-ons or is not needed, remove it: rm /etc/kubernetes/manifests/kops-channels.manifest; if it is needed, give it another name",
            },
            Self::AddonsLeaseLost => Entry {
                code: "addons.lease-lost",
                class: Class::NotYet,
                why: "another node applies the add-ons now; two that apply at once undo each other's work",
                remedy: "nothing: the node that holds the lease goes on; kubectl get lease quake-agent -n kube-system names it",
            },
            Self::AddonsPodFailing => Entry {
                code: "addons.pod-failing",
                class: Class::NotYet,
                why: "the pod that applies the cluster's add-ons says that its last try failed; what was applied stays as it is",
                remedy: "read its log: crictl logs $(crictl ps -q --name kops-channels); quake-agent addons plan tells object by object what is not as it should be",
            },
            Self::BootBudgetExceeded => Entry {
                code: "boot.budget-exceeded",
                class: Class::Bug,
                why: "more cloud calls were made than a boot ever needs, at the expense of the whole account's quota",
                remedy: "mend what the boot waited for before it; report it with: quake-agent status --output json",
            },
            Self::BootSinkFailed => Entry {
                code: "boot.sink-failed",
                class: Class::Transient,
                why: "events could not be recorded in one place; the boot itself is not affected",
                remedy: "df -h /var/lib/quake-agent /run; ls -ld /var/lib/quake-agent/boots; systemctl status systemd-journald",
            },
            Self::BootInterrupted => Entry {
                code: "boot.interrupted",
                class: Class::NotYet,
                why: "the agent was told to stop; what was done stays done",
                remedy: "start the agent again: systemctl start quake-agent",
            },
            Self::BootPhaseTimedOut => Entry {
                code: "boot.phase-timed-out",
                class: Class::Transient,
                why: "something that the agent asked of this machine or of another never answered, so the boot ended instead of waiting for ever; what was done stays done",
                remedy: "see what hangs: dmesg | tail -50 (a disk that fails, a program in state D); systemctl start quake-agent, which goes on from here; reboot where a disk does not answer",
            },
            Self::BootResourcesExhausted => Entry {
                code: "boot.resources-exhausted",
                class: Class::Transient,
                why: "the host has no file descriptor, thread or memory left for the agent; this says nothing about the node, so the agent keeps its last verdict and tries again",
                remedy: "find what uses them up: cat /proc/sys/fs/file-nr; systemctl status quake-agent (Tasks, Memory); free -m; ps -eLf | wc -l; end that program, or raise LimitNOFILE, TasksMax or the memory",
            },
            Self::BootConsoleDenied => Entry {
                code: "boot.console-denied",
                class: Class::Denied,
                why: "the operator may not read the console of an instance, so `quake-agent fleet --from-console` does not know how it booted",
                remedy: "allow ec2:GetConsoleOutput on the cluster's instances for the operator: quake-agent iam policy --role operator prints the statement",
            },
            Self::BootConsoleUnread => Entry {
                code: "boot.console-unread",
                class: Class::Transient,
                why: "EC2 did not show the console of an instance, so `quake-agent fleet --from-console` does not know how it booted",
                remedy: "run the command again; where EC2 answers RequestLimitExceeded, with a smaller --limit or for one --instance-group",
            },
            Self::BootReportDenied => Entry {
                code: "boot.report-denied",
                class: Class::Denied,
                why: "the node cannot leave its boot report in the state store, so `quake-agent fleet` does not show this boot; the boot itself is not affected",
                remedy: "allow s3:PutObject on boot-reports/* below the cluster's folder (quake-agent iam policy has the statement), or turn reports off: QUAKE_AGENT_BOOT_REPORT=off in /etc/default/quake-agent",
            },
            Self::BootReportFailed => Entry {
                code: "boot.report-failed",
                class: Class::Transient,
                why: "the state store did not take the boot report in time, so `quake-agent fleet` shows an older boot of this instance or none; the boot itself is not affected",
                remedy: "nothing, if it happens once; else check the route to the state store, and on S3 that the bucket's policy asks for nothing more than its default encryption",
            },
            Self::BootReportUnplaced => Entry {
                code: "boot.report-unplaced",
                class: Class::NotYet,
                why: "the boot ended before it knew where the cluster's state store is, so its report is nowhere but on this machine",
                remedy: "mend what the boot failed of: quake-agent status; its ledger is in /var/lib/quake-agent/boots",
            },
            Self::BootSignalDenied => Entry {
                code: "boot.signal-denied",
                class: Class::Denied,
                why: "how the boot ended could not be told to the Auto Scaling group or to the API server, so nobody there acts on it; the boot itself is not affected",
                remedy: "to the group: allow what quake-agent iam policy --with-signals has for it; to the API server: let the group system:nodes create events; or take the signal out of /etc/default/quake-agent",
            },
            Self::BootSignalFailed => Entry {
                code: "boot.signal-failed",
                class: Class::Transient,
                why: "the Auto Scaling group or the API server did not take how the boot ended in time, so nobody there acts on it; the boot itself is not affected",
                remedy: "nothing, if it happens once; else check the route to the service; meanwhile act by hand: aws autoscaling set-instance-health --instance-id <id> --health-status Unhealthy",
            },
            Self::BootSignalUnplaced => Entry {
                code: "boot.signal-unplaced",
                class: Class::NotYet,
                why: "there is nobody to tell how the boot ended: the instance is not known, is in no Auto Scaling group, or does not wait at the hook",
                remedy: "compare the hook with aws autoscaling describe-lifecycle-hooks --auto-scaling-group-name <group>, and see that the instance is in the group; else take the signal out of /etc/default/quake-agent",
            },
            Self::BootInternal => Entry {
                code: "boot.internal",
                class: Class::Bug,
                why: "an invariant of the agent is broken",
                remedy: "keep /var/lib/quake-agent/boots and report it with: quake-agent status --output json",
            },
            Self::Unrecognised => Entry {
                code: "boot.unrecognised",
                class: Class::Bug,
                why: "the fault was written by a newer agent",
                remedy: "read the record with the agent that wrote it",
            },
        }
    }

    /// The code with this name; [`Code::Unrecognised`] for names of newer agents.
    pub fn from_name(name: &str) -> Self {
        let known = Self::ALL
            .iter()
            .copied()
            .find(|code| code.entry().code == name);
        known.unwrap_or(Self::Unrecognised)
    }

    /// The area in front of the dot: a phase's name, `addons`, `boot` or `dns`.
    pub fn area(self) -> &'static str {
        self.entry()
            .code
            .split_once('.')
            .map_or("boot", |(area, _)| area)
    }

    /// The phase that it is of; `None` where any phase may come to it, or none.
    pub fn phase(self) -> Option<Phase> {
        match self.area() {
            // Names are published at the beginning of the last phase.
            "dns" => Some(Phase::Ready),
            area => Phase::from_name(area),
        }
    }
}

impl fmt::Display for Code {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.entry().code)
    }
}

impl From<Code> for String {
    fn from(code: Code) -> Self {
        code.entry().code.to_owned()
    }
}

impl From<String> for Code {
    fn from(name: String) -> Self {
        Self::from_name(&name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn no_two_codes_share_a_name() {
        let names: BTreeSet<_> = Code::ALL.iter().map(|code| code.entry().code).collect();
        assert_eq!(names.len(), Code::ALL.len());
    }

    #[test]
    fn every_code_belongs_to_a_phase_the_add_ons_or_the_boot() {
        for code in Code::ALL {
            let is_beside = ["addons", "boot"].contains(&code.area());
            assert!(is_beside || code.phase().is_some(), "{code}");
        }
    }

    #[test]
    fn a_code_is_read_back_from_its_name() {
        for code in Code::ALL {
            assert_eq!(Code::from_name(code.entry().code), *code);
        }
        assert_eq!(Code::from_name("storage.of-the-future"), Code::Unrecognised);
    }
}
