//! Bugs that are planted on purpose, one at a time: the simulation must find each.
//!
//! All of them sit between the engine and its machine, so that nothing that ships knows of them: a write that is swallowed, an
//! answer that is cut short, a check that is left out. What comes of it is what would come of an engine that has the bug itself.

macro_rules! bugs {
    ($($what:literal $name:ident $text:literal $seed:literal $laws:expr;)+) => {
        /// A planted bug.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
        pub enum Bug {
            $(#[doc = $what] $name,)+
        }

        impl Bug {
            /// All of them, in the order of the table.
            pub const ALL: &'static [Self] = &[$(Self::$name,)+];

            /// Its name on the command line and in the table.
            pub fn name(self) -> &'static str {
                match self {
                    $(Self::$name => $text,)+
                }
            }

            /// The laws that may find it.
            pub fn laws(self) -> &'static [&'static str] {
                match self {
                    $(Self::$name => &$laws,)+
                }
            }

            /// A world that finds it.
            pub fn seed(self) -> u64 {
                match self {
                    $(Self::$name => $seed,)+
                }
            }

            /// What it is.
            pub fn what(self) -> &'static str {
                match self {
                    $(Self::$name => $what,)+
                }
            }
        }
    };
}

bugs! {
    "the intent record is never written" NoIntent "no-intent" 1 ["intent-before-attach"];
    "the intent to format is never written" NoFormatIntent "no-format-intent" 1 ["intent-before-format"];
    "the record names another member, and volumes of the one that was begun are not seen" OtherMember "other-member" 45 ["one-member"];
    "the record is not read at the start of a boot" JournalNotRead "journal-not-read" 225 ["becomes-ready", "one-member", "intent-before-attach"];
    "a listing ends with its first volume" ShortListing "short-listing" 1 ["becomes-ready", "plan-holds"];
    "of two volumes of a member the last of the listing is taken" TrustLast "trust-last" 2 ["no-duplicate-attached"];
    "a volume's tag is read as that of the next member" WrongTags "wrong-tags" 1 ["ready-holds-a-member", "one-member", "plan-holds", "becomes-ready"];
    "listings lag behind for ten minutes" LongLag "long-lag" 16 ["becomes-ready", "one-member", "no-duplicate-attached"];
    "a device that was not probed is formatted" LooksBlank "looks-blank" 1 ["blank-before-format"];
    "what has no known signature is formatted" UnsignedIsBlank "unsigned-is-blank" 6 ["blank-before-format"];
    "backups are not looked for" NoBackups "no-backups" 33 ["no-empty-etcd"];
    "a volume is taken from the instance that has it" SharedAttach "shared-attach" 1 ["mounted-once", "one-member", "plan-holds"];
    "a mount that failed counts as one" SaysMounted "says-mounted" 1 ["mounted-before-manifest", "ready-holds-a-member"];
    "manifests of etcd stay although their volumes are not mounted" KeepsManifests "keeps-manifests" 40 ["mounted-before-manifest", "becomes-ready"];
    "a file is renamed before it is flushed" TornFiles "torn-files" 1 ["files-whole"];
    "one file of twenty is not written" LostFile "lost-file" 5 ["plan-holds", "becomes-ready", "ready-holds-a-member", "intent-before-format"];
    "the lease counts as held although its write is lost" LeaseNotWritten "lease-not-written" 64 ["applies-under-lease"];
    "every call of EC2 is made ten times" CountTwice "count-twice" 1 ["calls-in-budget", "becomes-ready", "ends-have-codes"];
    "requests are counted once a boot has ended" CountLate "count-late" 1 ["calls-in-budget"];
    "every call of a machine is made a thousand times" Storm "storm" 1 ["ends"];
    "the lease of another counts as given back" StealsLease "steals-lease" 1 ["lease-has-one-holder"];
    "a volume that another instance has is attached a second time" MultiAttach "multi-attach" 2 ["mounted-once"];
    "the startup taint goes with the first condition that is reported" TaintEarly "taint-early" 3 ["taint-until-ready"];
    "the startup taint comes back each time" TaintStays "taint-stays" 3 ["conditions-hold"];
    "an event is cut where it is written" EventTorn "event-torn" 1 ["events-readable"];
    "a private key is in an event" LeakKey "leak-key" 1 ["no-secret-shown"];
    "an event is emitted twice" EventTwice "event-twice" 1 ["events-in-order"];
    "a boot ends twice" EndsTwice "ends-twice" 1 ["ends-once"];
    "EC2's view of an attach is waited for without an end" NeverShown "never-shown" 1 ["becomes-ready", "plan-holds"];
    "a unit that ended is not started again" UnitFalls "unit-falls" 1 ["becomes-ready"];
    "a volume is not marked" NoMarker "no-marker" 1 ["marked-when-ready", "becomes-ready"];
    "modules of the kernel are not loaded after the first boot" NoModules "no-modules" 1 ["plan-holds", "becomes-ready"];
    "what an operator ignored or pinned is not read" PinBlind "pin-blind" 2 ["becomes-ready"];
    "every address at the shared name counts as a control plane's" NamesForeign "names-foreign" 7 ["names-of-cluster"];
    "a member's name is written as that of the next member" NamesOfNext "names-of-next" 9 ["member-name-of-holder"];
    "records are read as this node wrote them last" NamesCached "names-cached" 9 ["names-lead-home"];
    "of an add-on only the note that it is applied is written" NoteAlone "note-alone" 3 ["addons-settle"];
    "the notes of peers are not read" PeersUnseen "peers-unseen" 169 ["repair-own-fault"];
    "a request marks another instance of the group, too" MarksTwo "marks-two" 63 ["repair-share"];
    "an outage of the state store or of the API server is not seen on a ready node" OutageUnseen "outage-unseen" 430 ["repair-no-outage"];
    "every member of etcd counts as one that said just now that it answers" QuorumBlind "quorum-blind" 286 ["repair-keeps-quorum"];
    "the devices of volumes are not found" DeviceNever "device-never" 1 ["becomes-ready"];
}

impl Bug {
    /// The bug of this name.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|bug| bug.name() == name)
    }
}
