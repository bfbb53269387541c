//! What is wrong with a node, and where the time of its boot went. Facts and records in, findings out; no effects.

pub mod boot_report;
pub mod checks;
pub mod fleet;
pub mod log_lines;
pub mod throttled;
pub mod timeline;
