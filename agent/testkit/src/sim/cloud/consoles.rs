//! The consoles of instances, simulated.

use crate::sim::SimHost;
use quake_model::ports::{Condition, ConsoleAge, Consoles, PortError};

impl Consoles for SimHost {
    async fn read_console(&self, instance_id: &str, age: ConsoleAge) -> Result<String, PortError> {
        self.call("read_console", |world| {
            world.count("ec2:GetConsoleOutput");
            let mut views = world.region.instances.iter();
            if !views.any(|view| view.instance_id == instance_id) {
                let summary = format!("{instance_id} does not exist");
                return Err(PortError::new(Condition::Missing, summary));
            }
            let is_latest = age == ConsoleAge::Latest;
            if is_latest && world.region.without_nitro.contains(instance_id) {
                let summary = format!("{instance_id} has no latest console output");
                return Err(PortError::new(Condition::Impossible, summary));
            }
            let kept = world.region.consoles.get(instance_id);
            Ok(kept.cloned().unwrap_or_default())
        })
        .await
    }
}
