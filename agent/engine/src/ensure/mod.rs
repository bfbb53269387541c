//! Look, decide, act, look again: one function per action, by the grid's words.

pub(crate) mod assets;
pub(crate) mod batch;
pub(crate) mod certificates;
pub(crate) mod controller;
pub(crate) mod devices;
pub(crate) mod dns;
pub(crate) mod fetch_watch;
pub(crate) mod files;
pub(crate) mod glances;
pub(crate) mod images;
pub(crate) mod lifecycle;
pub(crate) mod network;
pub(crate) mod packages;
pub(crate) mod prefix;
pub(crate) mod ready;
pub(crate) mod retired;
pub(crate) mod services;
pub(crate) mod system;
pub(crate) mod unit_watch;
pub(crate) mod wait_for;

use crate::boot::storage;
use crate::context::Context;
use quake_model::fault::Fault;
use quake_model::outcome::Outcome;
use quake_model::ports::Host;
use quake_model::step::{Action, Step};

/// Brings one step about.
pub(crate) async fn ensure<H: Host>(
    context: &Context<'_, H>,
    step: &Step,
) -> Result<Outcome, Fault> {
    match &step.action {
        Action::FetchAsset(asset) => {
            assets::fetched(context, step, asset, assets::FETCH_DEADLINE).await
        }
        Action::FetchImage(image) => images::fetched(context, step, image).await,
        Action::ImportImage { image, runtime } => {
            images::imported(context, step, image, *runtime).await
        }
        Action::Place(place) => assets::placed(context, step, place).await,
        Action::MakeDirectory { path, mode, owner } => {
            files::directory(context, step, path, *mode, *owner).await
        }
        Action::WriteFile(file) => files::written(context, step, file).await,
        Action::LoadModule { name, .. } => network::module(context, step, name).await,
        Action::SetSysctl { key, value, .. } => network::sysctl(context, step, key, value).await,
        Action::AttachVolume(volume) => storage::attached(context, step, volume).await,
        Action::MakeFilesystem(volume) => {
            let attempt = || storage::formatted(context, step, volume);
            storage::when_free(context, step, volume, attempt).await
        }
        Action::MountVolume(volume) => {
            let attempt = || storage::mounted(context, step, volume);
            storage::when_free(context, step, volume, attempt).await
        }
        Action::StartUnit(unit) => {
            let begun = services::begun(context, step, unit).await?;
            services::held(context, step, unit, begun, None).await
        }
        Action::MakeLink(link) => system::link(context, step, link).await,
        Action::RetirePod(pod) => retired::retired(context, step, pod).await,
        Action::InstallPackages { sources, packages } => {
            packages::installed(context, step, sources, packages).await
        }
        Action::MakeUser(user) => system::user(context, step, user).await,
        Action::IssueCertificate(order) => certificates::issued(context, step, order).await,
        Action::RequestCertificates { orders } => {
            certificates::requested(context, step, orders).await
        }
        Action::React(reaction) => system::reacted(context, step, reaction).await,
        Action::MountDevice(volume) => devices::mounted(context, step, volume).await,
        Action::PullImage { name, runtime } => images::pulled(context, step, name, *runtime).await,
        Action::AssignPrefix => prefix::assigned(context, step).await,
        Action::PublishNames(names) => dns::published(context, step, names).await,
        Action::Await(condition) => ready::met(context, step, condition).await,
        Action::CompleteLifecycle(hook) => lifecycle::completed(context, step, hook).await,
    }
}
