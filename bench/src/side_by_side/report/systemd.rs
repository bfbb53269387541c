//! The section of boots under a real systemd.

use crate::results::RealSystemd;
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
         a stand-in for kubelet\nare started, the files come over TLS from nginx beside it. From the start of the process to `READY=1`, \
         by systemd's clock.\n\n",
    );
    let walls: Vec<f64> = measured.worker.iter().map(|boot| boot.wall).collect();
    if let Some(wall) = Spread::of(&walls) {
        let _ = writeln!(
            text,
            "{} boots: **{:.2} s** [{:.2}, {:.2}].",
            walls.len(),
            wall.median,
            wall.min,
            wall.max
        );
    }
    text.push_str(
        "\nWith small files, and units that the cluster's spec adds:\n\n\
         | units added | s to ready |\n|---|---|\n",
    );
    for more in &measured.units {
        let _ = writeln!(text, "| {} | {:.2} |", more.units, more.boot.wall);
    }
    text
}
