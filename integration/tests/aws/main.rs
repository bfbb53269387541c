//! The binary on an instance: in a network namespace whose only neighbours are a metadata service at its
//! real address and AWS, played by moto behind a proxy that throttles and fails.

mod assets;
mod boots;
mod conditions;
mod conditions_really;
mod consoles;
mod dns;
mod kops_volumes;
mod lab;
mod members;
mod refusals;
mod reports;
mod residents;
mod signals;
mod tended;
mod tended_really;
mod volumes;
