//! `seed bundle` and `seed load`: assets travel as one file.

use super::fetching::{SeedOutcome, bring};
use super::sources::gather;
use super::{open_store, store_at, store_failed};
use crate::args::OutputFormat;
use crate::args::seed::{BundleArguments, LoadArguments};
use crate::commands::running::{fail, usage};
use crate::exit;
use crate::output;
use crate::render::seed::{bundled_json, bundled_text, loaded_json, loaded_text, name_of};
use quake_assets::{AssetStore, Bundled, write_bundle};
use quake_engine::{asset_fault, when_unlocked};
use quake_http::shown;
use quake_model::fault::Code;
use quake_model::ports::{Assets, Condition, PortError};
use quake_model::spec::{AssetKind, AssetSpec};
use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Writes a bundle; the exit status.
pub(super) async fn write(arguments: &BundleArguments) -> Result<u8, u8> {
    let store = open_store(&arguments.at.root)?;
    let mut wanted = gather(&arguments.sources).await?;
    if wanted.is_empty() {
        wanted = kept_whole(&store).await?;
    }
    let scratch = Scratch::beside(&arguments.out)?;
    let assets = originals(&store, &scratch, wanted).await?;
    let unfinished = scratch.0.join("bundle");
    let out = File::create(&unfinished)
        .map_err(|error| usage(&format!("{} cannot be made: {error}", unfinished.display())))?;
    let path = unfinished.clone();
    let written = tokio::task::spawn_blocking(move || write_bundle(assets, out, &path)).await;
    let written = written.unwrap_or_else(|error| {
        Err(PortError::new(Condition::Io, "the bundle's writer ended early").because(&error))
    });
    let contents = written.map_err(store_failed)?;
    std::fs::rename(&unfinished, &arguments.out).map_err(|error| {
        let out = arguments.out.display();
        usage(&format!("{out} cannot be written: {error}"))
    })?;
    let size = arguments.out.metadata().map_or(0, |found| found.len());
    match arguments.at.output {
        OutputFormat::Json => output::line(bundled_json(&arguments.out, size, &contents)),
        OutputFormat::Text => output::text(bundled_text(&arguments.out, size, &contents)),
    }
    Ok(exit::DONE)
}

/// Everything in the store whose bytes are kept as they were published; an unpacked archive's are not.
async fn kept_whole(store: &AssetStore) -> Result<Vec<AssetSpec>, u8> {
    let mut wanted = Vec::new();
    for entry in store.list().await.map_err(store_failed)? {
        let name = name_of(&entry.manifest.url);
        if entry.kind == AssetKind::Archive {
            output::error_line(format_args!(
                "warning: {name} is kept unpacked and is not in the bundle: name its source (--kube-env, --list) to have it fetched"
            ));
            continue;
        }
        wanted.push(AssetSpec {
            kind: AssetKind::of_name(&name),
            name,
            digest: entry.digest,
            // A file that lost its manifest has no known source.
            urls: Some(entry.manifest.url)
                .into_iter()
                .filter(|it| !it.is_empty())
                .collect(),
        });
    }
    match wanted.is_empty() {
        true => Err(usage(
            "there is nothing to bundle: name --kube-env, --list or --kops-version",
        )),
        false => Ok(wanted),
    }
}

/// Where the published bytes of each asset are; what the store does not keep so is fetched aside.
async fn originals(
    store: &Arc<AssetStore>,
    scratch: &Scratch,
    wanted: Vec<AssetSpec>,
) -> Result<Vec<(Bundled, PathBuf)>, u8> {
    let aside = Arc::new(store_at(scratch.0.clone(), scratch.0.join("store")));
    let mut lacking = Vec::new();
    let mut places = Vec::new();
    for asset in wanted {
        let whole = AssetSpec {
            kind: AssetKind::Plain,
            ..asset.clone()
        };
        if store.has_asset(&whole).await.map_err(store_failed)? {
            places.push((asset, store.file(&whole.digest)));
        } else {
            places.push((asset, aside.file(&whole.digest)));
            lacking.push(whole);
        }
    }
    for (_, outcome) in bring(&aside, &lacking).await {
        if let SeedOutcome::Failed(fault) = outcome {
            return Err(fail(&fault));
        }
    }
    let bundled = |(asset, path): (AssetSpec, PathBuf)| {
        let asset = Bundled {
            size: path.metadata().map_or(0, |found| found.len()),
            urls: asset.urls.iter().map(|url| shown(url)).collect(),
            name: asset.name,
            digest: asset.digest,
            kind: asset.kind,
        };
        (asset, path)
    };
    Ok(places.into_iter().map(bundled).collect())
}

/// Loads a bundle; the exit status.
pub(super) async fn load(arguments: &LoadArguments) -> Result<u8, u8> {
    let root = &arguments.at.root;
    std::fs::create_dir_all(root)
        .map_err(|error| usage(&format!("{} cannot be made: {error}", root.display())))?;
    let store = open_store(root)?;
    // A bundle may come by a pipe, which cannot be read twice: what it needs is waited for first.
    let held = when_unlocked(|| store.hold()).await;
    held.map_err(|fault| fail(&fault))?;
    let mut loaded = Vec::new();
    let ended = if arguments.bundle == Path::new("-") {
        store.load_bundle(std::io::stdin(), &mut loaded).await
    } else {
        let opened = File::open(&arguments.bundle);
        let file = opened.map_err(|error| {
            let shown = arguments.bundle.display();
            usage(&format!("{shown} cannot be read: {error}"))
        })?;
        store.load_bundle(file, &mut loaded).await
    };
    // What came before a failure is proven, and stays.
    store.settle().await.map_err(store_failed)?;
    match arguments.at.output {
        OutputFormat::Json => output::line(loaded_json(&loaded)),
        OutputFormat::Text => output::text(loaded_text(&loaded)),
    }
    ended.map(|()| exit::DONE).map_err(|error| {
        let fault = match error.condition {
            Condition::Malformed => error.into_fault(Code::AssetsBundleDamaged),
            _ => asset_fault(error),
        };
        fail(&fault.seen("bundle", arguments.bundle.display()))
    })
}

/// A directory beside the bundle, gone when it is written.
struct Scratch(PathBuf);

impl Scratch {
    fn beside(out: &Path) -> Result<Self, u8> {
        let name = out.file_name().unwrap_or_default().to_string_lossy();
        let folder = out.with_file_name(format!(".{name}.quake-{}", std::process::id()));
        match std::fs::create_dir(&folder) {
            Ok(()) => Ok(Self(folder)),
            Err(error) => {
                let shown = folder.display();
                Err(usage(&format!("{shown} cannot be made: {error}")))
            }
        }
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        // What is left of it is in nobody's way.
        let _ = std::fs::remove_dir_all(&self.0);
    }
}
