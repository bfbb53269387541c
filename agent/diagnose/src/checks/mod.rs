//! What is wrong with a node: a survey in, findings out, root causes first.
//!
//! A check is a row of a table: what it is called, what it needs to have been seen, and one pure function that judges
//! it. The same checks judge a running machine and a captured tree. A check that could not see what it needs is skipped
//! or broken, and never looks like one that passed.

mod causes;
mod changed;
mod check;
mod command_flags;
mod free_space;
mod from_journal;
mod kubelet_config;
mod node;
#[cfg(test)]
mod node_sample;
mod order;
mod read_error;
mod remedies;
mod report;
mod stage;
mod table;
mod unit_health;

mod wanted;

mod addons;
mod agent;
mod api_server;
mod assets;
mod boot;
mod boot_fault;
mod bucket;
mod certificates;
mod cni;
mod config;
mod controller;
mod dns;
mod etcd;
mod exec_format;
mod expired_peers;
mod hop_limit;
mod host;
mod host_links;
mod iam;
mod identity;
mod images;
mod images_credentials;
mod innermost;
mod kubelet;
mod lifecycle;
mod logs;
mod membership;
mod meminfo;
mod memory_limit;
mod named;
mod net;
mod pods;
mod quote;
mod repair;
mod runtime;
mod services;
mod static_pods;
mod time;
mod volumes;

#[cfg(test)]
mod fixtures;
#[cfg(test)]
mod surveyed;

pub use check::{Certainty, Check, Finding, Severity, Source, Verdict};
pub use dns::PUBLISHED;
pub use kubelet::{Kubeconfig, api_access};
pub use report::{CheckReport, Report, Status, Summary, judge};
pub use table::{all, find};
pub use wanted::WANTED;

use quake_formats::journal::KnownLine;

pub(crate) use innermost::is_in_line;

/// Lines of checks that have one table.
const OF_OTHERS: &[(&str, &[KnownLine])] = &[("staticpods.running", static_pods::reasons::REASONS)];

/// The lines that single checks know, by the check.
pub(crate) fn known_lines() -> impl Iterator<Item = (&'static str, &'static KnownLine)> {
    let tables = kubelet::KNOWN_LINES
        .iter()
        .chain(runtime::KNOWN_LINES)
        .chain(OF_OTHERS);
    tables.flat_map(|(check, lines)| lines.iter().map(|line| (*check, line)))
}
