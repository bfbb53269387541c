//! Reads which archives of images a seed left.

use crate::context::Context;
use crate::fault_mapping::{Operation, to_fault};
use quake_model::event::Event;
use quake_model::ports::Images;

/// Reads the seed's list. A list that cannot be read is a warning: kubelet pulls what the runtime lacks.
pub(crate) async fn observe_images<H: Images>(context: &Context<'_, H>) {
    match context.host.list_seeded().await {
        Ok(images) => context.learn(|knowledge| knowledge.images = images),
        Err(error) => {
            let fault = to_fault(Operation::UseImage, error);
            context.emitter.emit(Event::Warning { fault });
        }
    }
}
