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

pub(super) use firewall::script_unit;

pub use etc_hosts::{has_block, hosts_text, is_kops_block};

use super::builder::{Builder, group};

pub(super) const BUILDERS: &[Builder] = group![
    certificate_authority,
    etc_hosts,
    file_assets,
    firewall,
    gvisor,
    hooks,
    logrotate,
    modules,
    ntp,
    nvidia,
    packages,
    sysctl,
    update_policy,
    volumes,
];
