//! Brings the container runtime up beside the downloads: its own archives are fetched, its own
//! files written, its unit started, while the rest is still fetched, installed and signed. Once it is up it pulls what the node
//! will surely need.
//!
//! It is a head start and nothing more: the phases of files and services plan all of it again. Whatever goes wrong here is
//! left to them, who name it.

use crate::boot::apply::apply;
use crate::boot::early_images::pull_early;
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
use std::sync::atomic::AtomicUsize;
use tokio::sync::Notify;

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
    let downloaded = Notify::new();
    let pulled = AtomicUsize::new(0);
    let first = async {
        let fetched = apply(context, Phase::Assets, &first).await?;
        let started = start_runtime(context, &digests).await?;
        if let Some((_, images)) = &started {
            // kubelet, which can start then, goes on with what is under way.
            tokio::select! {
                biased;
                () = downloaded.notified() => {}
                () = pull_early(context, images, spec.runtime.images(), &pulled) => {}
            }
        }
        Ok::<_, Fault>(fetched + started.map_or(0, |(changed, _)| changed))
    };
    let rest = async {
        let fetched = apply(context, Phase::Assets, &rest).await;
        downloaded.notify_one();
        fetched
    };
    let (early, others) = try_join(first, rest).await?;
    Ok(early + others + pulled.into_inner())
}

/// Brings the runtime up; returns how many steps changed something, and the images that the node will need. `None` where it did not
/// come up.
async fn start_runtime<H: Host>(
    context: &Context<'_, H>,
    digests: &BTreeSet<Digest>,
) -> Result<Option<(usize, Vec<String>)>, Fault> {
    let started = async {
        let (planned, images) = plan_runtime(context, digests).await?;
        remove_leftovers(context, &planned).await?;
        recall_owned(context, &planned).await;
        let changed = apply(context, Phase::Assets, &planned).await?;
        Ok::<_, Fault>((!planned.is_empty()).then_some((changed, images)))
    };
    match started.await {
        // It is met again, and told, where the node is configured and its units are started.
        Err(fault) if fault.code != Code::BootInterrupted => Ok(None),
        ended => ended,
    }
}

async fn plan_runtime<H: Assets + Files>(
    context: &Context<'_, H>,
    digests: &BTreeSet<Digest>,
) -> Result<(Vec<Step>, Vec<String>), Fault> {
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
    let planned = steps::runtime_first(&spec, &owners)?;
    Ok((planned, steps::early_images(&spec)))
}
