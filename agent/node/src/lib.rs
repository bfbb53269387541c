//! What a node must have: configuration in, a spec out; a spec and facts in, files, units and steps out.
//! No effect is possible here: no clock, no randomness, no file, no network.

pub mod addon_mode;
pub mod assets;
pub mod builders;
pub mod config;
pub mod configuration_unit;
pub mod credentials;
pub mod distribution;
pub mod dns;
pub mod expected;
mod images;
pub mod kernel_settings;
pub mod keyset;
pub mod lint;
pub mod managed_files;
pub mod node;
pub mod node_conditions;
pub mod node_environment;
pub mod node_identity;
pub mod packages;
pub mod pki;
pub mod plan_inputs;
mod pod;
pub mod preview;
pub mod readiness;
pub mod release;
pub mod repair;
pub mod restart_policy;
pub mod signal;
pub mod steps;
pub mod unit_health;
pub mod up_to_date;
pub mod user_data;
pub mod watch;
