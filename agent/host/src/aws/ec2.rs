//! The EC2 API, as far as a node needs it.

mod console;
mod dry_run;

pub use dry_run::DryRun;

use super::clients::Aws;
use super::ec2_facts::{instance_view, volume_facts};
use super::failure::Attempt;
use aws_sdk_ec2::types::{
    EbsInstanceBlockDeviceSpecification, Filter, InstanceBlockDeviceMappingSpecification,
    Reservation, Tag,
};
use quake_model::facts::{EniCapacity, InstanceView, VolumeFacts};
use quake_model::iam::partition_of;
use quake_model::ports::{Cloud, Condition, InstanceQuery, PortError, VolumeQuery};
use std::collections::BTreeMap;

/// How many results a page has: the most that DescribeVolumes gives (EC2 API reference).
const PAGE_SIZE: i32 = 500;

/// How many values one filter may have (EC2 API reference).
const FILTER_VALUES: usize = 200;

/// The EC2 API of the region.
#[derive(Debug, Clone)]
pub struct Ec2 {
    aws: Aws,
}

impl Ec2 {
    /// EC2 as `aws` reaches it.
    pub fn new(aws: Aws) -> Self {
        Self { aws }
    }

    /// An attempt on everything: the describing actions know no resources.
    async fn attempt(&self, action: &'static str, subject: String) -> Result<Attempt, PortError> {
        let region = self.aws.region().await?;
        Ok(Attempt {
            action,
            resources: vec!["*".to_owned()],
            key: String::new(),
            subject,
            endpoint: self.aws.endpoint("ec2", &region),
        })
    }

    /// An attempt on resources such as `volume/vol-1`, of whichever account.
    async fn attempt_on(
        &self,
        action: &'static str,
        resources: &[(&str, &str)],
        subject: String,
    ) -> Result<Attempt, PortError> {
        let region = self.aws.region().await?;
        let partition = partition_of(&region);
        let arn = |(kind, id): &(&str, &str)| format!("arn:{partition}:ec2:{region}:*:{kind}/{id}");
        let attempt = self.attempt(action, subject).await?;
        Ok(Attempt {
            resources: resources.iter().map(arn).collect(),
            ..attempt
        })
    }

    /// All pages. Each becomes facts before the next is asked for, and none is kept: an account may have
    /// thousands of volumes. While EC2 changes, pages may show one volume twice and differently; both are returned.
    async fn volumes(
        &self,
        filter: Filter,
        subject: String,
    ) -> Result<Vec<VolumeFacts>, PortError> {
        let attempt = self.attempt("ec2:DescribeVolumes", subject).await?;
        let client = self.aws.ec2().await?;
        let (mut found, mut token) = (Vec::new(), None);
        loop {
            self.aws.count("ec2:DescribeVolumes");
            let request = client.describe_volumes().filters(filter.clone());
            let sent = request
                .max_results(PAGE_SIZE)
                .set_next_token(token)
                .send()
                .await;
            let page = self.aws.answer(&attempt, sent).await?;
            found.extend(page.volumes().iter().filter_map(volume_facts));
            token = page.next_token.filter(|token| !token.is_empty());
            if token.is_none() {
                return Ok(found);
            }
        }
    }

    async fn instances(
        &self,
        filter: Filter,
        subject: String,
    ) -> Result<Vec<InstanceView>, PortError> {
        let attempt = self.attempt("ec2:DescribeInstances", subject).await?;
        let client = self.aws.ec2().await?;
        let (mut found, mut token) = (Vec::new(), None);
        loop {
            self.aws.count("ec2:DescribeInstances");
            let request = client.describe_instances().filters(filter.clone());
            let sent = request
                .max_results(PAGE_SIZE)
                .set_next_token(token)
                .send()
                .await;
            let page = self.aws.answer(&attempt, sent).await?;
            let instances = page.reservations().iter().flat_map(Reservation::instances);
            found.extend(instances.filter_map(instance_view));
            token = page.next_token.filter(|token| !token.is_empty());
            if token.is_none() {
                return Ok(found);
            }
        }
    }
}

impl Cloud for Ec2 {
    /// Asks with a filter and not by id: one unknown id would fail the whole request.
    async fn describe_instances(
        &self,
        query: &InstanceQuery,
    ) -> Result<Vec<InstanceView>, PortError> {
        match query {
            InstanceQuery::Tagged { key, value } => {
                let subject = format!("instances with the tag {key}={value}");
                let filter = filter(&format!("tag:{key}"), std::slice::from_ref(value));
                self.instances(filter, subject).await
            }
            InstanceQuery::Ids(ids) => {
                let mut found = Vec::new();
                for some in ids.chunks(FILTER_VALUES) {
                    let subject = format!("instances {}", some.join(", "));
                    found.extend(self.instances(filter("instance-id", some), subject).await?);
                }
                Ok(found)
            }
        }
    }

    async fn describe_volumes(&self, query: &VolumeQuery) -> Result<Vec<VolumeFacts>, PortError> {
        match query {
            VolumeQuery::Tagged { key, value } => {
                let subject = format!("volumes with the tag {key}={value}");
                let filter = filter(&format!("tag:{key}"), std::slice::from_ref(value));
                self.volumes(filter, subject).await
            }
            VolumeQuery::AttachedTo(instance) => {
                let subject = format!("volumes of {instance}");
                let filter = filter("attachment.instance-id", std::slice::from_ref(instance));
                self.volumes(filter, subject).await
            }
            VolumeQuery::Ids(ids) => {
                let mut found = Vec::new();
                for some in ids.chunks(FILTER_VALUES) {
                    let subject = format!("volumes {}", some.join(", "));
                    found.extend(self.volumes(filter("volume-id", some), subject).await?);
                }
                Ok(found)
            }
        }
    }

    async fn attach_volume(
        &self,
        volume_id: &str,
        instance_id: &str,
        device_name: &str,
    ) -> Result<(), PortError> {
        let resources = [("volume", volume_id), ("instance", instance_id)];
        let subject = format!("volume {volume_id} to {instance_id} as {device_name}");
        let attempt = self
            .attempt_on("ec2:AttachVolume", &resources, subject)
            .await?;
        let client = self.aws.ec2().await?;
        self.aws.count("ec2:AttachVolume");
        let request = client
            .attach_volume()
            .volume_id(volume_id)
            .instance_id(instance_id);
        let sent = request.device(device_name).send().await;
        self.aws.answer(&attempt, sent).await.map(drop)
    }

    async fn keep_on_termination(
        &self,
        instance_id: &str,
        device_name: &str,
    ) -> Result<(), PortError> {
        let action = "ec2:ModifyInstanceAttribute";
        let subject = format!("DeleteOnTermination of {device_name} of {instance_id}");
        // The call names the device; which volume that is, and whether IAM judges it too, EC2 knows.
        let resources = [("instance", instance_id), ("volume", "*")];
        let attempt = self.attempt_on(action, &resources, subject).await?;
        let client = self.aws.ec2().await?;
        self.aws.count(action);
        let keep = EbsInstanceBlockDeviceSpecification::builder().delete_on_termination(false);
        let mapping = InstanceBlockDeviceMappingSpecification::builder()
            .device_name(device_name)
            .ebs(keep.build());
        let request = client.modify_instance_attribute().instance_id(instance_id);
        let sent = request.block_device_mappings(mapping.build()).send().await;
        self.aws.answer(&attempt, sent).await.map(drop)
    }

    async fn tag_volume(
        &self,
        volume_id: &str,
        tags: &BTreeMap<String, String>,
    ) -> Result<(), PortError> {
        let named: Vec<&str> = tags.keys().map(String::as_str).collect();
        let subject = format!("tags {} of volume {volume_id}", named.join(", "));
        let attempt = self
            .attempt_on("ec2:CreateTags", &[("volume", volume_id)], subject)
            .await?;
        let client = self.aws.ec2().await?;
        self.aws.count("ec2:CreateTags");
        let tag = |(key, value)| Tag::builder().key(key).value(value).build();
        let tags: Vec<Tag> = tags.iter().map(tag).collect();
        let request = client.create_tags().resources(volume_id);
        let sent = request.set_tags(Some(tags)).send().await;
        self.aws.answer(&attempt, sent).await.map(drop)
    }

    /// Asks nobody when no key is named: to EC2, no keys would mean every tag (DeleteTags, API reference).
    async fn untag_volume(&self, volume_id: &str, keys: &[String]) -> Result<(), PortError> {
        if keys.is_empty() {
            return Ok(());
        }
        let subject = format!("tags {} of volume {volume_id}", keys.join(", "));
        let attempt = self
            .attempt_on("ec2:DeleteTags", &[("volume", volume_id)], subject)
            .await?;
        let client = self.aws.ec2().await?;
        self.aws.count("ec2:DeleteTags");
        // A tag without a value: EC2 removes it whatever its value is.
        let tags: Vec<Tag> = keys
            .iter()
            .map(|key| Tag::builder().key(key).build())
            .collect();
        let request = client.delete_tags().resources(volume_id);
        let sent = request.set_tags(Some(tags)).send().await;
        self.aws.answer(&attempt, sent).await.map(drop)
    }

    async fn assign_prefix(&self, interface_id: &str) -> Result<(), PortError> {
        let action = "ec2:AssignIpv6Addresses";
        let resources = [("network-interface", interface_id)];
        let subject = format!("an IPv6 prefix of {interface_id}");
        let attempt = self.attempt_on(action, &resources, subject).await?;
        let client = self.aws.ec2().await?;
        self.aws.count(action);
        let request = client
            .assign_ipv6_addresses()
            .network_interface_id(interface_id);
        let sent = request.ipv6_prefix_count(1).send().await;
        self.aws.answer(&attempt, sent).await.map(drop)
    }

    async fn describe_type(&self, instance_type: &str) -> Result<EniCapacity, PortError> {
        let action = "ec2:DescribeInstanceTypes";
        let attempt = self.attempt(action, instance_type.to_owned()).await?;
        let client = self.aws.ec2().await?;
        self.aws.count(action);
        let request = client
            .describe_instance_types()
            .instance_types(instance_type.into());
        let answer = self.aws.answer(&attempt, request.send().await).await?;
        let found = answer.instance_types().first();
        let network = found.and_then(|found| found.network_info());
        let number = |value: Option<i32>| value.and_then(|value| u32::try_from(value).ok());
        let capacity = network.and_then(|network| {
            Some(EniCapacity {
                interfaces: number(network.maximum_network_interfaces())?,
                addresses_per_interface: number(network.ipv4_addresses_per_interface())?,
            })
        });
        capacity.ok_or_else(|| {
            let summary = format!("EC2 knows of no network interfaces of {instance_type}");
            PortError::new(Condition::Missing, summary)
        })
    }
}

fn filter(name: &str, values: &[String]) -> Filter {
    Filter::builder()
        .name(name)
        .set_values(Some(values.to_vec()))
        .build()
}

#[cfg(test)]
mod tests;

#[cfg(test)]
mod tests_of_interfaces;
