//! A script of faults: at call n of an operation fail with a condition, before or after the effect.

use super::SimHost;
use quake_model::ports::{Condition, PortError};
use std::collections::BTreeMap;

/// Whether a fault strikes before the effect, or after it with the answer lost.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum When {
    /// The effect does not happen.
    Before,
    /// The effect happens, and the caller does not learn of it.
    After,
}

/// One scripted fault.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ScriptedFault {
    /// The port method, such as `attach_volume`.
    pub operation: String,
    /// Calls of this operation it strikes, from 1: from the first to the last of them.
    pub calls: std::ops::RangeInclusive<u64>,
    /// The condition the caller sees.
    pub condition: Condition,
    /// Before or after the effect.
    pub when: When,
}

/// The faults of one boot.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Script {
    faults: Vec<ScriptedFault>,
    halt_at: Option<(u64, When)>,
    made: u64,
    made_by_operation: BTreeMap<String, u64>,
    /// How often a throttle struck, by operation.
    throttled: BTreeMap<String, u64>,
}

impl SimHost {
    /// Replaces the script of faults while the boot goes on; calls count as the new script sees them.
    pub fn replace_script(&self, script: Script) {
        self.lock().script = script;
    }
}

impl Script {
    /// A script of these faults.
    pub fn new(faults: Vec<ScriptedFault>) -> Self {
        Self {
            faults,
            ..Self::default()
        }
    }

    /// A script whose `call`-th port call, counted over all operations, never returns.
    pub fn halting_at(call: u64, when: When) -> Self {
        Self {
            halt_at: Some((call, when)),
            ..Self::default()
        }
    }

    pub(crate) fn throttled(&self) -> &BTreeMap<String, u64> {
        &self.throttled
    }

    pub(crate) fn made(&self) -> u64 {
        self.made
    }

    pub(crate) fn made_of(&self, operation: &str) -> u64 {
        let made = self.made_by_operation.get(operation);
        made.copied().unwrap_or_default()
    }

    /// Counts a call and says whether a fault strikes it.
    pub(crate) fn strike(&mut self, operation: &str) -> Option<(PortError, When)> {
        self.made += 1;
        let nth = self
            .made_by_operation
            .entry(operation.to_owned())
            .or_default();
        *nth += 1;
        let fault = self
            .faults
            .iter()
            .find(|fault| fault.operation == operation && fault.calls.contains(nth))?;
        if fault.condition == Condition::Throttled {
            *self.throttled.entry(operation.to_owned()).or_default() += 1;
        }
        let error = PortError::new(fault.condition, format!("scripted fault of {operation}"));
        Some((error, fault.when))
    }

    pub(crate) fn halts(&self) -> Option<When> {
        self.halt_at
            .filter(|(call, _)| *call == self.made)
            .map(|(_, when)| when)
    }
}
