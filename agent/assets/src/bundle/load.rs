//! Loads a bundle into the store.

use super::format::{Bundled, malformed};
use super::stream::{Body, Shared};
use crate::entries::Key;
use crate::failure::on_blocking_thread;
use crate::hasher::digest_of;
use crate::sets::Earlier;
use crate::store::AssetStore;
use quake_model::ports::{Assets, Condition, PortError};
use std::collections::BTreeSet;
use std::io::Read;

/// What became of one asset of a bundle.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Loaded {
    pub asset: Bundled,
    /// Whether the store had it already.
    pub was_held: bool,
}

impl AssetStore {
    /// Loads the bundle that `source` gives. Every asset is proven against the digest that its member and the manifest
    /// name, those that the store has already included; each is kept as soon as it is.
    ///
    /// # Errors
    ///
    /// `Malformed` when it is not byte for byte as a bundle of its manifest is written; `DigestMismatch`; `Unsafe`;
    /// `NoSpace` or `Io`.
    pub async fn load_bundle(
        &self,
        source: impl Read + Send + 'static,
        loaded: &mut Vec<Loaded>,
    ) -> Result<(), PortError> {
        let opened = on_blocking_thread(move || Shared::open(Box::new(source)));
        let (bundle, assets) = opened.await?;
        let keys = assets.iter().map(|it| (it.digest.clone(), it.kind));
        let wanted: BTreeSet<Key> = keys.collect();
        self.record_seed(wanted, Earlier::Kept).await?;
        for asset in assets {
            let was_held = self.load_member(&bundle, &asset).await?;
            loaded.push(Loaded { asset, was_held });
        }
        on_blocking_thread(move || bundle.finish()).await
    }

    /// Takes one member; whether the store had it already.
    async fn load_member(&self, bundle: &Shared, asset: &Bundled) -> Result<bool, PortError> {
        let spec = asset.spec();
        let was_held = self.has_asset(&spec).await?;
        let body = {
            let (bundle, asset) = (bundle.clone(), asset.clone());
            on_blocking_thread(move || bundle.begin(&asset)).await?
        };
        let taken = if was_held {
            prove(asset, body).await
        } else {
            let url = asset.urls.first().map_or("", String::as_str);
            self.ingest(&spec, url, body).await.map(|_| ())
        };
        let ended = {
            let (bundle, asset) = (bundle.clone(), asset.clone());
            on_blocking_thread(move || bundle.end(&asset)).await
        };
        match (taken, ended) {
            // A member that ended early is why its digest is wrong.
            (Err(_), Err(cut)) | (Ok(()), Err(cut)) => Err(cut),
            (Err(error), Ok(())) => Err(error),
            (Ok(()), Ok(())) => Ok(was_held),
        }
    }
}

async fn prove(asset: &Bundled, body: Body) -> Result<(), PortError> {
    let asset = asset.clone();
    on_blocking_thread(move || {
        let read = digest_of(asset.digest.algorithm(), body);
        let actual = read.map_err(|error| malformed("it cannot be read").because(&error))?;
        if actual == asset.digest {
            return Ok(());
        }
        let summary = format!("{} is not what was pinned", asset.member());
        Err(PortError::new(Condition::DigestMismatch, summary)
            .seen("expected", &asset.digest)
            .seen("actual", actual))
    })
    .await
}
