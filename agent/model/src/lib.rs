//! Nouns of quake-agent: what was asked (`spec`), what is (`facts`), what to do (`step`), what happened
//! (`outcome`, `event`, `record`), how things fail (`fault`), and the signatures of effects (`ports`).
//!
//! Nothing here acts, reads a clock or chooses. Every other crate speaks in these words.

pub mod addon;
pub mod backoff;
pub mod boot;
pub mod boot_report;
pub mod certificates;
pub mod cluster_object;
pub mod digest;
pub mod dns;
pub mod drift;
pub mod event;
pub mod expected;
pub mod facts;
pub mod fault;
pub mod health_note;
pub mod iam;
pub mod item;
pub mod location;
pub mod loss;
pub mod memo;
pub mod notification;
pub mod outcome;
pub mod pattern;
pub mod phase;
pub mod pod_networks;
pub mod ports;
pub mod record;
pub mod redact;
pub mod repair;
pub mod signal;
pub mod spec;
pub mod step;
pub mod time;
pub mod transfer;
mod words;
