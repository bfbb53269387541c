//! Sequence of quake-agent: phases, budgets, the one retry loop, events. It knows no AWS and no Linux;
//! it drives a [`quake_model::ports::Host`] through the decisions of `quake_plan`.

mod access;
mod apply;
mod boot;
mod budget;
mod context;
mod drift;
mod emit;
mod ensure;
mod fleet;
mod knowledge;
mod meaning;
mod note;
mod observe;
mod owed;
mod owned;
mod renewal;
mod report;
mod request;
mod retry;
mod runtime_first;
mod signal;
mod storage;
mod watch;

pub use boot::{Verdict, boot};
pub use budget::{Budget, NODE_BUDGET};
pub use context::{PlannedStep, Stop, StopHandle, stop_signal};
pub use emit::Emitter;
pub use fleet::read_reports;
pub use meaning::asset_fault;
pub use owned::Left;
pub use renewal::Renewal;
pub use report::report_boot;
pub use request::{Acting, Configuration, CredentialSource, Patience, Request};
pub use signal::{Signalled, signal_boot};
pub use watch::keep_looking;
