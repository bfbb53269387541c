//! What a node must have: configuration in, a spec out; a spec and facts in, files, units and steps out.
//! No effect is possible here: no clock, no randomness, no file, no network.

pub mod addon_mode;
pub mod assets;
pub mod configuration_unit;
pub mod credentials;
pub mod dialect;
pub mod distribution;
pub mod dns;
pub mod expected;
pub mod files;
mod images;
pub mod keyset;
pub mod known;
pub mod kops;
pub mod lint;
pub mod network;
pub mod node_environment;
pub mod node_identity;
pub mod owned;
pub mod packages;
pub mod pki;
pub mod readiness;
pub mod ready;
pub mod release;
pub mod restart_policy;
pub mod services;
pub mod signal;
pub mod unit_health;
pub mod up_to_date;
pub mod user_data;
pub mod watch;
