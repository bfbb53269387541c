//! The API of Route 53, as far as a node publishes its names.
//!
//! There is one Route 53 for all regions of a partition, and the SDK signs for the region that it is in.

use super::clients::Aws;
use super::failure::Attempt;
use super::route53_records::{address_record, bare_name, changes_of, listing_key, zone_facts};
use aws_sdk_route53::operation::list_resource_record_sets::ListResourceRecordSetsOutput;
use aws_sdk_route53::types::{ChangeBatch, ChangeInfo, ChangeStatus, RrType};
use quake_model::dns::{AddressRecord, ChangeProgress, RecordChange, ZoneFacts, bare_zone_id};
use quake_model::iam::partition_of;
use quake_model::ports::{Condition, Dns, PortError};
use std::collections::BTreeSet;

/// The most pages of one listing: a hundred zones or three hundred records each. A guess: accounts have 500 zones unless they
/// asked for more, and the names are neighbours.
const PAGES: usize = 30;

/// Route 53 of the partition.
#[derive(Debug, Clone)]
pub struct Route53 {
    aws: Aws,
}

impl Dns for Route53 {
    async fn list_zones(&self, name: &str) -> Result<Vec<ZoneFacts>, PortError> {
        // By name one may only ask with `route53:ListHostedZonesByName`, which kops does not grant.
        let action = "route53:ListHostedZones";
        let subject = format!("zones called {name}");
        let attempt = self.attempt(action, "", &subject).await?;
        let client = self.aws.route53().await?;
        let (mut found, mut marker) = (Vec::new(), None);
        for _ in 0..PAGES {
            self.aws.count(action);
            let request = client.list_hosted_zones().set_marker(marker);
            let page = self.aws.answer(&attempt, request.send().await).await?;
            let zones = page.hosted_zones().iter().map(|zone| zone_facts(zone, &[]));
            found.extend(zones.filter(|zone| zone.name == name));
            marker = page.next_marker().map(str::to_owned);
            if !page.is_truncated() || marker.is_none() {
                return Ok(found);
            }
        }
        Err(endless(&attempt))
    }

    async fn read_zone(&self, zone_id: &str) -> Result<Option<ZoneFacts>, PortError> {
        let action = "route53:GetHostedZone";
        let attempt = self.zone_attempt(action, zone_id).await?;
        let client = self.aws.route53().await?;
        self.aws.count(action);
        let sent = client.get_hosted_zone().id(zone_id).send().await;
        match self.aws.answer(&attempt, sent).await {
            Ok(answer) => Ok(answer
                .hosted_zone()
                .map(|zone| zone_facts(zone, answer.vpcs()))),
            Err(error) if error.condition == Condition::Missing => Ok(None),
            Err(error) => Err(error),
        }
    }

    async fn read_records(
        &self,
        zone_id: &str,
        names: &BTreeSet<String>,
    ) -> Result<Vec<AddressRecord>, PortError> {
        let action = "route53:ListResourceRecordSets";
        let attempt = self.zone_attempt(action, zone_id).await?;
        let client = self.aws.route53().await?;
        let first = names.iter().min_by_key(|name| listing_key(name));
        let last = names.iter().map(|name| listing_key(name)).max();
        let (Some(first), Some(last)) = (first, last) else {
            return Ok(Vec::new());
        };
        let mut found = Vec::new();
        let mut from = (first.clone(), None, None);
        for _ in 0..PAGES {
            self.aws.count(action);
            let (name, kind, set) = from;
            let request = client
                .list_resource_record_sets()
                .hosted_zone_id(zone_id)
                .start_record_name(name)
                .set_start_record_type(kind)
                .set_start_record_identifier(set);
            let page = self.aws.answer(&attempt, request.send().await).await?;
            let records = page
                .resource_record_sets()
                .iter()
                .filter_map(address_record);
            found.extend(records.filter(|record| names.contains(&record.name)));
            match next_of(&page) {
                Some(next) if listing_key(&bare_name(&next.0)) <= last => from = next,
                _ => return Ok(found),
            }
        }
        Err(endless(&attempt))
    }

    async fn change_records(
        &self,
        zone_id: &str,
        changes: &[RecordChange],
    ) -> Result<String, PortError> {
        let action = "route53:ChangeResourceRecordSets";
        let attempt = self.zone_attempt(action, zone_id).await?;
        let unusable = |error: aws_sdk_route53::error::BuildError| {
            PortError::new(Condition::Malformed, "the records make no request").because(&error)
        };
        let batch = ChangeBatch::builder()
            .set_changes(Some(changes_of(changes).map_err(unusable)?))
            .comment("quake-agent: names of a control plane")
            .build()
            .map_err(unusable)?;
        let client = self.aws.route53().await?;
        self.aws.count(action);
        let request = client.change_resource_record_sets().hosted_zone_id(zone_id);
        let sent = request.change_batch(batch).send().await;
        let answer = self.aws.answer(&attempt, sent).await?;
        let id = answer.change_info().map(ChangeInfo::id);
        Ok(bare_change_id(id.unwrap_or_default()).to_owned())
    }

    async fn look_change(&self, change_id: &str) -> Result<ChangeProgress, PortError> {
        let action = "route53:GetChange";
        let resource = format!("change/{change_id}");
        let subject = format!("the change {change_id}");
        let attempt = self.attempt(action, &resource, &subject).await?;
        let client = self.aws.route53().await?;
        self.aws.count(action);
        let sent = client.get_change().id(change_id).send().await;
        let answer = self.aws.answer(&attempt, sent).await?;
        match answer.change_info().map(ChangeInfo::status) {
            Some(ChangeStatus::Insync) => Ok(ChangeProgress::InSync),
            _ => Ok(ChangeProgress::Pending),
        }
    }
}

impl Route53 {
    /// Route 53 as `aws` reaches it.
    pub fn new(aws: Aws) -> Self {
        Self { aws }
    }

    async fn zone_attempt(
        &self,
        action: &'static str,
        zone_id: &str,
    ) -> Result<Attempt, PortError> {
        let resource = format!("hostedzone/{}", bare_zone_id(zone_id));
        let subject = format!("the zone {zone_id}");
        self.attempt(action, &resource, &subject).await
    }

    /// An attempt on a resource, which has neither region nor account; an empty one is for what knows no resources.
    async fn attempt(
        &self,
        action: &'static str,
        resource: &str,
        subject: &str,
    ) -> Result<Attempt, PortError> {
        let region = self.aws.region().await?;
        let resource = match resource {
            "" => "*".to_owned(),
            resource => format!("arn:{}:route53:::{resource}", partition_of(&region)),
        };
        Ok(Attempt {
            action,
            resources: vec![resource],
            key: String::new(),
            subject: subject.to_owned(),
            endpoint: self.aws.endpoint("route53", &region),
        })
    }
}

/// Where a listing goes on.
fn next_of(
    page: &ListResourceRecordSetsOutput,
) -> Option<(String, Option<RrType>, Option<String>)> {
    let name = page.next_record_name().filter(|_| page.is_truncated())?;
    let kind = page.next_record_type().cloned();
    let set = page.next_record_identifier().map(str::to_owned);
    Some((name.to_owned(), kind, set))
}

/// A batch's id without the path that Route 53 puts before it.
fn bare_change_id(id: &str) -> &str {
    id.trim_start_matches('/').trim_start_matches("change/")
}

fn endless(attempt: &Attempt) -> PortError {
    let summary = format!(
        "{} for {} has more than {PAGES} pages",
        attempt.action, attempt.subject
    );
    PortError::new(Condition::Malformed, summary)
}

#[cfg(test)]
mod tests;
