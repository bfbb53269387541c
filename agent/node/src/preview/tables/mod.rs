//! What Kubernetes and kops took away, by version. Facts with their sources; to add one is to add a row.

mod apis;
mod configs;
mod distributions;
mod feature_gates;
mod flags;

pub(super) use apis::{SOURCE as APIS, removed_api};
pub(super) use configs::removed_config;
pub(super) use distributions::{CGROUPS, SOURCE as DISTRIBUTIONS, distribution_of_image};
pub(super) use feature_gates::{SOURCE as GATES, locked_gate, removed_gate};
pub(super) use flags::{ADMISSION_PLUGINS, removed_flag};

/// A minor version of Kubernetes 1 or of kops 1.
pub(super) type Minor = u32;

/// The newest minor version that the tables were read for.
#[cfg(test)]
const NEWEST: Minor = 37;
