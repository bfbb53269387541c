//! The engine, driven over the simulated host.

mod boots;
mod common;
mod gate;
mod images;
mod ready_node;
mod units;
mod volumes;
