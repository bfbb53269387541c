//! Ends the pauses of a wait early, where this machine itself shows that the next look may succeed. A directory is watched; a
//! port, a pod or a unit is glanced at. What another machine brings about has the pauses of the wait alone.

use crate::context::Context;
use crate::ensure::{ready, services, wait_for};
use crate::resident::between;
use quake_model::facts::ActiveState;
use quake_model::fault::Fault;
use quake_model::ports::{DirectoryWatch, Files, Probes, Units};
use quake_model::step::Condition;
use quake_node::readiness::answers;
use std::time::Duration;
use tokio::sync::Mutex;
use tokio::time::Instant;

/// How often something of this machine is glanced at, shortest and longest. A guess: a glance costs one local call, and a
/// node is to be ready 0.3 s after its last component answers.
pub(crate) const APART: (Duration, Duration) =
    (Duration::from_millis(100), Duration::from_millis(200));

/// The same once a wait has lasted long, for what costs more: files are read, or a TLS connection is made.
const LATER_APART: (Duration, Duration) = (Duration::from_millis(250), Duration::from_millis(500));

/// When a wait has lasted long. A guess: most pods run by then.
const LONG: Duration = Duration::from_secs(30);

/// How soon after a change of a directory the next one counts. A guess: some program may write there without end.
const CHANGES_APART: Duration = Duration::from_millis(100);

/// Glances at what a condition is about.
pub(crate) struct Glances<'a, W> {
    condition: &'a Condition,
    /// A watch on the directory that the condition is about. `None` if there is none, or the kernel has no watch left: then
    /// it is glanced at.
    watch: Mutex<Option<W>>,
    began: Instant,
}

/// Begins to watch. The first look comes after it, so no change between the two is missed.
pub(crate) async fn begin<'a, H: Files>(
    context: &'a Context<'_, H>,
    condition: &'a Condition,
) -> Glances<'a, impl DirectoryWatch> {
    let watch = match condition {
        Condition::CniConfigured { directory } | Condition::PodNetwork { directory, .. } => {
            context.host.watch_directory(directory).await.ok()
        }
        _ => None,
    };
    Glances {
        condition,
        watch: Mutex::new(watch),
        began: Instant::now(),
    }
}

impl<W: DirectoryWatch> Glances<'_, W> {
    /// Returns once the next look may succeed.
    pub(crate) async fn until_worth_it<H: Files + Units + Probes>(&self, context: &Context<'_, H>) {
        while self.due(context).await.is_ok() {
            match self.glance(context).await {
                Some(true) => return,
                Some(false) if self.watch.lock().await.is_some() => {
                    if context.pause(CHANGES_APART).await.is_err() {
                        break;
                    }
                }
                Some(false) => {}
                None => break,
            }
        }
        std::future::pending::<()>().await;
    }

    /// Returns when the next glance is due.
    async fn due<H>(&self, context: &Context<'_, H>) -> Result<(), Fault> {
        let mut watch = self.watch.lock().await;
        if let Some(begun) = watch.as_mut() {
            if begun.changed().await.is_ok() {
                return Ok(());
            }
            *watch = None;
        }
        context.pause(between(self.apart(), context.draw())).await
    }

    fn apart(&self) -> (Duration, Duration) {
        let costs_more = matches!(
            self.condition,
            Condition::PodRuns { .. }
                | Condition::CniConfigured { .. }
                | Condition::PodNetwork { .. }
                | Condition::NodeRegistered { .. }
        );
        match costs_more && self.began.elapsed() > LONG {
            true => LATER_APART,
            false => APART,
        }
    }

    /// Whether the next look may succeed; `None` for what another machine brings about, or what has a pace of its own.
    async fn glance<H: Files + Units + Probes>(&self, context: &Context<'_, H>) -> Option<bool> {
        Some(match self.condition {
            Condition::Healthy { url, .. } => answers(url, &context.host.probe(url).await),
            Condition::CniConfigured { directory } => {
                ready::cni_configured(context, directory).await.is_ok()
            }
            Condition::PodNetwork { directory, network } => {
                let judged = wait_for::judge_network(context, directory, network).await;
                judged.is_ok()
            }
            Condition::RuntimeAnswers { .. } => context.host.ask_runtime().await.is_ok(),
            Condition::PodRuns { pod } => wait_for::pod_runs(context, pod).await,
            Condition::NodeRegistered { node, kubeconfig } => {
                return wait_for::registered_here(context, node, kubeconfig).await;
            }
            Condition::UnitActive { unit, healthz } => match healthz {
                Some(url) => {
                    answers(url, &context.host.probe(url).await)
                        && is_up_at_first(context, unit).await
                }
                None => is_up_at_first(context, unit).await,
            },
            Condition::OwnTags { .. } | Condition::NamesInSync { .. } => return None,
        })
    }
}

/// Whether a unit that nothing was wrong with yet is up. One that ends again and again is up for moments, and has the pauses of
/// the wait.
async fn is_up_at_first<H: Units>(context: &Context<'_, H>, unit: &str) -> bool {
    let found = services::look(context, unit).await;
    found.is_ok_and(|found| found.active == ActiveState::Active && found.restarts == 0)
}

/// Returns once a unit is no longer on its way up or down.
pub(crate) async fn until_unit_settles<H: Units>(context: &Context<'_, H>, unit: &str) {
    until(context, async || {
        let found = services::look(context, unit).await;
        found.is_ok_and(|found| {
            !matches!(
                found.active,
                ActiveState::Activating | ActiveState::Deactivating | ActiveState::Reloading
            )
        })
    })
    .await;
}

/// Returns once the runtime answers.
pub(crate) async fn until_runtime_answers<H: Probes>(context: &Context<'_, H>) {
    until(context, async || context.host.ask_runtime().await.is_ok()).await;
}

/// Glances until it is so, or without end where the boot is told to stop: whoever waits ends by itself then.
pub(crate) async fn until<H>(context: &Context<'_, H>, mut is_so: impl AsyncFnMut() -> bool) {
    while context.pause(between(APART, context.draw())).await.is_ok() {
        if is_so().await {
            return;
        }
    }
    std::future::pending::<()>().await;
}
