//! What was decided, for each slot, with everything that led to it.

use super::classify::Verdict;
use super::rule::{Action, Rule};
use super::tags::Slot;

/// What a decision is about, beside its volume.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Detail {
    None,
    /// The device name the volume is attached under.
    Device(String),
    /// The instance that holds the volume.
    Holder(String),
    /// All volumes it is about, sorted.
    Volumes(Vec<String>),
    /// Members, sorted.
    Members(Vec<String>),
    /// Instances, sorted.
    Instances(Vec<String>),
}

/// The decision about one slot.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SlotDecision {
    pub action: Action,
    pub rule: Rule,
    /// The volume it is about, where it is about one.
    pub volume: Option<String>,
    /// What else it is about.
    pub detail: Detail,
}

impl SlotDecision {
    pub(super) fn new(action: Action, rule: Rule) -> Self {
        Self {
            action,
            rule,
            volume: None,
            detail: Detail::None,
        }
    }

    pub(super) fn with_volume(action: Action, rule: Rule, volume: &str) -> Self {
        Self {
            volume: Some(volume.to_owned()),
            ..Self::new(action, rule)
        }
    }

    pub(super) fn with(self, detail: Detail) -> Self {
        Self { detail, ..self }
    }

    /// The same volume under another rule, without its detail.
    pub(super) fn instead(&self, action: Action, rule: Rule) -> Self {
        Self {
            action,
            rule,
            volume: self.volume.clone(),
            detail: Detail::None,
        }
    }
}

/// The decision about a node.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Decision<'a> {
    /// The member it runs, in every etcd cluster; `None` while that is open, or when an earlier agent split it.
    pub member: Option<String>,
    /// The slots of that member, in the order in which they are taken; where `member` is `None`, the slots held.
    pub slots: Vec<(Slot, SlotDecision)>,
    /// Instead of slots, or beside them: what holds for the node as a whole.
    pub node: Option<SlotDecision>,
    /// What each volume is, in the order of their ids.
    pub verdicts: Vec<Verdict<'a>>,
}

impl Decision<'_> {
    /// The slot whose volume is to be attached now; there is at most one.
    pub fn attach(&self) -> Option<(&Slot, &str)> {
        self.slots.iter().find_map(|(slot, decision)| {
            let volume = decision.volume.as_deref()?;
            (decision.action == Action::Attach).then_some((slot, volume))
        })
    }

    /// The slots whose volumes are ours.
    pub fn held(&self) -> impl Iterator<Item = (&Slot, &str)> {
        self.slots.iter().filter_map(|(slot, decision)| {
            let volume = decision.volume.as_deref()?;
            (decision.action == Action::Adopt).then_some((slot, volume))
        })
    }

    /// Whether the node can go on: each slot is ours, or is taken when its turn comes.
    pub fn is_go(&self) -> bool {
        let goes = |decision: &SlotDecision| {
            matches!(decision.action, Action::Adopt | Action::Attach)
                || decision.rule == Rule::OrderedBehindMain
        };
        let first = self.slots.first().map(|(_, decision)| decision.action);
        let begun = matches!(first, Some(Action::Adopt | Action::Attach));
        begun && self.node.is_none() && self.slots.iter().all(|(_, decision)| goes(decision))
    }

    /// All decisions, those about the node as a whole last.
    pub fn all(&self) -> impl Iterator<Item = (Option<&Slot>, &SlotDecision)> {
        let slots = self
            .slots
            .iter()
            .map(|(slot, decision)| (Some(slot), decision));
        slots.chain(self.node.iter().map(|decision| (None, decision)))
    }
}
