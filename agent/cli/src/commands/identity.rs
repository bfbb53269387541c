//! The instance of a rehearsal, as a file tells it.

use super::running;
use quake_host::linux::parse_os_release;
use quake_model::facts::{EniCapacity, InstanceFacts, OsFacts};
use quake_testkit::region::{Region, example_instance};
use serde::Deserialize;
use serde::de::IgnoredAny;
use std::collections::BTreeMap;
use std::path::Path;

/// An instance's facts as `--identity FILE` gives them: the names of EC2's identity document.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
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
    /// `ID-VERSION_ID` of its os-release, such as `ubuntu-24.04`.
    distribution: Option<String>,
    /// The environment of the agent, of which a rehearsal knows the region alone.
    #[serde(default)]
    environment: BTreeMap<String, String>,
    // What else EC2's own document has: it says nothing that a rehearsal depends on.
    #[serde(default, rename = "version")]
    _version: IgnoredAny,
    #[serde(default, rename = "pendingTime")]
    _pending_time: IgnoredAny,
    #[serde(default, rename = "kernelId")]
    _kernel_id: IgnoredAny,
    #[serde(default, rename = "ramdiskId")]
    _ramdisk_id: IgnoredAny,
    #[serde(default, rename = "billingProducts")]
    _billing_products: IgnoredAny,
    #[serde(default, rename = "marketplaceProductCodes")]
    _marketplace_product_codes: IgnoredAny,
    #[serde(default, rename = "devpayProductCodes")]
    _devpay_product_codes: IgnoredAny,
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

    /// Whether the environment says nothing that a rehearsal would not follow.
    fn check_environment(&self) -> Result<(), String> {
        let region = self.instance().region;
        for (name, value) in &self.environment {
            match name.as_str() {
                "AWS_REGION" if *value == region => {}
                "AWS_REGION" => {
                    return Err(format!(
                        "environment.AWS_REGION is {value}, and the region is {region}"
                    ));
                }
                other => {
                    return Err(format!(
                        "environment.{other} is not followed by a rehearsal, AWS_REGION alone is"
                    ));
                }
            }
        }
        Ok(())
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
        if let Some(distribution) = &self.distribution {
            region.os = os_named(distribution);
        }
    }
}

/// Reads an instance's facts.
pub(super) fn read_identity(path: &Path) -> Result<Identity, u8> {
    let shown = path.display();
    let bytes = std::fs::read(path)
        .map_err(|error| running::usage(&format!("{shown} cannot be read: {error}")))?;
    let wrong =
        |what: String| running::usage(&format!("{shown} is not an instance's facts: {what}"));
    let read: Identity =
        serde_json::from_slice(&bytes).map_err(|error| wrong(error.to_string()))?;
    read.check_environment().map_err(wrong)?;
    Ok(read)
}

/// Reads the operating system of another machine from its os-release.
pub(super) fn read_os(path: &Path) -> Result<OsFacts, u8> {
    let text = std::fs::read_to_string(path)
        .map_err(|error| running::usage(&format!("{} cannot be read: {error}", path.display())))?;
    Ok(parse_os_release(&text))
}

/// The operating system that is called `ID-VERSION_ID`.
fn os_named(distribution: &str) -> OsFacts {
    let (id, version) = distribution.split_once('-').unwrap_or((distribution, ""));
    let id = match id {
        // The name that people use for it.
        "amazonlinux" => "amzn",
        id => id,
    };
    OsFacts {
        id: id.to_owned(),
        version: version.to_owned(),
        like: Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FACTS: &str = r#""instanceId": "i-1", "availabilityZone": "us-test-1a""#;

    fn read(more: &str) -> Result<Identity, String> {
        let text = format!("{{{FACTS}{more}}}");
        let read: Identity = serde_json::from_str(&text).map_err(|error| error.to_string())?;
        read.check_environment().map(|()| read)
    }

    #[test]
    fn an_unknown_key_is_named_with_the_known_ones() {
        let error = read(r#", "distro": "debian-12""#).expect_err("it is unknown");
        assert!(
            error.contains("`distro`") && error.contains("`distribution`"),
            "{error}"
        );
        let error = read(r#", "environment": {"S3_ENDPOINT": "x"}"#).expect_err("not followed");
        assert!(error.contains("S3_ENDPOINT"), "{error}");
        let error = read(r#", "environment": {"AWS_REGION": "eu-west-1"}"#);
        assert!(error.is_err_and(|error| error.contains("us-test-1")));
        assert!(read(r#", "environment": {"AWS_REGION": "us-test-1"}"#).is_ok());
    }

    #[test]
    fn the_document_of_ec2_itself_is_read_whole() {
        let more = r#", "version": "2017-09-30", "pendingTime": "2026-01-01T00:00:00Z", "kernelId": null, "ramdiskId": null,
            "billingProducts": ["bp-1"], "marketplaceProductCodes": null, "devpayProductCodes": null"#;
        assert!(read(more).is_ok());
    }

    #[test]
    fn a_distribution_is_named_by_its_id_and_version() {
        for (name, id, version) in [
            ("ubuntu-24.04", "ubuntu", "24.04"),
            ("amazonlinux-2023", "amzn", "2023"),
            ("flatcar", "flatcar", ""),
        ] {
            let os = os_named(name);
            assert_eq!((os.id.as_str(), os.version.as_str()), (id, version));
        }
    }
}
