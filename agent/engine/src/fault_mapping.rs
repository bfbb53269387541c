//! What a port's condition means for what was attempted: the code of the fault it becomes.

use quake_model::fault::{Code, Fault};
use quake_model::ports::{Condition, PortError};

/// What was attempted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Attempted {
    ReadMetadata,
    ReadRole,
    DescribeInstances,
    DescribeVolumes,
    AttachVolume,
    ReadConsole,
    ReadConfiguration,
    ReadCredential,
    WriteReport,
    Signal,
    FetchAsset,
    UseStore,
    UseFile,
    ReadNetwork,
    LoadModule,
    SetSysctl,
    ReadDisks,
    MakeFilesystem,
    CheckFilesystem,
    GrowFilesystem,
    Mount,
    KeepVolume,
    TagVolume,
    UseUnit,
    StartUnit,
    UseImage,
    AskController,
    UseKey,
    PullImage,
    FetchKeyring,
    InstallPackages,
    MakeUser,
    RunCommand,
    AssignPrefix,
    DescribeType,
    CompleteHook,
    UseZone,
}

/// Turns the error of one attempt into a fault.
pub(crate) fn fault_of(attempted: Attempted, error: PortError) -> Fault {
    let code = code_of(attempted, error.condition);
    error.into_fault(code)
}

/// The fault that the failure of an asset's fetch, or of the store, is.
pub fn asset_fault(error: PortError) -> Fault {
    fault_of(Attempted::FetchAsset, error)
}

/// The fault that the failure to read or write a file is.
pub fn file_fault(error: PortError) -> Fault {
    fault_of(Attempted::UseFile, error)
}

fn code_of(attempted: Attempted, condition: Condition) -> Code {
    if condition == Condition::ClockSkew {
        return Code::IdentityClockSkew;
    }
    if condition == Condition::Exhausted {
        return Code::BootResourcesExhausted;
    }
    match attempted {
        Attempted::ReadMetadata => metadata(condition),
        Attempted::ReadRole => match condition {
            Condition::Missing => Code::IdentityRoleMissing,
            _ => metadata(condition),
        },
        Attempted::DescribeInstances | Attempted::ReadConsole => instances(attempted, condition),
        Attempted::DescribeVolumes => match condition {
            Condition::Denied => Code::StorageDescribeDenied,
            _ => Code::StorageCloudUnreachable,
        },
        Attempted::AttachVolume => match condition {
            Condition::Denied => Code::StorageAttachDenied,
            Condition::Conflict | Condition::Missing => Code::StorageAttachFailed,
            _ => Code::StorageCloudUnreachable,
        },
        Attempted::KeepVolume | Attempted::TagVolume => match condition {
            Condition::Denied => Code::StorageTagDenied,
            _ => Code::StorageCloudUnreachable,
        },
        Attempted::ReadConfiguration => configuration(condition),
        Attempted::ReadCredential => credential(condition),
        Attempted::AskController => controller(condition),
        Attempted::UseKey => Code::CredentialsMalformed,
        Attempted::PullImage => Code::ServicesPullFailed,
        Attempted::FetchKeyring | Attempted::InstallPackages | Attempted::MakeUser => {
            provision(attempted, condition)
        }
        Attempted::RunCommand => Code::FilesReactionFailed,
        Attempted::AssignPrefix | Attempted::DescribeType | Attempted::CompleteHook => {
            cloud(attempted, condition)
        }
        Attempted::UseZone => zone(condition),
        Attempted::WriteReport => match condition {
            Condition::Denied => Code::BootReportDenied,
            _ => Code::BootReportFailed,
        },
        Attempted::Signal => signal(condition),
        Attempted::FetchAsset | Attempted::UseStore => asset(condition),
        Attempted::UseImage => image(condition),
        Attempted::UseFile => file(condition),
        Attempted::ReadNetwork
        | Attempted::LoadModule
        | Attempted::SetSysctl
        | Attempted::ReadDisks
        | Attempted::MakeFilesystem
        | Attempted::CheckFilesystem
        | Attempted::GrowFilesystem
        | Attempted::Mount
        | Attempted::UseUnit
        | Attempted::StartUnit => machine(attempted, condition),
    }
}

/// What EC2 said when it was asked about instances or their consoles.
fn instances(attempted: Attempted, condition: Condition) -> Code {
    match (attempted, condition) {
        (Attempted::ReadConsole, Condition::Denied) => Code::BootConsoleDenied,
        (Attempted::ReadConsole, _) => Code::BootConsoleUnread,
        (_, Condition::Denied) => Code::IdentityDescribeDenied,
        (_, Condition::Missing) => Code::IdentityInstanceUnknown,
        _ => Code::StorageCloudUnreachable,
    }
}

/// What the distribution's own programs came to.
fn provision(attempted: Attempted, condition: Condition) -> Code {
    match (attempted, condition) {
        (Attempted::FetchKeyring, Condition::Malformed) => Code::AssetsKeyringUnusable,
        (Attempted::InstallPackages, Condition::Conflict) => Code::AssetsPackagesLocked,
        (Attempted::InstallPackages, Condition::Missing) => Code::AssetsPackageUnknown,
        (Attempted::MakeUser, Condition::Occupied) => Code::AssetsUserRefused,
        (Attempted::MakeUser, _) => Code::AssetsUserFailed,
        _ => Code::AssetsPackagesFailed,
    }
}

/// What a cloud service said to a node of the newer dialect.
fn cloud(attempted: Attempted, condition: Condition) -> Code {
    let is_denied = condition == Condition::Denied;
    match attempted {
        Attempted::AssignPrefix if is_denied => Code::NetworkPrefixDenied,
        Attempted::AssignPrefix => Code::NetworkPrefixFailed,
        Attempted::DescribeType if is_denied => Code::ConfigInstanceTypeDenied,
        Attempted::DescribeType => Code::ConfigInstanceTypeUnknown,
        _ if is_denied => Code::ReadyHookDenied,
        _ => Code::ReadyHookFailed,
    }
}

/// What Route 53 said to a node that publishes its names.
fn zone(condition: Condition) -> Code {
    match condition {
        Condition::Denied => Code::DnsDenied,
        Condition::Throttled => Code::DnsThrottled,
        Condition::Conflict => Code::DnsConflict,
        Condition::Missing => Code::DnsZoneMissing,
        Condition::Malformed | Condition::Impossible | Condition::Limit => Code::DnsRefused,
        _ => Code::DnsNoAnswer,
    }
}

fn file(condition: Condition) -> Code {
    match condition {
        Condition::NoSpace => Code::FilesNoSpace,
        Condition::Occupied => Code::FilesOccupied,
        _ => Code::FilesWriteFailed,
    }
}

fn image(condition: Condition) -> Code {
    match condition {
        Condition::Malformed | Condition::Unsafe => Code::ServicesImageUnusable,
        _ => Code::ServicesImageFailed,
    }
}

fn credential(condition: Condition) -> Code {
    match condition {
        Condition::Missing => Code::CredentialsMissing,
        Condition::Denied => Code::CredentialsDenied,
        _ => configuration(condition),
    }
}

/// What kops-controller answered, or why it did not.
fn controller(condition: Condition) -> Code {
    match condition {
        Condition::Missing => Code::ConfigControllerUnregistered,
        Condition::Unsafe => Code::ConfigControllerUntrusted,
        Condition::Denied => Code::ConfigControllerDenied,
        Condition::Conflict => Code::ConfigNodeExists,
        Condition::Malformed | Condition::Impossible => Code::ConfigControllerRejected,
        Condition::NotReady | Condition::Throttled => Code::ConfigControllerFailing,
        _ => Code::ConfigControllerUnreachable,
    }
}

fn metadata(condition: Condition) -> Code {
    match condition {
        Condition::Denied => Code::IdentityImdsDisabled,
        Condition::Malformed => Code::IdentityImdsMalformed,
        _ => Code::IdentityImdsUnreachable,
    }
}

fn configuration(condition: Condition) -> Code {
    match condition {
        Condition::Missing => Code::ConfigObjectMissing,
        Condition::Unknown => Code::ConfigBucketMissing,
        Condition::Denied => Code::ConfigStoreDenied,
        Condition::Malformed | Condition::Unsafe => Code::ConfigObjectMalformed,
        _ => Code::ConfigStoreUnreachable,
    }
}

fn asset(condition: Condition) -> Code {
    match condition {
        Condition::DigestMismatch => Code::AssetsDigestMismatch,
        Condition::Missing | Condition::Unknown => Code::AssetsNotFound,
        Condition::Denied => Code::AssetsForbidden,
        Condition::Unsafe | Condition::Malformed => Code::AssetsArchiveUnsafe,
        Condition::NoSpace => Code::AssetsNoSpace,
        Condition::Impossible => Code::AssetsSizeImplausible,
        Condition::NotReady => Code::AssetsStoreLocked,
        Condition::Io | Condition::Occupied => Code::AssetsStoreFailed,
        _ => Code::AssetsUnreachable,
    }
}

fn signal(condition: Condition) -> Code {
    match condition {
        Condition::Denied => Code::BootSignalDenied,
        Condition::Missing | Condition::Malformed => Code::BootSignalUnplaced,
        _ => Code::BootSignalFailed,
    }
}

fn machine(attempted: Attempted, condition: Condition) -> Code {
    match (attempted, condition) {
        (Attempted::LoadModule, Condition::Unknown | Condition::Missing) => {
            Code::NetworkModuleMissing
        }
        (Attempted::LoadModule | Attempted::SetSysctl, _) => Code::NetworkSysctlRefused,
        (Attempted::ReadNetwork, _) => Code::NetworkUnreadable,
        (Attempted::ReadDisks, Condition::Missing) => Code::StorageDeviceMissing,
        (Attempted::MakeFilesystem, Condition::Occupied) => Code::StorageDeviceNotBlank,
        (Attempted::Mount, Condition::Malformed) => Code::StorageFilesystemUnusable,
        // Who has the device, such as the mkfs of an agent that was killed, may be done with it soon.
        (
            Attempted::MakeFilesystem | Attempted::CheckFilesystem | Attempted::Mount,
            Condition::Conflict,
        ) => Code::StorageVolumeBusy,
        (Attempted::MakeFilesystem, _) => Code::StorageFormatFailed,
        (Attempted::CheckFilesystem, _) => Code::StorageCheckFailed,
        (Attempted::GrowFilesystem, _) => Code::StorageGrowFailed,
        (Attempted::ReadDisks, Condition::Conflict) => Code::StorageDeviceMissing,
        (Attempted::Mount | Attempted::ReadDisks, _) => Code::StorageMountFailed,
        (_, Condition::Unknown) => Code::ServicesUnitUnknown,
        (_, Condition::Io) => Code::ServicesUnitFailed,
        (Attempted::StartUnit, Condition::TimedOut) => Code::ServicesUnitStarting,
        _ => Code::ServicesBusUnreachable,
    }
}
