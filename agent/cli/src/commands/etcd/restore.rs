//! `etcd restore`: the plan, a rehearsal, and the restore itself.

use super::health;
use super::source::{Place, place};
use crate::args::OutputFormat;
use crate::args::etcd::RestoreArguments;
use crate::commands::running::{fail, usage};
use crate::render::etcd::{RestoreShown, restore_json, restore_text};
use crate::{exit, output};
use quake_engine::restore::{
    MemberPlace, Prepared, RestoreFrom, RestoreQuestion, Restored, ask_etcd_manager, observe,
    prepare, rehearse, restore_member,
};
use quake_model::fault::{Code, Fault};
use quake_model::location::Location;
use quake_model::spec::{EtcdCluster, EtcdProvider};
use quake_volumes::restore::{Consent, MemberVolume, RestorePlan, plan_restore, refusal_fault};
use quake_volumes::{Slot, volume_at};

/// Plans, and rehearses or executes where that is asked for.
///
/// # Errors
///
/// Prints what is wrong and returns the exit status.
pub(super) async fn run(arguments: &RestoreArguments) -> Result<u8, u8> {
    let place = place(&arguments.cluster).await?;
    let etcd = place.cluster(&arguments.etcd)?.clone();
    let question = question(arguments, &place, &etcd).await;
    let mut shown = RestoreShown {
        snapshot: arguments.snapshot.clone(),
        replaces_healthy_quorum: arguments.replace_healthy_quorum,
        notes: notes(&question),
        ..RestoreShown::default()
    };
    let plan = if arguments.rehearse {
        let prepared = prepared(&place, &question).await?;
        let rehearsal = rehearse(&place.host, &prepared).await;
        shown.rehearsal = Some(rehearsal.map_err(|fault| fail(&fault))?);
        prepared.plan
    } else if arguments.execute {
        let prepared = prepared(&place, &question).await?;
        check_consent(arguments, &prepared.plan)?;
        let restored = execute(&place, &prepared).await;
        shown.restored = Some(restored.map_err(|fault| fail(&fault))?);
        prepared.plan
    } else {
        let facts = observe(&place.host, &question).await;
        let facts = facts.map_err(|fault| fail(&fault))?;
        plan_restore(&facts).map_err(|refusal| fail(&refusal_fault(&refusal)))?
    };
    match arguments.cluster.output {
        OutputFormat::Json => output::line(restore_json(&plan, &shown)),
        OutputFormat::Text => output::text(restore_text(&plan, &shown)),
    }
    Ok(exit::DONE)
}

/// What the reader should know about the facts.
fn notes(question: &RestoreQuestion) -> Vec<String> {
    let nobody =
        "no member of etcd was asked whether it is healthy: only a control-plane node can ask";
    let is_unknown = question.health.is_empty();
    is_unknown.then(|| nobody.to_owned()).into_iter().collect()
}

async fn question(
    arguments: &RestoreArguments,
    place: &Place,
    etcd: &EtcdCluster,
) -> RestoreQuestion {
    let facts = place.seen.facts.clone();
    let is_elsewhere = arguments.cluster.which.names_one();
    let health = match is_elsewhere {
        true => std::collections::BTreeMap::new(),
        false => health::ask(&facts, etcd, own_name(place, etcd).as_deref()).await,
    };
    RestoreQuestion {
        manifest: manifest(place, etcd),
        health,
        from: match (&arguments.backup, &arguments.snapshot) {
            (Some(name), _) => RestoreFrom::Backup(name.clone()),
            (None, Some(file)) => RestoreFrom::File(file.display().to_string()),
            (None, None) => RestoreFrom::Newest,
        },
        consent: Consent {
            // A rehearsal replaces nothing.
            replaces_healthy_quorum: arguments.replace_healthy_quorum || arguments.rehearse,
            etcdutl_in_place: arguments.etcdutl_in_place,
        },
        facts,
        etcd: etcd.clone(),
    }
}

/// The member whose volume this instance has.
fn own_name(place: &Place, etcd: &EtcdCluster) -> Option<String> {
    let me = place.seen.request.instance_id.as_deref()?;
    let held = place
        .seen
        .facts
        .volumes
        .iter()
        .filter(|it| it.is_held_by(me));
    let mut slots = held.filter_map(|volume| Slot::of_tags(&volume.tags));
    let own = slots.find(|slot| slot.etcd == etcd.name);
    own.map(|slot| slot.member)
}

/// The manifest of etcd-manager's pod of the first member (kops `pkg/model/components/etcdmanager`).
fn manifest(place: &Place, etcd: &EtcdCluster) -> Option<Location> {
    let managed = etcd.provider == EtcdProvider::Manager;
    let group = etcd
        .members
        .iter()
        .find_map(|it| it.instance_group.as_ref());
    let group = group.filter(|_| managed)?;
    let name = format!("manifests/etcd/{}-{group}.yaml", etcd.name);
    Some(place.base.join(&name))
}

async fn prepared(place: &Place, question: &RestoreQuestion) -> Result<Prepared, u8> {
    let prepared = prepare(&place.host, question).await;
    prepared.map_err(|fault| fail(&fault))
}

/// The words name the etcd cluster and the backup: a plan of another moment confirms nothing.
fn check_consent(arguments: &RestoreArguments, plan: &RestorePlan) -> Result<(), u8> {
    match &arguments.consent {
        Some(words) if *words == plan.consent => Ok(()),
        Some(words) => Err(usage(&format!(
            "--consent {words} is not about this restore, which is {}: read the plan again",
            plan.consent
        ))),
        None => Err(usage(&format!(
            "a restore replaces what etcd has; read the plan, then add: --consent {}",
            plan.consent
        ))),
    }
}

async fn execute(place: &Place, prepared: &Prepared) -> Result<Restored, Fault> {
    if prepared.plan.managed {
        return ask_etcd_manager(&place.host, prepared).await;
    }
    let own = own_member(place, &prepared.plan)?;
    let ec2 = place.seen.ec2.as_ref().ok_or_else(|| {
        let summary = "a recording stands for EC2, so no volume can be tagged";
        Fault::new(Code::StorageCloudUnreachable, summary)
    })?;
    restore_member(&place.host, ec2, prepared, &own).await
}

/// The member whose volume is mounted on this node.
fn own_member(place: &Place, plan: &RestorePlan) -> Result<MemberPlace, Fault> {
    let mounts = std::fs::read_to_string("/proc/self/mounts").unwrap_or_default();
    let targets: Vec<&str> = mounts
        .lines()
        .filter_map(|line| line.split(' ').nth(1))
        .collect();
    let me = place.seen.request.instance_id.as_deref();
    for member in &plan.members {
        let MemberVolume::One { id, instance, .. } = &member.facts.volume else {
            continue;
        };
        let mount = targets
            .iter()
            .find(|target| volume_at(target) == Some(id.as_str()));
        if let Some(mount) = mount
            && me.is_some()
            && instance.as_deref() == me
        {
            return Ok(MemberPlace {
                member: member.facts.name.clone(),
                volume: id.clone(),
                mount: (*mount).to_owned(),
            });
        }
    }
    let summary = format!("no volume of {} is mounted on this node", plan.etcd);
    let remedy = "run it on the node of each member; quake-agent etcd restore --plan names them";
    Err(Fault::new(Code::StorageMountGone, summary).remedied_by(remedy))
}
