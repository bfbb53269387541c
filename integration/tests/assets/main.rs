//! The store of assets under fire: killed agents, mirrors that fail, lie and stall, disks that fill, bits that flip.

mod full;
mod mirrors;
mod node;
mod store;
