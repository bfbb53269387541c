//! Seeds and bundles, as an image builder and as a program reads them.

use super::fault_json;
use super::table::{bytes_text, table};
use crate::commands::{Checked, CheckedAsset, Covered, SeedOutcome};
use quake_assets::{Bundled, EntryState, Key, Loaded};
use quake_host::hygiene::Finding;
use quake_model::digest::Digest;
use quake_model::spec::{AssetKind, AssetSpec};
use serde_json::{Value, json};
use std::fmt::Write;
use std::path::Path;

/// How many digits of a digest people are shown.
const SHORT_DIGITS: usize = 12;

pub(crate) fn short(digest: &Digest) -> String {
    let (algorithm, hex) = (digest.algorithm().name(), digest.hex());
    format!("{algorithm}:{}", &hex[..SHORT_DIGITS.min(hex.len())])
}

pub(crate) fn kind_name(kind: AssetKind) -> &'static str {
    match kind {
        AssetKind::Plain => "plain",
        AssetKind::Archive => "archive",
    }
}

/// The last segment of a URL.
pub(crate) fn name_of(url: &str) -> String {
    url.rsplit('/').next().unwrap_or(url).to_owned()
}

type Outcomes = [(AssetSpec, SeedOutcome)];

fn size_in(checked: &Checked, asset: &AssetSpec) -> Option<u64> {
    let key: Key = (asset.digest.clone(), asset.kind);
    let found = checked.assets.iter().find(|it| it.key == key)?;
    found.manifest.as_ref().map(|manifest| manifest.size)
}

fn outcome(brought: &SeedOutcome) -> (&'static str, &str) {
    match brought {
        SeedOutcome::Unchanged => ("unchanged", ""),
        SeedOutcome::Fetched(url) => ("fetched", url),
        SeedOutcome::Failed(fault) => ("failed", fault.code.entry().code),
    }
}

/// What a build did, as a table.
pub(crate) fn built_text(brought: &Outcomes, checked: &Checked) -> String {
    let row = |(asset, brought): &(AssetSpec, SeedOutcome)| {
        let (word, source) = outcome(brought);
        let size = size_in(checked, asset);
        [
            asset.name.clone(),
            short(&asset.digest),
            size.map_or_else(|| "-".to_owned(), bytes_text),
            word.to_owned(),
            source.to_owned(),
        ]
    };
    let rows = brought.iter().map(row).collect();
    table(["ASSET", "DIGEST", "SIZE", "OUTCOME", "SOURCE"], rows)
}

/// What a build did, with what the check after it found.
pub(crate) fn built_json(brought: &Outcomes, checked: &Checked) -> Value {
    let asset = |(asset, brought): &(AssetSpec, SeedOutcome)| {
        let (word, source) = outcome(brought);
        let fault = match brought {
            SeedOutcome::Failed(fault) => Some(fault_json(fault)),
            SeedOutcome::Unchanged | SeedOutcome::Fetched(_) => None,
        };
        json!({
            "name": asset.name,
            "digest": asset.digest.to_string(),
            "kind": kind_name(asset.kind),
            "size": size_in(checked, asset),
            "outcome": word,
            "source": (word == "fetched").then_some(source),
            "fault": fault,
        })
    };
    json!({
        "schemaVersion": "quake-agent/seed-build/v1",
        "assets": brought.iter().map(asset).collect::<Vec<_>>(),
        "store": checked.assets.iter().map(checked_asset_json).collect::<Vec<_>>(),
        "findings": checked.findings.iter().map(finding_json).collect::<Vec<_>>(),
    })
}

/// The word for how an asset stands.
pub(crate) fn state_name(state: &EntryState) -> &'static str {
    match state {
        EntryState::Trusted | EntryState::Proven => "good",
        EntryState::Broken(_) => "broken",
        EntryState::Absent => "incomplete",
    }
}

/// One asset of a checked store.
pub(crate) fn checked_asset_json(asset: &CheckedAsset) -> Value {
    let (digest, kind) = &asset.key;
    let manifest = asset.manifest.as_ref();
    let broken = match &asset.state {
        EntryState::Broken(path) => Some(path),
        EntryState::Trusted | EntryState::Proven | EntryState::Absent => None,
    };
    json!({
        "name": manifest.map(|it| name_of(&it.url)),
        "digest": digest.to_string(),
        "kind": kind_name(*kind),
        "size": manifest.map(|it| it.size),
        "state": state_name(&asset.state),
        "brokenFile": broken,
    })
}

fn finding_json(finding: &Finding) -> Value {
    json!({
        "rule": finding.rule,
        "path": finding.path.display().to_string(),
        "what": finding.what,
        "remedy": finding.remedy,
    })
}

/// What a check found, line by line.
pub(crate) fn checked_text(checked: &Checked) -> String {
    let mut text = String::new();
    for asset in checked.assets.iter().filter(|it| !it.state.is_good()) {
        let (digest, _) = &asset.key;
        let name = asset.manifest.as_ref().map(|it| name_of(&it.url));
        let name = name.unwrap_or_else(|| "an asset".to_owned());
        let word = state_name(&asset.state);
        let _ = writeln!(text, "finding: store-{word}: {name} ({})", short(digest));
        if let EntryState::Broken(path) = &asset.state {
            let _ = writeln!(text, "  path: {path}");
        }
        let (hex, root) = (digest.hex(), checked.root.display());
        let remedy = format!("quake-agent store verify --remove --root {root} {hex}");
        let _ = writeln!(text, "  fix: {remedy}");
    }
    for finding in &checked.findings {
        let (rule, what) = (finding.rule, &finding.what);
        let _ = writeln!(text, "finding: {rule}: {what}");
        let _ = writeln!(text, "  path: {}", finding.path.display());
        let _ = writeln!(text, "  fix: {}", finding.remedy);
    }
    let good = checked.assets.iter().filter(|it| it.state.is_good());
    let sizes = good.clone().filter_map(|it| it.manifest.as_ref());
    let bytes = bytes_text(sizes.map(|manifest| manifest.size).sum());
    let (good, all) = (good.count(), checked.assets.len());
    let findings = all - good + checked.findings.len();
    let _ = writeln!(
        text,
        "{good} of {all} assets proven ({bytes}), {findings} findings"
    );
    text
}

pub(crate) fn checked_json(checked: &Checked) -> Value {
    json!({
        "schemaVersion": "quake-agent/seed-verify/v1",
        "store": checked.assets.iter().map(checked_asset_json).collect::<Vec<_>>(),
        "findings": checked.findings.iter().map(finding_json).collect::<Vec<_>>(),
        "good": !checked.has_broken() && checked.findings.is_empty(),
    })
}

/// A whole number of per cent, rounded down so that only everything is a hundred.
fn per_cent(part: usize, whole: usize) -> usize {
    (part * 100).checked_div(whole).unwrap_or(100)
}

/// How much is in the store, as a table.
pub(crate) fn coverage_text(covered: &[Covered]) -> String {
    let row = |it: &Covered| {
        [
            it.asset.name.clone(),
            short(&it.asset.digest),
            it.held.map_or_else(|| "-".to_owned(), bytes_text),
            it.held.map_or("absent", |_| "held").to_owned(),
        ]
    };
    let mut text = table(
        ["ASSET", "DIGEST", "SIZE", "STORE"],
        covered.iter().map(row).collect(),
    );
    let held: Vec<u64> = covered.iter().filter_map(|it| it.held).collect();
    let _ = writeln!(
        text,
        "{} of {} assets held ({} %, {})",
        held.len(),
        covered.len(),
        per_cent(held.len(), covered.len()),
        bytes_text(held.iter().sum())
    );
    text
}

/// How much is in the store.
pub(crate) fn coverage_json(covered: &[Covered]) -> Value {
    let asset = |it: &Covered| {
        json!({
            "name": it.asset.name,
            "digest": it.asset.digest.to_string(),
            "kind": kind_name(it.asset.kind),
            "held": it.held.is_some(),
            "size": it.held,
        })
    };
    let held: Vec<u64> = covered.iter().filter_map(|it| it.held).collect();
    json!({
        "schemaVersion": "quake-agent/seed-show/v1",
        "assets": covered.iter().map(asset).collect::<Vec<_>>(),
        "held": held.len(),
        "wanted": covered.len(),
        "percent": per_cent(held.len(), covered.len()),
        "heldBytes": held.iter().sum::<u64>(),
    })
}

pub(crate) fn bundled_text(out: &Path, size: u64, contents: &[Bundled]) -> String {
    let row = |it: &Bundled| {
        let digest = short(&it.digest);
        [it.name.clone(), digest, bytes_text(it.size)]
    };
    let mut text = table(
        ["ASSET", "DIGEST", "SIZE"],
        contents.iter().map(row).collect(),
    );
    let (count, out) = (contents.len(), out.display());
    let _ = writeln!(text, "{count} assets in {out} ({})", bytes_text(size));
    text
}

pub(crate) fn bundled_json(out: &Path, size: u64, contents: &[Bundled]) -> Value {
    json!({
        "schemaVersion": "quake-agent/seed-bundle/v1",
        "bundle": out.display().to_string(),
        "size": size,
        "assets": contents,
    })
}

pub(crate) fn loaded_text(loaded: &[Loaded]) -> String {
    let row = |it: &Loaded| {
        let word = if it.was_held { "unchanged" } else { "loaded" };
        [
            it.asset.name.clone(),
            short(&it.asset.digest),
            bytes_text(it.asset.size),
            word.to_owned(),
        ]
    };
    let mut text = table(
        ["ASSET", "DIGEST", "SIZE", "OUTCOME"],
        loaded.iter().map(row).collect(),
    );
    let new = loaded.iter().filter(|it| !it.was_held).count();
    let _ = writeln!(text, "{new} of {} assets new", loaded.len());
    text
}

pub(crate) fn loaded_json(loaded: &[Loaded]) -> Value {
    let asset = |it: &Loaded| {
        json!({
            "name": it.asset.name,
            "digest": it.asset.digest.to_string(),
            "kind": kind_name(it.asset.kind),
            "size": it.asset.size,
            "outcome": if it.was_held { "unchanged" } else { "loaded" },
        })
    };
    json!({
        "schemaVersion": "quake-agent/seed-load/v1",
        "assets": loaded.iter().map(asset).collect::<Vec<_>>(),
        "new": loaded.iter().filter(|it| !it.was_held).count(),
    })
}
