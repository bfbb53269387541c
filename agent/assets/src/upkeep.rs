//! What keeps a store small: assets are noted as wanted, and what nothing wants is removed.

use super::collect::{Collect, Collection, collect};
use super::entries::Key;
use super::failure::on_blocking_thread;
use super::sets::{Earlier, Sets};
use super::store::AssetStore;
use quake_model::ports::PortError;
use std::collections::BTreeSet;
use std::sync::Arc;

impl AssetStore {
    /// Removes an asset of the store. Files that were placed stay: they are links of their own.
    ///
    /// # Errors
    ///
    /// `Io` when its thread ended early.
    pub async fn remove(&self, key: &Key) -> Result<(), PortError> {
        let (entries, key) = (Arc::clone(&self.entries), key.clone());
        on_blocking_thread(move || {
            entries.remove(&key);
            Ok(())
        })
        .await
    }

    /// Notes what a seed brings, so that no collection takes it.
    ///
    /// # Errors
    ///
    /// `NotReady` while another process changes the sets; `NoSpace` or `Io`.
    pub async fn record_seed(
        &self,
        wanted: BTreeSet<Key>,
        earlier: Earlier,
    ) -> Result<(), PortError> {
        let layout = self.layout.clone();
        on_blocking_thread(move || Sets::new(&layout).seed(&wanted, earlier)).await
    }

    /// Finds, and removes where that is asked for, what no set wants and what interrupted fetches left.
    ///
    /// # Errors
    ///
    /// `Io` when the store cannot be read, `Malformed` when a set cannot, `NotReady` while another process
    /// changes the sets: nothing is removed then.
    pub async fn collect(&self, act: Collect) -> Result<Collection, PortError> {
        let (layout, entries) = (self.layout.clone(), Arc::clone(&self.entries));
        on_blocking_thread(move || collect(&layout, &entries, act)).await
    }
}
