//! The EC2 API, as far as a node needs it.

use super::clients::Aws;
use super::ec2_facts::{instance_view, volume_facts};
use super::failure::{Attempt, is_expired, port_error};
use aws_sdk_ec2::config::http::HttpResponse;
use aws_sdk_ec2::error::{ProvideErrorMetadata, SdkError};
use aws_sdk_ec2::types::{Filter, Reservation};
use quake_model::facts::{InstanceView, VolumeFacts};
use quake_model::ports::{Cloud, PortError, VolumeQuery};

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

    async fn attempt(
        &self,
        action: &'static str,
        resource: &str,
        subject: String,
    ) -> Result<Attempt, PortError> {
        let region = self.aws.region().await?;
        Ok(Attempt {
            action,
            resource: resource.to_owned(),
            subject,
            endpoint: self.aws.endpoint("ec2", &region),
        })
    }

    async fn failed<E>(&self, attempt: &Attempt, error: SdkError<E, HttpResponse>) -> PortError
    where
        E: ProvideErrorMetadata + std::error::Error + 'static,
    {
        if is_expired(&error) {
            self.aws.forget_credentials().await;
        }
        port_error(attempt, &error)
    }

    async fn describe_filtered(
        &self,
        filter: Filter,
        subject: String,
    ) -> Result<Vec<VolumeFacts>, PortError> {
        let attempt = self.attempt("ec2:DescribeVolumes", "*", subject).await?;
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
            let page = match sent {
                Ok(page) => page,
                Err(error) => return Err(self.failed(&attempt, error).await),
            };
            found.extend(page.volumes().iter().filter_map(volume_facts));
            token = page.next_token.filter(|token| !token.is_empty());
            if token.is_none() {
                return Ok(found);
            }
        }
    }

    async fn describe_listed(&self, ids: &[String]) -> Result<Vec<InstanceView>, PortError> {
        let subject = format!("instances {}", ids.join(", "));
        let attempt = self.attempt("ec2:DescribeInstances", "*", subject).await?;
        let client = self.aws.ec2().await?;
        let (mut found, mut token) = (Vec::new(), None);
        loop {
            self.aws.count("ec2:DescribeInstances");
            let request = client
                .describe_instances()
                .filters(filter("instance-id", ids));
            let sent = request
                .max_results(PAGE_SIZE)
                .set_next_token(token)
                .send()
                .await;
            let page = match sent {
                Ok(page) => page,
                Err(error) => return Err(self.failed(&attempt, error).await),
            };
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
    async fn describe_instances(&self, ids: &[String]) -> Result<Vec<InstanceView>, PortError> {
        let mut found = Vec::new();
        for some in ids.chunks(FILTER_VALUES) {
            found.extend(self.describe_listed(some).await?);
        }
        Ok(found)
    }

    async fn describe_volumes(&self, query: &VolumeQuery) -> Result<Vec<VolumeFacts>, PortError> {
        match query {
            VolumeQuery::Tagged { key, value } => {
                let subject = format!("volumes with the tag {key}={value}");
                let filter = filter(&format!("tag:{key}"), std::slice::from_ref(value));
                self.describe_filtered(filter, subject).await
            }
            VolumeQuery::AttachedTo(instance) => {
                let subject = format!("volumes of {instance}");
                let filter = filter("attachment.instance-id", std::slice::from_ref(instance));
                self.describe_filtered(filter, subject).await
            }
            VolumeQuery::Ids(ids) => {
                let mut found = Vec::new();
                for some in ids.chunks(FILTER_VALUES) {
                    let subject = format!("volumes {}", some.join(", "));
                    found.extend(
                        self.describe_filtered(filter("volume-id", some), subject)
                            .await?,
                    );
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
        let region = self.aws.region().await?;
        let partition = partition(&region);
        let resource = format!(
            "arn:{partition}:ec2:{region}:*:volume/{volume_id} and arn:{partition}:ec2:{region}:*:instance/{instance_id}"
        );
        let subject = format!("volume {volume_id} to {instance_id} as {device_name}");
        let attempt = self.attempt("ec2:AttachVolume", &resource, subject).await?;
        let client = self.aws.ec2().await?;
        self.aws.count("ec2:AttachVolume");
        let request = client
            .attach_volume()
            .volume_id(volume_id)
            .instance_id(instance_id);
        match request.device(device_name).send().await {
            Ok(_) => Ok(()),
            Err(error) => Err(self.failed(&attempt, error).await),
        }
    }
}

/// The partition that ARNs of a region begin with.
pub(super) fn partition(region: &str) -> &'static str {
    match region {
        region if region.starts_with("cn-") => "aws-cn",
        region if region.starts_with("us-gov-") => "aws-us-gov",
        _ => "aws",
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
