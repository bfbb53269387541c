//! The page of a code: `quake-agent explain` prints it, and `cargo xtask faults` writes it to the docs. It has nothing of
//! one boot; the evidence of a boot is in its [`super::Fault`].

use super::sample::sample_of;
use super::{Class, Code};
use crate::iam::{GRANTS, Grant, NAMES_GRANTS, NEWER_GRANTS};
use crate::phase::{PHASES, Phase};

/// How many near codes a page names.
const NEAR: usize = 4;

/// The page of one code.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Page {
    pub code: Code,
    /// Its class, which says what the agent does about it.
    pub class: Class,
    pub why: &'static str,
    /// What to do about it, in general.
    pub remedy: &'static str,
    /// The phase that it is of; `None` where any phase may come to it, or none.
    pub phase: Option<Phase>,
    /// What IAM has to allow, where that is what is missing.
    pub actions: &'static [&'static str],
    /// The first line of such a fault, with values made up.
    pub sample: Option<&'static str>,
    /// Codes that are taken for this one, the nearest first.
    pub near: Vec<Code>,
}

impl Code {
    /// This code's page.
    pub fn page(self) -> Page {
        let entry = self.entry();
        Page {
            code: self,
            class: entry.class,
            why: entry.why,
            remedy: entry.remedy,
            phase: self.phase(),
            actions: actions_of(self),
            sample: sample_of(self),
            near: near(self),
        }
    }

    /// Whether it is only a warning: despite its class, the boot or the node continues.
    ///
    /// Add-ons never end a boot (`docs/addons.md`). Notifications and the Node object come after the boot.
    pub fn only_warns(self) -> bool {
        self.area() == "addons"
            || matches!(
                self,
                Self::ReadyNodeForeign
                    | Self::ReadyNodeIdentityDenied
                    | Self::ReadyNodeIdentityMissing
                    | Self::BootConsoleDenied
                    | Self::BootConsoleUnread
                    | Self::BootSinkFailed
                    | Self::BootReportDenied
                    | Self::BootReportFailed
                    | Self::BootReportUnplaced
                    | Self::BootSignalDenied
                    | Self::BootSignalFailed
                    | Self::BootSignalUnplaced
            )
    }

    /// The name of its section in `docs/operations.md`.
    pub fn anchor(self) -> String {
        self.entry().code.replace('.', "-")
    }
}

impl Page {
    /// What the agent does about it in a boot, and what then becomes of the boot.
    pub fn handling(&self) -> &'static str {
        match self.code.only_warns() {
            true => {
                "reports the fault and continues: the boot does not end, and a ready node stays ready"
            }
            false => self.class.handling(),
        }
    }

    /// The phase in words.
    pub fn phase_text(&self) -> String {
        match self.phase {
            Some(phase) => format!("{phase}, which is done when {}", phase.row().done_when),
            None => "any".to_owned(),
        }
    }

    /// What cannot begin while this fault stands.
    pub fn blocks(&self) -> Vec<Phase> {
        let Some(phase) = self.phase else {
            return Vec::new();
        };
        let mut blocked = vec![phase];
        // The table is in an order in which each phase stands behind those it waits for.
        for row in PHASES {
            if row.after.iter().any(|before| blocked.contains(before)) {
                blocked.push(row.phase);
            }
        }
        blocked.remove(0);
        blocked
    }

    /// The line that an operator sees, with values made up.
    pub fn sample_line(&self) -> Option<String> {
        let sample = self.sample?;
        Some(format!("{}: {sample}", self.code))
    }

    /// Why the agent wants each of the actions, once for each purpose.
    pub fn grants(&self) -> Vec<(&'static str, &'static Grant)> {
        let mut found: Vec<(&'static str, &'static Grant)> = Vec::new();
        for action in self.actions {
            let grants = GRANTS.iter().chain(NEWER_GRANTS).chain(NAMES_GRANTS);
            for grant in grants.filter(|grant| grant.actions.contains(action)) {
                let is_known = |(_, known): &(_, &Grant)| known.why == grant.why;
                if !found.iter().any(is_known) && concerns(grant, self.phase) {
                    found.push((action, grant));
                }
            }
        }
        found
    }
}

/// Whether a grant is for what the phase does: its reason begins with the phases it is for.
fn concerns(grant: &Grant, phase: Option<Phase>) -> bool {
    let of_a_phase = |clause: &str| {
        let (word, _) = clause.split_once(':').unwrap_or_default();
        Phase::from_name(word.trim())
    };
    let mut named = grant.why.split(';').filter_map(of_a_phase);
    phase.is_some_and(|phase| named.any(|found| found == phase))
}

/// What IAM has to allow for a code to go away.
fn actions_of(code: Code) -> &'static [&'static str] {
    match code {
        Code::IdentityDescribeDenied => &["ec2:DescribeInstances"],
        Code::StorageDescribeDenied => &["ec2:DescribeVolumes", "ec2:DescribeInstances"],
        Code::StorageAttachDenied => &["ec2:AttachVolume"],
        Code::StorageTagDenied => &[
            "ec2:CreateTags",
            "ec2:DeleteTags",
            "ec2:ModifyInstanceAttribute",
        ],
        Code::ConfigInstanceTypeDenied => &["ec2:DescribeInstanceTypes"],
        Code::NetworkPrefixDenied => &["ec2:AssignIpv6Addresses"],
        Code::DnsDenied => &[
            "route53:ListHostedZones",
            "route53:GetHostedZone",
            "route53:ListResourceRecordSets",
            "route53:ChangeResourceRecordSets",
            "route53:GetChange",
        ],
        Code::ReadyHookDenied => &[
            "autoscaling:DescribeLifecycleHooks",
            "autoscaling:CompleteLifecycleAction",
        ],
        Code::ConfigStoreDenied | Code::CredentialsDenied => &["s3:GetObject", "s3:ListBucket"],
        _ => &[],
    }
}

/// The codes that are most like this one, by the words of their names and by their area.
fn near(code: Code) -> Vec<Code> {
    let at = |code: Code| Code::ALL.iter().position(|other| *other == code);
    let own = at(code).unwrap_or_default();
    let words = words(code);
    let mut others: Vec<(usize, usize, Code)> = Code::ALL
        .iter()
        .filter(|other| **other != code)
        .filter_map(|other| {
            let shared = self::words(*other)
                .iter()
                .filter(|word| words.contains(word))
                .count();
            let is_near = shared > 0 || other.area() == code.area();
            let likeness = 2 * shared + usize::from(other.area() == code.area());
            is_near.then(|| {
                (
                    likeness,
                    at(*other).unwrap_or_default().abs_diff(own),
                    *other,
                )
            })
        })
        .collect();
    // Of two that are as like, the one with which the agent does the same.
    let is_other = |other: Code| other.entry().class != code.entry().class;
    others.sort_by_key(|(likeness, apart, other)| {
        (std::cmp::Reverse(*likeness), is_other(*other), *apart)
    });
    others.truncate(NEAR);
    others.into_iter().map(|(_, _, other)| other).collect()
}

/// The words of a code's name behind its area.
fn words(code: Code) -> Vec<&'static str> {
    let name = code.entry().code;
    let (_, rest) = name.split_once('.').unwrap_or(("", name));
    rest.split('-').filter(|word| word.len() > 2).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn every_code_has_a_sample_that_is_no_other_codes() {
        let mut seen = BTreeSet::new();
        for code in Code::ALL {
            let sample = sample_of(*code).unwrap_or_else(|| panic!("{code} has no sample"));
            assert!(seen.insert(sample), "{code}: {sample}");
            assert!(!sample.ends_with('.'), "{code}: {sample}");
        }
    }

    #[test]
    fn what_is_denied_by_iam_names_actions_that_the_policies_have() {
        for code in Code::ALL {
            let page = code.page();
            let granted = |action: &&str| {
                let mut grants = GRANTS.iter().chain(NEWER_GRANTS).chain(NAMES_GRANTS);
                grants.any(|grant| grant.actions.contains(action))
            };
            assert!(page.actions.iter().all(granted), "{code}");
            assert_eq!(page.actions.is_empty(), page.grants().is_empty(), "{code}");
        }
        let attach = Code::StorageAttachDenied.page();
        let reasons: Vec<&str> = attach.grants().iter().map(|(_, it)| it.why).collect();
        assert_eq!(
            reasons,
            ["storage: attach the chosen etcd volume to this instance"]
        );
    }

    #[test]
    fn a_code_is_near_to_those_of_the_same_words_and_never_to_itself() {
        let near = Code::AssetsUnreachable.page().near;
        assert!(near.contains(&Code::ConfigStoreUnreachable), "{near:?}");
        for code in Code::ALL {
            let near = code.page().near;
            assert!(!near.is_empty() && !near.contains(code), "{code}");
        }
    }

    #[test]
    fn what_is_only_told_of_is_not_said_to_end_a_boot() {
        let foreign = Code::AddonsPodForeign.page();
        assert!(
            foreign.handling().contains("the boot does not end"),
            "{}",
            foreign.handling()
        );
        for code in Code::ALL {
            let page = code.page();
            let says_its_class = page.handling() == page.class.handling();
            assert_ne!(says_its_class, code.only_warns(), "{code}");
        }
        let ends = Code::StorageForeignMemberData.page();
        assert!(ends.handling().starts_with("ends the boot at once"));
        assert!(!Code::ReadyProbeFailing.only_warns() && !Code::BootInternal.only_warns());
    }

    #[test]
    fn a_fault_of_storage_keeps_files_and_what_follows_from_beginning() {
        let blocked = Code::StorageVolumeHeld.page().blocks();
        assert_eq!(blocked, [Phase::Files, Phase::Services, Phase::Ready]);
        assert!(Code::BootInternal.page().blocks().is_empty());
    }
}
