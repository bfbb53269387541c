//! Conditions of the Node object that say how the agent's work stands, so that schedulers, alerts and the Node Readiness Controller
//! can act on it. Which status each has follows from the boot's record; when the API server hears of a change is debounced.
//!
//! Kubernetes' own conditions (`Ready`, `DiskPressure`, …) are kubelet's, and are left alone.

mod debounce;
mod from_record;
mod note;
mod patches;
mod plan;
mod startup_taint;

pub use debounce::{Debounce, HEARTBEAT, HOLD};
pub use from_record::conditions;
pub use note::{NOTE, noted_taints, taints_note};
pub use patches::{Apply, Known, known_conditions, removal, report, without_taint};
pub use plan::{ConditionsPlan, Remover, TaintPlan, conditions_plan, without_reports};
pub use startup_taint::{RemoverChoice, StartupTaint, UNTIL};

use quake_model::fault::{Code, Fault};
use quake_model::redact::scrub;
use std::fmt;

/// What all types begin with: condition types of others than Kubernetes have a domain's prefix.
pub const PREFIX: &str = "quake.io/";

/// The longest message. The API has no limit; a guess that holds a remedy and keeps the object small.
const LONGEST_MESSAGE: usize = 600;

/// One of the conditions.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ConditionKind {
    BootComplete,
    VolumesSafe,
    NetworkReady,
    ImagesPresent,
    CertificatesValid,
    NoDrift,
}

/// What the documentation says of a condition.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ConditionRow {
    pub kind: ConditionKind,
    /// Its name, without the prefix.
    pub name: &'static str,
    pub is_true_when: &'static str,
    pub is_false_when: &'static str,
}

/// The conditions, in the order of a boot.
pub const CONDITIONS: &[ConditionRow] = &[
    ConditionRow {
        kind: ConditionKind::BootComplete,
        name: "BootComplete",
        is_true_when: "the last boot of the agent ended with a ready node, and its container runtime and kubelet run",
        is_false_when: "the boot failed or was stopped, or one of the two units is lost",
    },
    ConditionRow {
        kind: ConditionKind::VolumesSafe,
        name: "VolumesSafe",
        is_true_when: "each volume of etcd is the right one and is mounted, or the node needs none",
        is_false_when: "the phase `storage` failed, or a mount is gone",
    },
    ConditionRow {
        kind: ConditionKind::NetworkReady,
        name: "NetworkReady",
        is_true_when: "the boot set modules, sysctls and interfaces, and the pod network has its CNI configuration",
        is_false_when: "the phase `network` failed, or the CNI configuration or a plugin is missing or foreign",
    },
    ConditionRow {
        kind: ConditionKind::ImagesPresent,
        name: "ImagesPresent",
        is_true_when: "the boot has every pinned file, and every image that it imports or pulls is in the runtime",
        is_false_when: "the phase `assets` failed, or an image could not be imported or pulled",
    },
    ConditionRow {
        kind: ConditionKind::CertificatesValid,
        name: "CertificatesValid",
        is_true_when: "keys and certificates are present, and none has expired",
        is_false_when: "the phase `credentials` failed, or a certificate has expired",
    },
    ConditionRow {
        kind: ConditionKind::NoDrift,
        name: "NoDrift",
        is_true_when: "files, programs, units and settings of the kernel are as the boot left them",
        is_false_when: "somebody changed, removed or disabled one",
    },
];

impl ConditionKind {
    /// All of them, in the order of a boot.
    pub fn all() -> impl Iterator<Item = Self> {
        CONDITIONS.iter().map(|row| row.kind)
    }

    /// Its name without the prefix, as flags take it.
    pub fn name(self) -> &'static str {
        let row = CONDITIONS.iter().find(|row| row.kind == self);
        row.map(|row| row.name).unwrap_or_default()
    }

    /// The one of this name, with or without the prefix.
    pub fn from_name(name: &str) -> Option<Self> {
        let bare = name.strip_prefix(PREFIX).unwrap_or(name);
        let row = CONDITIONS.iter().find(|row| row.name == bare);
        row.map(|row| row.kind)
    }
}

/// The `type` in the Node object.
impl fmt::Display for ConditionKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{PREFIX}{}", self.name())
    }
}

/// The `status` of a condition.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ConditionStatus {
    True,
    False,
    Unknown,
}

impl ConditionStatus {
    /// Its word in the API.
    pub fn name(self) -> &'static str {
        match self {
            Self::True => "True",
            Self::False => "False",
            Self::Unknown => "Unknown",
        }
    }

    /// Reads the API's word.
    pub fn from_name(name: &str) -> Option<Self> {
        [Self::True, Self::False, Self::Unknown]
            .into_iter()
            .find(|status| status.name() == name)
    }
}

/// One condition, as it is seen now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NodeCondition {
    pub kind: ConditionKind,
    pub status: ConditionStatus,
    /// CamelCase, as the API requires.
    pub reason: String,
    pub message: String,
}

impl NodeCondition {
    /// A condition without a fault.
    fn plain(kind: ConditionKind, status: ConditionStatus, reason: &str, message: &str) -> Self {
        Self {
            kind,
            status,
            reason: reason.to_owned(),
            message: shortened(message),
        }
    }

    /// A condition that a fault explains: its code is the reason, and what to do is the message.
    fn by(kind: ConditionKind, status: ConditionStatus, fault: &Fault) -> Self {
        let remedy = fault.remedy_text().lines().next().unwrap_or_default();
        Self {
            kind,
            status,
            reason: reason(fault.code),
            message: shortened(&format!("{}: {remedy}", fault.code)),
        }
    }
}

/// A fault's code as a reason: `storage.volume-conflict` is `StorageVolumeConflict`.
pub fn reason(code: Code) -> String {
    let code = code.to_string();
    let words = code.split(|letter: char| !letter.is_ascii_alphanumeric());
    let capitals = words.map(|word| {
        let mut letters = word.chars();
        let first = letters.next().map(|first| first.to_ascii_uppercase());
        first.into_iter().chain(letters).collect::<String>()
    });
    capitals.collect()
}

/// Scrubbed, and cut at a letter's end where it is too long.
fn shortened(text: &str) -> String {
    let text = scrub(text);
    match text.char_indices().nth(LONGEST_MESSAGE) {
        Some((at, _)) => format!("{}…", &text[..at]),
        None => text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    /// `^[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?$`, as `metav1.Condition` has it.
    fn is_reason(text: &str) -> bool {
        let letters = |letter: char| letter.is_ascii_alphanumeric() || "_,:".contains(letter);
        let ends = |letter: char| letter.is_ascii_alphanumeric() || letter == '_';
        text.starts_with(|first: char| first.is_ascii_alphabetic())
            && text.ends_with(ends)
            && text.chars().all(letters)
            && text.len() <= 1024
    }

    #[test]
    fn every_code_is_a_reason_that_the_api_takes_and_no_two_are_the_same() {
        let reasons: BTreeSet<String> = Code::ALL.iter().map(|code| reason(*code)).collect();
        assert_eq!(reasons.len(), Code::ALL.len());
        assert!(reasons.iter().all(|reason| is_reason(reason)));
        let conflict = reason(Code::StorageVolumeConflict);
        assert_eq!(conflict, "StorageVolumeConflict");
        assert_eq!(format!("{:?}", Code::StorageVolumeConflict), conflict);
    }

    #[test]
    fn every_type_is_a_qualified_name_and_is_found_with_and_without_its_prefix() {
        for kind in ConditionKind::all() {
            let whole = kind.to_string();
            let name = whole.strip_prefix(PREFIX).expect("it has the prefix");
            assert!(name.len() <= 63 && name.chars().all(|c| c.is_ascii_alphabetic()));
            assert_eq!(ConditionKind::from_name(name), Some(kind));
            assert_eq!(ConditionKind::from_name(&whole), Some(kind));
        }
        assert_eq!(ConditionKind::from_name("Ready"), None);
    }

    #[test]
    fn a_message_has_the_code_and_the_first_line_of_the_remedy_and_no_secret() {
        let fault = Fault::new(Code::AssetsUnreachable, "no mirror").remedied_by(
            "ask https://u:hush@mirror/kubelet by hand: Bearer abcdefgh\nand then the second line",
        );
        let shown = NodeCondition::by(ConditionKind::ImagesPresent, ConditionStatus::False, &fault);
        assert!(shown.message.starts_with("assets.unreachable: ask "));
        for hidden in ["hush", "abcdefgh", "second"] {
            assert!(!shown.message.contains(hidden), "{}", shown.message);
        }
        let long = "ü".repeat(2 * LONGEST_MESSAGE);
        assert_eq!(shortened(&long).chars().count(), LONGEST_MESSAGE + 1);
    }
}
