//! What a port's condition means for what was attempted: the code of the fault it becomes.

use quake_model::fault::{Code, Fault};
use quake_model::ports::{Condition, PortError};

/// What was attempted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Operation {
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
pub(crate) fn to_fault(attempted: Operation, error: PortError) -> Fault {
    let code = code_of(attempted, error.condition);
    error.into_fault(code)
}

/// The fault that the failure of an asset's fetch, or of the store, is.
pub fn asset_fault(error: PortError) -> Fault {
    to_fault(Operation::FetchAsset, error)
}

/// The fault that the failure to read or write an object of a state store is.
pub fn store_fault(error: PortError) -> Fault {
    to_fault(Operation::ReadConfiguration, error)
}

/// The fault that the failure to read or write a file is.
pub fn file_fault(error: PortError) -> Fault {
    to_fault(Operation::UseFile, error)
}

fn code_of(attempted: Operation, condition: Condition) -> Code {
    if condition == Condition::ClockSkew {
        return Code::IdentityClockSkew;
    }
    if condition == Condition::Exhausted {
        return Code::BootResourcesExhausted;
    }
    match attempted {
        Operation::ReadMetadata => metadata(condition),
        Operation::ReadRole => match condition {
            Condition::Missing => Code::IdentityRoleMissing,
            _ => metadata(condition),
        },
        Operation::DescribeInstances | Operation::ReadConsole => instances(attempted, condition),
        Operation::DescribeVolumes => match condition {
            Condition::Denied => Code::StorageDescribeDenied,
            _ => Code::StorageCloudUnreachable,
        },
        Operation::AttachVolume => match condition {
            Condition::Denied => Code::StorageAttachDenied,
            Condition::Conflict | Condition::Missing => Code::StorageAttachFailed,
            _ => Code::StorageCloudUnreachable,
        },
        Operation::KeepVolume | Operation::TagVolume => match condition {
            Condition::Denied => Code::StorageTagDenied,
            _ => Code::StorageCloudUnreachable,
        },
        Operation::ReadConfiguration => configuration(condition),
        Operation::ReadCredential => credential(condition),
        Operation::AskController => controller(condition),
        Operation::UseKey => Code::CredentialsMalformed,
        Operation::PullImage => Code::ServicesPullFailed,
        Operation::FetchKeyring | Operation::InstallPackages | Operation::MakeUser => {
            provision(attempted, condition)
        }
        Operation::RunCommand => Code::FilesReactionFailed,
        Operation::AssignPrefix | Operation::DescribeType | Operation::CompleteHook => {
            cloud(attempted, condition)
        }
        Operation::UseZone => zone(condition),
        Operation::WriteReport => match condition {
            Condition::Denied => Code::BootReportDenied,
            _ => Code::BootReportFailed,
        },
        Operation::Signal => signal(condition),
        Operation::FetchAsset | Operation::UseStore => asset(condition),
        Operation::UseImage => image(condition),
        Operation::UseFile => file(condition),
        Operation::ReadNetwork
        | Operation::LoadModule
        | Operation::SetSysctl
        | Operation::ReadDisks
        | Operation::MakeFilesystem
        | Operation::CheckFilesystem
        | Operation::GrowFilesystem
        | Operation::Mount
        | Operation::UseUnit
        | Operation::StartUnit => machine(attempted, condition),
    }
}

/// What EC2 said when it was asked about instances or their consoles.
fn instances(attempted: Operation, condition: Condition) -> Code {
    match (attempted, condition) {
        (Operation::ReadConsole, Condition::Denied) => Code::BootConsoleDenied,
        (Operation::ReadConsole, _) => Code::BootConsoleUnread,
        (_, Condition::Denied) => Code::IdentityDescribeDenied,
        (_, Condition::Missing) => Code::IdentityInstanceUnknown,
        _ => Code::StorageCloudUnreachable,
    }
}

/// What the distribution's own programs came to.
fn provision(attempted: Operation, condition: Condition) -> Code {
    match (attempted, condition) {
        (Operation::FetchKeyring, Condition::Malformed) => Code::AssetsKeyringUnusable,
        (Operation::InstallPackages, Condition::Conflict) => Code::AssetsPackagesLocked,
        (Operation::InstallPackages, Condition::Missing) => Code::AssetsPackageUnknown,
        (Operation::MakeUser, Condition::Occupied) => Code::AssetsUserRefused,
        (Operation::MakeUser, _) => Code::AssetsUserFailed,
        _ => Code::AssetsPackagesFailed,
    }
}

/// What a cloud service said to a node of kops (1.32 and newer).
fn cloud(attempted: Operation, condition: Condition) -> Code {
    let is_denied = condition == Condition::Denied;
    match attempted {
        Operation::AssignPrefix if is_denied => Code::NetworkPrefixDenied,
        Operation::AssignPrefix => Code::NetworkPrefixFailed,
        Operation::DescribeType if is_denied => Code::ConfigInstanceTypeDenied,
        Operation::DescribeType => Code::ConfigInstanceTypeUnknown,
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

fn machine(attempted: Operation, condition: Condition) -> Code {
    match (attempted, condition) {
        (Operation::LoadModule, Condition::Unknown | Condition::Missing) => {
            Code::NetworkModuleMissing
        }
        (Operation::LoadModule | Operation::SetSysctl, _) => Code::NetworkSysctlRefused,
        (Operation::ReadNetwork, _) => Code::NetworkUnreadable,
        (Operation::ReadDisks, Condition::Missing) => Code::StorageDeviceMissing,
        (Operation::MakeFilesystem, Condition::Occupied) => Code::StorageDeviceNotBlank,
        (Operation::Mount, Condition::Malformed) => Code::StorageFilesystemUnusable,
        // Who has the device, such as the mkfs of an agent that was killed, may be done with it soon.
        (
            Operation::MakeFilesystem | Operation::CheckFilesystem | Operation::Mount,
            Condition::Conflict,
        ) => Code::StorageVolumeBusy,
        (Operation::MakeFilesystem, _) => Code::StorageFormatFailed,
        (Operation::CheckFilesystem, _) => Code::StorageCheckFailed,
        (Operation::GrowFilesystem, _) => Code::StorageGrowFailed,
        (Operation::ReadDisks, Condition::Conflict) => Code::StorageDeviceMissing,
        (Operation::Mount | Operation::ReadDisks, _) => Code::StorageMountFailed,
        (_, Condition::Unknown) => Code::ServicesUnitUnknown,
        (_, Condition::Io) => Code::ServicesUnitFailed,
        (Operation::StartUnit, Condition::TimedOut) => Code::ServicesUnitStarting,
        _ => Code::ServicesBusUnreachable,
    }
}
