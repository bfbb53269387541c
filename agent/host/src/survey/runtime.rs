//! The container runtime, asked by its own clients: its version, its images, the containers of its pods. `crictl` sees
//! what kubelet sees; where it is not installed, `ctr` tells version and images. Nothing is changed.

mod cri;
mod docker;

use super::pods::add_logs;
use crate::linux::{Abandon, Program, complaint};
use quake_model::facts::{PodSeen, RuntimeSeen};
use quake_model::ports::{Condition, PortError};
use quake_model::redact::scrub;
use std::path::Path;
use std::time::Duration;

/// How long one question may take; all are asked at once.
const DEADLINE: Duration = Duration::from_millis(1400);

/// How much of an answer is read: a node with many thousand images must not fill the diagnosis.
const MOST_NAMES: usize = 2000;

/// Looks at the runtime of this name, `docker` or `containerd`.
///
/// # Errors
///
/// `Missing` when none of its clients is installed.
pub async fn look_at_runtime(name: &str) -> Result<RuntimeSeen, PortError> {
    match name {
        "docker" => docker::look().await,
        _ => cri::look().await,
    }
}

/// Asks containerd for its version; on a node without its client, whether its socket is listened on.
pub(crate) async fn ask_version() -> Result<String, PortError> {
    let silent = |error: PortError| PortError {
        condition: Condition::Unreachable,
        ..error
    };
    match cri::version().await {
        Err(error) if error.condition == Condition::Missing => {
            let opened = tokio::net::UnixStream::connect(SOCKET);
            let answered = tokio::time::timeout(DEADLINE, opened).await;
            let failed =
                |why: String| PortError::new(Condition::Unreachable, format!("{SOCKET}: {why}"));
            match answered {
                Ok(Ok(_)) => Ok(String::new()),
                Ok(Err(error)) => Err(failed(error.to_string())),
                Err(_) => Err(failed("no answer in time".to_owned())),
            }
        }
        answered => answered.map_err(silent),
    }
}

const SOCKET: &str = "/run/containerd/containerd.sock";

/// The containers with what kubelet and the runtime keep of them in files.
async fn with_logs(pods: Vec<PodSeen>) -> Vec<PodSeen> {
    let listed = pods.clone();
    let read = tokio::task::spawn_blocking(move || {
        let mut pods = pods;
        add_logs(Path::new("/"), &mut pods);
        pods
    });
    read.await.unwrap_or(listed)
}

fn client(name: &'static str, package: &'static str) -> Program {
    Program {
        name,
        package,
        deadline: DEADLINE,
        abandon: Abandon::Kill,
    }
}

/// The version of runc: the number of `runc version 1.3.4` in the first line that it prints.
async fn runc() -> Option<String> {
    let text = ask(client("runc", "runc"), &["--version"]).await.ok()?;
    let number = text.lines().next()?.strip_prefix("runc version ")?;
    Some(number.trim().to_owned())
}

/// What a client wrote, or why there is nothing.
async fn ask(program: Program, arguments: &[&str]) -> Result<String, PortError> {
    let output = program.run(arguments).await?;
    if output.status.success() {
        Ok(String::from_utf8_lossy(&output.stdout).into_owned())
    } else {
        let said = scrub(&complaint(&output));
        Err(PortError::new(Condition::Io, said))
    }
}

/// Why a runtime did not answer, in one line.
fn silence(error: &PortError) -> String {
    let mut text = error.summary.clone();
    for cause in &error.causes {
        text.push_str(": ");
        text.push_str(cause);
    }
    text
}
