//! `boot`: this machine becomes a node, and the agent stays.

use super::below::{SOCKET, below, refuse_links};
use super::running::{self, Run};
use super::scratch::{self, Keep};
use crate::args::conditions::reports_conditions;
use crate::args::{BootArguments, RunArguments};
use crate::host::{NodeHost, STORE, StorePlace, Wiring};
use crate::simulated_parts::Part;
use quake_engine::{ConditionsRequest, CredentialSource, Deadlines, Mode, NODE_BUDGET, Request};
use quake_model::repair::RepairConfig;
use quake_model::signal::SignalConfig;
use quake_node::node_conditions::StartupTaint;
use quake_testkit::region::example_instance;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// Boots this machine; the exit status.
pub(crate) async fn run(arguments: BootArguments) -> u8 {
    match prepare(&arguments) {
        Ok(run) => running::run(run).await,
        Err(status) => status,
    }
}

/// Wires this machine for a boot.
pub(crate) fn prepare(arguments: &BootArguments) -> Result<Run, u8> {
    let root = arguments
        .run
        .root
        .clone()
        .unwrap_or_else(|| PathBuf::from("/"));
    let is_machine = root == Path::new("/");
    let simulated: BTreeSet<Part> = arguments.simulate.iter().copied().collect();
    if is_machine && (!simulated.is_empty() || arguments.stand_in_credentials) {
        return Err(running::usage(
            "only a boot into a scratch --root may simulate anything",
        ));
    }
    refuse_links(&root)?;
    let sim = if simulated.is_empty() {
        None
    } else {
        Some(scratch::region(
            &root,
            example_instance("us-test-1a"),
            "",
            Keep::Yes,
        )?)
    };
    let needs_role =
        !simulated.contains(&Part::Metadata) && std::env::var_os("AWS_ACCESS_KEY_ID").is_none();
    let wiring = Wiring {
        root: root.clone(),
        store: below(&root, STORE)?,
        assets: arguments.assets,
        assets_dir: arguments.run.assets_dir.clone(),
        verify_assets: arguments.run.verify,
        objects: StorePlace::default(),
        sim,
        simulated,
    };
    let host = NodeHost::wire(wiring);
    let request = request(arguments, needs_role)?;
    let socket = arguments.run.socket.clone();
    Ok(Run {
        host,
        request,
        listen: running::listen(&arguments.run),
        any_port: false,
        socket: Some(match socket {
            Some(socket) => socket,
            None => below(&root, SOCKET)?,
        }),
        root,
        record: arguments.run.record,
        report: reports(arguments)?,
        signals: signals(arguments)?,
        output: arguments.run.output,
        is_machine,
    })
}

/// Names what turns boot reports off, beside the flag, for machines whose units nobody edits.
const REPORT_VARIABLE: &str = "QUAKE_AGENT_BOOT_REPORT";

fn reports(arguments: &BootArguments) -> Result<bool, u8> {
    let set = std::env::var(REPORT_VARIABLE).unwrap_or_default();
    match set.trim() {
        "" | "on" => Ok(!arguments.no_boot_report),
        "off" => Ok(false),
        other => Err(running::usage(&format!(
            "{REPORT_VARIABLE} is on or off, not {other:?}"
        ))),
    }
}

/// Names who applies the add-ons of a cluster whose kops has a pod for it, beside the flag.
const ADDONS_VARIABLE: &str = "QUAKE_AGENT_ADDONS";

/// Whether the agent takes that over from the pod.
pub(super) fn takes_over_addons(arguments: &RunArguments) -> Result<bool, u8> {
    let set = std::env::var(ADDONS_VARIABLE).unwrap_or_default();
    match set.trim() {
        "" | "watch" => Ok(arguments.take_over_addons),
        "take-over" => Ok(true),
        other => Err(running::usage(&format!(
            "{ADDONS_VARIABLE} is watch or take-over, not {other:?}"
        ))),
    }
}

/// What the agent says of the node in its Node object.
fn conditions(arguments: &RunArguments) -> Result<ConditionsRequest, u8> {
    let request = ConditionsRequest {
        reports: reports_conditions(|name| std::env::var(name).ok())
            .map_err(|wrong| running::usage(&wrong))?,
        startup_taint: startup_taint(arguments)?,
    };
    if request.startup_taint.is_some() && !request.reports {
        return Err(running::usage(
            "a startup taint waits for conditions, which are turned off",
        ));
    }
    Ok(request)
}

/// The taint that kubelet registers the node with.
pub(super) fn startup_taint(arguments: &RunArguments) -> Result<Option<StartupTaint>, u8> {
    let requested = arguments
        .startup_taint
        .requested(|name| std::env::var(name).ok());
    requested.map_err(|wrong| running::usage(&wrong))
}

/// What else is told of the boot's end.
fn signals(arguments: &BootArguments) -> Result<SignalConfig, u8> {
    let requested = arguments.signals.config(|name| std::env::var(name).ok());
    requested.map_err(|wrong| running::usage(&wrong.to_string()))
}

/// Whether the instance may be replaced once the node is ready.
fn repair(arguments: &BootArguments) -> Result<Option<RepairConfig>, u8> {
    let requested = arguments
        .signals
        .repair
        .requested(|name| std::env::var(name).ok());
    requested.map_err(|wrong| running::usage(&wrong.to_string()))
}

fn request(arguments: &BootArguments, needs_role: bool) -> Result<Request, u8> {
    let defaults = Deadlines::default();
    Ok(Request {
        boot: running::boot_id(),
        version: env!("CARGO_PKG_VERSION").to_owned(),
        command: "boot".to_owned(),
        acting: Mode::Apply,
        configuration: running::configuration(&arguments.configuration)?,
        credentials: if arguments.stand_in_credentials {
            CredentialSource::StandIn
        } else {
            CredentialSource::Store
        },
        needs_role,
        empty_slots: arguments.run.accept_empty.clone(),
        patience: Deadlines {
            denied_grace: arguments.run.denied_grace.unwrap_or(defaults.denied_grace),
            deadline: arguments.run.deadline,
        },
        conditions: conditions(&arguments.run)?,
        takes_over_addons: takes_over_addons(&arguments.run)?,
        repair: repair(arguments)?,
        exit_when_ready: arguments.run.exit_when_ready,
        budget: NODE_BUDGET,
    })
}
