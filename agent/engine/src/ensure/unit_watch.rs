//! Watches a unit come up, and says what is wrong with one that does not.

use crate::context::{Context, lock};
use crate::ensure::glances::APART;
use crate::ensure::services;
use crate::resident::between;
use quake_model::facts::{ActiveState, UnitFacts};
use quake_model::fault::{Code, Fault};
use quake_model::ports::{Clock, Probes, Units};
use quake_node::readiness;
use quake_node::unit_health::{STEADY, UnitHealth, unit_health};
use std::sync::Mutex;
use std::time::Duration;
use tokio::time::Instant;

/// The clocks here and in systemd differ by less than this.
const LATER: Duration = Duration::from_millis(10);

/// What was seen of a unit in one wait, or since a node is ready.
#[derive(Default)]
pub(crate) struct Watched(Mutex<Seen>);

#[derive(Default)]
struct Seen {
    /// Since when it has been up without a restart; measured here, for the wall clock may step.
    up: Option<(u64, Instant)>,
    /// How many starts of its main process were seen, and the last of them.
    starts: u32,
    main_started_us: u64,
    /// Restarts before it was last found up; they say nothing of what comes after.
    restarts_before: u32,
    /// How its main process last ended; systemd forgets it at the next start.
    main_ended: Option<String>,
}

impl Seen {
    fn note(&mut self, found: &UnitFacts) {
        match found.active {
            ActiveState::Active => {
                let since = found.active_since_us;
                if self.up.is_none_or(|(seen, _)| seen != since) {
                    self.up = Some((since, Instant::now()));
                }
            }
            ActiveState::Activating
            | ActiveState::Deactivating
            | ActiveState::Reloading
            | ActiveState::Inactive
            | ActiveState::Failed => self.up = None,
        }
        if found.main_started_us != self.main_started_us {
            self.main_started_us = found.main_started_us;
            self.starts += 1;
        }
        if found.main_ended.is_some() {
            self.main_ended.clone_from(&found.main_ended);
        }
    }

    fn judge(&mut self, found: &UnitFacts, now_ms: u64, answers: bool) -> (UnitHealth, Duration) {
        self.note(found);
        let up = self.up.map_or(Duration::ZERO, |(since_us, first)| {
            Duration::from_millis(now_ms.saturating_sub(since_us / 1000)).max(first.elapsed())
        });
        // A unit that someone starts counts from zero again.
        self.restarts_before = self.restarts_before.min(found.restarts);
        let recent = UnitFacts {
            restarts: found.restarts - self.restarts_before,
            ..found.clone()
        };
        let health = unit_health(&recent, self.starts, up, answers);
        if health == UnitHealth::Up {
            self.restarts_before = found.restarts;
            self.starts = 1;
        }
        (health, up)
    }
}

/// Succeeds once the unit shows that it lives, or has stayed up for a while. One that is up is looked at again until then,
/// which is no try that failed.
pub(crate) async fn up<H: Units + Probes + Clock>(
    context: &Context<'_, H>,
    unit: &str,
    healthz: Option<&str>,
    watched: &Watched,
) -> Result<(), Fault> {
    loop {
        // Before the look: an answer may take as long as a unit has to stay up, and the look must not be older.
        let answers = match healthz {
            Some(url) => readiness::answers(url, &context.host.probe(url).await),
            None => false,
        };
        let found = services::look(context, unit).await?;
        let Some(left) = until_steady(context, &found, watched, answers) else {
            return check(context, &found, watched, answers).await;
        };
        context
            .pause(match healthz {
                Some(_) => left.min(between(APART, context.draw())),
                None => left,
            })
            .await?;
    }
}

/// How long a unit that is up, and does not show that it lives, has to stay so until it counts as up.
fn until_steady<H: Clock>(
    context: &Context<'_, H>,
    found: &UnitFacts,
    watched: &Watched,
    answers: bool,
) -> Option<Duration> {
    let (health, up) = lock(&watched.0).judge(found, context.host.now().0, answers);
    let is_up = health == UnitHealth::Coming && found.active == ActiveState::Active;
    is_up.then(|| STEADY.saturating_sub(up) + LATER)
}

/// Succeeds once the unit is neither coming up nor going down.
pub(crate) async fn settled<H: Units + Clock>(
    context: &Context<'_, H>,
    unit: &str,
    watched: &Watched,
) -> Result<(), Fault> {
    let found = services::look(context, unit).await?;
    match found.active {
        ActiveState::Activating | ActiveState::Deactivating | ActiveState::Reloading => {
            check(context, &found, watched, false).await
        }
        ActiveState::Active | ActiveState::Inactive | ActiveState::Failed => Ok(()),
    }
}

/// Fails unless the unit is up. The fault of one that does not stay up has its last journal lines.
async fn check<H: Units + Clock>(
    context: &Context<'_, H>,
    found: &UnitFacts,
    watched: &Watched,
    answers: bool,
) -> Result<(), Fault> {
    match assess(context, found, watched, answers) {
        (UnitHealth::Up, _) => Ok(()),
        (UnitHealth::Coming, fault) => Err(fault),
        (UnitHealth::Failing, fault) => {
            Err(services::with_journal(context, fault, &found.name).await)
        }
    }
}

/// The unit's health, and the fault that a unit has unless it is up.
pub(crate) fn assess<H: Clock>(
    context: &Context<'_, H>,
    found: &UnitFacts,
    watched: &Watched,
    answers: bool,
) -> (UnitHealth, Fault) {
    let mut seen = lock(&watched.0);
    let (health, up) = seen.judge(found, context.host.now().0, answers);
    let fault = match health {
        UnitHealth::Up | UnitHealth::Coming => {
            let fault = services::not_active(found, Code::ServicesUnitStarting);
            match found.active {
                ActiveState::Active => fault.seen("up for ms", up.as_millis()),
                ActiveState::Activating
                | ActiveState::Deactivating
                | ActiveState::Reloading
                | ActiveState::Inactive
                | ActiveState::Failed => fault,
            }
        }
        UnitHealth::Failing => does_not_stay_up(found, seen.main_ended.as_deref()),
    };
    (health, fault)
}

/// The fault of a unit that is down, or ends whenever it is started.
pub(crate) fn does_not_stay_up(found: &UnitFacts, main_ended: Option<&str>) -> Fault {
    let (unit, state) = (&found.name, format!("{:?}", found.active).to_lowercase());
    let what = match found.active {
        ActiveState::Inactive | ActiveState::Failed => "is down",
        ActiveState::Active
        | ActiveState::Activating
        | ActiveState::Deactivating
        | ActiveState::Reloading => "does not stay up",
    };
    let mut summary = format!("{unit} {what}: {state} ({})", found.sub_state);
    if let Some(ended) = main_ended {
        summary += &format!(", {ended}");
    }
    match found.restarts {
        0 => {}
        1 => summary += ", restarted once",
        times => summary += &format!(", restarted {times} times"),
    }
    let fault = Fault::new(Code::ServicesUnitFailed, summary)
        .seen("unit", unit)
        .seen("result", &found.result)
        .seen("restarts", found.restarts);
    let fault = match main_ended {
        Some(ended) => fault.seen("ended with", ended),
        None => fault,
    };
    fault.remedied_by(format!(
        "journalctl -b -u {unit} says why; fix that, then: systemctl restart {unit}"
    ))
}
