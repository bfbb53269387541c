//! Images of the runtime, simulated. An archive is one image, known by the archive's own digest.

use super::SimHost;
use quake_model::digest::Digest;
use quake_model::facts::ActiveState;
use quake_model::ports::{Condition, Images, PortError};
use quake_model::spec::{ArchivedImage, ImageRuntime, ImageSpec};

impl Images for SimHost {
    async fn list_seeded(&self) -> Result<Vec<ImageSpec>, PortError> {
        self.call("list_seeded", |world| Ok(world.seeded.clone()))
            .await
    }

    async fn look_archive(&self, archive: &Digest) -> Result<Vec<ArchivedImage>, PortError> {
        self.call("look_archive", |_| {
            Ok(vec![ArchivedImage {
                refs: Vec::new(),
                digests: vec![archive.clone()],
            }])
        })
        .await
    }

    async fn has_image(
        &self,
        runtime: ImageRuntime,
        image: &ArchivedImage,
    ) -> Result<bool, PortError> {
        self.call("has_image", |world| {
            answers(&world.region, runtime)?;
            let images = &world.region.images;
            Ok(image.digests.iter().any(|digest| images.contains(digest)))
        })
        .await
    }

    async fn import_images(
        &self,
        runtime: ImageRuntime,
        archive: &Digest,
    ) -> Result<(), PortError> {
        self.call("import_images", |world| {
            answers(&world.region, runtime)?;
            world.region.images.insert(archive.clone());
            Ok(())
        })
        .await
    }

    async fn has_named(&self, runtime: ImageRuntime, name: &str) -> Result<bool, PortError> {
        self.call("has_named", |world| {
            answers(&world.region, runtime)?;
            Ok(world.region.pulled.contains(name))
        })
        .await
    }

    async fn pull_image(&self, runtime: ImageRuntime, name: &str) -> Result<(), PortError> {
        self.call("pull_image", |world| {
            answers(&world.region, runtime)?;
            if world.unknown_images.contains(name) {
                let summary = format!("no registry has {name}");
                return Err(PortError::new(Condition::Missing, summary));
            }
            world.region.pulled.insert(name.to_owned());
            Ok(())
        })
        .await
    }
}

/// A runtime answers once its unit is up.
fn answers(region: &crate::region::Region, runtime: ImageRuntime) -> Result<(), PortError> {
    let unit = format!("{}.service", runtime.name());
    let found = region.units.get(&unit);
    if found.is_some_and(|unit| unit.active == ActiveState::Active) {
        return Ok(());
    }
    let summary = format!("{} does not answer", runtime.name());
    Err(PortError::new(Condition::Unreachable, summary))
}
