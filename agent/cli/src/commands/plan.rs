//! `plan`: the same loop as a boot with acting replaced by printing.

use super::running::{self, Run};
use super::{boot, rehearse};
use crate::args::signals::SignalArguments;
use crate::args::{BootArguments, OutputFormat, PlanArguments};
use crate::exit;
use crate::output;
use crate::render::{changes, fault_text, plan_json, plan_text};
use quake_engine::{Emitter, Mode, boot as run_engine, stop_signal};
use quake_host::clock::SystemClock;
use quake_model::ports::Clock;
use std::time::Duration;

/// Whoever plans is waiting for the answer: what does not come in this time is part of it.
const PATIENCE: Duration = Duration::from_secs(30);

/// Plans; the exit status, 2 when changes are pending and that was asked for.
pub(crate) async fn run(arguments: PlanArguments) -> u8 {
    let detailed = arguments.detailed_exitcode;
    let output = arguments.rehearse.run.output;
    let is_machine = arguments.is_of_this_machine();
    let made_root = !is_machine && arguments.rehearse.run.root.is_none();
    let prepared = if is_machine {
        boot::prepare(&BootArguments {
            configuration: arguments.rehearse.configuration.clone(),
            run: arguments.rehearse.run.clone(),
            assets: arguments.rehearse.assets,
            simulate: Vec::new(),
            stand_in_credentials: false,
            no_boot_report: true,
            signals: SignalArguments::default(),
        })
    } else {
        rehearse::prepare(arguments.rehearse, Mode::DryRun).await
    };
    match prepared {
        Ok(run) => {
            let root = run.root.clone();
            let status = plan(run, output, detailed).await;
            if made_root {
                // It is empty: a plan writes nothing.
                let _ = std::fs::remove_dir(root);
            }
            status
        }
        Err(status) => status,
    }
}

/// Plans a boot of this machine that is prepared; the exit status.
pub(super) async fn plan_this_machine(run: Run) -> u8 {
    let output = run.output;
    plan(run, output, false).await
}

async fn plan(mut run: Run, output: OutputFormat, detailed: bool) -> u8 {
    run.request.acting = Mode::DryRun;
    "plan".clone_into(&mut run.request.command);
    run.request.patience.deadline.get_or_insert(PATIENCE);
    let emitter = Emitter::new(Box::new(|| SystemClock.now()), Vec::new());
    let (_handle, stop) = stop_signal();
    let verdict = run_engine(&run.host, &emitter, &run.request, stop).await;
    let warnings = emitter.record().warnings;
    match output {
        OutputFormat::Text => {
            warnings
                .iter()
                .for_each(|fault| output::error_text(fault_text("warning", fault)));
            output::text(plan_text(&verdict.planned));
        }
        OutputFormat::Json => output::line(plan_json(&verdict.planned, &warnings)),
    }
    match verdict.fault {
        Some(fault) => running::fail(&fault),
        None if detailed && changes(&verdict.planned) > 0 => exit::PENDING,
        None => exit::DONE,
    }
}
