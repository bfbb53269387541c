//! The engine, driven over the simulated host.

mod addons;
mod addons_warned;
mod addons_authority;
mod addons_taken_over;
mod addons_watched;
mod boots;
mod common;
mod dns;
mod drift;
mod fleet;
mod gate;
mod images;
mod kops;
mod kops_controller;
mod kops_items;
mod kops_machine;
mod kops_pools;
mod kops_ready;
mod names_kept;
mod ready_node;
mod renewal;
mod reports;
mod runbook;
mod signals;
mod units;
mod volumes;
