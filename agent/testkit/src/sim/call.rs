//! One port call: what befalls it, its effect, and what is seen of it.

use super::interference::takes;
use super::{Called, Fate, Machine, SimHost, When, World};
use quake_model::ports::{Condition, PortError};

impl SimHost {
    /// One port call: scripted faults strike before or after the effect; a scripted halt never returns,
    /// as a process that is killed never sees the answer.
    pub(crate) async fn call<T>(
        &self,
        operation: &str,
        effect: impl FnOnce(&mut World) -> Result<T, PortError>,
    ) -> Result<T, PortError> {
        let fate = self.fate(operation);
        takes(fate.before).await;
        let (result, halt) = self.call_once(operation, effect, &fate);
        if halt {
            std::future::pending::<()>().await;
        }
        takes(fate.after).await;
        result
    }

    fn call_once<T>(
        &self,
        operation: &str,
        effect: impl FnOnce(&mut World) -> Result<T, PortError>,
        fate: &Fate,
    ) -> (Result<T, PortError>, bool) {
        let mut world = self.lock();
        let scripted = world.script.strike(operation);
        let strike = scripted.or_else(|| fate.strike.clone());
        if let Some((error, When::Before)) = strike {
            return (Err(error), false);
        }
        let halt = world.script.halts().or(fate.halt);
        if halt == Some(When::Before) {
            let error = PortError::new(Condition::Io, "halted");
            return (Err(error), true);
        }
        let before = self.on_change.as_ref().map(|_| world.region.clone());
        let result = self.interfered(operation, effect, &mut world);
        self.files_changed.notify_waiters();
        if before.is_some_and(|before| world.region != before) {
            self.report(&world);
        }
        match strike {
            Some((error, _)) => (Err(error), false),
            None => (result, halt.is_some()),
        }
    }

    /// The effect, with what a simulation does just before it and just after it.
    fn interfered<T>(
        &self,
        operation: &str,
        effect: impl FnOnce(&mut World) -> Result<T, PortError>,
        world: &mut World,
    ) -> Result<T, PortError> {
        let Some(interference) = &self.interference else {
            return effect(world);
        };
        world.subject.clear();
        interference.before(operation, &mut Machine::new(world));
        let result = effect(world);
        let subject = std::mem::take(&mut world.subject);
        let called = Called {
            operation,
            subject: &subject,
            ended: result.as_ref().map(|_| ()),
        };
        interference.after(&called, &mut Machine::new(world));
        result
    }
}
