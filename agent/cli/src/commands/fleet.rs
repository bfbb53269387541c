//! `fleet`: how the nodes of a cluster booted, from the reports they left in its state store.

use super::running::fail;
use super::state_store::{self, Wanted};
use crate::args::OutputFormat;
use crate::args::fleet::FleetArguments;
use crate::exit;
use crate::output;
use crate::render::fleet::{fleet_json, fleet_text};
use quake_engine::read_reports;
use quake_host::clock::SystemClock;
use quake_model::ports::Clock;
use quake_model::time::Timestamp;
use quake_plan::fleet::{Question, Rows, fleet};

/// Prints the boots; 0 when all of them became ready, 1 when one did not or there is none.
pub(crate) async fn run(arguments: FleetArguments) -> u8 {
    let cluster = state_store::open(Wanted {
        store: &arguments.state_store,
        cluster: arguments.cluster.as_deref(),
        region: arguments.region.as_deref(),
    });
    let cluster = match cluster.await {
        Ok(cluster) => cluster,
        Err(status) => return status,
    };
    let base = cluster.base.clone();
    let group = arguments.instance_group.as_deref();
    // Boxed, as what it holds is nested too deeply for the compiler to lay out within the whole command.
    let reports = match Box::pin(read_reports(cluster.objects(), &base, group)).await {
        Ok(reports) => reports,
        Err(fault) => return fail(&fault),
    };
    let fleet = fleet(&reports, question(&arguments, SystemClock.now()));
    match arguments.output {
        OutputFormat::Text => output::text(fleet_text(&fleet)),
        OutputFormat::Json => output::line(fleet_json(&fleet, &base)),
    }
    if fleet.is_ready() {
        exit::DONE
    } else {
        exit::NO
    }
}

fn question(arguments: &FleetArguments, now: Timestamp) -> Question {
    let since = arguments.since.map(|since| {
        let since = u64::try_from(since.as_millis()).unwrap_or(u64::MAX);
        Timestamp(now.0.saturating_sub(since))
    });
    let rows = match arguments.failed {
        true => Rows::NotReady,
        false => Rows::All,
    };
    Question { since, rows }
}
