//! Sequence of quake-agent: phases, budgets, the one retry loop, events. It knows no AWS and no Linux;
//! it drives a [`quake_model::ports::Host`] through the decisions of `quake_node`.

mod access;
mod boot;
mod budget;
mod context;
mod emit;
mod ensure;
mod fault_mapping;
mod fleet;
mod fleet_consoles;
mod note;
mod request;
mod resident;
pub mod restore;
mod retry;
mod signal;
mod stored_keys;

pub use boot::{ManagedSnapshot, ReportPlace, Verdict, boot, report_boot};
pub use budget::{Budget, NODE_BUDGET};
pub use context::{PlannedStep, Stop, StopHandle, stop_signal};
pub use emit::Emitter;
pub use fault_mapping::{asset_fault, file_fault, store_fault};
pub use fleet::read_reports;
pub use fleet_consoles::read_consoles;
pub use request::{ConditionsRequest, Configuration, CredentialSource, Deadlines, Mode, Request};
pub use resident::{Removed, Renewal, addons, keep_looking, remove_conditions};
pub use retry::when_unlocked;
pub use signal::{Signalled, signal_boot};
pub use stored_keys::{CredentialReader, find_keypair, find_secret};
