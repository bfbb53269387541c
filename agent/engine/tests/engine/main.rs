//! The engine, driven over the simulated host.

mod boots;
mod common;
mod gate;
mod images;
mod units;
mod volumes;
