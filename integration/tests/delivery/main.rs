//! The user data that delivers the agent: run by real shells against servers of loopback, read by the built binary, and
//! the units that it installs read by systemd.

mod fixtures;
mod forms;
mod mirrors;
mod s3;
mod signature;
mod units;
