//! Container images: their archives in the store, the runtime they are imported into, and images that it pulls.

use super::PortError;
use crate::digest::Digest;
use crate::spec::{ArchivedImage, ImageRuntime, ImageSpec};
use std::future::Future;

/// Container images that came as archives, and those that are pulled ahead.
pub trait Images {
    /// Lists the archives that a seed left in the store, by digest; empty where there was none.
    ///
    /// # Errors
    ///
    /// `Malformed` when the seed's list is not one, `Io` when it cannot be read.
    fn list_seeded(&self) -> impl Future<Output = Result<Vec<ImageSpec>, PortError>> + Send;

    /// Looks which images an archive of the store holds. The archive is read at most once; the answer is kept
    /// beside it.
    ///
    /// # Errors
    ///
    /// `Missing` when the store does not hold it, `Malformed` when it holds no image, `Io`.
    fn look_archive(
        &self,
        archive: &Digest,
    ) -> impl Future<Output = Result<Vec<ArchivedImage>, PortError>> + Send;

    /// Looks whether the runtime has an image, whole.
    ///
    /// # Errors
    ///
    /// `Missing` when the runtime's client is not installed, `Unreachable` when the runtime does not answer,
    /// `TimedOut`, `Malformed` or `Io`.
    fn has_image(
        &self,
        runtime: ImageRuntime,
        image: &ArchivedImage,
    ) -> impl Future<Output = Result<bool, PortError>> + Send;

    /// Imports every image of an archive of the store. An import that is cut short leaves no image that looks whole.
    ///
    /// # Errors
    ///
    /// `Missing` when the store does not hold the archive; else as [`Images::has_image`].
    fn import_images(
        &self,
        runtime: ImageRuntime,
        archive: &Digest,
    ) -> impl Future<Output = Result<(), PortError>> + Send;

    /// Looks whether the runtime has an image of this name, as kubelet would ask for it.
    ///
    /// # Errors
    ///
    /// As [`Images::has_image`].
    fn has_named(
        &self,
        runtime: ImageRuntime,
        name: &str,
    ) -> impl Future<Output = Result<bool, PortError>> + Send;

    /// Lets the runtime pull an image from its registry. A pull that is cut short leaves no image that looks whole.
    ///
    /// # Errors
    ///
    /// `Missing` when the registry has no such image, `Denied` when it does not give it to this node; else as
    /// [`Images::has_image`].
    fn pull_image(
        &self,
        runtime: ImageRuntime,
        name: &str,
    ) -> impl Future<Output = Result<(), PortError>> + Send;
}
