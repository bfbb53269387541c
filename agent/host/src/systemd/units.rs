//! Units over the bus. A start or restart is done when systemd says that its job is, not when it was
//! queued; whether the unit then stays up is for another look.

use super::bus::{Bus, Properties};
use super::facts::{Read, text, text_of, unit_facts};
use super::journal::{read_journal, read_timed_journal};
use futures_util::StreamExt;
use futures_util::future::join_all;
use quake_model::facts::UnitFacts;
use quake_model::ports::{Condition, JobKind, PortError, ReportJob, UnitJob, Units};
use std::collections::BTreeSet;
use std::time::Duration;
use zbus::{MessageStream, OwnedObjectPath, Variant};

pub(super) const UNIT: &str = "org.freedesktop.systemd1.Unit";

/// How long a job may run. systemd's own limit for a start is 90 s unless the unit says otherwise, and
/// then the job ends; one that is still running after this is reported with what is seen of it.
const JOB_DEADLINE: Duration = Duration::from_secs(90);

/// Journal lines shown as evidence of a failed job.
const EVIDENCE_LINES: usize = 20;

/// Jobs of a batch whose ends were not reported, by their place in it.
type Open = BTreeSet<usize>;

/// systemd on the system bus. The connection is made at the first call and kept.
#[derive(Debug, Default)]
pub struct Systemd {
    pub(super) bus: Bus,
}

impl Systemd {
    /// systemd of this machine; `DBUS_SYSTEM_BUS_ADDRESS` names another bus.
    pub fn new() -> Self {
        Self::default()
    }

    /// Asks for a start and does not wait for its end, as `systemctl start --no-block` does.
    ///
    /// # Errors
    ///
    /// As [`Units::reload_units`]; and systemd's refusal, as of a unit that is masked.
    pub async fn queue_start(&self, unit: &str) -> Result<(), PortError> {
        let _: OwnedObjectPath = self.bus.manage("StartUnit", &(unit, "replace")).await?;
        Ok(())
    }

    /// The same for a restart, as `systemctl restart --no-block` does.
    ///
    /// # Errors
    ///
    /// As [`Systemd::queue_start`].
    pub async fn queue_restart(&self, unit: &str) -> Result<(), PortError> {
        let _: OwnedObjectPath = self.bus.manage("RestartUnit", &(unit, "replace")).await?;
        Ok(())
    }

    /// Whether a job of the unit is queued or runs, such as a start that somebody asked for.
    ///
    /// # Errors
    ///
    /// As [`Units::reload_units`].
    pub async fn has_job(&self, unit: &str) -> Result<bool, PortError> {
        let path: OwnedObjectPath = self.bus.manage("LoadUnit", &unit).await?;
        // A pair of the job's number and its path; zero when there is none.
        let job = self.bus.property(&path, UNIT, "Job").await?;
        Ok(match Variant::from(job) {
            Variant::Structure(pair) => pair.fields().first() != Some(&Variant::U32(0)),
            _ => false,
        })
    }

    /// systemd on the bus at a D-Bus address, such as `unix:path=/run/dbus/system_bus_socket`.
    pub fn at(address: &str) -> Self {
        Self {
            bus: Bus::at(address),
        }
    }
}

impl Units for Systemd {
    async fn look_unit(&self, unit: &str) -> Result<UnitFacts, PortError> {
        let path: OwnedObjectPath = self.bus.manage("LoadUnit", &unit).await?;
        let properties = self.bus.properties(&path, UNIT).await?;
        // Not the property `UnitFileState`: systemd keeps that from before the unit was enabled until it
        // reads all unit files again, and an agent that enables twenty units reads them once.
        let file_state = match self.bus.manage("GetUnitFileState", &unit).await {
            Ok(state) => state,
            Err(error) if error.condition == Condition::Unreachable => return Err(error),
            Err(_) => String::new(),
        };
        let read = Read {
            kind: self.kind(unit, &path).await?,
            unit: properties,
            file_state,
        };
        Ok(unit_facts(unit, &read))
    }

    async fn reload_units(&self) -> Result<(), PortError> {
        self.bus.manage("Reload", &()).await
    }

    async fn enable_units(&self, units: &[String]) -> Result<(), PortError> {
        // For good, not until the next reboot; and links that an image left to another file of the same
        // name are replaced, as `systemctl enable --force` does.
        let (for_this_boot_only, replace_links) = (false, true);
        let body = (units, for_this_boot_only, replace_links);
        let _: (bool, Vec<(String, String, String)>) =
            self.bus.manage("EnableUnitFiles", &body).await?;
        Ok(())
    }

    async fn disable_units(&self, units: &[String]) -> Result<(), PortError> {
        let for_this_boot_only = false;
        let body = (units, for_this_boot_only);
        let _: Vec<(String, String, String)> = self.bus.manage("DisableUnitFiles", &body).await?;
        Ok(())
    }

    async fn run_jobs(&self, jobs: &[UnitJob], report: ReportJob<'_>) {
        let mut open: Open = (0..jobs.len()).collect();
        let Err(error) = self.run(jobs, &mut open, report).await else {
            return;
        };
        for index in open {
            report(index, Err(error.clone()));
        }
    }

    async fn read_journal(&self, unit: &str, lines: usize) -> Result<Vec<String>, PortError> {
        read_journal(unit, lines).await
    }
}

impl Systemd {
    /// The last lines of a unit in this boot with their times.
    pub(crate) async fn timed_journal(
        &self,
        unit: &str,
        lines: usize,
    ) -> Result<Vec<String>, PortError> {
        read_timed_journal(unit, lines).await
    }

    /// The properties of the unit's own kind; empty for a kind of which nothing is read.
    async fn kind(&self, unit: &str, path: &OwnedObjectPath) -> Result<Properties, PortError> {
        let Some(interface) = interface_with_result(unit) else {
            return Ok(Properties::new());
        };
        match self.bus.properties(path, interface).await {
            Ok(properties) => Ok(properties),
            Err(error) if error.condition == Condition::Unreachable => Err(error),
            Err(_) => Ok(Properties::new()),
        }
    }

    /// Makes jobs and waits for their results; takes each that was reported out of `open`.
    ///
    /// # Errors
    ///
    /// What ended the wait for all that are left.
    async fn run(
        &self,
        jobs: &[UnitJob],
        open: &mut Open,
        report: ReportJob<'_>,
    ) -> Result<(), PortError> {
        let mut ended = self.bus.ended_jobs().await?;
        let mut paths: Vec<Option<OwnedObjectPath>> = Vec::new();
        for (index, queued) in self.queue(jobs).await.into_iter().enumerate() {
            match queued {
                Ok(path) => paths.push(Some(path)),
                Err(error) => {
                    paths.push(None);
                    open.remove(&index);
                    report(index, Err(error));
                }
            }
        }
        let deadline = tokio::time::Instant::now() + JOB_DEADLINE;
        while !open.is_empty() {
            let Ok(next) = tokio::time::timeout_at(deadline, next_end(&mut ended)).await else {
                self.report_running(jobs, open, report).await;
                return Ok(());
            };
            let Some((path, result)) = next else {
                let summary = "the system bus was lost while units came up";
                return Err(PortError::new(Condition::Unreachable, summary));
            };
            // Of two jobs for one unit systemd makes one.
            let ours = |index: &usize| paths.get(*index) == Some(&Some(path.clone()));
            let done: Vec<usize> = open.iter().copied().filter(ours).collect();
            for index in done {
                open.remove(&index);
                let ended = match jobs.get(index) {
                    Some(job) if !is_success(&result) => Err(self.failure(job, &result).await),
                    Some(_) | None => Ok(()),
                };
                report(index, ended);
            }
        }
        Ok(())
    }

    /// Asks for all jobs before any answer is awaited. The bus keeps the order of what one connection sends; systemd
    /// may still start the first before it is asked for the last.
    async fn queue(&self, jobs: &[UnitJob]) -> Vec<Result<OwnedObjectPath, PortError>> {
        let asks = jobs.iter().map(|job| async {
            let method = match job.kind {
                JobKind::Start => "StartUnit",
                JobKind::Restart => "RestartUnit",
                JobKind::Stop => "StopUnit",
            };
            // `replace`: a job that contradicts this one, such as a stop under way, gives way.
            self.bus.manage(method, &(&job.unit, "replace")).await
        });
        join_all(asks).await
    }

    /// The error of a job that ended otherwise than well.
    async fn failure(&self, job: &UnitJob, result: &str) -> PortError {
        let condition = match result {
            "timeout" => Condition::TimedOut,
            _ => Condition::Io,
        };
        let verb = verb(job.kind);
        let summary = format!("the job to {verb} {} ended as {result}", job.unit);
        self.with_evidence(PortError::new(condition, summary), &job.unit)
            .await
    }

    /// Reports the jobs that still run at the deadline.
    async fn report_running(&self, jobs: &[UnitJob], open: &mut Open, report: ReportJob<'_>) {
        for index in std::mem::take(open) {
            let Some(job) = jobs.get(index) else { continue };
            let (unit, seconds) = (&job.unit, JOB_DEADLINE.as_secs());
            let verb = verb(job.kind);
            let summary = format!("the job to {verb} {unit} still ran after {seconds} s");
            let error = PortError::new(Condition::TimedOut, summary);
            report(index, Err(self.with_evidence(error, unit).await));
        }
    }

    /// Adds what systemd and the journal show of the unit; what cannot be read is left out.
    async fn with_evidence(&self, mut error: PortError, unit: &str) -> PortError {
        if let Ok(facts) = self.look_unit(unit).await {
            let state = format!("{:?} ({})", facts.active, facts.sub_state).to_lowercase();
            error = error.seen("state", state).seen("result", facts.result);
        }
        if let Some(reason) = self.load_error(unit).await {
            error = error.seen("load-error", reason);
        }
        match read_journal(unit, EVIDENCE_LINES).await {
            Ok(lines) if !lines.is_empty() => error.seen("journal", lines.join("\n")),
            Ok(_) | Err(_) => error,
        }
    }

    /// Why systemd could not read the unit's file, if so.
    async fn load_error(&self, unit: &str) -> Option<String> {
        let path: OwnedObjectPath = self.bus.manage("LoadUnit", &unit).await.ok()?;
        let properties = self.bus.properties(&path, UNIT).await.ok()?;
        if text(&properties, "LoadState") == "loaded" {
            return None;
        }
        let error = self.bus.property(&path, UNIT, "LoadError").await.ok()?;
        // A pair of the error's name and its text; both empty when there is none.
        match Variant::from(error) {
            Variant::Structure(pair) => pair.fields().last().map(text_of),
            _ => None,
        }
        .filter(|text| !text.is_empty())
    }
}

fn verb(kind: JobKind) -> &'static str {
    match kind {
        JobKind::Start | JobKind::Restart => "bring up",
        JobKind::Stop => "stop",
    }
}

/// The next job that ended, and its result; `None` when the bus is gone.
async fn next_end(ended: &mut MessageStream) -> Option<(OwnedObjectPath, String)> {
    while let Some(message) = ended.next().await {
        let message = message.ok()?;
        type JobRemoved = (u32, OwnedObjectPath, String, String);
        match message.body().deserialize::<JobRemoved>() {
            Ok((_, removed, _, result)) => return Some((removed, result)),
            Err(error) => tracing::debug!(%error, "a signal of systemd could not be read"),
        }
    }
    None
}

/// Whether a job's result means that it did what it was made for. `skipped`: there was nothing to do.
fn is_success(result: &str) -> bool {
    matches!(result, "done" | "skipped")
}

/// The interface that has `Result`, by the unit's suffix; targets, slices and devices have none.
fn interface_with_result(unit: &str) -> Option<&'static str> {
    match unit.rsplit_once('.')?.1 {
        "service" => Some("org.freedesktop.systemd1.Service"),
        "socket" => Some("org.freedesktop.systemd1.Socket"),
        "mount" => Some("org.freedesktop.systemd1.Mount"),
        "timer" => Some("org.freedesktop.systemd1.Timer"),
        "path" => Some("org.freedesktop.systemd1.Path"),
        _ => None,
    }
}
