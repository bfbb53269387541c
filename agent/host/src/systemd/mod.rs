//! systemd over the system bus: units looked at, enabled, started and restarted, with the result of each
//! job, and the journal of a unit.

mod bus;
mod environment;
mod facts;
mod journal;
mod refusal;
mod times;
mod units;

#[cfg(test)]
mod tests;

pub use units::Systemd;
