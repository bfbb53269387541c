//! Runs the engine that ships in simulated regions full of faults, all of it from one seed: several real engines with their
//! resident loops share one region and one paused clock, and laws are checked after every port call.
//!
//! README.md says what is simulated, which laws there are, and what was found.

mod addons_world;
mod beside;
mod bugs;
mod conduct;
mod documents;
mod draw;
mod endings;
mod history;
mod hub;
mod instance;
mod interfere;
mod laws;
mod lease_law;
mod names_world;
mod node_objects;
mod operator;
mod plan;
mod plan_law;
mod planning;
mod planted;
mod planted_groups;
mod repair_law;
mod repair_world;
mod report;
mod run;
mod scaling_groups;
mod shrink;
mod trace;

pub use bugs::Bug;
pub use draw::Draw;
pub use laws::Violation;
pub use plan::{
    Act, Extra, ExtraKind, Fault, Group, Instance, KopsGeneration, Plan, RecordEdit, Service,
    Sickness,
};
pub use report::{report, schedule};
pub use run::{Options, WorldEnd, run};
pub use shrink::shrink;
pub use trace::Trace;
