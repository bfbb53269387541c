//! Checks of systemd and of the node's units. The runtime and kubelet have checks of their own.

mod drop_ins;
mod files;
mod kill_mode;
mod masked;
mod refused;
mod shutdown;
mod stale;
mod target;
mod units;

#[cfg(test)]
mod tests;

pub(super) use drop_ins::CHECKS as DROP_INS;
pub(super) use files::CHECKS as FILES;
pub(super) use shutdown::CHECKS as SHUTDOWN;
pub(super) use stale::CHECKS as STALE;
pub(super) use target::CHECKS as TARGET;
pub(super) use units::CHECKS as UNITS;
