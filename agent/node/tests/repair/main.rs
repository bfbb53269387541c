//! Repair of nodes in whole groups: laws over generated groups, and incidents that were published, replayed.

mod laws;
mod traces;
mod world;
