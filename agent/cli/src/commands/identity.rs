//! The instance of a rehearsal, as a file tells it.

use super::running;
use quake_model::facts::{EniCapacity, InstanceFacts};
use quake_testkit::region::{Region, example_instance};
use serde::Deserialize;
use std::path::Path;

/// An instance's facts as `--identity FILE` gives them: the names of EC2's identity document.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Identity {
    instance_id: String,
    #[serde(default)]
    instance_type: String,
    availability_zone: String,
    region: Option<String>,
    #[serde(default)]
    account_id: String,
    #[serde(default)]
    image_id: String,
    private_ip: Option<String>,
    local_hostname: Option<String>,
    #[serde(default)]
    mac: String,
    architecture: Option<String>,
    public_ip: Option<String>,
    ipv6: Option<String>,
    target_lifecycle_state: Option<String>,
    eni_capacity: Option<EniCapacity>,
    #[serde(default)]
    packages: Vec<String>,
}

impl Identity {
    /// What the metadata service says of the instance; what is not given is the example's.
    pub(super) fn instance(&self) -> InstanceFacts {
        let example = example_instance(&self.availability_zone);
        let or = |given: &Option<String>, example: String| given.clone().unwrap_or(example);
        InstanceFacts {
            region: or(&self.region, example.region),
            private_ip: or(&self.private_ip, example.private_ip),
            local_hostname: or(&self.local_hostname, example.local_hostname),
            architecture: or(&self.architecture, example.architecture),
            instance_id: self.instance_id.clone(),
            instance_type: self.instance_type.clone(),
            zone: self.availability_zone.clone(),
            account_id: self.account_id.clone(),
            image_id: self.image_id.clone(),
            mac: self.mac.clone(),
        }
    }

    /// Puts what else is said of the machine into its simulated region.
    pub(super) fn surround(&self, region: &mut Region) {
        let values = [
            ("public-ipv4", &self.public_ip),
            ("ipv6", &self.ipv6),
            (
                "autoscaling/target-lifecycle-state",
                &self.target_lifecycle_state,
            ),
        ];
        for (key, value) in values {
            if let Some(value) = value {
                region.metadata.insert(key.to_owned(), value.clone());
            }
        }
        if let Some(capacity) = self.eni_capacity {
            region.types.insert(self.instance_type.clone(), capacity);
        }
        region.packages.extend(self.packages.iter().cloned());
    }
}

/// Reads an instance's facts.
///
/// # Errors
///
/// Prints what is wrong and returns the exit status.
pub(super) fn read_identity(path: &Path) -> Result<Identity, u8> {
    let shown = path.display();
    let bytes = std::fs::read(path)
        .map_err(|error| running::usage(&format!("{shown} cannot be read: {error}")))?;
    serde_json::from_slice(&bytes)
        .map_err(|error| running::usage(&format!("{shown} is not an instance's facts: {error}")))
}
