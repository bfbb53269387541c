//! `etcd backups`: what is in the backup stores, and whether one of it can be restored.

use super::source::{Place, place};
use crate::args::OutputFormat;
use crate::args::etcd::BackupsArguments;
use crate::commands::running::{fail, usage};
use crate::render::etcd::{ListedStore, Verified, backups_json, backups_text};
use crate::{exit, output};
use quake_engine::restore::{
    Prepared, RestoreFrom, RestoreQuestion, list_backups, prepare, rehearse,
};
use quake_host::clock::SystemClock;
use quake_model::fault::{Code, Fault};
use quake_model::ports::Clock;
use quake_model::spec::EtcdCluster;
use quake_volumes::restore::Consent;
use std::collections::BTreeMap;

/// Lists, and verifies the backup that is named.
///
/// # Errors
///
/// Prints what is wrong and returns the exit status.
pub(super) async fn run(arguments: &BackupsArguments) -> Result<u8, u8> {
    let place = place(&arguments.cluster).await?;
    let wanted = match &arguments.etcd {
        Some(name) => vec![place.cluster(name)?.clone()],
        None => place.etcd.clone(),
    };
    let mut stores = Vec::new();
    for etcd in wanted {
        let listed = match &etcd.backup_store {
            Some(store) => {
                let named = arguments.verify.as_deref();
                let listed = list_backups(&place.host, store, arguments.limit, named).await;
                listed.map_err(|fault| fail(&fault))?
            }
            None => quake_engine::restore::Listed::default(),
        };
        stores.push(ListedStore { etcd, listed });
    }
    let verified = match &arguments.verify {
        Some(name) => Some(verify(&place, &stores, name).await?),
        None => None,
    };
    let (cluster, now) = (&place.seen.facts.cluster, SystemClock.now());
    match arguments.cluster.output {
        OutputFormat::Json => output::line(backups_json(cluster, &stores, verified.as_ref(), now)),
        OutputFormat::Text => output::text(backups_text(&stores, verified.as_ref(), now)),
    }
    Ok(exit::DONE)
}

/// Verifies a backup of the only etcd cluster that has one of this name.
async fn verify(place: &Place, stores: &[ListedStore], name: &str) -> Result<Verified, u8> {
    let has_it = |store: &&ListedStore| {
        let mut backups = store.listed.backups.iter();
        backups.any(|backup| backup.name == name)
    };
    let holders = stores.iter().filter(has_it).map(|store| &store.etcd);
    let holders: Vec<&EtcdCluster> = holders.collect();
    let etcd = match holders.as_slice() {
        [only] => *only,
        [] => {
            let summary = format!("there is no backup {name}");
            return Err(fail(&Fault::new(Code::EtcdBackupMissing, summary)));
        }
        several => {
            let names: Vec<&str> = several.iter().map(|etcd| etcd.name.as_str()).collect();
            let names = names.join(", ");
            return Err(usage(&format!(
                "{names} have a backup {name}; name one: --etcd NAME"
            )));
        }
    };
    let prepared = prepared(place, etcd, name).await;
    let prepared = prepared.map_err(|fault| fail(&fault))?;
    let snapshot = prepared.facts.snapshot.clone().and_then(Result::ok);
    let rehearsed = match rehearse(&place.host, &prepared).await {
        Ok(rehearsal) => Ok(rehearsal),
        // The checksum is proven nevertheless.
        Err(fault) if fault.code == Code::EtcdProgramsMissing => Err(fault),
        Err(fault) => return Err(fail(&fault)),
    };
    Ok(Verified {
        etcd: etcd.name.clone(),
        backup: name.to_owned(),
        snapshot: snapshot.unwrap_or_default(),
        rehearsed,
    })
}

async fn prepared(place: &Place, etcd: &EtcdCluster, name: &str) -> Result<Prepared, Fault> {
    let question = RestoreQuestion {
        facts: place.seen.facts.clone(),
        etcd: etcd.clone(),
        manifest: None,
        health: BTreeMap::new(),
        from: RestoreFrom::Backup(name.to_owned()),
        // Nothing is replaced: the snapshot alone is looked at.
        consent: Consent {
            replaces_healthy_quorum: true,
            etcdutl_in_place: true,
        },
    };
    prepare(&place.host, &question).await
}
