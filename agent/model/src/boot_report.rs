//! The report of one boot: a small JSON object that a node leaves beside its cluster's configuration, so that
//! `quake-agent fleet` can tell of a whole cluster from anywhere. It holds nothing that the console does not show.
//!
//! What a newer agent adds is passed over; a report of another schema is another version's and is read by nobody else.

use crate::boot::{BootId, BootState};
use crate::location::Location;
use crate::record::PhaseStatus;
use crate::time::Timestamp;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The schema of the reports that this agent writes and reads.
pub const SCHEMA: &str = "quake-agent/boot-report/v1";

/// A report has fewer bytes than this, whatever happened.
pub const MOST_BYTES: usize = 16 << 10;

/// The directory of reports, below the directory of the cluster.
pub const FOLDER: &str = "boot-reports";

/// What kind of bytes a report is, as HTTP names it.
pub const CONTENT_TYPE: &str = "application/json";

/// The end of a report's name.
const SUFFIX: &str = ".json";

/// One boot, as it is told to the outside.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct BootReport {
    /// [`SCHEMA`].
    pub schema_version: String,
    /// The boot's name, which begins with its start.
    pub boot: BootId,
    /// What was started: `boot` or `rehearse`.
    pub command: String,
    pub instance: ReportedInstance,
    /// The cluster; `None` when the boot failed before it was known.
    pub cluster: Option<String>,
    pub instance_group: String,
    /// The role's word; `None` like the cluster.
    pub role: Option<String>,
    /// The Kubernetes version; `None` like the cluster.
    pub kubernetes: Option<String>,
    pub agent: ReportedAgent,
    /// The configuration; `None` like the cluster.
    pub config: Option<ReportedConfiguration>,
    pub result: BootState,
    /// The exit status that the end stands for.
    pub exit_status: u8,
    #[serde(alias = "started")]
    pub started_at: Timestamp,
    #[serde(alias = "ended")]
    pub ended_at: Timestamp,
    /// How long it took, by a clock that never steps.
    pub took_ms: u64,
    /// The phases that began, in their order.
    pub phases: Vec<ReportedPhase>,
    /// Why it failed or stopped.
    pub fault: Option<ReportedFault>,
    /// How many warnings there were, by code.
    pub warnings: BTreeMap<String, u64>,
    /// Bytes of assets that came in.
    pub bytes_fetched: u64,
    /// Requests to cloud services, by `service:Operation`.
    pub calls: BTreeMap<String, u64>,
    /// How many of them AWS throttled.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub throttled: BTreeMap<String, u64>,
}

/// The instance of a report.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReportedInstance {
    /// `i-…`.
    pub id: String,
    /// Such as `m5.large`.
    #[serde(rename = "type")]
    pub kind: String,
    pub zone: String,
    /// `ami-…`.
    pub image: String,
}

/// The agent of a report.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReportedAgent {
    pub version: String,
    /// Digest over its binary; `None` when that could not be read.
    pub digest: Option<String>,
}

/// The configuration of a report.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReportedConfiguration {
    pub source: String,
    /// Digest over its exact bytes.
    pub digest: String,
}

/// One phase of a report.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ReportedPhase {
    pub phase: String,
    /// How it ended, or that it did not.
    pub status: PhaseStatus,
    /// Milliseconds into the boot at which it began.
    pub started_ms: u64,
    /// How long it took, or had taken when the boot ended.
    pub took_ms: u64,
    /// Tries that failed and were tried again.
    pub retries: u32,
}

/// Why the boot of a report failed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReportedFault {
    /// The phase that failed, where one did.
    pub phase: Option<String>,
    /// The stable code, as it is printed: it may be one of a newer agent.
    pub code: String,
    pub class: String,
    pub summary: String,
}

/// Where the reports of an instance group are.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReportFolder {
    /// The directory of the cluster.
    pub config_base: Location,
    pub instance_group: String,
}

impl ReportFolder {
    /// Where the report of this instance is; `None` when a name could lead out of the directory, as no name of EC2 and
    /// kops does.
    pub fn report_of(&self, instance_id: &str) -> Option<Location> {
        let folder = reports_of(&self.config_base);
        let group = segment(&self.instance_group)?;
        let instance = segment(instance_id)?;
        Some(folder.join(group).join(&format!("{instance}{SUFFIX}")))
    }
}

/// Where all reports of a cluster are, in a directory for each instance group.
pub fn reports_of(config_base: &Location) -> Location {
    config_base.join(FOLDER)
}

/// The instance whose report has this name, if it is the name of a report.
pub fn instance_of(name: &str) -> Option<&str> {
    name.strip_suffix(SUFFIX).filter(|id| !id.is_empty())
}

fn segment(name: &str) -> Option<&str> {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
    let leads_out = name.is_empty() || name.starts_with('.');
    (!leads_out && name.chars().all(plain)).then_some(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn folder(group: &str) -> ReportFolder {
        ReportFolder {
            config_base: "s3://store/c.example".parse().expect("a literal"),
            instance_group: group.to_owned(),
        }
    }

    #[test]
    fn a_report_has_the_name_of_its_group_and_instance() {
        let place = folder("nodes").report_of("i-0a").expect("plain names");
        assert_eq!(
            place.to_string(),
            "s3://store/c.example/boot-reports/nodes/i-0a.json"
        );
        assert_eq!(instance_of("i-0a.json"), Some("i-0a"));
        assert_eq!((instance_of(".json"), instance_of("README")), (None, None));
    }

    #[test]
    fn no_name_leads_a_report_out_of_its_folder() {
        for (group, instance) in [
            ("..", "i-0a"),
            ("../pki", "i-0a"),
            ("a/b", "i-0a"),
            ("", "i-0a"),
            ("nodes", "../../cluster.spec"),
            ("nodes", ""),
        ] {
            assert_eq!(
                folder(group).report_of(instance),
                None,
                "{group} {instance}"
            );
        }
    }
}
