//! The section of boots under a real systemd.

use crate::results::{RealSystemd, UnitRun};
use crate::statistics::Spread;
use std::fmt::Write;

/// The section; it says so where nothing was measured.
pub(crate) fn section(measured: Option<&RealSystemd>) -> String {
    let mut text = String::from("\n## w1 under a real systemd\n\n");
    let Some(measured) = measured else {
        text.push_str("Not measured; `cargo xtask bench --systemd` does.\n");
        return text;
    };
    text.push_str(
        "A worker's first boot by the agent's own unit, in a container that had settled: systemd is process 1, docker and \
         a stand-in for kubelet\nare started, the files come over TLS from nginx beside it. Units started: systemd has done \
         the last start job, which is where nodeup\nends; quake-agent then sees that the units stay up for two seconds, \
         and that kubelet answers. By systemd's clock.\n\n\
         | boots | s until the units are started | s until `READY=1` |\n|---|---|---|\n",
    );
    let cell = |figure: fn(&UnitRun) -> f64| {
        let values: Vec<f64> = measured.worker.iter().map(figure).collect();
        Spread::new(&values).map_or("-".to_owned(), |it| {
            format!("**{:.2}** [{:.2}, {:.2}]", it.median, it.min, it.max)
        })
    };
    let _ = writeln!(
        text,
        "| {} | {} | {} |",
        measured.worker.len(),
        cell(|boot| boot.started),
        cell(|boot| boot.wall)
    );
    text.push_str(
        "\nWith small files, and units that the cluster's spec adds:\n\n\
         | units added | s until the units are started | s until `READY=1` |\n|---|---|---|\n",
    );
    for more in &measured.units {
        let UnitRun { wall, started } = more.boot;
        let _ = writeln!(text, "| {} | {started:.2} | {wall:.2} |", more.units);
    }
    text
}
