//! Bundles: the assets of a seed as one file, for machines that reach no mirror.
//!
//! A zstd-compressed tar with, in this order,
//! ```text
//! manifest.json                 every asset: name, digest, kind, size, URLs
//! assets/<algorithm>/<hex>      each asset's bytes as they were published, in the manifest's order
//! ```
//! A bundle is determined by its assets alone: sorted by name of member, no times, no owners, one mode. So a reader knows
//! every byte between the assets before it comes, and refuses what differs.

mod format;
mod load;
mod stream;
mod write;

pub use format::Bundled;
pub use load::Loaded;
pub use write::write_bundle;

#[cfg(test)]
mod tests;
