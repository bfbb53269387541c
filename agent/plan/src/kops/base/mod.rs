//! The base system: names, time, packages, kernel settings, logs, and what the operator adds.

mod etc_hosts;
mod firewall;
mod gvisor;
mod hooks;
mod logrotate;
mod modules;
mod ntp;
mod nvidia;
mod packages;
mod sysctl;
mod update_policy;

pub use etc_hosts::hosts_text;

use super::Builder;

/// The group's builders.
pub(super) const BUILDERS: &[Builder] = &[
    Builder {
        name: "etc_hosts",
        build: etc_hosts::build,
    },
    Builder {
        name: "firewall",
        build: firewall::build,
    },
    Builder {
        name: "gvisor",
        build: gvisor::build,
    },
    Builder {
        name: "hooks",
        build: hooks::build,
    },
    Builder {
        name: "logrotate",
        build: logrotate::build,
    },
    Builder {
        name: "modules",
        build: modules::build,
    },
    Builder {
        name: "ntp",
        build: ntp::build,
    },
    Builder {
        name: "nvidia",
        build: nvidia::build,
    },
    Builder {
        name: "packages",
        build: packages::build,
    },
    Builder {
        name: "sysctl",
        build: sysctl::build,
    },
    Builder {
        name: "update_policy",
        build: update_policy::build,
    },
];
