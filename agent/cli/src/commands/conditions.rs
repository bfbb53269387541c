//! `conditions`: what the last boot of this host comes to as conditions of its Node object, and their removal.

use super::below::below;
use super::boot_history::read_record;
use super::running::{fail, usage};
use crate::args::AssetMode;
use crate::args::conditions::ConditionsArguments;
use crate::exit;
use crate::host::{NodeHost, STORE, StorePlace, Wiring};
use crate::output;
use quake_engine::remove_conditions;
use quake_host::clock::SystemClock;
use quake_model::ports::Clock;
use quake_model::record::Record;
use quake_node::node_conditions::conditions;
use std::collections::BTreeSet;

/// Shows the conditions, or removes them; the exit status.
pub(crate) async fn run(arguments: &ConditionsArguments) -> u8 {
    let record = read_record(&arguments.root);
    if arguments.remove {
        return remove(arguments, record.as_ref()).await;
    }
    let Some(record) = record else {
        return usage("no boot of this host is known: quake-agent boot");
    };
    for condition in conditions(&record, SystemClock.now()) {
        let kind = condition.kind.to_string();
        let (status, reason) = (condition.status.name(), &condition.reason);
        output::line(format_args!(
            "{kind:<27} {status:<8} {reason}: {}",
            condition.message
        ));
    }
    exit::DONE
}

async fn remove(arguments: &ConditionsArguments, record: Option<&Record>) -> u8 {
    let kubeconfig = arguments.kubeconfig.to_string_lossy();
    let file = match below(&arguments.root, &arguments.kubeconfig) {
        Ok(file) => file,
        Err(status) => return status,
    };
    if !file.exists() {
        output::line(format_args!(
            "nothing to remove: {kubeconfig} is not there, so no kubelet registered this host"
        ));
        return exit::DONE;
    }
    let expected = record.and_then(|record| record.expected.as_ref());
    let known = expected.map(|expected| expected.node_name.clone());
    let known = known.filter(|name| !name.is_empty());
    let Some(node) = arguments.node.clone().or(known) else {
        return usage("the node's name is not known: --node NAME");
    };
    let host = NodeHost::wire(Wiring {
        root: arguments.root.clone(),
        store: arguments.root.join(STORE),
        assets: AssetMode::Cache,
        assets_dir: None,
        verify_assets: false,
        objects: StorePlace::default(),
        sim: None,
        simulated: BTreeSet::new(),
    });
    let removed = match remove_conditions(&host, &kubeconfig, &node).await {
        Ok(removed) => removed,
        Err(fault) => return fail(&fault),
    };
    let all: Vec<String> = removed.types.into_iter().chain(removed.taints).collect();
    output::line(match all.is_empty() {
        true => format!("node {node} has no condition and no startup taint of the agent"),
        false => format!("removed from node {node}: {}", all.join(", ")),
    });
    // Each is of the same class.
    removed
        .kept
        .iter()
        .map(fail)
        .next_back()
        .unwrap_or(exit::DONE)
}
