//! A small Route 53: zones, their address records, and batches that take a while to come to all name servers.

use quake_model::dns::{AddressRecord, ChangeProgress, ChangeVerb, RecordChange, ZoneFacts};
use quake_model::ports::{Condition, PortError};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The zones of an account.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct NameService {
    pub zones: Vec<ZoneFacts>,
    /// The address records of each zone, by the zone's id.
    pub records: BTreeMap<String, Vec<AddressRecord>>,
    /// Batches that were done, in their order.
    pub batches: Vec<Vec<RecordChange>>,
    /// Looks at a batch before it is everywhere.
    pub in_sync_after: u32,
}

impl NameService {
    /// Adds a zone without records.
    pub fn add_zone(&mut self, zone: ZoneFacts) {
        self.records.insert(zone.id.clone(), Vec::new());
        self.zones.push(zone);
    }

    /// Puts a record in the place of those of its name, as somebody else may.
    pub fn put(&mut self, zone_id: &str, record: AddressRecord) {
        let records = self.records.entry(zone_id.to_owned()).or_default();
        records.retain(|it| it.name != record.name);
        records.push(record);
    }

    /// The addresses of a name.
    pub fn addresses(&self, zone_id: &str, name: &str) -> Vec<String> {
        let records = self.records.get(zone_id).into_iter().flatten();
        let of_name = records.filter(|record| record.name == name);
        of_name
            .flat_map(|record| record.addresses.iter().cloned())
            .collect()
    }

    pub(crate) fn zone(&self, zone_id: &str) -> Result<&ZoneFacts, PortError> {
        let zone = self.zones.iter().find(|zone| zone.id == zone_id);
        zone.ok_or_else(|| {
            let summary = format!("there is no hosted zone {zone_id}");
            PortError::new(Condition::Missing, summary)
        })
    }

    /// Does a batch, or nothing of it; its id.
    pub(crate) fn change(
        &mut self,
        zone_id: &str,
        changes: &[RecordChange],
    ) -> Result<String, PortError> {
        let zone = self.zone(zone_id)?;
        let suffix = format!(".{}", zone.name);
        let mut records = self.records.get(zone_id).cloned().unwrap_or_default();
        for RecordChange { verb, record } in changes {
            let refused = |what: &str| {
                let summary = format!("InvalidChangeBatch: {} {what}", record.name);
                Err(PortError::new(Condition::Conflict, summary))
            };
            if !record.name.ends_with(&suffix) {
                return refused("is not permitted in the zone");
            }
            let there = records.iter().position(|it| it.name == record.name);
            match (verb, there) {
                (ChangeVerb::Create, Some(_)) => return refused("is there already"),
                (ChangeVerb::Delete, Some(at)) if records[at] == *record => {
                    records.remove(at);
                }
                (ChangeVerb::Delete, _) => return refused("has other values"),
                (ChangeVerb::Upsert, Some(at)) => records[at] = record.clone(),
                (ChangeVerb::Create | ChangeVerb::Upsert, None) => records.push(record.clone()),
            }
        }
        self.records.insert(zone_id.to_owned(), records);
        self.batches.push(changes.to_vec());
        Ok(format!("C{}", self.batches.len()))
    }

    /// How far a batch is after so many looks at it.
    pub(crate) fn progress(
        &self,
        change_id: &str,
        looks: u32,
    ) -> Result<ChangeProgress, PortError> {
        let number: Option<usize> = change_id.strip_prefix('C').and_then(|it| it.parse().ok());
        match number {
            Some(number) if (1..=self.batches.len()).contains(&number) => {
                Ok(if looks > self.in_sync_after {
                    ChangeProgress::InSync
                } else {
                    ChangeProgress::Pending
                })
            }
            _ => {
                let summary = format!("there is no change {change_id}");
                Err(PortError::new(Condition::Missing, summary))
            }
        }
    }
}
