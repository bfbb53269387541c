//! docker's images, by its command line. An image's id is the digest of its configuration, or of its manifest where
//! docker keeps images in containerd.

use super::{IMPORT_DEADLINE, QUESTION_DEADLINE, client, refusal};
use crate::linux::{Feed, complaint};
use quake_model::ports::PortError;
use quake_model::spec::ArchivedImage;

pub(super) async fn has_image(image: &ArchivedImage) -> Result<bool, PortError> {
    let docker = client("docker", "docker-ce", QUESTION_DEADLINE);
    for digest in &image.digests {
        let id = digest.to_string();
        let command = ["image", "inspect", "--format", "{{.Id}}", &id];
        let output = docker.run(&command).await?;
        if output.status.success() {
            return Ok(true);
        }
        if !complaint(&output).to_lowercase().contains("no such image") {
            return Err(refusal("docker", "inspect an image", &output));
        }
    }
    Ok(false)
}

pub(super) async fn import(feed: Feed) -> Result<(), PortError> {
    let docker = client("docker", "docker-ce", IMPORT_DEADLINE);
    let output = docker.run_fed(&["load", "--quiet"], feed).await?;
    if output.status.success() {
        Ok(())
    } else {
        Err(refusal("docker", "load the archive", &output))
    }
}
