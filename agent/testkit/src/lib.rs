//! A small honest model of a machine and a region: volumes with zones and holders, devices that appear
//! late, tags that arrive late, throttles, a store of objects, units with states, and a script of faults.
//!
//! Tests boot against it everywhere; `rehearse` ships it as the region a state store is tried in. It is
//! held to the same contract suite as the real host, so that it may not lie.

pub mod contract;
pub mod example;
pub mod mounter;
pub mod names;
pub mod region;
mod sim;

pub use sim::{
    Called, Controller, Fate, Interference, Machine, OnChange, Script, ScriptedFault, SharedRegion,
    SimHost, Timing, When,
};
