//! `seed`: assets are put into an image, or into a bundle, before any node boots.

mod build;
mod bundle;
mod fetching;
mod newer;
mod release;
mod show;
mod sources;
pub(super) mod verify;

pub(crate) use fetching::SeedOutcome;
pub(crate) use show::Covered;
pub(crate) use sources::node_document_in;
pub(crate) use verify::{Checked, CheckedAsset, EMPTY_STORE};

use super::below::{below, refuse_links};
use super::running::{fail, usage};
use crate::args::seed::{SeedArguments, SeedVerb};
use crate::host::STORE;
use quake_assets::{AssetSettings, AssetSource, AssetStore, Buckets, Leftover, find_leftovers};
use quake_engine::asset_fault;
use quake_host::aws::{Aws, AwsSettings, Calls, Environment, S3};
use quake_host::imds::{Imds, MetadataEndpoint};
use quake_http::HttpSettings;
use quake_model::ports::PortError;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Runs one of the verbs; the exit status.
pub(crate) async fn run(arguments: SeedArguments) -> u8 {
    let done = match arguments.verb {
        SeedVerb::Build(arguments) => build::run(&arguments).await,
        SeedVerb::Bundle(arguments) => bundle::write(&arguments).await,
        SeedVerb::Load(arguments) => bundle::load(&arguments).await,
        SeedVerb::Verify(arguments) => verify::run(&arguments).await,
        SeedVerb::Show(arguments) => show::run(&arguments).await,
    };
    done.unwrap_or_else(|status| status)
}

/// Opens the store of the image or machine at `root`.
pub(super) fn open_store(root: &Path) -> Result<Arc<AssetStore>, u8> {
    check_root(root)?;
    Ok(Arc::new(store_at(root.to_owned(), below(root, STORE)?)))
}

/// What interrupted fetches left in the store of the image or machine at `root`. Opening that store clears some of it away.
pub(super) fn look_leftovers(root: &Path) -> Result<Vec<Leftover>, u8> {
    check_root(root)?;
    Ok(find_leftovers(&below(root, STORE)?))
}

fn check_root(root: &Path) -> Result<(), u8> {
    if !root.is_dir() {
        return Err(usage(&format!("{} is not a directory", root.display())));
    }
    refuse_links(root)
}

/// The store at a directory of this machine, for files below `root`.
fn store_at(root: PathBuf, store: PathBuf) -> AssetStore {
    AssetStore::open(AssetSettings {
        root,
        store,
        source: AssetSource::Fetch,
        verify: false,
        http: HttpSettings::from_environment(),
        buckets: Buckets {
            reader: Some(Arc::new(own_s3())),
            folder: None,
        },
    })
}

/// S3 with the credentials of whoever runs this: a person, or the instance that an image is made on.
fn own_s3() -> S3 {
    let calls = Calls::new();
    let imds = Imds::new(&MetadataEndpoint::from_environment(), calls.clone());
    let settings = AwsSettings::from_environment(Environment::Elsewhere);
    S3::new(Aws::new(settings, imds, calls))
}

/// Prints what the store could not do; the exit status for it.
pub(super) fn store_failed(error: PortError) -> u8 {
    fail(&asset_fault(error))
}
