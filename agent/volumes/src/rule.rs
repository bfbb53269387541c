//! The rules of the choice by name: each decision says which one made it.

use std::fmt;

/// What a decision asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Action {
    /// The volume is ours already.
    Adopt,
    /// The volume is to be attached.
    Attach,
    /// Something has to happen first.
    Wait,
    /// A peer runs the member, and this instance is its spare.
    StandBy,
    /// Only an operator can decide.
    Refuse,
}

impl Action {
    /// The word for the action, as the decision tables write it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Adopt => "ADOPT",
            Self::Attach => "ATTACH",
            Self::Wait => "WAIT",
            Self::StandBy => "STANDBY",
            Self::Refuse => "REFUSE",
        }
    }
}

/// Makes an enum of rules from a table: the meaning of each, its name, and the fault it becomes where it becomes one.
macro_rules! rules {
    (
        $(#[doc = $about:literal])*
        $table:ident:
        $(#[doc = $meaning:literal] $rule:ident = $name:literal $(=> $code:ident)?;)*
    ) => {
        $(#[doc = $about])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        pub enum $table { $(#[doc = $meaning] $rule,)* }

        impl $table {
            /// Every rule.
            pub const ALL: &[Self] = &[$(Self::$rule,)*];

            /// The rule's name.
            pub fn name(self) -> &'static str {
                match self { $(Self::$rule => $name,)* }
            }

            /// What it says, as a sentence.
            pub fn meaning(self) -> &'static str {
                match self { $(Self::$rule => $meaning.trim_ascii(),)* }
            }

            /// The fault it becomes when it ends a boot; `None` for one that never does.
            pub fn code(self) -> Option<quake_model::fault::Code> {
                match self { $(Self::$rule => $crate::rule::rules!(@code $($code)?),)* }
            }
        }
    };
    (@code) => { None };
    (@code $code:ident) => { Some(quake_model::fault::Code::$code) };
}
pub(super) use rules;

rules! {
    /// One rule of the choice; printed by its name.
    Rule:
    /// The volume is on this instance.
    AlreadyOurs = "OK_ALREADY_OURS";
    /// The volume is free.
    Attach = "OK_ATTACH";
    /// The volume is fit for its slot.
    Candidate = "CANDIDATE";
    /// Neither tag says that it is of this cluster.
    NotOurs = "NOT_OURS";
    /// No tag says that it is of the control plane.
    NotControlPlane = "NOT_CONTROL_PLANE";
    /// No tag says that it is etcd's.
    NotEtcd = "NOT_ETCD";
    /// The member runs, and others have its tags.
    Surplus = "W_SURPLUS_VOLUMES" => StorageSurplusVolumes;
    /// Members of different names run here; an earlier agent took them.
    SplitBundle = "W_SPLIT_BUNDLE" => StorageSplitBundle;
    /// No etcd cluster has such a member.
    UnknownMember = "W_UNKNOWN_MEMBER";
    /// An operator said to leave it.
    OperatorIgnored = "W_OPERATOR_IGNORED";
    /// It is deleted or about to be.
    Deleting = "W_DELETING";
    /// EC2 lost it.
    StateError = "W_STATE_ERROR";
    /// It belongs to another life of the cluster.
    StaleUid = "W_STALE_CLUSTER_UID";
    /// EC2's answers contradict each other.
    InconsistentView = "W_INCONSISTENT_VIEW" => StorageViewInconsistent;
    /// It is being made.
    VolumeCreating = "W_VOLUME_CREATING" => StorageVolumeBusy;
    /// It is on its way here.
    AttachingSelf = "W_ATTACHING_SELF" => StorageVolumeBusy;
    /// It is on its way off here.
    DetachingSelf = "W_DETACHING_SELF" => StorageVolumeBusy;
    /// Someone asked to take it off here while it is mounted.
    BusySelf = "W_BUSY_SELF" => StorageVolumeBusy;
    /// It is on its way off another instance.
    DetachingOther = "W_DETACHING_OTHER" => StorageHolderEnding;
    /// Its holder is going.
    HolderTerminating = "W_HOLDER_TERMINATING" => StorageHolderEnding;
    /// Its holder is gone.
    GhostAttachment = "W_GHOST_ATTACHMENT" => StorageHolderEnding;
    /// Its holder is stopped.
    HolderStopped = "W_HOLDER_STOPPED" => StorageHolderStopped;
    /// EC2 does not describe its holder.
    HolderUnknown = "W_HOLDER_UNKNOWN" => StorageHolderUnknown;
    /// A peer of this group has it.
    HeldByPeer = "W_HELD_BY_PEER" => StorageVolumeHeld;
    /// No volume is there, and it may still show up.
    NoVolumeYet = "W_NO_VOLUME_YET" => StorageVolumeMissing;
    /// It waits for the slot before it.
    OrderedBehindMain = "W_ORDERED_BEHIND_MAIN";
    /// It waits for a refused slot of the same member.
    BundleBlocked = "W_BUNDLE_BLOCKED";
    /// Older peers of this group take all free members.
    NoFreeMember = "W_STANDBY_NO_FREE_MEMBER" => StorageVolumeHeld;
    /// No member is free, and one of them is refused.
    BehindConflict = "W_STANDBY_BEHIND_CONFLICT" => StorageVolumeHeld;
    /// No volume is there.
    NoVolume = "E_NO_VOLUME" => StorageVolumeMissing;
    /// Several volumes claim the slot.
    DuplicateVolumes = "E_DUPLICATE_VOLUMES" => StorageVolumeConflict;
    /// Several volumes are pinned to the slot.
    MultiplePins = "E_MULTIPLE_PINS" => StorageSeveralPins;
    /// It has several etcd tags.
    MultiRole = "E_MULTI_ROLE" => StorageSeveralRoles;
    /// Its etcd tag cannot be read.
    TagMalformed = "E_TAG_MALFORMED" => StorageTagMalformed;
    /// It is in another zone than its member.
    ZoneMismatch = "E_ZONE_MISMATCH" => StorageVolumeElsewhere;
    /// Several instances may attach it.
    MultiAttachEnabled = "E_MULTI_ATTACH_ENABLED" => StorageMultiAttach;
    /// Its member asks for encryption.
    NotEncrypted = "E_NOT_ENCRYPTED" => StorageNotEncrypted;
    /// It is older than the cluster.
    PredatesCluster = "E_PREDATES_CLUSTER" => StorageVolumeStale;
    /// It is attached more than once.
    MultipleAttachments = "E_MULTIPLE_ATTACHMENTS" => StorageSeveralAttachments;
    /// An instance of another group has it.
    HeldByForeignInstance = "E_HELD_BY_FOREIGN_INSTANCE" => StorageHeldByForeign;
    /// This instance holds volumes of several members.
    HoldsTwoMembers = "E_HOLDS_TWO_MEMBERS" => StorageTwoMembers;
    /// This instance's group has no member in this zone.
    NoMemberForGroup = "E_NO_MEMBER_FOR_IG" => StorageNoMember;
}

impl fmt::Display for Rule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
