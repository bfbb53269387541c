//! The base system: names, time, packages, kernel settings, logs, and what the operator adds.

mod modules;
mod sysctl;

use super::Builder;

/// The group's builders.
pub(super) const BUILDERS: &[Builder] = &[
    Builder {
        name: "modules",
        build: modules::build,
    },
    Builder {
        name: "sysctl",
        build: sysctl::build,
    },
];
