//! `store`: what is in the store of assets, whether it is what it was, and what nothing wants any more.

use super::running::{fail, usage};
use super::seed::verify::check_store;
use super::seed::{look_leftovers, open_store, store_failed};
use crate::args::OutputFormat;
use crate::args::seed::RootArguments;
use crate::args::store::{GcArguments, StoreArguments, StoreVerb, StoreVerifyArguments};
use crate::exit;
use crate::output;
use crate::render::store::{
    Listed, collected_json, collected_text, listed_json, listed_text, proven_json, proven_text,
};
use quake_assets::{AssetStore, Collect, Key, SetName};
use quake_engine::when_unlocked;
use std::collections::{BTreeMap, BTreeSet};

/// Runs one of the verbs; the exit status.
pub(crate) async fn run(arguments: StoreArguments) -> u8 {
    let done = match arguments.verb {
        StoreVerb::List(arguments) => list(&arguments).await,
        StoreVerb::Verify(arguments) => verify(&arguments).await,
        StoreVerb::Gc(arguments) => collect(&arguments).await,
    };
    done.unwrap_or_else(|status| status)
}

async fn list(arguments: &RootArguments) -> Result<u8, u8> {
    let store = open_store(&arguments.root)?;
    let sets = sets(&store).await?;
    let wanted_by = |key: &Key| {
        let of = sets.iter().filter(|(_, set)| set.contains(key));
        of.map(|(name, _)| name.name()).collect()
    };
    let entries = store.list().await.map_err(store_failed)?.into_iter();
    let listed: Vec<Listed> = entries
        .map(|entry| Listed {
            wanted_by: wanted_by(&(entry.digest.clone(), entry.kind)),
            entry,
        })
        .collect();
    match arguments.output {
        OutputFormat::Json => output::line(listed_json(&listed)),
        OutputFormat::Text => output::text(listed_text(&listed)),
    }
    Ok(exit::DONE)
}

async fn sets(store: &AssetStore) -> Result<BTreeMap<SetName, BTreeSet<Key>>, u8> {
    let mut sets = BTreeMap::new();
    for name in SetName::ALL {
        if let Some(set) = store.set(name).await.map_err(store_failed)? {
            sets.insert(name, set);
        }
    }
    Ok(sets)
}

async fn verify(arguments: &StoreVerifyArguments) -> Result<u8, u8> {
    let store = open_store(&arguments.at.root)?;
    let keys = store.keys().await.map_err(store_failed)?;
    let is_named = |key: &Key, named: &str| {
        let digest = key.0.to_string();
        digest.starts_with(named) || key.0.hex().starts_with(named)
    };
    for named in &arguments.digests {
        if !keys.iter().any(|key| is_named(key, named)) {
            return Err(usage(&format!("nothing in the store is named {named}")));
        }
    }
    let is_wanted = |key: &Key| {
        let named = &arguments.digests;
        named.is_empty() || named.iter().any(|named| is_named(key, named))
    };
    let checked = check_store(&store, is_wanted).await?;
    let broken = checked.iter().filter(|it| !it.state.is_good());
    let broken: Vec<Key> = broken.map(|it| it.key.clone()).collect();
    if arguments.remove {
        for key in &broken {
            store.remove(key).await.map_err(store_failed)?;
        }
    }
    match arguments.at.output {
        OutputFormat::Json => output::line(proven_json(&checked, arguments.remove)),
        OutputFormat::Text => output::text(proven_text(&checked, arguments.remove)),
    }
    match broken.is_empty() || arguments.remove {
        true => Ok(exit::DONE),
        false => Ok(exit::NO),
    }
}

async fn collect(arguments: &GcArguments) -> Result<u8, u8> {
    let root = &arguments.at.root;
    // Opening the store clears what was staged away: it is told all the same.
    let found = look_leftovers(root)?;
    let store = open_store(root)?;
    let act = match arguments.yes {
        true => Collect::Remove,
        false => Collect::Show,
    };
    let collected = when_unlocked(|| store.collect(act)).await;
    let mut collection = collected.map_err(|fault| fail(&fault))?;
    collection.leftovers = found;
    match arguments.at.output {
        OutputFormat::Json => output::line(collected_json(&collection, arguments.yes)),
        OutputFormat::Text => output::text(collected_text(&collection, arguments.yes)),
    }
    Ok(exit::DONE)
}
