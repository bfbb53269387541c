//! What EC2 may answer to the reads of one pass.

use crate::state::{Life, Shown, State};
use crate::view::{LocalFacts, bits_of};

/// One answer of EC2 to the reads of a pass: each object in one of its versions.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reading {
    pub volumes: Vec<Shown>,
    pub lives: Vec<Life>,
}

impl Reading {
    /// The same, but with every device of the kernel attached here.
    pub(crate) fn believing(&self, known: LocalFacts) -> Self {
        let mut believed = self.clone();
        for device in bits_of(known.devices) {
            believed.volumes[device] = Shown::Attached(known.me as u8);
        }
        believed
    }
}

/// How many readings a pass may get.
pub fn readings(state: &State, stale: usize) -> usize {
    let (volumes, lives) = versions(state, stale);
    let sizes = volumes
        .iter()
        .map(Vec::len)
        .chain(lives.iter().map(Vec::len));
    sizes.fold(1, usize::saturating_mul)
}

/// Calls `f` with every reading and how stale it is in all, the fresh one first.
pub fn for_each_reading(state: &State, stale: usize, mut f: impl FnMut(&Reading, usize)) {
    let (volumes, lives) = versions(state, stale);
    let sizes = volumes
        .iter()
        .map(Vec::len)
        .chain(lives.iter().map(Vec::len));
    let sizes: Vec<usize> = sizes.collect();
    let mut ages = vec![0; sizes.len()];
    let mut reading = Reading {
        volumes: volumes.iter().map(|versions| versions[0]).collect(),
        lives: lives.iter().map(|versions| versions[0]).collect(),
    };
    loop {
        f(&reading, ages.iter().sum());
        let Some(next) = (0..sizes.len()).find(|at| ages[*at] + 1 < sizes[*at]) else {
            return;
        };
        ages[next] += 1;
        ages[..next].fill(0);
        for at in 0..=next {
            match at.checked_sub(volumes.len()) {
                None => reading.volumes[at] = volumes[at][ages[at]],
                Some(instance) => reading.lives[instance] = lives[instance][ages[at]],
            }
        }
    }
}

/// The versions of each object that a read may answer with, each once.
fn versions(state: &State, stale: usize) -> (Vec<Vec<Shown>>, Vec<Vec<Life>>) {
    fn distinct<T: Copy + PartialEq>(versions: &[T]) -> Vec<T> {
        let mut found = Vec::new();
        for version in versions {
            if !found.contains(version) {
                found.push(*version);
            }
        }
        found
    }
    let volumes = state.volumes.iter();
    let instances = state.instances.iter();
    (
        volumes
            .map(|it| distinct(it.shown.readable(stale)))
            .collect(),
        instances
            .map(|it| distinct(it.life.readable(stale)))
            .collect(),
    )
}
