//! Tells the outside how a boot ended: leaves its report in the cluster's state store.
//!
//! This is after the verdict and changes nothing of it. It is bounded by a short deadline, counted and budgeted like any
//! other call, and whatever goes wrong is a warning. A lacking permission is a warning once for an instance: it is the
//! same on each of its boots, so a note on the disk remembers it.

use crate::boot::Verdict;
use crate::context::{Context, stop_signal};
use crate::emit::Emitter;
use crate::fault_mapping::{Operation, to_fault};
use crate::note::Note;
use crate::request::Request;
use crate::retry::millis;
use quake_diagnose::boot_report::{report, to_json};
use quake_model::boot_report::{CONTENT_TYPE, ReportFolder};
use quake_model::event::Event;
use quake_model::fault::{Class, Code, Fault};
use quake_model::notification::Notification;
use quake_model::phase::Phase;
use quake_model::ports::{Files, Meter, Object, Objects};
use std::time::Duration;
use tokio::time::{Instant, timeout};

/// Where a boot's report belongs.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum ReportPlace {
    /// The boot ended before it knew.
    #[default]
    Unknown,
    /// kops-controller gives the node its configuration, and the node uses no state store.
    Nowhere,
    Folder(ReportFolder),
}

/// How long the state store may take, all tries together. A guess: it is one small request, and a machine that failed
/// should not be held up longer before systemd starts the agent again.
const DEADLINE: Duration = Duration::from_secs(5);

/// Where it is remembered that a report was refused, and for which object.
const NOTE: Note = Note("/var/lib/quake-agent/boot-report-denied");

/// Leaves the report of the boot that ended with `verdict`, and emits what came of it. `agent_digest` is the digest over
/// this binary, where it could be read.
pub async fn report_boot<H: Objects + Files + Meter>(
    host: &H,
    emitter: &Emitter,
    request: &Request,
    verdict: &Verdict,
    agent_digest: Option<&str>,
) {
    if verdict.reports == ReportPlace::Nowhere {
        return;
    }
    // Who is told to stop still says how it ended: whoever asked waits longer than this takes.
    let (_handle, stop) = stop_signal();
    let request = Request {
        budget: request.budget.at_the_end(),
        ..request.clone()
    };
    let context = Context::new(host, emitter, &request, stop);
    let began = Instant::now();
    let left = match object(emitter, verdict, agent_digest) {
        Ok(object) => leave(&context, &object).await.map(|()| object.location),
        Err(fault) => Err((fault, false)),
    };
    let what = Notification::BootReport;
    emitter.emit(match left {
        Ok(location) => Event::NotificationSent {
            what,
            to: location.to_string(),
            took_ms: millis(began.elapsed()),
        },
        Err((fault, known)) => Event::NotificationFailed { what, fault, known },
    });
}

/// The report as an object, or why there is none.
fn object(
    emitter: &Emitter,
    verdict: &Verdict,
    agent_digest: Option<&str>,
) -> Result<Object, Fault> {
    let unplaced = |summary: &str| Fault::new(Code::BootReportUnplaced, summary);
    let ReportPlace::Folder(folder) = &verdict.reports else {
        let summary = "there is no boot report: the boot ended before it knew the state store";
        return Err(unplaced(summary));
    };
    let record = emitter.record();
    let report = report(&record, &folder.instance_group, agent_digest)
        .ok_or_else(|| unplaced("there is no boot report: the instance is not known"))?;
    let instance = record.instance.map(|instance| instance.instance_id);
    let location = folder
        .report_of(instance.as_deref().unwrap_or_default())
        .ok_or_else(|| {
            unplaced("there is no boot report: the group or the instance has no plain name")
        })?;
    Ok(Object {
        location,
        bytes: to_json(&report),
    })
}

/// Writes the object; a failure comes with whether it is known already.
async fn leave<H: Objects + Files + Meter>(
    context: &Context<'_, H>,
    object: &Object,
) -> Result<(), (Fault, bool)> {
    let location = &object.location;
    let written = match timeout(DEADLINE, write_report(context, object)).await {
        Ok(written) => written,
        Err(_) => {
            let summary = format!("{location} was not written within {} s", DEADLINE.as_secs());
            Err(Fault::new(Code::BootReportFailed, summary))
        }
    };
    NOTE.judge(context.host, &location.to_string(), written)
        .await
}

/// Tries as long as the store fails for a moment. A refusal is final: a role that is only late has a grace in the boot itself.
async fn write_report<H: Objects + Meter>(
    context: &Context<'_, H>,
    object: &Object,
) -> Result<(), Fault> {
    let wait = context.wait(Phase::Ready, "boot-report", DEADLINE);
    let attempt = || async {
        let written = context.host.write_object(object, CONTENT_TYPE).await;
        let written = written.map_err(|error| {
            to_fault(Operation::WriteReport, error).seen("object", &object.location)
        });
        match written {
            Err(fault) if fault.class() == Class::Transient => Err(fault),
            ended => Ok(ended),
        }
    };
    context.retry(&wait, attempt).await?
}

#[cfg(test)]
mod tests {
    use super::*;
    use quake_model::location::Location;

    #[test]
    fn where_the_state_store_is_not_known_there_is_no_object() {
        let clock = || quake_model::time::Timestamp(0);
        let emitter = Emitter::new(Box::new(clock), Vec::new());
        let mut verdict = Verdict {
            fault: None,
            renewal: None,
            certificates: Vec::new(),
            addon_mode: None,
            conditions: None,
            identity: None,
            names: None,
            repair: None,
            planned: Vec::new(),
            watches: Vec::new(),
            left: crate::ManagedSnapshot::default(),
            reports: ReportPlace::Unknown,
        };
        let code = |verdict: &Verdict| object(&emitter, verdict, None).map_err(|fault| fault.code);
        assert_eq!(code(&verdict), Err(Code::BootReportUnplaced));
        let config_base: Location = "s3://store/c".parse().expect("a literal");
        verdict.reports = ReportPlace::Folder(ReportFolder {
            config_base,
            instance_group: "nodes".to_owned(),
        });
        assert_eq!(code(&verdict), Err(Code::BootReportUnplaced), "nobody");
    }
}
