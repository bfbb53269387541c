//! The protocol by which nodes take their etcd volumes, as a model that is explored: several agents that race over
//! a small EC2, with stale reads, lost replies, crashes, reboots and terminations.
//!
//! The choice of volumes is not modelled: every pass of every agent calls the function that ships,
//! [`select_volumes`](quake_volumes::select_volumes). What is modelled, and what is not, is in README.md.

pub mod agent;
pub mod cloud;
pub mod config;
pub mod disturb;
pub mod explore;
pub mod hash;
pub mod history;
pub mod invariants;
pub mod liveness;
pub mod moves;
pub mod print;
pub mod reading;
pub mod seeded;
pub mod sizes;
pub mod state;
pub mod view;
