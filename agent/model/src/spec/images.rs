//! Container images that come as archives.

use super::{AssetSpec, Runtime};
use crate::digest::Digest;
use crate::step::Need;
use crate::words::words;
use serde::{Deserialize, Serialize};

/// An image's archive, which the runtime is to have before kubelet starts.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ImageSpec {
    /// What people call it, such as `registry.k8s.io/pause:3.9`. What the runtime calls it, the archive says.
    pub name: String,
    /// The archive: an OCI image layout or what `docker save` writes, in a tar, compressed or not. Its kind is
    /// [`AssetKind::Plain`](super::AssetKind::Plain), for it is used as it came; without a URL it is only looked
    /// for in the store.
    pub archive: AssetSpec,
    /// Whether the boot fails without it; else kubelet pulls what the runtime lacks.
    pub need: Need,
}

/// One image of an archive, as the archive tells.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ArchivedImage {
    /// Its names, such as `registry.k8s.io/pause:3.9`; there may be none.
    pub refs: Vec<String>,
    /// Digests that a runtime may know it by, its manifest's and its configuration's: any one of them tells.
    pub digests: Vec<Digest>,
}

words! {
    /// The program that images are imported into.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
    ImageRuntime {
        Docker = "docker",
        /// containerd, in the namespace of its CRI.
        Containerd = "containerd",
    }
}

impl Runtime {
    /// The program that images are imported into.
    pub fn images(&self) -> ImageRuntime {
        match self {
            Self::Docker(_) => ImageRuntime::Docker,
            Self::Containerd { .. } => ImageRuntime::Containerd,
        }
    }
}
