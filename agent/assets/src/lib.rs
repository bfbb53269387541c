//! The content-addressed store of assets: fetched, verified, unpacked, placed, each byte touched once.
//!
//! ```text
//! <store>/sha256/<hex>              one file, mode 0755, its digest is its name
//! <store>/sha256/<hex>.json         its manifest: where it came from, and its size
//! <store>/sha256/<hex>.stamp        how it looked when it was verified
//! <store>/sha256/<hex>.d/files/…    an unpacked archive; executables 0755, the rest 0644
//! <store>/sha256/<hex>.d/manifest.json    and the BLAKE3 of each of its files
//! <store>/sha256/<hex>.d.stamp
//! <store>/partial/sha256-<hex>      what came of a file so far; locked by the agent that fetches it
//! <store>/sets/…                    what boots and seeds want; the rest may be collected
//! <store>/images.json               which archives are container images, and what is in each
//! <store>/readahead.json            what boots from this store touch, for later ones to read ahead
//! <store>/record                    asks the next boot for it
//! <store>/staging/…                 what is on its way; empty unless an agent is fetching
//! <store>/staging.lock              held, shared, by every agent that stages something; mode 0600
//! ```
//! The archive itself is not kept. docs/assets.md tells the story of one asset.

mod buckets;
mod bundle;
mod collect;
mod commit;
mod destination;
mod digests;
mod entries;
mod failed;
mod failure;
mod fetch;
mod hasher;
mod holders;
mod images;
mod ingest;
mod ingest_reader;
mod layout;
mod lock;
mod looks;
mod manifest;
mod names;
mod place;
pub mod readahead;
mod room;
mod sets;
mod settings;
mod source;
mod staging;
mod stamp;
mod store;
mod stub;
mod transport;
mod unpack;
mod upkeep;

pub use buckets::Buckets;
pub use bundle::{Bundled, Loaded, write_bundle};
pub use collect::{Collect, Collection, Leftover, Weighed, find_leftovers};
pub use digests::digest_files;
pub use entries::{Entry, EntryState, Key};
pub use images::{ImageFeed, ListedImage};
pub use lock::{Lock, LockMode};
pub use manifest::Manifest;
pub use sets::{Earlier, SetName};
pub use settings::AssetSettings;
pub use source::AssetSource;
pub use store::AssetStore;
pub use stub::expected_members;
pub use unpack::Member;
