//! What Kubernetes and kops took away, by version. Facts with their sources; to add one is to add a row.

mod apis;
mod configs;
mod distributions;
mod feature_gates;
mod flags;

pub(super) use apis::{SOURCE as APIS, removed_api};
pub(super) use configs::removed_config;
pub(super) use distributions::distribution_of_image;
pub(super) use feature_gates::{locked_gate, removed_gate};
pub(super) use flags::{ADMISSION_PLUGINS, removed_flag};

/// A minor version of Kubernetes 1 or of kops 1.
pub(super) type Minor = u32;

/// The rows of a table: parts that are set apart by ` | `.
fn rows<const PARTS: usize>(table: &'static str) -> impl Iterator<Item = [&'static str; PARTS]> {
    table.lines().filter_map(|line| {
        let parts: Vec<&str> = line.split(" | ").collect();
        <[&str; PARTS]>::try_from(parts).ok()
    })
}

/// The newest minor version that the tables were read for.
#[cfg(test)]
const NEWEST: Minor = 37;
