//! What one agent may do next, by the protocol of the reference's part E10 and the rules that it lacks.

use crate::config::{Config, Variant};
use crate::moves::{Move, Reply};
use crate::state::{At, Content, Shown, State};
use crate::view::{Decider, LocalFacts, Outcome, bits_of};

/// A step and the state after it.
pub type Next = (Move, State);

/// All that an agent may do next, observing as `outcomes` says; nothing while it only waits.
pub fn steps(
    config: &Config,
    state: &State,
    me: usize,
    outcomes: &[Outcome],
    next: &mut Vec<Next>,
) {
    let instance = &state.instances[me];
    if !instance.is_up() {
        return;
    }
    let agent = Agent { config, state, me };
    match instance.at {
        At::Start => {
            for outcome in outcomes {
                agent.act_on(*outcome, next);
            }
            agent.forget(next);
        }
        At::Recheck { volume, fresh } => agent.recheck(volume, fresh, next),
        At::Ask { volume, fresh } => agent.ask(volume, fresh, next),
        At::Refused { fresh, .. } => agent.after_refusal(fresh, outcomes, next),
        At::Format { device, slot } => {
            let mut after = state.clone();
            after.volumes[usize::from(device)].content = Content::Formatted(slot);
            after.instances[me].at = At::Mount { device, slot };
            next.push((Move::Format(me as u8, device), after));
        }
        At::Mount { device, slot } => {
            let mut after = state.clone();
            let here = &mut after.instances[me];
            here.mounted |= 1 << device;
            here.misplaced |= config.slot_of(usize::from(device)) != usize::from(slot);
            here.end_pass();
            if after.volumes[usize::from(device)].content == Content::Formatted(slot) {
                here.at = At::Mark { device, slot };
            }
            next.push((Move::Mount(me as u8, device), after));
        }
        At::Mark { device, slot } => {
            let mut after = state.clone();
            after.volumes[usize::from(device)].content = Content::Marked(slot);
            let here = &mut after.instances[me];
            here.end_pass();
            if config.variant == Variant::ForgetOnMount {
                here.intent = None;
            }
            next.push((Move::Mark(me as u8, device), after));
        }
    }
}

/// Whether an agent is to observe in its next step, and what it knows then.
pub fn observes(config: &Config, state: &State, me: usize) -> Option<LocalFacts> {
    let instance = &state.instances[me];
    let known = LocalFacts::for_instance(config, state, me);
    match instance.at {
        _ if !instance.is_up() => None,
        At::Start => Some(known),
        // The second choice is made as if there had been no first.
        At::Refused { .. } if config.variant == Variant::SecondChoice => Some(LocalFacts {
            intent: None,
            ..known
        }),
        _ => None,
    }
}

/// All outcomes that an agent's next step may rest on.
pub fn outcomes(
    config: &Config,
    state: &State,
    me: usize,
    decider: &mut Decider,
) -> std::rc::Rc<[Outcome]> {
    match observes(config, state, me) {
        Some(known) => decider.outcomes(state, config.stale, known),
        None => std::rc::Rc::new([]),
    }
}

struct Agent<'a> {
    config: &'a Config,
    state: &'a State,
    me: usize,
}

impl Agent<'_> {
    fn act_on(&self, outcome: Outcome, next: &mut Vec<Next>) {
        for slot in bits_of(outcome.adopt) {
            match self.hold(slot) {
                MountProgress::Done => {}
                MountProgress::Waits => return,
                MountProgress::Next(device, at) => {
                    let mut after = self.state.clone();
                    after.instances[self.me].at = at;
                    push_new(next, (Move::Adopt(self.me as u8, device), after));
                    return;
                }
            }
        }
        for volume in bits_of(outcome.attach) {
            let after = self.chosen(volume as u8);
            push_new(next, (Move::Choose(self.me as u8, volume as u8), after));
        }
    }

    /// The intent is recorded before anything else happens. A kill before that is a kill before the pass.
    fn chosen(&self, volume: u8) -> State {
        let mut after = self.state.clone();
        let here = &mut after.instances[self.me];
        let fresh = here.intent.is_none();
        if self.config.variant != Variant::NoIntent {
            here.intent = Some(volume);
        }
        here.at = At::Recheck { volume, fresh };
        after
    }

    /// What is left to do about a slot whose volume is this instance's.
    fn hold(&self, slot: usize) -> MountProgress {
        let instance = &self.state.instances[self.me];
        let Some(device) = self.device_for(slot) else {
            return MountProgress::Waits;
        };
        let slot_number = self.config.slot_of(slot) as u8;
        let content = self.state.volumes[device].content;
        let at = (device as u8, slot_number);
        match (instance.has_mounted(device), content) {
            (_, Content::Formatted(of) | Content::Marked(of)) if of != slot_number => {
                MountProgress::Waits
            }
            (true, Content::Marked(_)) => MountProgress::Done,
            (true, _) => MountProgress::Next(
                at.0,
                At::Mark {
                    device: at.0,
                    slot: at.1,
                },
            ),
            (false, Content::Blank) => MountProgress::Next(
                at.0,
                At::Format {
                    device: at.0,
                    slot: at.1,
                },
            ),
            (false, _) => MountProgress::Next(
                at.0,
                At::Mount {
                    device: at.0,
                    slot: at.1,
                },
            ),
        }
    }

    /// The device with the volume's serial; where names are trusted, the one whose turn it is.
    fn device_for(&self, volume: usize) -> Option<usize> {
        let devices = self.state.devices(self.me);
        if self.config.variant != Variant::MountByName {
            return devices.into_iter().find(|device| *device == volume);
        }
        let mut named: Vec<usize> = devices.collect();
        if self.state.instances[self.me].swapped {
            named.reverse();
        }
        named.get(self.config.cluster_of(volume)).copied()
    }

    fn recheck(&self, volume: u8, fresh: bool, next: &mut Vec<Next>) {
        let shown = self.state.volumes[usize::from(volume)].shown;
        let versions = shown.readable(self.config.stale);
        let me = self.me as u8;
        if versions.contains(&Shown::Free) {
            let mut after = self.state.clone();
            after.instances[self.me].at = At::Ask { volume, fresh };
            next.push((Move::Recheck(me, volume, true), after));
        }
        if versions.iter().any(|version| *version != Shown::Free) {
            let mut after = self.state.clone();
            let here = &mut after.instances[self.me];
            here.end_pass();
            if fresh && self.withdraws() {
                here.intent = None;
            }
            next.push((Move::Recheck(me, volume, false), after));
        }
    }

    /// Whether an intent that this pass made and that cannot have had an effect is cleared at once.
    fn withdraws(&self) -> bool {
        self.config.variant != Variant::AsWritten
    }

    fn ask(&self, volume: u8, fresh: bool, next: &mut Vec<Next>) {
        let mut requested = self.state.clone();
        let calls = &mut requested.instances[self.me].requested;
        // Two are too many already; to count on would make the graph endless.
        *calls = (*calls + 1).min(2);
        let mut done = requested.clone();
        let accepted = attach(&mut done, self.me, volume);
        let mut push = |reply: Reply, mut after: State| {
            if matches!(reply, Reply::LostDone | Reply::LostUndone | Reply::Delayed) {
                after.faults.losses -= 1;
            }
            if reply == Reply::Delayed {
                after.instances[self.me].in_flight = Some(volume);
            }
            if reply == Reply::Refused {
                after.instances[self.me].at = At::Refused { volume, fresh };
            } else {
                self.end_or_go_on(&mut after, volume);
            }
            next.push((Move::Ask(self.me as u8, volume, reply), after));
        };
        if self.state.faults.losses > 0 {
            push(Reply::LostUndone, requested.clone());
            if self.state.instances[self.me].in_flight.is_none() {
                push(Reply::Delayed, requested.clone());
            }
        }
        match accepted {
            true if self.state.faults.losses > 0 => {
                push(Reply::LostDone, done.clone());
                push(Reply::Accepted, done);
            }
            true => push(Reply::Accepted, done),
            false => push(Reply::Refused, requested),
        }
    }

    fn end_or_go_on(&self, after: &mut State, volume: u8) {
        let here = &mut after.instances[self.me];
        let is_last = self.config.cluster_of(usize::from(volume)) + 1 == self.config.clusters;
        if self.config.variant == Variant::TwoAttaches && !is_last {
            let volume = volume + 1;
            here.intent = Some(volume);
            here.at = At::Ask {
                volume,
                fresh: false,
            };
        } else {
            here.end_pass();
        }
    }

    fn after_refusal(&self, fresh: bool, outcomes: &[Outcome], next: &mut Vec<Next>) {
        let me = self.me as u8;
        let mut after = self.state.clone();
        after.instances[self.me].end_pass();
        match self.config.variant {
            Variant::AsWritten => {
                if self.may_see_something_held() {
                    next.push((Move::LookBack(me, true), after.clone()));
                }
                if self.may_see_nothing_held() {
                    after.instances[self.me].intent = None;
                    next.push((Move::LookBack(me, false), after));
                }
            }
            Variant::SecondChoice => {
                for volume in outcomes.iter().flat_map(|outcome| bits_of(outcome.attach)) {
                    let mut again = self.chosen(volume as u8);
                    let here = &mut again.instances[self.me];
                    here.at = At::Ask {
                        volume: volume as u8,
                        fresh,
                    };
                    push_new(next, (Move::ChooseAgain(me, volume as u8), again));
                }
                next.push((Move::LookBack(me, true), after));
            }
            _ if fresh => {
                after.instances[self.me].intent = None;
                next.push((Move::Withdraw(me), after));
            }
            _ => next.push((Move::LookBack(me, true), after)),
        }
    }

    /// An older intent is cleared only by reads that cannot show what was before its last call: the agent waits
    /// until both its calls and what EC2 may still show of the past are over, and finds its volume with another.
    fn forget(&self, next: &mut Vec<Next>) {
        let instance = &self.state.instances[self.me];
        let Some(intent) = instance.intent else {
            return;
        };
        let mut after = self.state.clone();
        after.instances[self.me].intent = None;
        let me = self.me as u8;
        match self.config.variant {
            Variant::AsWritten => {}
            Variant::ClearOnOneView => {
                if self.may_see_nothing_held() {
                    next.push((Move::ForgetOnView(me), after));
                }
            }
            _ => {
                let shown = self.state.volumes[usize::from(intent)].shown.now();
                let is_with_another = shown.holder().is_some_and(|by| by != me);
                let holds_nothing = self.state.held_by(self.me).next().is_none();
                if instance.in_flight.is_none() && is_with_another && holds_nothing {
                    next.push((Move::Forget(me), after));
                }
            }
        }
    }

    fn may_see_nothing_held(&self) -> bool {
        let me = Some(self.me as u8);
        self.state.volumes.iter().all(|volume| {
            let mut versions = volume.shown.readable(self.config.stale).iter();
            versions.any(|version| version.holder() != me)
        })
    }

    fn may_see_something_held(&self) -> bool {
        let me = Some(self.me as u8);
        self.state.volumes.iter().any(|volume| {
            let mut versions = volume.shown.readable(self.config.stale).iter();
            versions.any(|version| version.holder() == me)
        })
    }
}

enum MountProgress {
    Done,
    Waits,
    Next(u8, At),
}

/// What EC2 does on `AttachVolume`: atomic, and true for one instance at most.
pub(crate) fn attach(state: &mut State, me: usize, volume: u8) -> bool {
    let shown = &mut state.volumes[usize::from(volume)].shown;
    let is_free = matches!(shown.now(), Shown::Free | Shown::Untagged);
    let accepts = is_free && state.instances[me].is_running();
    if accepts {
        shown.set(Shown::Attaching(me as u8));
    }
    accepts
}

/// Several outcomes may lead to one step.
fn push_new(next: &mut Vec<Next>, step: Next) {
    if !next.iter().any(|(known, _)| *known == step.0) {
        next.push(step);
    }
}
