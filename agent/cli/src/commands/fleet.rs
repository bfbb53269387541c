//! `fleet`: how the nodes of a cluster booted, from the reports they left in its state store, or from their
//! consoles.

use super::running::{fail, usage};
use super::state_store;
use crate::args::OutputFormat;
use crate::args::fleet::FleetArguments;
use crate::exit;
use crate::host::{Observer, StorePlace};
use crate::output;
use crate::render::fleet::{fleet_json, fleet_text};
use crate::render::fleet_consoles::{consoles_json, consoles_text};
use quake_diagnose::fleet::{Question, Rows, Wanted, fleet};
use quake_engine::{read_consoles, read_reports};
use quake_host::aws::Environment;
use quake_host::clock::SystemClock;
use quake_model::ports::{Clock, Meter};
use quake_model::time::Timestamp;

/// Prints the boots; 0 when all of them became ready, 1 when one did not or there is none.
pub(crate) async fn run(arguments: FleetArguments) -> u8 {
    match (&arguments.state_store, &arguments.cluster) {
        (_, Some(cluster)) if arguments.from_console => {
            Box::pin(from_consoles(&arguments, cluster)).await
        }
        (Some(store), _) => from_reports(&arguments, store).await,
        // The parser lets neither through.
        (None, _) => usage("name the state store with --state-store"),
    }
}

/// What the consoles of its instances say.
async fn from_consoles(arguments: &FleetArguments, cluster: &str) -> u8 {
    let observer = Observer::wire(
        Environment::Elsewhere,
        arguments.region.clone(),
        StorePlace::default(),
    );
    let question = question(arguments, SystemClock.now());
    let wanted = Wanted {
        instance_group: arguments.instance_group.clone(),
        since: question.since,
        limit: arguments.limit,
    };
    let fleet = match read_consoles(&observer.ec2, cluster, &wanted, question.rows).await {
        Ok(fleet) => fleet,
        Err(fault) => return fail(&fault),
    };
    let calls = observer.calls.calls();
    match arguments.output {
        OutputFormat::Text => output::text(consoles_text(&fleet, &calls)),
        OutputFormat::Json => output::line(consoles_json(&fleet, cluster, &calls)),
    }
    ended(fleet.is_ready())
}

/// What the reports in the state store say.
async fn from_reports(arguments: &FleetArguments, store: &str) -> u8 {
    let cluster = state_store::open(state_store::Wanted {
        store,
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
    let fleet = fleet(&reports, question(arguments, SystemClock.now()));
    match arguments.output {
        OutputFormat::Text => output::text(fleet_text(&fleet)),
        OutputFormat::Json => output::line(fleet_json(&fleet, &base)),
    }
    ended(fleet.is_ready())
}

fn ended(is_ready: bool) -> u8 {
    match is_ready {
        true => exit::DONE,
        false => exit::NO,
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
