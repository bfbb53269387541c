//! What happens to the agents: EC2's own steps, and the faults that are left.

use crate::agent::{Next, attach};
use crate::config::Config;
use crate::moves::Move;
use crate::state::{At, Instance, Life, Shown, State};

/// What EC2 does of itself: it goes on until nothing is left.
pub fn steps(state: &State, next: &mut Vec<Next>) {
    for (index, volume) in state.volumes.iter().enumerate() {
        let (step, shown) = match volume.shown.now() {
            Shown::Attaching(by) => (Move::Attached(index as u8), Shown::Attached(by)),
            Shown::Detaching(_) => (Move::Released(index as u8), Shown::Free),
            Shown::Untagged => (Move::TagVolume(index as u8), Shown::Free),
            Shown::Free | Shown::Attached(_) => continue,
        };
        let mut after = state.clone();
        after.volumes[index].shown.set(shown);
        next.push((step, after));
    }
    for (index, instance) in state.instances.iter().enumerate() {
        let number = index as u8;
        match instance.life.now() {
            Life::Untagged => {
                let mut after = state.clone();
                after.instances[index].life.set(Life::Running);
                next.push((Move::TagInstance(number), after));
            }
            Life::ShuttingDown => next.push((Move::Gone(number), gone(state, index))),
            Life::Absent | Life::Running | Life::Terminated => {}
        }
        if let Some(volume) = instance.in_flight {
            let mut after = state.clone();
            attach(&mut after, index, volume);
            after.instances[index].in_flight = None;
            next.push((Move::Arrives(number), after));
        }
    }
}

/// The system is down before anything is taken off it, so nothing is mounted that another can have.
fn gone(state: &State, index: usize) -> State {
    let mut after = state.clone();
    let here = &mut after.instances[index];
    here.life.set(Life::Terminated);
    *here = Instance {
        life: here.life,
        ..Instance::launched(here.group, false)
    };
    for volume in &mut after.volumes {
        if volume.shown.now().holder() == Some(index as u8) {
            volume.shown.set(Shown::Detaching(index as u8));
        }
    }
    after
}

/// The faults that may still happen.
pub fn faults(config: &Config, state: &State, next: &mut Vec<Next>) {
    for (index, volume) in state.volumes.iter().enumerate() {
        if state.faults.losses > 0 && matches!(volume.shown.now(), Shown::Attaching(_)) {
            let mut after = state.clone();
            after.faults.losses -= 1;
            after.volumes[index].shown.set(Shown::Free);
            next.push((Move::Fails(index as u8), after));
        }
    }
    for (index, instance) in state.instances.iter().enumerate() {
        if !instance.is_up() {
            continue;
        }
        let number = index as u8;
        if state.faults.crashes > 0 && instance.at != At::Start {
            let mut after = state.clone();
            after.faults.crashes -= 1;
            after.instances[index].end_pass();
            next.push((Move::Crash(number), after));
        }
        let several = state.devices(index).count() > 1;
        let matters = several || instance.mounted != 0 || instance.at != At::Start;
        if state.faults.reboots > 0 && matters {
            let names = [false, true].into_iter().take(1 + usize::from(several));
            for swapped in names {
                let mut after = state.clone();
                after.faults.reboots -= 1;
                let here = &mut after.instances[index];
                here.end_pass();
                here.mounted = 0;
                here.misplaced = false;
                here.swapped = swapped;
                next.push((Move::Reboot(number, swapped), after));
            }
        }
        if state.faults.kills > 0 && instance.is_running() {
            let mut after = state.clone();
            after.faults.kills -= 1;
            after.instances[index].life.set(Life::ShuttingDown);
            let replacement = Instance::launched(instance.group, config.late_tags);
            after.instances.push(replacement);
            next.push((Move::Kill(number), after));
        }
    }
}
