//! A small honest model of a Kubernetes API server: discovery, objects with versions and holders of their fields, server-side
//! apply, watches, definitions of kinds that take their time, and a script of trouble. It is memory only and is told what time it is.
//!
//! It is no server: whoever holds it gives it a [`Request`] and does with the [`Outcome`] what a connection would. Nothing runs
//! behind it: no controller makes pods, and no quota counts. What it does not know it refuses, and says so: JSON Patch,
//! `scale`, YAML.

mod admission;
mod crds;
mod defaults;
mod discovery;
mod failure;
mod fault_injection;
mod fields;
mod journal;
mod kinds;
mod node_restriction;
mod query;
mod request;
mod selector;
mod server;
mod store;
mod verbs;
mod watch;

pub use crds::Establish;
pub use failure::Failure;
pub use fault_injection::{Act, InjectedFault};
pub use journal::{Entry, Journal};
pub use kinds::Kind;
pub use node_restriction::node_user;
pub use request::{Reply, Request, Verb};
pub use server::{ApiServer, Outcome};
pub use watch::{Polled, Watch};
