//! The readiness endpoint while a boot waits for its assets and after it is ready, and the commands that
//! ask it.

mod captured;
mod commands;
mod events;
mod fixtures;
mod readiness;
mod scraped;
