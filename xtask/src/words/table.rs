//! What may not come back, and what is written for it.

/// A name that is no longer used.
#[derive(Debug)]
pub(super) struct Name {
    pub(super) old: &'static str,
    /// What the thing is called now.
    pub(super) new: &'static str,
    /// Where the old one is closed; empty for everywhere.
    pub(super) within: &'static [&'static str],
}

/// A phrase, or a key of JSON, that is no longer written.
#[derive(Debug)]
pub(super) struct Phrase {
    pub(super) old: &'static str,
    pub(super) new: &'static str,
}

const fn name(old: &'static str, new: &'static str) -> Name {
    Name {
        old,
        new,
        within: &[],
    }
}

const fn within(old: &'static str, new: &'static str, within: &'static [&'static str]) -> Name {
    Name { old, new, within }
}

const fn phrase(old: &'static str, new: &'static str) -> Phrase {
    Phrase { old, new }
}

/// Code that reads what earlier releases wrote, and so knows the old words.
pub(super) const READERS_OF_OLD: &[&str] = &[
    "agent/model/src/event.rs",
    "agent/model/src/event/tests.rs",
    "integration/tests/earlier.rs",
];

/// Names, the newest last.
pub(super) const NAMES: &[Name] = &[
    name("Outward", "Notification"),
    within("tending", "addon_mode", &["agent/addons/"]),
    within("Telling", "CaErrorVerifier", &["agent/http/"]),
    within("Telling", "ApiErrorRedactor", &["agent/host/"]),
    name("Menu", "SelectedAddons"),
    name("Incarnation", "ClusterGeneration"),
    name("incarnation", "cluster_generation"),
    name("Surface", "DeviceSignature"),
    within(
        "Inside",
        "FilesystemContents",
        &[
            "agent/volumes/",
            "agent/engine/",
            "agent/cli/",
            "agent/diagnose/",
        ],
    ),
    name("InsideContext", "ContentsContext"),
    within("Gate", "SafetyGate", &["agent/"]),
    within("Standing", "VolumeClass", &["agent/volumes/"]),
    within("Standing", "EntryState", &["agent/assets/"]),
    within("Standing", "CertificateValidity", &["agent/diagnose/"]),
    name("judge_unit", "unit_health"),
    within("lasting", "restart_policy", &["agent/node/src/lib.rs"]),
    name("Attempted", "Operation"),
    name("Knowledge", "BootFacts"),
    within(
        "Told",
        "AddonStatusReporter",
        &["agent/engine/src/resident/addons/"],
    ),
    name("Tending", "AddonMode"),
    name("Keeping", "ReconcileMode"),
    within(
        "Keeper",
        "AddonReconciler",
        &["agent/engine/src/resident/addons/"],
    ),
    name("Inquiry", "AddonInspector"),
    within(
        "Session",
        "ClusterClient",
        &["agent/engine/src/resident/addons/"],
    ),
    name("Talk", "NodeClient"),
    within("Lead", "Leadership", &["agent/engine/src/resident/addons/"]),
    within("Known", "DownloadState", &["agent/assets/"]),
    name("Course", "DownloadPlan"),
    within("Flow", "Download", &["agent/assets/"]),
    name("Halt", "StopReason"),
    within("Tally", "IngestStats", &["agent/assets/"]),
    within("Arrival", "Ingest", &["agent/assets/"]),
    within("Incoming", "IngestReader", &["agent/assets/"]),
    name("Landing", "Destination"),
    name("Landed", "PartialFile"),
    within("Keeper", "Committer", &["agent/assets/"]),
    name("Shelves", "Store"),
    within("Trouble", "InjectedFault", &["agent/apisim/"]),
    within("Asked", "ParsedRequest", &["agent/apisim/"]),
    within("Asked", "ViewRequest", &["agent/volumes/"]),
    within(
        "Asked",
        "BundleOptions",
        &["agent/cli/src/commands/diagnose/"],
    ),
    within("Asked", "PendingRead", &["agent/assets/"]),
    within("Known", "KnownLine", &["agent/formats/", "agent/diagnose/"]),
    name("Acting", "Mode"),
    within("Patience", "Deadlines", &["agent/engine/"]),
    name("Loss", "LostCondition"),
    name("Unmet", "PendingCondition"),
    name("Bringer", "CniProvider"),
    name("Labeller", "LabelOwner"),
    name("Dialect", "KopsGeneration"),
    name("dialect", "generation"),
    name("Surroundings", "Environment"),
    within("Telling", "Signal", &["agent/node/", "agent/engine/"]),
    within("Known", "LocalFacts", &["agent/volumes/"]),
    name("arrivals", "wait_for"),
    name("OwnedFile", "ManagedFile"),
    name("never_spoke", "no_report"),
    name("dialect_of", "generation_of"),
    within("Mark", "NodePatch", &["agent/node/", "agent/engine/"]),
    within(
        "Left",
        "ManagedSnapshot",
        &["agent/engine/src/boot/managed_files.rs"],
    ),
    name("authority", "ca"),
    name("authorities", "ca_bundle"),
    name("Authority", "Ca"),
    name("Authorities", "CaBundle"),
];

/// Phrases and keys.
pub(super) const PHRASES: &[Phrase] = &[
    phrase("underWay", "inProgress"),
    phrase("lookedAfter", "managed"),
    phrase("passedOver", "skipped"),
    phrase("doneWhen", "until"),
    phrase("addons-kept", "addons-reconciled"),
    phrase("addons-not-kept", "addons-degraded"),
    phrase("addons-forgotten", "addon-forgotten"),
    phrase("names-kept", "dns-published"),
    phrase("node-identified", "node-labelled"),
    phrase("not-told", "notification-failed"),
    phrase("newer dialect", "kops (1.32 and newer)"),
    phrase("older dialect", "kops legacy (1.8 to 1.15)"),
    phrase("the cluster's authority", "the cluster's CA"),
    phrase("to mend", "to fix"),
    phrase("mend it", "fix it"),
];
