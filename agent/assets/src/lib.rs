//! The content-addressed store of assets: fetched, verified, unpacked, placed.
//!
//! ```text
//! <store>/sha256/<hex>              one file, mode 0755, its digest is its name
//! <store>/sha256/<hex>.json         its manifest: size and time of writing
//! <store>/sha256/<hex>.d/files/…    an unpacked archive; executables 0755, the rest 0644
//! <store>/sha256/<hex>.d/manifest.json
//! <store>/staging/…                 what is on its way; empty unless an agent is fetching
//! <store>/staging.lock              held, shared, by every agent that stages something
//! ```
//! The archive itself is not kept: its bytes are proven before one of them is unpacked, and every
//! asset is written once.

mod arrival;
mod failure;
mod fetch;
mod hasher;
mod keep;
mod layout;
mod looks;
mod manifest;
mod place;
mod source;
mod staging;
mod store;
mod stub;
mod unpack;

pub use source::AssetSource;
pub use store::{AssetSettings, AssetStore};
