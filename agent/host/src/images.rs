//! Images of the container runtime, by the runtime's own client: `ctr` for containerd, `docker` for docker. A client
//! that the agent placed in `/usr/local/bin` comes before the machine image's own.
//!
//! A runtime makes an image's record only once it has all of its content, so an import that is cut short leaves nothing
//! that is taken for an image.

mod containerd;
mod docker;

use crate::linux::{Abandon, Feed, Program, complaint};
use quake_model::ports::{Condition, PortError};
use quake_model::spec::{ArchivedImage, ImageRuntime};
use std::path::{Path, PathBuf};
use std::process::Output;
use std::time::Duration;

/// How long a question may take. A guess: both clients answer within a tenth of a second, and `ctr` gives up on a
/// silent socket after ten.
const QUESTION_DEADLINE: Duration = Duration::from_secs(20);

/// How long a pull may take. A guess: a gigabyte over a slow link; a pull that is cut short goes on where it was.
const PULL_DEADLINE: Duration = Duration::from_secs(4 * 60);

/// How long an import may take. A guess: 1 GB to a cold disk, unpacked, takes under a minute.
const IMPORT_DEADLINE: Duration = Duration::from_secs(5 * 60);

/// The runtimes of this machine.
#[derive(Debug, Clone, Default)]
pub struct RuntimeImages {
    /// containerd's socket, where it is not the usual one.
    address: Option<PathBuf>,
}

impl RuntimeImages {
    /// The runtimes at their usual sockets.
    pub fn new() -> Self {
        Self::default()
    }

    /// A containerd that answers at another socket.
    pub fn with_containerd_at(socket: &Path) -> Self {
        Self {
            address: Some(socket.to_owned()),
        }
    }

    /// Looks whether the runtime has an image, whole.
    ///
    /// # Errors
    ///
    /// As [`quake_model::ports::Images::has_image`].
    pub async fn has_image(
        &self,
        runtime: ImageRuntime,
        image: &ArchivedImage,
    ) -> Result<bool, PortError> {
        match runtime {
            ImageRuntime::Docker => docker::has_image(image).await,
            ImageRuntime::Containerd => containerd::has_image(self.address.as_deref(), image).await,
        }
    }

    /// Looks whether the runtime has an image of this name.
    ///
    /// # Errors
    ///
    /// As [`quake_model::ports::Images::has_named`].
    pub async fn has_named(&self, runtime: ImageRuntime, name: &str) -> Result<bool, PortError> {
        match runtime {
            ImageRuntime::Docker => Err(not_pulled()),
            ImageRuntime::Containerd => containerd::has_named(self.address.as_deref(), name).await,
        }
    }

    /// Lets the runtime pull an image.
    ///
    /// # Errors
    ///
    /// As [`quake_model::ports::Images::pull_image`].
    pub async fn pull(&self, runtime: ImageRuntime, name: &str) -> Result<(), PortError> {
        match runtime {
            ImageRuntime::Docker => Err(not_pulled()),
            ImageRuntime::Containerd => containerd::pull(self.address.as_deref(), name).await,
        }
    }

    /// Imports an archive's uncompressed tar, which `feed` writes.
    ///
    /// # Errors
    ///
    /// As [`quake_model::ports::Images::import_images`].
    pub async fn import(&self, runtime: ImageRuntime, feed: Feed) -> Result<(), PortError> {
        match runtime {
            ImageRuntime::Docker => docker::import(feed).await,
            ImageRuntime::Containerd => containerd::import(self.address.as_deref(), feed).await,
        }
    }
}

/// Nodes that pull images ahead run containerd: warm pools came after docker.
fn not_pulled() -> PortError {
    let summary = "images are not pulled ahead into docker";
    PortError::new(Condition::Impossible, summary)
}

fn client(name: &'static str, package: &'static str, deadline: Duration) -> Program {
    Program {
        name,
        package,
        deadline,
        abandon: Abandon::Kill,
    }
}

/// The error of a client that did not do what it was asked.
fn refusal(name: &str, what: &str, output: &Output) -> PortError {
    let said = complaint(output);
    // What both say of a daemon that is not there, or not yet.
    let silent = ["failed to dial", "connection refused", "Cannot connect to"];
    let condition = if silent.iter().any(|words| said.contains(words)) {
        Condition::Unreachable
    } else {
        Condition::Io
    };
    PortError::new(condition, format!("{name} did not {what}"))
        .seen("status", output.status)
        .seen("said", said)
}
