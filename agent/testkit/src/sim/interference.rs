//! What a simulation does around each port call of one machine: how long the call takes, what befalls it, and what the
//! machine sees. Without one, a call takes no time and only the script of faults strikes it.

use super::{SimFile, SimHost, When, World};
use crate::region::Region;
use quake_apisim::ApiServer;
use quake_model::facts::{ActiveState, EntryKind, Owner};
use quake_model::ports::PortError;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

/// What befalls one call.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Fate {
    pub before: Duration,
    /// Time from the effect to the answer.
    pub after: Duration,
    /// What the caller sees in the place of the answer.
    pub strike: Option<(PortError, When)>,
    /// The call never returns, as a process that is killed never sees the answer.
    pub halt: Option<When>,
}

/// One call, as it came out.
#[derive(Debug, Clone, Copy)]
pub struct Called<'a> {
    /// The port method, such as `attach_volume`.
    pub operation: &'a str,
    /// What it was about: a path, a unit, or a volume; empty where the method does not say.
    pub subject: &'a str,
    /// What it came to, whether or not the caller learns of it.
    pub ended: Result<(), &'a PortError>,
}

/// Stands between an agent and its machine.
pub trait Interference: Send + Sync {
    /// What befalls the next call of this method.
    fn fate(&self, operation: &str) -> Fate;

    /// Just before the effect; what is changed here, the effect sees.
    fn before(&self, operation: &str, machine: &mut Machine<'_>);

    /// Just after it.
    fn after(&self, called: &Called<'_>, machine: &mut Machine<'_>);
}

/// The machine and its region, from the inside of a call.
pub struct Machine<'a> {
    world: &'a mut World,
}

impl<'a> Machine<'a> {
    pub(super) fn new(world: &'a mut World) -> Self {
        Self { world }
    }

    /// The region, and of the machine what is not a file.
    pub fn region(&mut self) -> &mut Region {
        &mut self.world.region
    }

    /// The contents of a file.
    pub fn file(&self, path: &str) -> Option<&[u8]> {
        let found = self.world.files.get(path);
        found.map(|file| file.contents.as_slice())
    }

    /// The files below a directory, in their order.
    pub fn files_below(&self, directory: &str) -> impl Iterator<Item = (&str, &[u8])> {
        let prefix = format!("{}/", directory.trim_end_matches('/'));
        let from = self.world.files.range(prefix.clone()..);
        from.take_while(move |(path, _)| path.starts_with(&prefix))
            .filter(|(_, file)| file.kind == EntryKind::File)
            .map(|(path, file)| (path.as_str(), file.contents.as_slice()))
    }

    /// Puts other contents into a file, or takes it away.
    pub fn set_file(&mut self, path: &str, contents: Option<Vec<u8>>) {
        match contents {
            None => {
                self.world.files.remove(path);
            }
            Some(contents) => {
                let file = self.world.files.entry(path.to_owned());
                let made = || SimFile {
                    kind: EntryKind::File,
                    mode: 0o600,
                    owner: Owner::default(),
                    contents: Vec::new(),
                    modified_us: 0,
                };
                file.or_insert_with(made).contents = contents;
            }
        }
    }

    /// The objects of the state store.
    pub fn objects(&mut self) -> &mut BTreeMap<String, Vec<u8>> {
        &mut self.world.objects
    }

    /// The cluster's API server, where there is one.
    pub fn cluster(&mut self) -> Option<&mut ApiServer> {
        self.world.cluster.as_mut()
    }

    /// Counts requests to a cloud service that were not made through a port.
    pub fn count(&mut self, call: &str, times: u64) {
        *self.world.calls.entry(call.to_owned()).or_default() += times;
    }

    /// Requests to cloud services so far, by `service:Operation`.
    pub fn calls(&self) -> &BTreeMap<String, u64> {
        &self.world.calls
    }
}

impl SimHost {
    /// Puts this between the agent and the machine.
    #[must_use]
    pub fn interfered_by(mut self, interference: Arc<dyn Interference>) -> Self {
        self.interference = Some(interference);
        self
    }

    pub(super) fn fate(&self, operation: &str) -> Fate {
        let interference = self.interference.as_ref();
        interference.map_or_else(Fate::default, |it| it.fate(operation))
    }

    /// Looks into the machine, or changes it, as a simulation does between two calls.
    pub fn machine<T>(&self, look: impl FnOnce(&mut Machine<'_>) -> T) -> T {
        let seen = look(&mut Machine::new(&mut self.lock()));
        self.files_changed.notify_waiters();
        self.cluster_changed.notify_waiters();
        seen
    }

    /// Cuts the power and gives it back: nothing is mounted, nothing runs, and of the files of a batch that was under way each
    /// is the old one or the new one, as `keeps` draws.
    pub fn lose_power(&self, keeps: &mut dyn FnMut() -> bool) {
        let mut world = self.lock();
        // The last first, so that a file that was written twice may fall back to any of its contents.
        while let Some((path, old)) = world.unsynced.pop() {
            if keeps() {
                continue;
            }
            match old {
                Some(file) => world.files.insert(path, file),
                None => world.files.remove(&path),
            };
        }
        world.region.mounts.clear();
        world.region.modules.clear();
        world.region.sysctls.clear();
        world.looks.clear();
        world.held.clear();
        for unit in world.region.units.values_mut() {
            unit.active = ActiveState::Inactive;
            "dead".clone_into(&mut unit.sub_state);
            unit.needs_reload = false;
            unit.active_since_us = 0;
        }
    }

    /// Sets the clock back.
    pub fn set_back(&self, time: Duration) {
        self.lock().behind += time;
    }
}

/// Waits for so long; nothing is awaited but the time.
pub(super) async fn takes(time: Duration) {
    if !time.is_zero() {
        let _ = tokio::time::timeout(time, std::future::pending::<()>()).await;
    }
}
