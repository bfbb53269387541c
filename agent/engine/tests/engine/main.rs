//! The engine, driven over the simulated host.

mod boots;
mod common;
mod gate;
mod units;
mod volumes;
