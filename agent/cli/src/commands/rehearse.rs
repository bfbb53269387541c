//! `rehearse`: a configuration is booted into a scratch root on any Linux machine.

use super::below::{SOCKET, below, refuse_links};
use super::boot;
use super::example;
use super::foreseen::Foreseen;
use super::identity::{Identity, read_identity, read_os};
use super::rehearse_kops;
use super::running::{self, Run};
use super::scratch::{self, Keep};
use super::state_store::{Found, StateStoreQuery};
use crate::args::RehearseArguments;
use crate::host::{NodeHost, STORE, Wiring};
use crate::output;
use crate::simulated_parts::{self, Part};
use quake_engine::{
    ConditionsRequest, Configuration, CredentialSource, Deadlines, Mode, NODE_BUDGET, Request,
};
use quake_model::signal;
use quake_node::config::legacy;
use quake_testkit::SimHost;
use quake_testkit::region::example_instance;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

/// A rehearsal's role is not new, so a refusal is given little grace.
const DENIED_GRACE: Duration = Duration::from_secs(5);

/// Rehearses; the exit status.
pub(crate) async fn run(arguments: RehearseArguments) -> u8 {
    let output = arguments.run.output;
    match prepare(arguments, Mode::Apply).await {
        Ok(run) => {
            if output == crate::args::OutputFormat::Text {
                output::line(format_args!("rehearsing into {}", run.root.display()));
            }
            running::run(run).await
        }
        Err(status) => status,
    }
}

/// Builds the simulated surroundings of a rehearsal.
pub(crate) async fn prepare(arguments: RehearseArguments, acting: Mode) -> Result<Run, u8> {
    let takes_over_addons = boot::takes_over_addons(&arguments.run)?;
    let named = running::configuration(&arguments.configuration)?;
    // A boot configuration says which of several clusters it is of.
    let of_kube_env = rehearse_kops::boot_config(&named).map(|boot| boot.cluster);
    let query = StateStoreQuery {
        store: arguments.state_store.as_deref(),
        instance_group: arguments.instance_group.as_deref(),
        cluster: arguments.cluster.as_deref().or(of_kube_env.as_deref()),
        has_kube_env: named.kube_env.is_some(),
    };
    let found = example::find(query, arguments.legacy_example).await?;
    let root = match &arguments.run.root {
        Some(root) => absolute(root)?,
        None => scratch::root()?,
    };
    refuse_links(&root)?;
    let found = example::with_keys(found, &root, keep(acting))?;
    let mut configuration = configuration(named, &found);
    let controller = rehearse_kops::Wanted {
        cluster: found.cluster.as_ref(),
        folder: found.place.folder.as_deref(),
        group: query.instance_group,
        ca: arguments.ca_dir.as_deref(),
        root: &root,
        keep: keep(acting),
    };
    let controller = match &found.example {
        Some(_) => None,
        None => controller.complete(&mut configuration).await?,
    };
    let group = group_of(&configuration, query)?;
    let identity = arguments.identity.as_deref().map(read_identity);
    let identity = identity.transpose()?;
    let instance = match &identity {
        Some(identity) => identity.instance(),
        None => example_instance(&zone_of(&group)),
    };
    let cluster = cluster_of(&configuration);
    let sim = scratch::region(&root, instance.clone(), &cluster, keep(acting))?;
    scratch::same_instance(&root, &sim.region(), &instance)?;
    surround(&sim, identity.as_ref(), arguments.os_release.as_deref())?;
    if let Some(controller) = controller {
        controller.answer(&sim, &instance)?;
    }
    if let Some(example) = &found.example {
        example.surround(&sim, &instance)?;
    }
    let host = wire(&arguments, &found, &root, &sim)?;
    let node = Foreseen {
        configuration: &configuration,
        instance: &instance,
        cluster: &cluster,
        group: &group,
    };
    node.surround(&host, &sim).await;
    let mut run = run_of(&arguments, acting, configuration, host, root)?;
    run.request.takes_over_addons = takes_over_addons;
    run.request.conditions.startup_taint = boot::startup_taint(&arguments.run)?;
    Ok(run)
}

/// Puts into the region what is said of the machine beside its identity.
fn surround(
    sim: &SimHost,
    identity: Option<&Identity>,
    os_release: Option<&Path>,
) -> Result<(), u8> {
    if let Some(identity) = identity {
        sim.change(|region| identity.surround(region));
    }
    if let Some(os) = os_release.map(read_os).transpose()? {
        sim.change(|region| region.os = os);
    }
    Ok(())
}

/// Wires the simulated machine and the real state store.
fn wire(
    arguments: &RehearseArguments,
    found: &Found,
    root: &Path,
    sim: &Arc<SimHost>,
) -> Result<NodeHost, u8> {
    let mut simulated = simulated_parts::of_a_rehearsal();
    if found.example.is_some() {
        simulated.insert(Part::Objects);
    }
    Ok(NodeHost::wire(Wiring {
        root: root.to_owned(),
        store: below(root, STORE)?,
        assets: arguments.assets,
        assets_dir: arguments.run.assets_dir.clone(),
        verify_assets: arguments.run.verify,
        objects: found.place.clone(),
        sim: Some(Arc::clone(sim)),
        simulated,
    }))
}

fn run_of(
    arguments: &RehearseArguments,
    acting: Mode,
    configuration: Configuration,
    host: NodeHost,
    root: PathBuf,
) -> Result<Run, u8> {
    let run = &arguments.run;
    let socket = match &run.socket {
        Some(socket) => Some(socket.clone()),
        None => socket_below(&below(&root, SOCKET)?),
    };
    Ok(Run {
        host,
        request: request(configuration, acting, run),
        listen: running::listen(run),
        any_port: run.listen.is_none(),
        socket,
        root,
        record: run.record,
        report: arguments.boot_report,
        signals: signal::SignalConfig::default(),
        output: run.output,
        is_machine: false,
    })
}

/// A plan leaves nothing for the next run.
fn keep(acting: Mode) -> Keep {
    match acting {
        Mode::Apply => Keep::Yes,
        Mode::DryRun => Keep::No,
    }
}

fn request(configuration: Configuration, acting: Mode, run: &crate::args::RunArguments) -> Request {
    Request {
        boot: running::boot_id(),
        version: env!("CARGO_PKG_VERSION").to_owned(),
        command: "rehearse".to_owned(),
        acting,
        configuration,
        credentials: CredentialSource::StandIn,
        needs_role: false,
        empty_slots: run.accept_empty.clone(),
        patience: Deadlines {
            denied_grace: run.denied_grace.unwrap_or(DENIED_GRACE),
            deadline: run.deadline,
        },
        // A rehearsal has no API server to report to.
        conditions: ConditionsRequest::default(),
        takes_over_addons: false,
        repair: None,
        exit_when_ready: run.exit_when_ready,
        budget: NODE_BUDGET,
    }
}

/// What the command line names wins over what the state store has.
fn configuration(named: Configuration, found: &Found) -> Configuration {
    Configuration {
        kube_env: named.kube_env.or_else(|| found.kube_env.clone()),
        inline_cluster: named
            .inline_cluster
            .or_else(|| found.inline_cluster.clone()),
        inline_instance_group: named
            .inline_instance_group
            .or_else(|| found.inline_instance_group.clone()),
        kube_env_at: None,
        config_base: found.config_base.clone(),
    }
}

fn absolute(root: &Path) -> Result<PathBuf, u8> {
    let made = std::fs::create_dir_all(root).and_then(|()| std::fs::canonicalize(root));
    let root = made
        .map_err(|error| running::usage(&format!("{} cannot be made: {error}", root.display())))?;
    if root == Path::new("/") {
        return Err(running::usage(
            "a rehearsal never writes to /; name a scratch --root",
        ));
    }
    Ok(root)
}

/// The instance group of the rehearsal: `kube_env.yaml` names it, and `--instance-group` must agree.
fn group_of(configuration: &Configuration, query: StateStoreQuery<'_>) -> Result<String, u8> {
    let Some(document) = &configuration.kube_env else {
        let message = "which node? give --instance-group, or --kube-env FILE";
        return Err(running::usage(message));
    };
    let newer = rehearse_kops::boot_config(configuration).map(|boot| boot.instance_group);
    let older = || {
        let read = legacy::read_kube_env(&document.source, &document.text).ok();
        read.map(|(read, _)| read.instance_group)
    };
    // A kube_env that cannot be read is for the boot to report.
    let Some(named) = newer.or_else(older) else {
        return Ok(query.instance_group.unwrap_or_default().to_owned());
    };
    match query.instance_group {
        Some(group) if group != named => Err(running::usage(&format!(
            "{} is of the instance group {named}, not {group}",
            document.source
        ))),
        _ => Ok(named),
    }
}

fn cluster_of(configuration: &Configuration) -> String {
    if let Some(boot) = rehearse_kops::boot_config(configuration) {
        return boot.cluster;
    }
    let read = configuration
        .kube_env
        .as_ref()
        .and_then(|document| legacy::read_kube_env(&document.source, &document.text).ok());
    read.map_or_else(String::new, |(read, _)| {
        let last = read
            .config_base
            .key()
            .rsplit('/')
            .next()
            .unwrap_or_default()
            .to_owned();
        read.cluster.unwrap_or(last)
    })
}

/// The zone in an instance group's name, as in `master-us-west-2a`; a test zone where there is none.
pub(super) fn zone_of(group: &str) -> String {
    let parts: Vec<&str> = group.split('-').collect();
    let is_zone = |number: &str| {
        let digits = number.trim_end_matches(|c: char| c.is_ascii_lowercase());
        !digits.is_empty()
            && digits.len() + 1 == number.len()
            && digits.bytes().all(|b| b.is_ascii_digit())
    };
    match parts.as_slice() {
        [.., area, side, number] if area.len() == 2 && is_zone(number) => {
            format!("{area}-{side}-{number}")
        }
        _ => "us-test-1a".to_owned(),
    }
}

/// A socket's path is limited to 107 bytes; a deep scratch root goes without.
fn socket_below(socket: &Path) -> Option<PathBuf> {
    (socket.as_os_str().len() < 108).then(|| socket.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_zone_is_read_from_the_groups_name() {
        for (group, zone) in [
            ("master-us-west-2a", "us-west-2a"),
            ("master-us-test-1a", "us-test-1a"),
            ("nodes", "us-test-1a"),
            ("control-plane", "us-test-1a"),
        ] {
            assert_eq!(zone_of(group), zone);
        }
    }
}
