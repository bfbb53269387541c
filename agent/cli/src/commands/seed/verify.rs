//! `seed verify`: every byte of the store, and what an image must not carry.

use super::{look_leftovers, open_store, store_failed};
use crate::args::OutputFormat;
use crate::args::seed::VerifyArguments;
use crate::exit;
use crate::host::STORE;
use crate::output;
use crate::render::seed::{checked_json, checked_text};
use quake_assets::{AssetStore, EntryState, Key, Leftover, Manifest};
use quake_host::hygiene::{Finding, look_image};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// The rule that an image has a seed.
pub(crate) const EMPTY_STORE: &str = "empty-store";

/// What a check came to.
#[derive(Debug)]
pub(crate) struct Checked {
    pub(crate) root: PathBuf,
    /// Every asset of the store.
    pub(crate) assets: Vec<CheckedAsset>,
    /// What an image must not carry.
    pub(crate) findings: Vec<Finding>,
}

/// An asset of which every byte was read.
#[derive(Debug)]
pub(crate) struct CheckedAsset {
    pub(crate) key: Key,
    /// What it is, where that can be read.
    pub(crate) manifest: Option<Manifest>,
    pub(crate) state: EntryState,
}

impl Checked {
    /// Whether an asset of the store is not what it was.
    pub(crate) fn has_broken(&self) -> bool {
        self.assets.iter().any(|it| !it.state.is_good())
    }
}

/// Verifies; the exit status.
pub(super) async fn run(arguments: &VerifyArguments) -> Result<u8, u8> {
    let root = &arguments.at.root;
    // Before the store is opened: whoever verifies wants to know of all.
    let leftovers = look_leftovers(root)?;
    let store = open_store(root)?;
    let allowed = &arguments.allow.allow;
    let mut checked = check(&store, root, &leftovers, allowed).await?;
    if checked.assets.is_empty() && !allowed.iter().any(|rule| rule == EMPTY_STORE) {
        checked.findings.push(empty(root));
    }
    match arguments.at.output {
        OutputFormat::Json => output::line(checked_json(&checked)),
        OutputFormat::Text => output::text(checked_text(&checked)),
    }
    match checked.has_broken() || !checked.findings.is_empty() {
        true => Ok(exit::NO),
        false => Ok(exit::DONE),
    }
}

/// An image without a seed passes only where that is meant.
fn empty(root: &Path) -> Finding {
    Finding {
        rule: EMPTY_STORE,
        path: root.join(STORE),
        what: "there is nothing to verify: the store has no assets".to_owned(),
        remedy: format!(
            "quake-agent seed build --root {}, or --allow {EMPTY_STORE} for an image without a seed",
            root.display()
        ),
    }
}

/// Reads every byte of the store, and looks at the image around it.
pub(super) async fn check(
    store: &AssetStore,
    root: &Path,
    leftovers: &[Leftover],
    allowed: &[String],
) -> Result<Checked, u8> {
    let assets = check_store(store, |_| true).await?;
    let mut findings = look_image(root, allowed);
    findings.extend(leftovers.iter().map(|leftover| Finding {
        rule: "store-leftover",
        path: leftover.path.clone(),
        what: format!("{} bytes of an interrupted fetch", leftover.bytes),
        remedy: format!("quake-agent store gc --yes --root {}", root.display()),
    }));
    Ok(Checked {
        root: root.to_owned(),
        assets,
        findings,
    })
}

/// Reads every byte of the assets that are wanted, and stamps those that are right.
pub(crate) async fn check_store(
    store: &AssetStore,
    is_wanted: impl Fn(&Key) -> bool,
) -> Result<Vec<CheckedAsset>, u8> {
    let entries = store.list().await.map_err(store_failed)?;
    let mut manifests: BTreeMap<Key, Manifest> = BTreeMap::new();
    for entry in entries {
        manifests.insert((entry.digest, entry.kind), entry.manifest);
    }
    let mut assets = Vec::new();
    for key in store.keys().await.map_err(store_failed)? {
        if is_wanted(&key) {
            assets.push(CheckedAsset {
                state: store.prove(&key).await.map_err(store_failed)?,
                manifest: manifests.remove(&key),
                key,
            });
        }
    }
    store.settle().await.map_err(store_failed)?;
    Ok(assets)
}
