//! The choice in sentences: why each slot came out as it did, why each volume lost, and which rules were asked.

use super::classify::{Verdict, VolumeClass};
use super::decision::{Decision, SlotDecision};
use super::report::summary;
use super::rule::{Action, Rule};
use super::tags::{ADOPT, IGNORE, PIN, Slot, UID, etcd_tags};
use super::world::World;
use quake_formats::tags::{CLUSTER_TAG, ownership_tag};

/// The rules of one step of the choice, in the order in which they are asked; the first that applies decides.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stage {
    pub name: &'static str,
    pub rules: &'static [Rule],
}

/// The steps of the choice: each volume alone, then each slot alone, then the node.
pub const STAGES: &[Stage] = &[
    Stage {
        name: "each volume",
        rules: &[
            Rule::NotOurs,
            Rule::NotControlPlane,
            Rule::NotEtcd,
            Rule::MultiRole,
            Rule::TagMalformed,
            Rule::UnknownMember,
            Rule::OperatorIgnored,
            Rule::Deleting,
            Rule::StateError,
            Rule::StaleUid,
            Rule::ZoneMismatch,
            Rule::MultiAttachEnabled,
            Rule::NotEncrypted,
            Rule::PredatesCluster,
            Rule::Candidate,
        ],
    },
    Stage {
        name: "each slot",
        rules: &[
            Rule::Surplus,
            Rule::InconsistentView,
            Rule::MultiplePins,
            Rule::MultiAttachEnabled,
            Rule::MultiRole,
            Rule::NotEncrypted,
            Rule::PredatesCluster,
            Rule::TagMalformed,
            Rule::ZoneMismatch,
            Rule::NoVolume,
            Rule::NoVolumeYet,
            Rule::DuplicateVolumes,
            Rule::MultipleAttachments,
            Rule::VolumeCreating,
            Rule::Attach,
            Rule::AlreadyOurs,
            Rule::AttachingSelf,
            Rule::DetachingSelf,
            Rule::BusySelf,
            Rule::DetachingOther,
            Rule::HolderUnknown,
            Rule::HolderTerminating,
            Rule::GhostAttachment,
            Rule::HolderStopped,
            Rule::HeldByPeer,
            Rule::HeldByForeignInstance,
        ],
    },
    Stage {
        name: "the node",
        rules: &[
            Rule::HoldsTwoMembers,
            Rule::SplitBundle,
            Rule::NoVolumeYet,
            Rule::NoVolume,
            Rule::NoMemberForGroup,
            Rule::BehindConflict,
            Rule::NoFreeMember,
            Rule::BundleBlocked,
            Rule::OrderedBehindMain,
        ],
    },
];

/// Why a slot came out as it did, in one sentence; the node as a whole where there is no slot.
pub fn why(world: &World, slot: Option<&Slot>, decided: &SlotDecision) -> String {
    let volume = decided.volume.as_deref().unwrap_or_default();
    match (decided.rule, slot) {
        (Rule::AlreadyOurs, _) => format!("{volume} is on this instance"),
        (Rule::Attach, _) if is_pinned(world, volume) => {
            format!("{volume} is pinned and free")
        }
        (Rule::Attach, Some(slot)) => format!("{volume} alone is fit for {slot}, and it is free"),
        (Rule::Surplus, Some(slot)) => {
            format!("{slot} runs on {volume}, and goes on although others have its tags")
        }
        (Rule::SplitBundle, _) => "members of different names run here".to_owned(),
        (Rule::OrderedBehindMain, _) => {
            format!("{volume} is taken once the slots before it are held")
        }
        (Rule::BundleBlocked, _) => {
            format!("{volume} could be attached, and another slot of the member is refused")
        }
        _ => summary(world, slot, decided),
    }
}

fn is_pinned(world: &World, volume: &str) -> bool {
    let mut volumes = world.volumes.iter();
    volumes.any(|it| it.volume_id == volume && it.tags.contains_key(PIN))
}

/// Why a volume was not chosen, in one sentence; for one that was, that it was.
pub fn verdict_of(world: &World, decision: &Decision<'_>, verdict: &Verdict<'_>) -> String {
    let tags = &verdict.volume.tags;
    let tag = |key: &str| tags.get(key).map_or("", String::as_str);
    match verdict.rule {
        Rule::NotOurs => format!(
            "neither {CLUSTER_TAG}={cluster} nor {owned}=owned is on it",
            cluster = world.cluster,
            owned = ownership_tag(&world.cluster)
        ),
        Rule::NotControlPlane => {
            "neither k8s.io/role/master=1 nor k8s.io/role/control-plane=1 is on it".to_owned()
        }
        Rule::OperatorIgnored => format!("an operator left it out: {}", tag(IGNORE)),
        Rule::StaleUid => format!(
            "its {UID} {} is of another life of the cluster{}",
            tag(UID),
            match tags.contains_key(ADOPT) {
                true => ", and so is what it was adopted for",
                false => "",
            }
        ),
        Rule::ZoneMismatch => format!(
            "it is in {}, and its member in another zone",
            verdict.volume.zone
        ),
        Rule::PredatesCluster => format!(
            "it was made at {}, before the cluster's CA{}",
            verdict.volume.created,
            match world.cluster_generation.born {
                Some(born) => format!(" at {born}"),
                None => String::new(),
            }
        ),
        Rule::Candidate => candidate(decision, verdict),
        rule => sentence(rule),
    }
}

fn candidate(decision: &Decision<'_>, verdict: &Verdict<'_>) -> String {
    let id = &verdict.volume.volume_id;
    let slot = verdict.slot.as_ref();
    let decided = decision
        .slots
        .iter()
        .find(|(named, _)| Some(named) == slot)
        .map(|(_, decided)| decided);
    let Some(decided) = decided else {
        return match (&decision.member, &decision.node) {
            (Some(member), _) => format!("this node runs the member {member}"),
            (None, _) => "this node takes no member now".to_owned(),
        };
    };
    match (&decided.volume, decided.rule) {
        (Some(chosen), rule) if chosen == id => match decided.action {
            Action::Adopt | Action::Attach => "chosen".to_owned(),
            _ => format!("the only one in question; {rule} stands in the way"),
        },
        (None, Rule::DuplicateVolumes) => {
            "others have the same tags, and nobody chooses among them".to_owned()
        }
        (None, Rule::MultiplePins) => match verdict.volume.tags.contains_key(PIN) {
            true => "it is pinned, and it is not the only one".to_owned(),
            false => "others are pinned".to_owned(),
        },
        (Some(chosen), Rule::Surplus) => format!("the member runs on {chosen}"),
        (Some(other), rule) => {
            let is_conflict = STAGES[0].rules.contains(&rule);
            match is_conflict {
                true => format!("{other} may be the slot's too, and {rule} speaks against it"),
                false => format!("{other} is pinned"),
            }
        }
        (None, rule) => format!("{rule} decided the slot"),
    }
}

/// A rule's meaning as part of a sentence.
fn sentence(rule: Rule) -> String {
    let text = rule.meaning().trim_end_matches('.');
    let mut letters = text.chars();
    let first = letters.next().map(|first| first.to_ascii_lowercase());
    first.into_iter().chain(letters).collect()
}

/// Volumes that carry an etcd tag and are ignored all the same.
pub fn near_misses<'a>(decision: &'a Decision<'a>) -> impl Iterator<Item = &'a Verdict<'a>> {
    let verdicts = decision.verdicts.iter();
    verdicts.filter(|verdict| {
        verdict.class == VolumeClass::Ignored && etcd_tags(&verdict.volume.tags).next().is_some()
    })
}

/// What a rule of a stage decided: volumes, slots, or `*` for the node.
pub fn fired(decision: &Decision<'_>, stage: &Stage, rule: Rule) -> Vec<String> {
    let is_of_volumes = *stage == STAGES[0];
    if is_of_volumes {
        let verdicts = decision.verdicts.iter().filter(|it| it.rule == rule);
        return verdicts.map(|it| it.volume.volume_id.clone()).collect();
    }
    let is_of_node = stage.name == STAGES[2].name;
    let decided = decision.all().filter(|(_, decided)| decided.rule == rule);
    let names = decided.map(|(slot, _)| slot.map_or_else(|| "*".to_owned(), Slot::to_string));
    // What is said of the node alone has the same rule as a slot's without a volume.
    let shared = [Rule::NoVolume, Rule::NoVolumeYet].contains(&rule);
    names
        .filter(|name| !shared || (name == "*") == is_of_node)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::tests::{volume, world};
    use crate::select_volumes;
    use serde_json::json;

    #[test]
    fn every_rule_is_of_some_stage_and_says_what_it_means() {
        for rule in Rule::ALL {
            let listed = STAGES.iter().any(|stage| stage.rules.contains(rule));
            assert!(listed, "{rule} is of no stage");
            assert!(rule.meaning().ends_with('.'), "{rule}: {}", rule.meaning());
        }
    }

    fn main_a() -> Slot {
        Slot::new("main", "a")
    }

    fn decided(action: Action, rule: Rule) -> SlotDecision {
        SlotDecision::with_volume(action, rule, "vol-1")
    }

    /// A world with `vol-1` and `vol-2`, both of `main/a`; the second is pinned.
    fn two_volumes() -> World {
        let tags = json!({"k8s.io/etcd/main": "a/a,b"});
        let pinned = json!({"k8s.io/etcd/main": "a/a,b", PIN: "main/a"});
        world(&json!([volume("vol-1", &tags), volume("vol-2", &pinned)]))
    }

    #[test]
    fn a_slot_says_why_it_came_out_so() {
        let world = two_volumes();
        let slot = main_a();
        let of = |decided: &SlotDecision| why(&world, Some(&slot), decided);
        let pinned = SlotDecision::with_volume(Action::Attach, Rule::Attach, "vol-2");
        assert_eq!(of(&pinned), "vol-2 is pinned and free");
        for (action, rule, wanted) in [
            (
                Action::Adopt,
                Rule::AlreadyOurs,
                "vol-1 is on this instance",
            ),
            (
                Action::Attach,
                Rule::Attach,
                "vol-1 alone is fit for main/a, and it is free",
            ),
            (
                Action::Adopt,
                Rule::Surplus,
                "main/a runs on vol-1, and goes on although others have its tags",
            ),
            (
                Action::Adopt,
                Rule::SplitBundle,
                "members of different names run here",
            ),
            (
                Action::Wait,
                Rule::OrderedBehindMain,
                "vol-1 is taken once the slots before it are held",
            ),
            (
                Action::Wait,
                Rule::BundleBlocked,
                "vol-1 could be attached, and another slot of the member is refused",
            ),
            (
                Action::Wait,
                Rule::VolumeCreating,
                "vol-1 of main/a is being created",
            ),
        ] {
            assert_eq!(of(&decided(action, rule)), wanted);
        }
    }

    #[test]
    fn a_candidate_says_whether_it_was_chosen_and_what_stood_in_the_way() {
        let world = two_volumes();
        let verdicts = select_volumes(&world).verdicts;
        let of = |verdict: usize, decided: SlotDecision| {
            let decision = Decision {
                member: Some("a".to_owned()),
                slots: vec![(main_a(), decided)],
                node: None,
                verdicts: Vec::new(),
            };
            verdict_of(&world, &decision, &verdicts[verdict])
        };
        let none = |rule| SlotDecision::new(Action::Refuse, rule);
        assert_eq!(of(0, decided(Action::Attach, Rule::Attach)), "chosen");
        assert_eq!(of(0, decided(Action::Adopt, Rule::AlreadyOurs)), "chosen");
        assert_eq!(
            of(0, decided(Action::Wait, Rule::HeldByPeer)),
            "the only one in question; W_HELD_BY_PEER stands in the way"
        );
        assert_eq!(
            of(0, none(Rule::DuplicateVolumes)),
            "others have the same tags, and nobody chooses among them"
        );
        assert_eq!(of(0, none(Rule::MultiplePins)), "others are pinned");
        assert_eq!(
            of(1, none(Rule::MultiplePins)),
            "it is pinned, and it is not the only one"
        );
        assert_eq!(
            of(1, decided(Action::Adopt, Rule::Surplus)),
            "the member runs on vol-1"
        );
        assert_eq!(
            of(1, decided(Action::Refuse, Rule::ZoneMismatch)),
            "vol-1 may be the slot's too, and E_ZONE_MISMATCH speaks against it"
        );
        assert_eq!(
            of(1, decided(Action::Attach, Rule::Attach)),
            "vol-1 is pinned"
        );
        assert_eq!(of(0, none(Rule::NoVolume)), "E_NO_VOLUME decided the slot");
    }

    #[test]
    fn a_candidate_of_a_slot_that_is_not_decided_names_the_members_that_are() {
        let world = two_volumes();
        let verdicts = select_volumes(&world).verdicts;
        let of = |member: Option<&str>| {
            let decision = Decision {
                member: member.map(str::to_owned),
                slots: vec![(
                    Slot::new("main", "b"),
                    decided(Action::Attach, Rule::Attach),
                )],
                node: None,
                verdicts: Vec::new(),
            };
            verdict_of(&world, &decision, &verdicts[0])
        };
        assert_eq!(of(Some("b")), "this node runs the member b");
        assert_eq!(of(None), "this node takes no member now");
    }

    #[test]
    fn a_rule_without_a_sentence_of_its_own_says_its_meaning() {
        assert_eq!(sentence(Rule::Deleting), "it is deleted or about to be");
    }

    #[test]
    fn a_rule_names_what_it_decided_in_its_own_stage() {
        let world = two_volumes();
        let decision = Decision {
            slots: vec![(main_a(), SlotDecision::new(Action::Refuse, Rule::NoVolume))],
            node: Some(SlotDecision::new(Action::Refuse, Rule::NoVolume)),
            ..select_volumes(&world)
        };
        let [volumes, slots, node] = STAGES else {
            panic!("three stages");
        };
        assert_eq!(
            fired(&decision, volumes, Rule::Candidate),
            ["vol-1", "vol-2"]
        );
        assert_eq!(fired(&decision, volumes, Rule::NotOurs), [""; 0]);
        assert_eq!(fired(&decision, slots, Rule::NoVolume), ["main/a"]);
        assert_eq!(fired(&decision, node, Rule::NoVolume), ["*"]);
        let two = SlotDecision::new(Action::Refuse, Rule::HoldsTwoMembers);
        let decision = Decision {
            node: Some(two),
            ..decision
        };
        assert_eq!(fired(&decision, node, Rule::HoldsTwoMembers), ["*"]);
        assert_eq!(fired(&decision, slots, Rule::HoldsTwoMembers), ["*"]);
    }
}
