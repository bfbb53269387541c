//! Brings the container runtime up beside the downloads: its own archives are fetched, its own
//! files written, its unit started, while the rest is still fetched, installed and signed.
//!
//! It is a head start and nothing more: the phases of files and services plan all of it again. Whatever goes wrong here is
//! left to them, who name it.

use crate::boot::apply::apply;
use crate::boot::facts::BootFacts;
use crate::boot::managed_files::recall_owned;
use crate::boot::observe::remove_leftovers;
use crate::context::Context;
use crate::ensure::files;
use futures_util::future::try_join;
use quake_model::digest::Digest;
use quake_model::fault::{Code, Fault};
use quake_model::phase::Phase;
use quake_model::ports::{Assets, Files, Host};
use quake_model::step::{Action, Step};
use quake_node::steps::{self, Owners};
use std::collections::BTreeSet;

/// Applies the steps of the downloads, and the head start beside them where the node allows it.
pub(crate) async fn apply_assets<H: Host>(
    context: &Context<'_, H>,
    steps: &[Step],
) -> Result<usize, Fault> {
    let spec = context.know(BootFacts::spec)?;
    let Some(digests) = steps::runtime_assets(&spec).filter(|_| !context.is_planning()) else {
        return apply(context, Phase::Assets, steps).await;
    };
    let is_first = |step: &&Step| match &step.action {
        Action::FetchAsset(asset) => digests.contains(&asset.digest),
        _ => false,
    };
    let (first, rest): (Vec<Step>, Vec<Step>) =
        steps.iter().cloned().partition(|step| is_first(&step));
    let first = async {
        let fetched = apply(context, Phase::Assets, &first).await?;
        Ok::<_, Fault>(fetched + start_runtime(context, &digests).await?)
    };
    let (early, others) = try_join(first, apply(context, Phase::Assets, &rest)).await?;
    Ok(early + others)
}

/// Brings the runtime up; returns how many steps changed something.
async fn start_runtime<H: Host>(
    context: &Context<'_, H>,
    digests: &BTreeSet<Digest>,
) -> Result<usize, Fault> {
    let started = async {
        let planned = plan_runtime(context, digests).await?;
        remove_leftovers(context, &planned).await?;
        recall_owned(context, &planned).await;
        apply(context, Phase::Assets, &planned).await
    };
    match started.await {
        // It is met again, and told, where the node is configured and its units are started.
        Err(fault) if fault.code != Code::BootInterrupted => Ok(0),
        ended => ended,
    }
}

async fn plan_runtime<H: Assets + Files>(
    context: &Context<'_, H>,
    digests: &BTreeSet<Digest>,
) -> Result<Vec<Step>, Fault> {
    let node = context.know(BootFacts::node)?;
    let mut known = context.know(BootFacts::known)?;
    for digest in digests {
        // A program that is no archive has none.
        if let Ok(listed) = context.host.list_members(digest).await {
            known.members.insert(digest.clone(), listed);
        }
    }
    let spec = node.spec(&known)?;
    let owners = Owners::read(
        &spec,
        &files::text(context, "/etc/passwd").await?,
        &files::text(context, "/etc/group").await?,
    );
    steps::runtime_first(&spec, &owners)
}
