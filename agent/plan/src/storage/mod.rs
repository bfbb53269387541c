//! Which volumes back this node's etcd members, and what is to be held about each.

mod claims;
mod device_names;
mod reports;
mod select;
mod slots;
mod steps;

pub use select::select_volumes;
pub use slots::{WantedSlot, slots};
pub use steps::{mounted_slots, steps};
