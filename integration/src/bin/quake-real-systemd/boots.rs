//! Boots of whole machines, from their start until kubelet has registered: the critical path of each.

use super::{Worker, open_for, stand_ins};
use quake_integration::agent;
use quake_integration::machine::{Hardware, Kind, MachineBackend};
use serde_json::{Value, json};
use std::path::Path;
use std::process::Command;
use tempfile::TempDir;

/// Where the agent finds the certificates of the bench's server.
const TRUST: &str = "Environment=AWS_CA_BUNDLE=/etc/bench.pem\n";

/// The agent's unit in an image.
const UNIT: &str = "quake-agent.service";

/// When systemd began, in microseconds of the monotonic clock.
const USERSPACE: &str = "systemctl show --value --property UserspaceTimestampMonotonic";

/// How long a machine may take, in seconds of a real one.
const PATIENCE: u32 = 240;

/// Boots a container and an emulated machine, each with an image that has the assets and with one that has not. A kind of machine
/// that cannot be booted here is left out, said aloud.
///
/// # Errors
///
/// Says which machine did not become ready, and why.
pub(super) fn measure(work: &Path) -> Result<Vec<Value>, String> {
    let mut boots = Vec::new();
    for (kind, name) in [
        (Kind::Containers, "container"),
        (Kind::Emulated, "emulated machine"),
    ] {
        let Some(worker) = open_for(kind, &format!("boot-{}", boots.len()), work)? else {
            continue;
        };
        let seed = worker.seed(work)?;
        for (is_seeded, image) in [(false, None), (true, Some(seed.path()))] {
            let path = worker.path(kind, image)?;
            let end = path
                .last()
                .map_or(Value::Null, |link| link["endMs"].clone());
            println!("{name}, seeded: {is_seeded}: registered {end} ms after the agent's start");
            boots.push(json!({ "machine": name, "seeded": is_seeded, "path": path }));
        }
    }
    Ok(boots)
}

impl Worker {
    /// What an image has of the assets, as `seed build` leaves it.
    fn seed(&self, work: &Path) -> Result<TempDir, String> {
        let image = tempfile::tempdir_in(work).map_err(|error| error.to_string())?;
        let list = image.path().join("list");
        let text = self.pins.join("\n") + "\n";
        std::fs::write(&list, text).map_err(|error| error.to_string())?;
        let mut command = Command::new(agent::binary()?);
        command
            .args(["seed", "build", "--list"])
            .arg(&list)
            .arg("--root")
            .arg(image.path())
            .env("AWS_CA_BUNDLE", work.join("authority/ca.pem"));
        let output = self.lab.vpc().namespace().inside(&command).output();
        let output = output.map_err(|error| error.to_string())?;
        if !output.status.success() {
            return Err(format!(
                "seed build: {}",
                String::from_utf8_lossy(&output.stderr)
            ));
        }
        std::fs::remove_file(&list).map_err(|error| error.to_string())?;
        Ok(image)
    }

    /// The critical path of the first boot of a machine whose image has the agent, and what is in `image`.
    fn path(&self, kind: Kind, image: Option<&Path>) -> Result<Vec<Value>, String> {
        let ((facts, _), _servers) = self.launch(&[])?;
        let mut layer = self.lab.baked().kernel_settings();
        if let Some(image) = image {
            layer = layer.over(image.to_path_buf());
        }
        let layer = stand_ins(layer, &self.ca, (UNIT, TRUST));
        if kind == Kind::Emulated {
            let machine = self.lab.emulated(&facts, layer, Hardware::default());
            return path_of(&machine);
        }
        let machine = self.lab.container(&facts, layer);
        let mut path = path_of(&machine)?;
        // The kernel is this machine's, and began long before: a container begins with its systemd.
        let began = micros(&machine.output(USERSPACE))?;
        let started = micros(&machine.shows(UNIT, "ExecMainStartTimestampMonotonic"))?;
        let before = (started - began) / 1e3;
        path.retain(|link| link["phase"].is_string());
        let systemd = json!({
            "layer": "systemd", "phase": null, "startMs": -before, "endMs": 0, "tookMs": before, "steps": [],
        });
        path.insert(0, systemd);
        Ok(path)
    }
}

/// Waits until the agent is ready; what its boot's end waited for.
fn path_of(machine: &impl MachineBackend) -> Result<Vec<Value>, String> {
    machine.becomes_ready(PATIENCE)?;
    let timeline = machine.ask_agent("/v1/timeline");
    let path = timeline["criticalPath"].as_array().cloned();
    path.ok_or_else(|| format!("no critical path: {timeline}"))
}

fn micros(shown: &str) -> Result<f64, String> {
    let shown = shown.trim();
    shown.parse().map_err(|_| format!("{shown:?} is no moment"))
}
