//! Holds container images in the runtime: each archive is imported once, and only if the runtime lacks what it holds.

use crate::context::Context;
use crate::ensure::{assets, glances};
use crate::fault_mapping::{Operation, to_fault};
use crate::retry::Wait;
use quake_model::fault::{Code, Fault};
use quake_model::outcome::Outcome;
use quake_model::ports::{Assets, Images, Meter, PortError, Probes};
use quake_model::spec::{ArchivedImage, ImageRuntime, ImageSpec};
use quake_model::step::{Need, Step};
use std::time::Duration;

/// How long the fetch of an archive may take that kubelet could do without. A guess: a mirror that is down must not
/// hold up a node for long.
const OPTIONAL_FETCH_DEADLINE: Duration = Duration::from_secs(2 * 60);

/// How long the pull of an image may take, all tries together. A guess: a gigabyte over a slow link, and kops gives an instance
/// ten minutes to warm up.
const PULL_DEADLINE: Duration = Duration::from_secs(5 * 60);

/// How long the runtime may be silent once its unit is active. A guess: both answer within a second.
const RUNTIME_DEADLINE: Duration = Duration::from_secs(30);

/// Holds an archive in the store.
pub(crate) async fn fetched<H: Assets + Meter + Sync>(
    context: &Context<'_, H>,
    step: &Step,
    image: &ImageSpec,
) -> Result<Outcome, Fault> {
    let longest = match image.need {
        Need::Required => assets::FETCH_DEADLINE,
        Need::Optional => OPTIONAL_FETCH_DEADLINE,
    };
    assets::fetched(context, step, &image.archive, longest).await
}

/// Holds the images of an archive in the runtime. The import itself is tried once: what comes of it is looked at, and
/// what it left out is kubelet's to pull.
pub(crate) async fn imported<H: Assets + Images + Probes + Meter>(
    context: &Context<'_, H>,
    step: &Step,
    image: &ImageSpec,
    runtime: ImageRuntime,
) -> Result<Outcome, Fault> {
    let fault = |error| about(error, image, runtime);
    let archive = &image.archive.digest;
    let held = match context.host.look_archive(archive).await {
        Ok(archived) => archived,
        // A plan may come before the fetch.
        Err(_) if context.is_planning() => return Ok(Outcome::WouldChange),
        Err(error) => return Err(fault(error)),
    };
    let wait = context.wait(step.phase, &step.id, RUNTIME_DEADLINE);
    if context.is_planning() {
        return Ok(match has_all(context, runtime, &held).await {
            Ok(true) => Outcome::Unchanged,
            // The runtime may not run yet.
            Ok(false) | Err(_) => Outcome::WouldChange,
        });
    }
    let look = async |wait: &Wait| {
        let look = || async { has_all(context, runtime, &held).await.map_err(fault) };
        let early = || glances::until_runtime_answers(context);
        context.retry_early(wait, look, early).await
    };
    if look(&wait).await? {
        return Ok(Outcome::Unchanged);
    }
    // Nothing but proven bytes goes into the runtime.
    if !context
        .host
        .has_asset(&image.archive)
        .await
        .map_err(fault)?
    {
        let summary = format!("the store has no sound archive of {}", image.name);
        return Err(Fault::new(Code::ServicesImageFailed, summary).seen("archive", archive));
    }
    context.announce(step);
    // An import that is cut short leaves nothing that looks whole, so a stop need not wait for it.
    let imported = tokio::select! {
        biased;
        imported = context.host.import_images(runtime, archive) => imported,
        fault = context.stopped() => return Err(fault),
    };
    let wait = context.wait(step.phase, &step.id, RUNTIME_DEADLINE);
    match (look(&wait).await?, imported) {
        (true, _) => Ok(Outcome::Changed),
        (false, Err(error)) => Err(fault(error)),
        (false, Ok(())) => {
            let summary = format!(
                "{} took the archive of {} and does not show its image",
                runtime.name(),
                image.name
            );
            Err(Fault::new(Code::ServicesImageFailed, summary).seen("archive", archive))
        }
    }
}

/// Holds an image in the runtime that it pulls by itself. A pull that fails is tried again for a while; then kubelet will
/// have to pull it when it is asked for.
pub(crate) async fn pulled<H: Images + Probes + Meter>(
    context: &Context<'_, H>,
    step: &Step,
    name: &str,
    runtime: ImageRuntime,
) -> Result<Outcome, Fault> {
    let fault = |attempted, error| {
        let fault = to_fault(attempted, error).seen("image", name);
        fault.seen("runtime", runtime.name())
    };
    let look = async |wait: &Wait| {
        let look = || async {
            let found = context.host.has_named(runtime, name).await;
            found.map_err(|error| fault(Operation::UseImage, error))
        };
        let early = || glances::until_runtime_answers(context);
        context.retry_early(wait, look, early).await
    };
    if context.is_planning() {
        let found = context.host.has_named(runtime, name).await;
        return Ok(match found {
            Ok(true) => Outcome::Unchanged,
            // The runtime may not run yet.
            Ok(false) | Err(_) => Outcome::WouldChange,
        });
    }
    let wait = context.wait(step.phase, &step.id, RUNTIME_DEADLINE);
    if look(&wait).await? {
        return Ok(Outcome::Unchanged);
    }
    context.announce(step);
    let wait = context.wait(step.phase, &step.id, PULL_DEADLINE);
    let pull = || async {
        // A pull that is cut short leaves nothing that looks whole, so a stop need not wait for it.
        tokio::select! {
            biased;
            pulled = context.host.pull_image(runtime, name) => {
                pulled.map_err(|error| fault(Operation::PullImage, error))
            }
            fault = context.stopped() => Err(fault),
        }
    };
    context.retry(&wait, pull).await?;
    let wait = context.wait(step.phase, &step.id, RUNTIME_DEADLINE);
    match look(&wait).await? {
        true => Ok(Outcome::Changed),
        false => {
            let summary = format!("{} pulled {name} and does not show it", runtime.name());
            Err(Fault::new(Code::ServicesPullFailed, summary).seen("image", name))
        }
    }
}

/// Whether the runtime has every image of an archive.
async fn has_all<H: Images>(
    context: &Context<'_, H>,
    runtime: ImageRuntime,
    archived: &[ArchivedImage],
) -> Result<bool, PortError> {
    for image in archived {
        if !context.host.has_image(runtime, image).await? {
            return Ok(false);
        }
    }
    Ok(true)
}

fn about(error: PortError, image: &ImageSpec, runtime: ImageRuntime) -> Fault {
    to_fault(Operation::UseImage, error)
        .seen("image", &image.name)
        .seen("archive", &image.archive.digest)
        .seen("runtime", runtime.name())
}
