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
    /// Whether it is a whole word of JSON, such as a key or the kind of an event.
    pub(super) is_key: bool,
}

const fn name(old: &'static str, new: &'static str) -> Name {
    within(old, new, &[])
}

const fn within(old: &'static str, new: &'static str, within: &'static [&'static str]) -> Name {
    Name { old, new, within }
}

const fn phrase(old: &'static str, new: &'static str) -> Phrase {
    Phrase {
        old,
        new,
        is_key: false,
    }
}

const fn key(old: &'static str, new: &'static str) -> Phrase {
    Phrase {
        old,
        new,
        is_key: true,
    }
}

/// Code that reads what earlier releases wrote, and so knows the old words.
pub(super) const READERS_OF_OLD: &[&str] = &[
    "agent/model/src/addon.rs",
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
    name("Untold", "NotificationFailed"),
    name("Watching", "ObserveMode"),
    name("AddonKeeper", "ReconcilerRef"),
    name("Standing", "UnitHealth"),
    name("standing", "health"),
    name("stand", "try_acquire_or_renew"),
    name("bring_about", "apply_change"),
    name("brought_up", "start_all"),
    name("carry_out", "execute"),
    name("givers", "sources"),
    name("Hold", "LockMode"),
    name("Brought", "SeedOutcome"),
    within(
        "Held",
        "Unchanged",
        &[
            "agent/assets/",
            "agent/cli/",
            "agent/host/",
            "agent/model/",
            "agent/node/",
            "proof/",
        ],
    ),
    name("Told", "Reports"),
    name("told", "reported"),
    name("tell", "report"),
    name("telling", "reporting"),
    name("asked", "requested"),
    name("Asked", "Request"),
    name("awaited", "waited_for"),
    within(
        "owned",
        "managed_files",
        &[
            "agent/node/src/managed_files.rs",
            "agent/engine/src/resident/",
        ],
    ),
    name("owed", "pending"),
    within("meaning", "parsed", &["agent/node/"]),
    name("fault_of", "to_fault"),
    name("surroundings", "environment"),
    name("left_behind", "leftovers"),
    name("scene", "fixture"),
    name("Scene", "Fixture"),
    name("asking", "callers"),
    name("meant", "expected"),
    name("trouble", "error"),
    within(
        "life",
        "cluster_generation",
        &[
            "agent/cli/",
            "agent/engine/",
            "agent/node/",
            "agent/volumes/",
        ],
    ),
    within(
        "says",
        "desired_labels",
        &[
            "agent/node/src/node_identity.rs",
            "agent/engine/src/resident/node_object/",
            "agent/apisim/",
        ],
    ),
    within("body", "backend", &["integration/src/machine/mod.rs"]),
    within(
        "Body",
        "MachineBackend",
        &["integration/src/machine/", "integration/tests/machine/"],
    ),
    within("calm", "liveness", &["proof/"]),
    within("Calm", "Liveness", &["proof/"]),
    name("spark", "kvm_probe"),
    name("keeper", "reconciler"),
    name("mend", "remedy"),
    name("menu", "selected"),
];

/// Names of files and directories, as modules.
pub(super) const FILES: &[Name] = &[
    name("surroundings", "environment"),
    name("left_behind", "boot_history"),
    name("lasting", "restart_policy"),
    name("outward", "notify"),
    name("spelling", "nodeup_args"),
    name("scene", "fixtures"),
    name("asking", "agent_client"),
    name("meant", "preconditions"),
    name("shelves", "store"),
    name("trouble", "fault_injection"),
    name("spark", "kvm_probe"),
    name("calm", "liveness"),
    name("hold", "issued"),
    name("held", "lease"),
    name("kept", "bounded"),
    name("meaning", "fault_mapping"),
    name("awaited", "readiness"),
    name("life", "cluster_facts"),
    name("telling", "report"),
    name("told", "operator_output"),
    name("asked", "kubelet_config"),
    name("standing", "unit_watch"),
    within("body", "backend", &["integration/"]),
    within("parts", "simulated_parts", &["agent/cli/", "integration/"]),
    within("place", "write_file", &["agent/host/"]),
];

/// Phrases and keys.
pub(super) const PHRASES: &[Phrase] = &[
    phrase("withheld:", "skipped:"),
    phrase("newer dialect", "kops (1.32 and newer)"),
    phrase("older dialect", "kops legacy (1.8 to 1.15)"),
    phrase("the cluster's authority", "the cluster's CA"),
    phrase("to mend", "to fix"),
    phrase("mend it", "fix it"),
    phrase("mended", "repaired"),
    phrase("certificate is over", "certificate has expired"),
    phrase("which is none", "invalid"),
    phrase("that is none", "invalid"),
    phrase("of which", "; … of them"),
    phrase("whoever", "everyone who"),
    phrase("folder", "directory"),
    phrase("folders", "directories"),
    key("underWay", "inProgress"),
    key("lookedAfter", "managed"),
    key("passedOver", "skipped"),
    key("doneWhen", "until"),
    key("addons-kept", "addons-reconciled"),
    key("addons-not-kept", "addons-degraded"),
    key("addons-forgotten", "addon-forgotten"),
    key("addons-warnings-over", "addons-warnings-cleared"),
    key("names-kept", "dns-published"),
    key("names-not-kept", "dns-not-published"),
    key("node-identified", "node-labelled"),
    key("node-not-identified", "node-not-labelled"),
    key("told", "notification-sent"),
    key("not-told", "notification-failed"),
    key("withheld", "notification-skipped"),
    key("keeper", "reconciler"),
];
