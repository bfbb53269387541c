//! `addons`: what the cluster's channels want, what it has, and what applying would change; and to apply it now.

use super::boot_history::read_record_of_this_system;
use super::running::{fail, usage};
use super::state_store::{StoredCluster, Wanted, open};
use crate::args::addons::{
    AddonsApplyArguments, AddonsArguments, AddonsPlanArguments, AddonsVerb, ClusterArguments,
};
use crate::args::{AssetMode, OutputFormat};
use crate::exit;
use crate::host::{NodeHost, STORE, StorePlace, Wiring};
use crate::output;
use crate::render::addons::{
    AppliedAddon, LeaseState, Listed, PlannedAddon, applied_json, applied_text, changes,
    first_failure, first_unknown, lease_text, listed_json, listed_text, planned_json, planned_text,
};
use crate::render::fault_text;
use crate::simulated_parts::Part;
use quake_addons::Addon;
use quake_engine::addons::AddonInspector;
use quake_model::addon::{AddonState, AddonStatus, AddonsRecord};
use quake_model::fault::Fault;
use quake_model::location::Location;
use std::path::Path;

/// Runs one of the verbs; the exit status.
pub(crate) async fn run(arguments: AddonsArguments) -> u8 {
    let done = match arguments.verb {
        AddonsVerb::List(arguments) => list(&arguments.cluster).await,
        AddonsVerb::Plan(arguments) => plan(&arguments).await,
        AddonsVerb::Apply(arguments) => apply(&arguments).await,
    };
    done.unwrap_or_else(|status| status)
}

/// Where kops puts a cluster's own channel, below its directory.
const BOOTSTRAP_CHANNEL: &str = "addons/bootstrap-channel.yaml";

/// A cluster, and what this node's agent tells of its add-ons.
struct Place {
    host: NodeHost,
    kubeconfig: String,
    channels: Vec<Location>,
    reported: AddonsRecord,
}

/// Where the command line says the cluster is.
async fn place(arguments: &ClusterArguments) -> Result<Place, u8> {
    let record = read_record_of_this_system(Path::new("/"));
    let reported = record.map(|record| record.addons).unwrap_or_default();
    let stored = match &arguments.state_store {
        Some(store) => Some(stored(store, arguments.cluster.as_deref()).await?),
        None => None,
    };
    let is_own = arguments.channels.is_empty() && stored.is_none();
    let own = || {
        let channels = reported.channels.iter();
        channels.filter_map(|channel| channel.parse().ok())
    };
    let channels = match &stored {
        Some(cluster) => vec![cluster.base.join(BOOTSTRAP_CHANNEL)],
        None if is_own => own().collect(),
        None => arguments.channels.clone(),
    };
    if channels.is_empty() {
        return Err(usage(
            "this node's agent knows of no channel; name its store, --state-store s3://BUCKET --cluster NAME, or a channel: \
             --channel s3://BUCKET/CLUSTER/addons/bootstrap-channel.yaml",
        ));
    }
    let kubeconfig = std::path::absolute(&arguments.kubeconfig);
    let kubeconfig = kubeconfig.map_err(|error| usage(&error.to_string()))?;
    // Off a node credentials come from the environment, and there is no metadata service to ask.
    let simulated = (!is_own).then_some(Part::Metadata).into_iter().collect();
    let host = NodeHost::wire(Wiring {
        root: "/".into(),
        store: Path::new("/").join(STORE),
        assets: AssetMode::Cache,
        assets_dir: None,
        verify_assets: false,
        objects: stored.map_or_else(StorePlace::default, |cluster| cluster.place),
        sim: None,
        simulated,
    });
    Ok(Place {
        host,
        kubeconfig: kubeconfig.to_string_lossy().into_owned(),
        channels,
        reported: if is_own {
            reported
        } else {
            AddonsRecord::default()
        },
    })
}

/// The cluster in a state store.
async fn stored(store: &str, cluster: Option<&str>) -> Result<StoredCluster, u8> {
    let wanted = Wanted {
        store,
        cluster,
        region: None,
    };
    // Boxed, as what it holds is nested too deeply for the compiler to lay out within the whole command.
    Box::pin(open(wanted)).await
}

impl Place {
    async fn open(&self) -> Result<AddonInspector<'_, NodeHost>, u8> {
        // Boxed, as what it holds is nested too deeply for the compiler to lay out within the whole command.
        let inspector = Box::pin(AddonInspector::open(
            &self.host,
            &self.kubeconfig,
            &self.channels,
        ))
        .await;
        inspector.map_err(|fault| fail(&fault))
    }
}

async fn list(arguments: &ClusterArguments) -> Result<u8, u8> {
    let place = place(arguments).await?;
    let inspector = place.open().await?;
    let mut addons = inspector.statuses();
    for status in &mut addons {
        if let Some(reported) = place.reported.addons.get(&status.name) {
            take_over(status, reported);
        }
    }
    let selected = inspector.selected();
    let listed = Listed {
        channels: place.channels.iter().map(ToString::to_string).collect(),
        server: inspector.server().to_string(),
        reconciler: place.reported.reconciler.clone(),
        addons,
        skipped: selected.skipped.clone(),
        warnings: selected.warnings.clone(),
    };
    match arguments.output {
        OutputFormat::Text => output::text(listed_text(&listed)),
        OutputFormat::Json => output::line(listed_json(&listed)),
    }
    Ok(exit::DONE)
}

/// What the agent knows of an add-on: that it is at it, or why it failed, and what was odd about the manifest that it applied.
fn take_over(status: &mut AddonStatus, reported: &AddonStatus) {
    let is_of_now = reported.wanted == status.wanted;
    if is_of_now {
        status.warnings.clone_from(&reported.warnings);
    }
    if status.state == AddonState::Waiting && is_of_now && reported.state != AddonState::Applied {
        *status = AddonStatus {
            applied: status.applied.clone(),
            ..reported.clone()
        };
    }
}

async fn plan(arguments: &AddonsPlanArguments) -> Result<u8, u8> {
    let place = place(&arguments.cluster).await?;
    let inspector = place.open().await?;
    let mut planned = Vec::new();
    for addon in named(&inspector, &arguments.names)? {
        if arguments.names.is_empty() && !inspector.is_due(addon) {
            continue;
        }
        planned.push(PlannedAddon {
            name: addon.name.clone(),
            wanted: addon.version.clone(),
            applied: inspector.applied(addon).cloned(),
            objects: Box::pin(inspector.plan(addon)).await,
        });
    }
    let warnings = &inspector.selected().warnings;
    match arguments.cluster.output {
        OutputFormat::Text => {
            warn(warnings);
            output::text(planned_text(&planned));
        }
        OutputFormat::Json => output::line(planned_json(&planned, warnings)),
    }
    if arguments.detailed_exitcode && changes(&planned) > 0 {
        return Ok(exit::PENDING);
    }
    let unknown = first_unknown(&planned);
    Ok(unknown.map_or(exit::DONE, |fault| fault.class().exit_status()))
}

async fn apply(arguments: &AddonsApplyArguments) -> Result<u8, u8> {
    let place = place(&arguments.cluster).await?;
    let inspector = place.open().await?;
    // Another reconciler is shown and not waited for: both apply the same with the same field manager.
    let lease = LeaseState {
        lease: inspector.lease().await,
        reconciler: place.reported.reconciler.clone(),
    };
    let mut applied = Vec::new();
    for addon in named(&inspector, &arguments.names)? {
        applied.push(AppliedAddon {
            name: addon.name.clone(),
            wanted: addon.version.clone(),
            applied: Box::pin(inspector.apply(addon)).await,
        });
    }
    match arguments.cluster.output {
        OutputFormat::Text => {
            warn(&inspector.selected().warnings);
            output::text(applied_text(&applied) + &lease_text(&lease));
        }
        OutputFormat::Json => output::line(applied_json(&applied, &lease)),
    }
    Ok(first_failure(&applied).map_or(exit::DONE, |fault| fault.class().exit_status()))
}

fn named<'i>(
    inspector: &'i AddonInspector<'_, NodeHost>,
    names: &[String],
) -> Result<Vec<&'i Addon>, u8> {
    let named = inspector.selected().named(names);
    named.map_err(|error| usage(&error.to_string()))
}

fn warn(warnings: &[Fault]) {
    warnings
        .iter()
        .for_each(|fault| output::error_text(fault_text("warning", fault)));
}

#[cfg(test)]
mod tests {
    use super::*;
    use quake_model::addon::AddonVersion;

    fn status(state: AddonState, hash: &str) -> AddonStatus {
        AddonStatus {
            state,
            wanted: AddonVersion {
                manifest_hash: hash.to_owned(),
                ..AddonVersion::default()
            },
            failures: 3,
            ..AddonStatus::default()
        }
    }

    #[test]
    fn what_the_agent_tells_counts_while_it_is_about_the_same() {
        let seen = |state, reported: &AddonStatus| {
            let mut status = AddonStatus {
                failures: 0,
                ..status(state, "a")
            };
            take_over(&mut status, reported);
            status.state
        };
        let failed = status(AddonState::Failed, "a");
        assert_eq!(seen(AddonState::Waiting, &failed), AddonState::Failed);
        assert_eq!(seen(AddonState::Applied, &failed), AddonState::Applied);
        let older = status(AddonState::Failed, "b");
        assert_eq!(seen(AddonState::Waiting, &older), AddonState::Waiting);
        let stale = status(AddonState::Applied, "a");
        assert_eq!(seen(AddonState::Waiting, &stale), AddonState::Waiting);
    }
}
