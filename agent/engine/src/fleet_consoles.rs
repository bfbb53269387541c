//! Reads the consoles of a cluster's instances, a few at a time.

use crate::fault_mapping::{Operation, to_fault};
use crate::retry::retry_transient;
use futures_util::StreamExt;
use futures_util::stream;
use quake_diagnose::fleet::{
    ConsoleFleet, Heard, Rows, Wanted, choose_instances, fleet_of_consoles,
};
use quake_model::facts::InstanceView;
use quake_model::fault::{Class, Fault};
use quake_model::ports::{Cloud, Condition, ConsoleAge, Consoles, InstanceQuery, PortError};
use std::time::Duration;

/// How many consoles are asked for at once. A guess: EC2 refills some twenty such calls a second for a whole
/// account, and nodes need their share.
const AT_ONCE: usize = 4;

/// How long one request is retried. A guess: someone waits for the answer.
const PATIENCE: Duration = Duration::from_secs(20);

/// Reads the consoles of the instances that carry a tag of the cluster, and puts them together.
///
/// # Errors
///
/// Returns the fault of the description of instances, or of the consoles when all of them are refused. One
/// that cannot be read is among those not read.
pub async fn read_consoles<C: Cloud + Consoles + Sync>(
    cloud: &C,
    cluster: &str,
    wanted: &Wanted,
    rows: Rows,
) -> Result<ConsoleFleet, Fault> {
    let chosen = choose_instances(instances(cloud, cluster).await?, wanted);
    let reading = stream::iter(chosen.instances)
        .map(|instance| async move { (read(cloud, &instance.instance_id).await, instance) })
        .buffer_unordered(AT_ONCE);
    let read: Vec<_> = reading.collect().await;
    let is_refused = |(read, _): &(Result<Option<String>, Fault>, InstanceView)| matches!(read, Err(fault) if fault.class() == Class::Denied);
    let all_refused = read.iter().all(is_refused);
    let mut heard = Vec::new();
    for (read, instance) in read {
        let console = match read {
            Err(fault) if all_refused => return Err(fault),
            // Terminated in the meantime.
            Ok(None) => continue,
            Ok(Some(encoded)) => Ok(encoded),
            Err(fault) => Err(fault.to_string()),
        };
        heard.push(Heard { instance, console });
    }
    Ok(fleet_of_consoles(&heard, chosen.omitted, rows))
}

/// kops tags instances with `KubernetesCluster`; those of others may have the newer tag alone.
async fn instances<C: Cloud + Sync>(cloud: &C, cluster: &str) -> Result<Vec<InstanceView>, Fault> {
    let named = ("KubernetesCluster".to_owned(), cluster);
    let owned = (format!("kubernetes.io/cluster/{cluster}"), "owned");
    let mut found = Vec::new();
    for (key, value) in [named, owned] {
        let query = InstanceQuery::Tagged {
            key,
            value: value.to_owned(),
        };
        let attempt = || async {
            let described = cloud.describe_instances(&query).await;
            described.map_err(|error| to_fault(Operation::DescribeInstances, error))
        };
        found = retry_transient(cluster, PATIENCE, attempt).await?;
        if !found.is_empty() {
            break;
        }
    }
    Ok(found)
}

/// The latest output where the instance has it; else what EC2 kept. `None` of an instance that is gone.
async fn read<C: Consoles + Sync>(cloud: &C, instance_id: &str) -> Result<Option<String>, Fault> {
    let attempt = || async {
        let latest = cloud.read_console(instance_id, ConsoleAge::Latest).await;
        let read = match latest {
            Err(PortError {
                condition: Condition::Impossible,
                ..
            }) => cloud.read_console(instance_id, ConsoleAge::Kept).await,
            latest => latest,
        };
        match read {
            Ok(encoded) => Ok(Some(encoded)),
            Err(error) if error.condition == Condition::Missing => Ok(None),
            Err(error) => Err(to_fault(Operation::ReadConsole, error)),
        }
    };
    retry_transient(instance_id, PATIENCE, attempt).await
}
