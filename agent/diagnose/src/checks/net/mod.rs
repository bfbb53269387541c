//! Checks of the node's network: the machine's own part, and what can be reached from it.

mod baked;
mod drops;
mod filters;
mod hairpin;
mod host_policy;
mod leftovers;
mod links;
mod loopback;
mod managers;
mod overlap;
mod packets;
mod policy;
mod ports;
mod proxy;
mod range;
mod ranges;
mod reach;
mod settings;
mod tunnel;
mod unrouted;
mod untranslated;

#[cfg(test)]
mod tests;

pub(super) use drops::CHECKS as DROPS;
pub(super) use filters::CHECKS as FILTERS;
pub(super) use host_policy::CHECKS as HOST_POLICY;
pub(super) use leftovers::CHECKS as LEFTOVERS;
pub(super) use links::CHECKS as LINKS;
pub(super) use managers::CHECKS as MANAGERS;
pub(super) use ports::CHECKS as PORTS;
pub(super) use proxy::CHECKS as PROXY;
pub(super) use ranges::CHECKS as RANGES;
pub(super) use reach::CHECKS as REACH;
pub(super) use settings::CHECKS as SETTINGS;
pub(super) use tunnel::CHECKS as TUNNEL;
