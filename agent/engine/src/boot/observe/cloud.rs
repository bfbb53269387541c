//! Asks EC2 about instances and volumes, once.

use crate::context::Context;
use crate::fault_mapping::{Operation, to_fault};
use quake_model::facts::{InstanceView, VolumeFacts};
use quake_model::fault::Fault;
use quake_model::ports::{Cloud, InstanceQuery, VolumeQuery};

pub(crate) async fn describe_instances<H: Cloud>(
    context: &Context<'_, H>,
    query: &InstanceQuery,
) -> Result<Vec<InstanceView>, Fault> {
    let described = context.host.describe_instances(query).await;
    described.map_err(|error| to_fault(Operation::DescribeInstances, error))
}

pub(crate) async fn describe_volumes<H: Cloud>(
    context: &Context<'_, H>,
    query: &VolumeQuery,
) -> Result<Vec<VolumeFacts>, Fault> {
    let described = context.host.describe_volumes(query).await;
    described.map_err(|error| to_fault(Operation::DescribeVolumes, error))
}
