//! What must hold in every state, and of every step.

use crate::config::{Config, Duplicate, Judged};
use crate::disturb::Disturbance;
use crate::moves::{Move, Reply};
use crate::state::{Content, Shown, State};
use crate::view::bits_of;
use std::fmt;

/// What does not hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Violation {
    /// Two instances have one volume mounted.
    MountedTwice,
    /// One instance has two members of one etcd cluster mounted.
    TwoMembersMounted,
    /// One instance holds volumes of two members of one etcd cluster.
    TwoMembersHeld,
    /// A live instance holds a slot of a member of which another live instance holds another slot, or holds slots of
    /// different members in different clusters.
    BundleSplit,
    /// A slot with a duplicate got a volume.
    DuplicateAttached,
    /// One member runs on two instances, on different volumes.
    MemberRunsTwice,
    /// A device is mounted for another's slot.
    WrongDevice,
    /// A volume was attached that was not free.
    AttachedTaken,
    /// A device was formatted that was not blank, or that another has mounted.
    FormattedInUse,
    /// Two calls of `AttachVolume` in one pass.
    TwoCalls,
    /// Something beside the volumes changed the choice.
    Disturbed(Disturbance),
    /// Faults stopped, every read was fresh, and the members were not all taken.
    Stuck,
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Disturbed(by) => return write!(f, "the choice is changed by {by}"),
            Self::MountedTwice => "one volume is mounted by two instances",
            Self::TwoMembersMounted => "an instance has two members mounted",
            Self::TwoMembersHeld => "an instance holds two members",
            Self::BundleSplit => "a member is split",
            Self::DuplicateAttached => "a slot with a duplicate was attached",
            Self::MemberRunsTwice => "a member runs twice, on two volumes",
            Self::WrongDevice => "a device is mounted for another's slot",
            Self::AttachedTaken => "a volume that was taken was attached",
            Self::FormattedInUse => "a volume in use was formatted",
            Self::TwoCalls => "two calls of AttachVolume in one pass",
            Self::Stuck => "members stay untaken after the last fault",
        })
    }
}

impl Violation {
    /// Whether a run that is judged so ends by it.
    pub fn counts(self, judged: Judged) -> bool {
        match judged {
            Judged::All => true,
            Judged::Safety => self != Self::Stuck,
            Judged::SafetyButCalls => !matches!(self, Self::Stuck | Self::TwoCalls),
            Judged::Data => matches!(
                self,
                Self::MountedTwice
                    | Self::TwoMembersMounted
                    | Self::MemberRunsTwice
                    | Self::WrongDevice
                    | Self::FormattedInUse
            ),
            Judged::Liveness => self == Self::Stuck,
        }
    }
}

/// What a step broke, of what counts; the gravest first.
pub fn broken(config: &Config, before: &State, step: Move, after: &State) -> Option<Violation> {
    let checks = [
        mounted_twice(config, after),
        of_instances(config, after),
        of_step(before, step, after),
        split_over_instances(config, after),
        duplicate_attached(config, after),
        two_calls(after),
    ];
    let mut broken = checks.into_iter().flatten();
    broken.find(|violation| violation.counts(config.judged))
}

fn of_step(before: &State, step: Move, after: &State) -> Option<Violation> {
    match step {
        Move::Ask(_, volume, Reply::Accepted | Reply::LostDone) => {
            let shown = before.volumes[usize::from(volume)].shown.now();
            let was_free = matches!(shown, Shown::Free | Shown::Untagged);
            (!was_free).then_some(Violation::AttachedTaken)
        }
        Move::Format(agent, device) => {
            let is_blank = before.volumes[usize::from(device)].content == Content::Blank;
            let others = after.instances.iter().enumerate();
            let mut others = others.filter(|(index, _)| *index != usize::from(agent));
            let is_used = others.any(|(_, other)| other.has_mounted(usize::from(device)));
            (!is_blank || is_used).then_some(Violation::FormattedInUse)
        }
        _ => None,
    }
}

fn two_calls(state: &State) -> Option<Violation> {
    let several = state
        .instances
        .iter()
        .any(|instance| instance.requested > 1);
    several.then_some(Violation::TwoCalls)
}

fn mounted_twice(config: &Config, state: &State) -> Option<Violation> {
    let (mut volumes, mut slots) = (0u8, 0u8);
    let mut found = None;
    for instance in state.instances.iter().filter(|instance| instance.is_up()) {
        let slot = |bits: u8, volume: usize| bits | 1 << config.slot_of(volume);
        let mine = bits_of(instance.mounted).fold(0, slot);
        if volumes & instance.mounted != 0 {
            return Some(Violation::MountedTwice);
        }
        if slots & mine != 0 {
            found = Some(Violation::MemberRunsTwice);
        }
        volumes |= instance.mounted;
        slots |= mine;
    }
    found
}

/// The gravest that an instance by itself breaks.
fn of_instances(config: &Config, state: &State) -> Option<Violation> {
    let up = (0..state.instances.len()).filter(|index| state.instances[*index].is_up());
    let found = up.flat_map(|agent| of_instance(config, state, agent));
    found.filter(|it| it.counts(config.judged)).min()
}

fn of_instance(config: &Config, state: &State, agent: usize) -> Vec<Violation> {
    let instance = &state.instances[agent];
    let mut found = Vec::new();
    if instance.misplaced {
        found.push(Violation::WrongDevice);
    }
    let mut held = [None; 2];
    let mut running = [None; 2];
    for volume in state.held_by(agent) {
        let (cluster, member) = (config.cluster_of(volume), config.member_of(volume));
        if instance.has_mounted(volume) && *running[cluster].get_or_insert(member) != member {
            found.push(Violation::TwoMembersMounted);
        }
        if *held[cluster].get_or_insert(member) != member {
            found.push(Violation::TwoMembersHeld);
        }
    }
    if matches!(held, [Some(main), Some(events)] if main != events) {
        found.push(Violation::BundleSplit);
    }
    found
}

fn split_over_instances(config: &Config, state: &State) -> Option<Violation> {
    let mut runs_on = [None; 8];
    for (index, volume) in state.volumes.iter().enumerate() {
        let holder = volume.shown.now().holder();
        let Some(by) = holder.filter(|by| state.instances[usize::from(*by)].is_running()) else {
            continue;
        };
        // Two volumes of one slot are a duplicate, not a split.
        if Some(index) == config.duplicate_volume() {
            continue;
        }
        if *runs_on[config.member_of(index)].get_or_insert(by) != by {
            return Some(Violation::BundleSplit);
        }
    }
    None
}

/// With a duplicate that everyone sees, neither it nor its twin is taken; with a late one, it is not.
fn duplicate_attached(config: &Config, state: &State) -> Option<Violation> {
    let duplicate = config.duplicate_volume()?;
    let is_taken = |volume: usize| state.volumes[volume].shown.now().holder().is_some();
    let broken = match config.duplicate {
        Duplicate::None | Duplicate::BothLate => false,
        Duplicate::Persistent => is_taken(duplicate) || is_taken(config.slot_of(duplicate)),
        Duplicate::Late => is_taken(duplicate),
    };
    broken.then_some(Violation::DuplicateAttached)
}

/// Whether every member is run by a live instance, as far as there are instances.
pub fn is_complete(config: &Config, state: &State) -> bool {
    let groups = 0..=config.members.iter().copied().max().unwrap_or(0);
    groups.into_iter().all(|group| {
        let live = state.instances.iter().enumerate();
        let live: Vec<usize> = live
            .filter(|(_, instance)| instance.is_running() && instance.group == group)
            .map(|(index, _)| index)
            .collect();
        let members: Vec<usize> = (0..config.members.len())
            .filter(|member| config.members[*member] == group)
            .collect();
        let runs = |agent: usize, member: usize| {
            let slots = (0..config.clusters).map(|cluster| member * config.clusters + cluster);
            let mut slots = slots.into_iter();
            slots.all(|volume| {
                let shown = state.volumes[volume].shown.now();
                shown == Shown::Attached(agent as u8) && state.instances[agent].has_mounted(volume)
            })
        };
        let taken = members
            .iter()
            .filter(|member| live.iter().any(|agent| runs(*agent, **member)));
        taken.count() >= live.len().min(members.len())
    })
}
