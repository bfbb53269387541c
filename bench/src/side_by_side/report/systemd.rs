//! The section of boots under a real systemd.

use crate::results::{RealSystemd, UnitRun};
use crate::statistics::Spread;
use std::fmt::Write;

/// The section; it says so where nothing was measured.
pub(crate) fn section(measured: Option<&RealSystemd>) -> String {
    let mut text = String::from("\n## k1 under a real systemd\n\n");
    let Some(measured) = measured else {
        text.push_str("Not measured; `cargo xtask bench --systemd` does.\n");
        return text;
    };
    text.push_str(
        "A worker's first boot by kops' own unit, in a container that had settled: systemd is process 1, stand-ins for containerd \
         and kubelet are started, the files come over TLS from nginx beside it. Units started: systemd has done the last start \
         job, which is where nodeup ends; quake-agent then sees that kubelet answers. By systemd's clock.\n\n\
         | who | boots | s until the units are started | s until `READY=1` |\n|---|---|---|---|\n",
    );
    let cell = |boots: &[UnitRun], figure: fn(&UnitRun) -> f64| {
        let values: Vec<f64> = boots.iter().map(figure).collect();
        Spread::new(&values).map_or("-".to_owned(), |it| {
            format!("**{:.2}** [{:.2}, {:.2}]", it.median, it.min, it.max)
        })
    };
    let ours = &measured.worker;
    let _ = writeln!(
        text,
        "| quake-agent | {} | {} | {} |",
        ours.len(),
        cell(ours, |boot| boot.started),
        cell(ours, |boot| boot.wall)
    );
    let theirs = &measured.nodeup;
    if !theirs.is_empty() {
        let started = cell(theirs, |boot| boot.started);
        let _ = writeln!(text, "| nodeup | {} | {started} | never |", theirs.len());
    }
    text.push_str(
        "\nquake-agent with units that the cluster's spec adds:\n\n\
         | units added | s until the units are started | s until `READY=1` |\n|---|---|---|\n",
    );
    for more in &measured.units {
        let UnitRun { wall, started } = more.boot;
        let _ = writeln!(text, "| {} | {started:.2} | {wall:.2} |", more.units);
    }
    text
}
