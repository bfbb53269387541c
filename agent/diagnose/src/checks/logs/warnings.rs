//! Warnings that come again and again, for a node of which nothing else says what is wrong.

use super::collected::Log;
use super::line::{Level, shape};
use crate::checks::check::{Certainty, Finding};
use crate::checks::innermost::innermost;
use crate::checks::quote::quote;
use crate::log_lines;
use std::collections::BTreeMap;

/// So many of one kind are no accident. A guess: healthy nodes log fewer that say that something failed.
const MANY: usize = 3;

/// So many of a program that is none of the node's own. A guess: agents of vendors warn a few times an hour.
const VERY_MANY: usize = 12;

/// Whether a log is of a program that the node needs.
fn is_of_node(name: &str) -> bool {
    const PROGRAMS: &[&str] = &[
        "chrony",
        "containerd",
        "docker",
        "etcd",
        "kernel",
        "kops-",
        "kubelet",
        "protokube",
        "quake-agent",
        "systemd-",
        "/var/log/aws-routed-eni/",
        "/var/log/calico/",
        "/var/log/etcd",
        "/var/log/kube",
    ];
    let is_own = PROGRAMS.iter().any(|start| name.starts_with(start));
    is_own || name.contains(" of pod kube-system/")
}

/// Words of a line that says that something does not work.
const SIGNS: &[&str] = &[
    "rror",
    "ailed",
    "nable to",
    "annot ",
    "an't ",
    "denied",
    "refused",
    "timed out",
    "timeout",
    "unexpected",
    "not found",
];

/// The finding of the warning that is repeated most, late in a log of the node's own programs.
pub(super) fn repeated(logs: &[Log<'_>]) -> Option<(Finding, usize)> {
    let mut by_shape: BTreeMap<(usize, String), (usize, &str)> = BTreeMap::new();
    let own = logs.iter().enumerate().filter(|(_, log)| !log.is_of_user());
    for (number, log) in own {
        for (index, line) in log.lines.iter().enumerate() {
            let level = log.level(index);
            let is_warning = matches!(level, Level::Warning | Level::Unknown);
            let says = SIGNS.iter().any(|sign| line.contains(sign));
            if !is_warning || !says || log.is_over(index) || !log.is_late(line) {
                continue;
            }
            let group = by_shape.entry((number, shape(line))).or_insert((0, line));
            *group = (group.0 + 1, line);
        }
    }
    let mut many: Vec<_> = by_shape
        .into_iter()
        .filter(|((number, _), (count, line))| {
            let least = if is_of_node(&logs[*number].name) {
                MANY
            } else {
                VERY_MANY
            };
            *count >= least && *count > log_lines::usual(line)
        })
        .collect();
    many.sort_by_key(|(_, (count, _))| std::cmp::Reverse(*count));
    let ((number, _), (count, line)) = many.first()?;
    let log = &logs[*number];
    let finding = Finding::new(
        format!(
            "{} warned {count} times lately: {}",
            log.name,
            innermost(line)
        ),
        format!(
            "nothing else was found; read the lines around it: {}",
            log.more
        ),
    )
    .by(Certainty::Possible)
    .seen(&log.name, quote(line, 300));
    let others = many[1..].iter().take(2);
    let finding = others.fold(finding, |finding, ((number, _), (_, line))| {
        finding.seen(&logs[*number].name, quote(line, 300))
    });
    // What nobody knows is no cause.
    Some((finding, 0))
}
