//! The base system: names, time, packages, kernel settings, logs, and what the operator adds.

mod certificate_authority;
mod etc_hosts;
mod file_assets;
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
mod volumes;

pub use etc_hosts::{has_block, hosts_text, is_kops_block};

use super::Builder;

pub(super) const BUILDERS: &[Builder] = &[
    Builder {
        name: "certificate_authority",
        build: certificate_authority::build,
    },
    Builder {
        name: "etc_hosts",
        build: etc_hosts::build,
    },
    Builder {
        name: "file_assets",
        build: file_assets::build,
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
    Builder {
        name: "volumes",
        build: volumes::build,
    },
];
