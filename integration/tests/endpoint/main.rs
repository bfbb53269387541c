//! The readiness endpoint while a boot waits for its assets and after it is ready, and the commands that
//! ask it.

mod captured;
mod commands;
mod readiness;
mod scene;
mod scraped;
mod told;
