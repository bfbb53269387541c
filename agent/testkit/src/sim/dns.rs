//! Route 53, simulated.

use super::SimHost;
use quake_model::dns::{AddressRecord, ChangeProgress, RecordChange, ZoneFacts};
use quake_model::ports::{Dns, PortError};
use std::collections::BTreeSet;

impl Dns for SimHost {
    async fn list_zones(&self, name: &str) -> Result<Vec<ZoneFacts>, PortError> {
        self.call("list_zones", |world| {
            world.count("route53:ListHostedZones");
            let zones = world.region.names.zones.iter();
            let of_name = zones.filter(|zone| zone.name == name).cloned();
            // A list does not tell VPCs.
            let mut found: Vec<ZoneFacts> = of_name.collect();
            found.iter_mut().for_each(|zone| zone.vpcs.clear());
            Ok(found)
        })
        .await
    }

    async fn read_zone(&self, zone_id: &str) -> Result<Option<ZoneFacts>, PortError> {
        self.call("read_zone", |world| {
            world.count("route53:GetHostedZone");
            Ok(world.region.names.zone(zone_id).ok().cloned())
        })
        .await
    }

    async fn read_records(
        &self,
        zone_id: &str,
        names: &BTreeSet<String>,
    ) -> Result<Vec<AddressRecord>, PortError> {
        self.call("read_records", |world| {
            world.count("route53:ListResourceRecordSets");
            world.region.names.zone(zone_id)?;
            let records = world.region.names.records.get(zone_id);
            let records = records.into_iter().flatten();
            Ok(records
                .filter(|record| names.contains(&record.name))
                .cloned()
                .collect())
        })
        .await
    }

    async fn change_records(
        &self,
        zone_id: &str,
        changes: &[RecordChange],
    ) -> Result<String, PortError> {
        self.call("change_records", |world| {
            world.count("route53:ChangeResourceRecordSets");
            world.region.names.change(zone_id, changes)
        })
        .await
    }

    async fn look_change(&self, change_id: &str) -> Result<ChangeProgress, PortError> {
        self.call("look_change", |world| {
            world.count("route53:GetChange");
            let what = format!("change/{change_id}");
            world.has_arrived(&what, 0);
            let looks = world.looks_at(&what);
            world.region.names.progress(change_id, looks)
        })
        .await
    }
}
