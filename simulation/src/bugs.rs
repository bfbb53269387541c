//! Bugs that are planted on purpose, one at a time: the simulation must find each.
//!
//! All of them sit between the engine and its machine, so that nothing that ships knows of them: a write that is swallowed, an
//! answer that is cut short, a check that is left out. What comes of it is what would come of an engine that has the bug itself.

macro_rules! bugs {
    ($($what:literal $name:ident $text:literal $laws:expr;)+) => {
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
    "the intent record is never written" NoIntent "no-intent" ["intent-before-attach"];
    "the intent to format is never written" NoFormatIntent "no-format-intent" ["intent-before-format"];
    "the member that was begun is not in the record" ForgetMember "forget-member" ["one-member"];
    "the record is not read at the start of a boot" JournalNotRead "journal-not-read" ["one-member", "intent-before-attach"];
    "a listing ends with its first volume" ShortListing "short-listing" ["becomes-ready"];
    "of two volumes of a member the last of the listing is taken" TrustLast "trust-last" ["no-duplicate-attached"];
    "a volume's tag is read as that of the next member" WrongTags "wrong-tags" ["ready-holds-a-member", "one-member"];
    "listings lag behind for ten minutes" LongLag "long-lag" ["becomes-ready", "one-member", "no-duplicate-attached"];
    "a device that was not probed is formatted" LooksBlank "looks-blank" ["blank-before-format"];
    "what has no known signature is formatted" UnsignedIsBlank "unsigned-is-blank" ["blank-before-format"];
    "each format makes a filesystem that is not known again" RandomUuid "random-uuid" ["becomes-ready"];
    "backups are not looked for" NoBackups "no-backups" ["no-empty-etcd"];
    "a volume is taken from the instance that has it" SharedAttach "shared-attach" ["mounted-once", "one-member"];
    "a mount that failed counts as one" SaysMounted "says-mounted" ["mounted-before-manifest", "ready-holds-a-member"];
    "manifests of etcd stay although their volumes are not mounted" KeepsManifests "keeps-manifests" ["mounted-before-manifest", "becomes-ready"];
    "a file is renamed before it is flushed" TornFiles "torn-files" ["files-whole"];
    "one file of twenty is not written" LostFile "lost-file" ["plan-holds", "becomes-ready", "ready-holds-a-member"];
    "the lease counts as held although its write is lost" LeaseNotWritten "lease-not-written" ["applies-under-lease"];
    "every call of EC2 is made ten times" CountTwice "count-twice" ["calls-in-budget", "becomes-ready", "ends-have-codes"];
    "a private key is in an event" LeakKey "leak-key" ["no-secret-shown"];
    "an event is emitted twice" EventTwice "event-twice" ["events-in-order"];
    "a boot ends twice" EndsTwice "ends-twice" ["ends-once"];
    "EC2's view of an attach is waited for without an end" NeverShown "never-shown" ["becomes-ready"];
    "a unit that ended is not started again" UnitFalls "unit-falls" ["becomes-ready"];
    "a volume is not marked" NoMarker "no-marker" ["marked-when-ready", "becomes-ready"];
    "modules of the kernel are not loaded after the first boot" NoModules "no-modules" ["plan-holds", "becomes-ready"];
    "what an operator ignored or pinned is not read" PinBlind "pin-blind" ["becomes-ready"];
    "the devices of volumes are not found" DeviceNever "device-never" ["becomes-ready"];
}

impl Bug {
    /// The bug of this name.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|bug| bug.name() == name)
    }
}
