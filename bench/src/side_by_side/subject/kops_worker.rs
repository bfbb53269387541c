//! What a worker of today's kops meets at its boot: `quake-kops-worker`, which is the metadata service and kops-controller.

use crate::failure::BenchError;
use crate::waiting::wait_until;
use crate::workload::Workload;
use std::fmt::Write;
use std::fs::File;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

/// The name of kops-controller in the example cluster.
pub(crate) const CONTROLLER: &str = "kops-controller.internal.demo.example.com";

/// It makes a CA first, with openssl.
const PATIENCE: Duration = Duration::from_secs(20);

/// The running services; they end with this value.
#[derive(Debug)]
pub(crate) struct KopsWorker(Child);

impl KopsWorker {
    /// Starts them for a worker whose assets are at `base`, and has them write its `kube_env.yaml` into `node`.
    ///
    /// # Errors
    ///
    /// Fails when they cannot be started, or do not listen.
    pub(crate) fn start(
        program: &Path,
        workload: &Workload,
        base: &str,
        node: &Path,
    ) -> Result<Self, BenchError> {
        std::fs::create_dir_all(node).map_err(BenchError::path(node))?;
        let pins = node.join("pins");
        std::fs::write(&pins, pinned(workload, base)).map_err(BenchError::path(&pins))?;
        let said = node.join("said");
        let output = File::create(&said).map_err(BenchError::path(&said))?;
        let errors = output.try_clone().map_err(BenchError::path(&said))?;
        let mut command = Command::new(program);
        command.arg(&pins).arg(node);
        let child = command
            .stdin(Stdio::piped())
            .stdout(output)
            .stderr(errors)
            .spawn()
            .map_err(|source| BenchError::Start {
                command: program.display().to_string(),
                source,
            })?;
        let mut started = Self(child);
        let words = || std::fs::read_to_string(&said).unwrap_or_default();
        let has_ended = |child: &mut Child| !matches!(child.try_wait(), Ok(None));
        let mut ended = false;
        wait_until(PATIENCE, || {
            ended = has_ended(&mut started.0);
            ended || words().lines().any(|line| line == "ready")
        });
        if ended || !words().contains("ready") {
            let why = format!("the services of a worker do not listen: {}", words());
            return Err(BenchError::Unfit(why));
        }
        Ok(started)
    }
}

impl Drop for KopsWorker {
    fn drop(&mut self) {
        // It ends with its input.
        drop(self.0.stdin.take());
        let _ = self.0.wait();
    }
}

/// A line for each asset, as a nodeup configuration pins it.
fn pinned(workload: &Workload, base: &str) -> String {
    let mut text = String::new();
    for asset in &workload.assets {
        let _ = writeln!(text, "{}@{base}/{}", asset.sha256, asset.name);
    }
    text
}
