//! Exit statuses, the same in every command. Those of failed boots come from the fault's class.

/// Done.
pub(crate) const DONE: u8 = 0;
/// The answer is no: a check failed, a wait timed out.
pub(crate) const NO: u8 = 1;
/// Changes are pending (`plan --detailed-exitcode`).
pub(crate) const PENDING: u8 = 2;
/// The command line is wrong.
pub(crate) const USAGE: u8 = 64;
/// The command line of nodeup is wrong: the status of Go's package `flag`.
pub(crate) const USAGE_OF_NODEUP: u8 = 2;
/// An invariant of ours is broken.
pub(crate) const BUG: u8 = 70;
