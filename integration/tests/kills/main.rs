//! `kill -9` at any moment of a command: running the same again ends as if nothing had happened. `QUAKE_KILLS` says how
//! often each command is killed, `QUAKE_SEED` at which moments.

mod bakes;
mod boots;
mod collections;
mod installs;
mod left;
mod trial;
