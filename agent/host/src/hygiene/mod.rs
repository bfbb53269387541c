//! Looks for what an image must not carry from the machine that it was made on: its identity, its secrets, its past.
//! Nothing is changed, and no link leads out of the image.

mod inside;
mod rules;

pub use rules::{Finding, look_image, rule_names};

#[cfg(test)]
mod tests;
